# SPDX-License-Identifier: Apache-2.0
# What the guard's tests share: a state directory with a plan written by hand, and the guard's socket.
import base64
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback


def sha(path):
    with open(path, "rb") as f:
        return "sha256:" + hashlib.sha256(f.read()).hexdigest()


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


class Journal:
    """Reads runs/<id>/journal as HACKING.md describes it, independent of the library."""

    def __init__(self, path):
        self.path, self.position = path, 0
        self.streams, self.lost = {1: bytearray(), 2: bytearray()}, 0
        self.digest = {1: hashlib.sha256(), 2: hashlib.sha256()}
        self.count = {1: 0, 2: 0}
        self.keep = True

    def read(self, steps=1 << 30):
        """One step is a segment at most.  True: something was read."""
        moved = False
        for _ in range(steps):
            names = sorted(n for n in os.listdir(self.path) if len(n) == 16) if os.path.isdir(self.path) else []
            starts = [int(n, 16) for n in names]
            if not starts:
                return moved
            if self.position < starts[0]:
                self.lost += starts[0] - self.position
                self.position = starts[0]
            start = max(s for s in starts if s <= self.position)
            try:
                with open(os.path.join(self.path, "%016x" % start), "rb") as f:
                    f.seek(self.position - start)
                    data = f.read()
            except FileNotFoundError:
                continue
            at = 0
            while len(data) - at >= 8:
                length = int.from_bytes(data[at:at + 4], "little")
                stream = data[at + 4]
                assert data[at + 5:at + 8] == b"\0\0\0" and stream <= 2, "damaged record"
                if len(data) - at - 8 < length:
                    break
                payload = data[at + 8:at + 8 + length]
                if stream:
                    self.digest[stream].update(payload)
                    self.count[stream] += length
                    if self.keep:
                        self.streams[stream] += payload
                else:
                    self.lost += int.from_bytes(payload, "little")
                at += 8 + length
            self.position += at
            moved = moved or at > 0
            if at == 0:
                later = [s for s in starts if s > start]
                if not later or later[0] != self.position:
                    return moved
        return moved


class Connection:
    def __init__(self, path, timeout=60):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(timeout)
        self.s.connect(path)
        self.buf, self.id, self.states, self.next = b"", 0, [], 0

    def send(self, method, params=None):
        self.id += 1
        message = {"jsonrpc": "2.0", "id": self.id, "method": method}
        if params is not None:
            message["params"] = params
        self.s.sendall(json.dumps(message).encode() + b"\n")
        return self.id

    def message(self):
        while b"\n" not in self.buf:
            data = self.s.recv(65536)
            if not data:
                raise EOFError
            self.buf += data
        line, self.buf = self.buf.split(b"\n", 1)
        message = json.loads(line)
        if message.get("method") == "state":
            self.states.append(message["params"])
        elif message.get("method") == "output":
            self.next = message["params"]["next"]
        return message

    def reply(self, number):
        while True:
            message = self.message()
            if message.get("id") == number and "method" not in message:
                return message

    def call(self, method, params=None):
        return self.reply(self.send(method, params))

    def wait(self, *names, timeout=60):
        until = time.time() + timeout
        while True:
            for state in self.states:
                if state["state"] in names:
                    return state
            if time.time() > until:
                raise TimeoutError("no state of %s: %s" % (names, [s["state"] for s in self.states]))
            self.message()

    def close(self):
        self.s.close()


class Run:
    count = 0

    def __init__(self, program, inside, argv, root, **options):
        Run.count += 1
        guest = inside
        self.guard, self.id = program, "test%06dx%d" % (Run.count, os.getpid())
        self.root = root
        self.state = os.path.join(root, "state")
        self.dir = os.path.join(self.state, "runs", self.id)
        self.live = os.path.join(self.state, "live", self.id)
        os.makedirs(self.dir, 0o700, exist_ok=True)
        os.chmod(self.dir, 0o700)
        limits = {"timeout_ms": 0, "grace_ms": 1000, "unhosted_ms": 10000, "keep": False, "journal_bytes": 67108864}
        limits.update(options.pop("limits", {}))
        launch = {"argv": [guest, "enter"], "env": {"PATH": "/usr/bin:/bin"}, "cwd": self.live + "/cwd", "files": [],
                  "hello_retries": 0}
        launch.update(options.pop("launch", {}))
        self.plan = {
            "version": 1, "kind": "none", "run": self.id, "work": None, "binding": None,
            "policy": {"text": "{}", "normal": {}}, "resolved": None,
            "command": {"argv": argv, "cwd": root, "env": [{"name": "PATH", "value": "/usr/bin:/bin"}], "secrets": [],
                        "inherit": []},
            "launch": launch,
            "guest": {"path": guest, "digest": sha(guest), "confined": False, "landlock": False, "nest": False,
                      "deny_ipc": False, "deny_trace": False, "unix": False, "writable": []},
            "probes": [], "provider": None, "needs": {"hosts": [], "read": [], "write": []}, "tools": [],
            "dirs": {"state": self.state, "runs": self.dir, "live": self.live}, "limits": limits, "notes": [],
        }
        for key, value in options.items():
            if isinstance(value, dict) and isinstance(self.plan.get(key), dict):
                self.plan[key].update(value)
            else:
                self.plan[key] = value
        text = canonical(self.plan)
        self.digest = "sha256:" + hashlib.sha256(text).hexdigest()
        with open(os.path.join(self.dir, "plan.json"), "wb") as f:
            f.write(text)
        self.journal = Journal(os.path.join(self.dir, "journal"))

    def start(self, fault=None):
        env = {"PATH": "/usr/bin:/bin"}
        if fault:
            env["OPEN_CONDUIT_FAULT"] = fault
        return subprocess.run([self.guard, self.dir], env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)

    def connect(self, hello=True):
        cwd = os.getcwd()
        os.chdir(self.dir)  # sun_path is short
        try:
            c = Connection("guard.sock")
        finally:
            os.chdir(cwd)
        if hello:
            reply = c.call("hello", {"digest": self.digest})
            assert "result" in reply, reply
            c.hello = reply["result"]
            c.states.append({k: v for k, v in c.hello.items()})
        return c

    def begin(self, env=None, secrets=None, fault=None):
        r = self.start(fault)
        assert r.returncode == 0, r.stderr
        c = self.connect()
        c.wait("held", "refused")
        if c.states[-1]["state"] == "held":
            reply = c.call("release", {"digest": self.digest, "env": env or {}, "secrets": secrets or {}})
            assert "result" in reply, reply
        return c

    def finish(self, c, timeout=60):
        record = c.wait("exited", timeout=timeout)["record"]
        c.close()
        self.journal.read()
        self.gone()
        assert self.record() == record, (self.record(), record)
        return record

    def record(self):
        with open(os.path.join(self.dir, "exit.json")) as f:
            return json.load(f)

    def has(self, name):
        return os.path.exists(os.path.join(self.dir, name))

    def info(self):
        with open(os.path.join(self.dir, "guard.json")) as f:
            return json.load(f)

    def gone(self, timeout=60):
        """The guard's process has ended."""
        pid, until = self.info()["pid"], time.time() + timeout
        while True:
            try:
                with open("/proc/%d/stat" % pid) as f:
                    if f.read().rsplit(")", 1)[1].split()[0] == "Z":
                        return
            except OSError:
                return
            assert time.time() < until, "the guard is still there"
            time.sleep(0.01)


def marked(text):
    """Processes that have this text in their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                if text.encode() in f.read() and int(pid) != os.getpid():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def place():
    """A directory for the runs; nothing of this runs as root."""
    if os.geteuid() == 0 and "OC_TEST_INSIDE" not in os.environ:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        os.environ["HOME"] = "/nonexistent"
    return tempfile.mkdtemp(prefix="og")


def run_tests(there, names, programs, root):
    """Those functions, or each named test_…; ends with the status."""
    names = names or [n for n in sorted(there) if n.startswith("test_")]
    for program in programs:
        if not os.access(program, os.X_OK):
            print("Bail out! %s can't be executed as uid %d" % (program, os.geteuid()))
            sys.exit(1)
    failed = 0
    print("1..%d" % len(names))
    for number, name in enumerate(names, 1):
        try:
            there[name]()
            print("ok %d - %s" % (number, name), flush=True)
        except Exception:
            failed += 1
            print("not ok %d - %s" % (number, name))
            print("# " + traceback.format_exc().replace("\n", "\n# "), flush=True)
    shutil.rmtree(root, ignore_errors=True)
    sys.exit(failed > 0)


def b64(data):
    return base64.b64encode(data).decode()

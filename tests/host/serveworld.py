# SPDX-License-Identifier: Apache-2.0
"""A world with a daemon: started, killed, asked; and its API spoken by hand."""
import json, os, signal, socket, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "isolation"), os.path.join(HERE, "..", "fault")]
from work import COMMIT, Works, head, wait_for  # noqa: E402, F401
from world import BUILD, finish, ok, put, skip  # noqa: E402, F401

PROGRAM = BUILD + "/host/open-conduit"
SOAK = os.environ.get("OC_TIER") == "soak"
OVER = ("exited", "failed", "run_lost")


class Served(Works):
    daemon = None

    def __init__(self):
        super().__init__()
        self.sock, self.log = self.state + "/serve.sock", self.root + "/serve.log"

    def serve(self, *flags, env=None, ready=True):
        with open(self.log, "ab") as log:
            self.daemon = subprocess.Popen([PROGRAM, "serve", *flags], env={**self.env, **(env or {})}, cwd=self.home, stdin=subprocess.DEVNULL,
                                           stdout=log, stderr=log)
        if ready and not wait_for(lambda: os.path.exists(self.sock) or self.daemon.poll() is not None, 30):
            raise RuntimeError("the daemon did not start: " + self.said())
        return self.daemon

    def said(self):
        return open(self.log, errors="replace").read()

    def kill(self, number=signal.SIGKILL):
        """The daemon ends: its status."""
        if self.daemon and self.daemon.poll() is None:
            self.daemon.send_signal(number)
        status = self.daemon.wait(60) if self.daemon else None
        self.daemon = None
        if number == signal.SIGKILL and os.path.exists(self.sock):
            os.unlink(self.sock)  # so that serve() sees the next one's
        return status

    def status(self):
        p = self.oc("serve", "--status", "--json")
        return json.loads(p.stdout) if p.returncode == 0 else {"stderr": p.stderr}

    def submit(self, do, key=None, binding="job", env=None, flags=(), **members):
        """A detached turn: (process, id)."""
        p = self.turn(do, key, binding, flags=("--detach", *flags), env=env, **members)
        return p, p.stdout.strip()

    def queue(self):
        return json.loads(self.oc("runs", "list", "--json").stdout)["queue"]

    def state_of(self, run):
        p = self.oc("runs", "get", run, "--json")
        facts = json.loads(p.stdout) if p.returncode == 0 else {}
        return (facts.get("run") or facts.get("queued") or {"state": "(none)"})["state"]

    def ended(self, runs, seconds=120):
        return wait_for(lambda: all(self.state_of(r) in OVER for r in runs), seconds)

    def token(self):
        return open(self.state + "/serve.token").read()

    def dial(self):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(30)
        s.connect(self.sock)
        return s

    def memory(self):
        with open("/proc/%d/smaps_rollup" % self.daemon.pid) as f:
            fields = dict(line.split(":", 1) for line in f if ":" in line)
        return int(fields["Rss"].split()[0]), int(fields["Pss"].split()[0])

    def close(self):
        if self.daemon:
            self.kill(signal.SIGTERM)
        for run in (r["id"] for r in json.loads(self.oc("runs", "list", "--json", "-n", "5000").stdout or '{"runs":[]}')["runs"] if r["state"] not in OVER):
            self.oc("runs", "stop", run)
        super().close()


def say(s, method, number=1, **params):
    s.sendall((json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n").encode())


def hear(s):
    """One line; None: it was closed."""
    text = b""
    try:
        while not text.endswith(b"\n"):
            piece = s.recv(65536)
            if not piece:
                return None
            text += piece
    except ConnectionError:
        return None
    return json.loads(text)

# SPDX-License-Identifier: Apache-2.0
"""A small world to be attacked: a home with secrets, a workspace that is a clone, a place outside, and
host services.  Everything is made fresh below one temporary directory and gone afterwards.

Where things are comes from the environment: OC_BUILD (the build folder), OC_SRT (the prefix whose
node_modules hold srt and Node)."""
import json, os, shutil, socket, subprocess, sys, tempfile, threading

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "git"))
from gitworld import Provider  # noqa: E402
from tap import finish, ok, skip  # noqa: E402, F401

BUILD = os.environ["OC_BUILD"]
SRT = os.environ.get("OC_SRT", "")
HERE = os.path.dirname(os.path.abspath(__file__))


def put(path, text="topsecret", mode=0o600):
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


class World:
    kind = ()  # flags of steps
    provider = "srt"
    scripts = ("battery.py",)  # the last one is run

    def __init__(self, clone=True):
        if os.geteuid() == 0:
            sys.exit("these tests run as an ordinary user")
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="o", dir=os.environ.get("OC_TEST_TMP") or os.path.expanduser("~")))
        self.home = self.root + "/h"  # short: the sockets of srt in a state directory below it have to fit
        self.ws = self.home + "/work/ws"
        self.outside = self.home + "/work/outside"
        self.denied = self.home + "/denied"
        self.state = self.home + "/.local/state/open-conduit"
        self.config = self.home + "/.config/open-conduit"
        for d in (self.ws, self.outside, self.home + "/.config/gh"):
            os.makedirs(d, mode=0o700)
        put(self.home + "/.ssh/id_test")
        put(self.home + "/.netrc")
        put(self.home + "/.bashrc", "# mine\n")
        put(self.home + "/.claude/secret")
        put(self.config + "/config.json")
        put(self.denied + "/secret")
        put(self.outside + "/victim", "victim\n")
        put(self.outside + "/secret")
        if clone:
            self.make_clone()
        self.env = {
            "PATH": ":".join(filter(None, (SRT and SRT + "/node_modules/.bin", SRT and self.node_bin(), "/usr/local/bin:/usr/bin:/bin"))),
            "HOME": self.home, "USER": os.environ.get("USER", "oc-test"), "LANG": "C.UTF-8",
            "OPEN_CONDUIT_LIBEXEC": BUILD + "/libexec",
        }

    def node_bin(self):
        base = SRT + "/node_modules"
        return next((base + "/" + d + "/bin" for d in sorted(os.listdir(base)) if d.startswith("node-linux-")), "") if os.path.isdir(base) else ""

    def git(self, *args):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.test", *args], cwd=self.ws, check=True,
                       stdout=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin", "HOME": self.root})

    def make_clone(self):
        """As a Work's is made, by the provider of workspaces."""
        checkout, clone = self.root + "/checkout", self.ws
        self.ws = checkout  # where git() works
        os.mkdir(checkout)
        self.git("init", "-q", "-b", "main")
        put(checkout + "/file", "one\n", 0o644)
        self.git("add", "file")
        self.git("commit", "-q", "-m", "one")
        self.ws = clone
        os.rmdir(clone)
        provider = Provider({"PATH": "/usr/bin:/bin", "HOME": self.root})
        provider.ask("create", checkout=checkout, dir=clone, branch="main", base=None, author={"name": "t", "email": "t@example.test"})
        provider.end()

    def command(self, *args):
        return [BUILD + "/host/open-conduit", *args]

    def oc(self, *args, input=None, env=None, timeout=180, cwd=None, pass_fds=(), text=True):
        return subprocess.run(self.command(*args), cwd=cwd or self.ws, env={**self.env, **(env or {})},
                              input=input, text=text, stdin=None if input is not None else subprocess.DEVNULL,
                              capture_output=True, timeout=timeout, pass_fds=pass_fds)

    def base(self):
        return {"write": ["{workspace}"], "read": {"deny": [self.denied]}, "network": {"allow": []}}

    def wider(self):
        """One that lets what base() denies be read."""
        return {"write": ["{workspace}"], "read": {"allow": [self.denied]}}

    def policy(self, name="policy.json", **members):
        policy = {**self.base(), **members}
        return put(self.root + "/" + name, json.dumps(policy))

    def steps(self, policy, when, hook, command, clone=True, env=None, timeout=180, pass_fds=()):
        """One run by the API, the hook in between: (status, record).  What the command printed is in self.printed."""
        text = policy if policy == "-" else open(policy).read()
        args = [BUILD + "/tests/isolation/steps", self.state, self.ws, text, when, hook]
        p = subprocess.run(args + (["--clone"] if clone else []) + [*self.kind, "--", *command], cwd=self.ws, env={**self.env, **(env or {})},
                           text=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, pass_fds=pass_fds)
        self.printed = p.stderr
        lines = p.stdout.strip().splitlines()
        return p.returncode, json.loads(lines[-1]) if lines else {"raw": p.stderr, "status": p.returncode}

    def put_scripts(self):
        return [put(self.ws + "/" + name, open(HERE + "/" + name).read(), 0o644) for name in self.scripts]

    def runs(self):
        p = self.oc("runs", "list", "--json")
        return json.loads(p.stdout)

    def close(self):
        subprocess.run(["chmod", "-R", "u+rwX", self.root], stderr=subprocess.DEVNULL)
        shutil.rmtree(self.root, ignore_errors=True)


class Services:
    """What a host has that a run must not reach."""

    def __init__(self, world):
        self.world, self.hits, self.sockets = world, [], []
        self.port = self.listen(socket.AF_INET, ("127.0.0.1", 0))
        self.port6 = self.listen(socket.AF_INET6, ("::1", 0))
        self.port_any = self.listen(socket.AF_INET, ("0.0.0.0", 0))
        self.unix = world.home + "/service/service.sock"  # of its own directory, which can be hidden whole
        os.makedirs(os.path.dirname(self.unix), mode=0o700)
        self.listen(socket.AF_UNIX, self.unix)
        self.unix_tmp = tempfile.mktemp(prefix="oc-test-", suffix=".sock", dir="/tmp")
        self.listen(socket.AF_UNIX, self.unix_tmp)
        self.abstract = "oc-test-%d" % os.getpid()
        self.listen(socket.AF_UNIX, "\0" + self.abstract)
        self.datagram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.datagram.bind("\0" + self.abstract + "-dgram")
        self.sockets.append(self.datagram)
        # One that a policy may allow, and one (at two addresses) that none does: told apart by what they answer.
        self.http_ok = self.listen(socket.AF_INET, ("127.0.0.1", 0), self.answer_http("allowed"))
        self.http = self.listen(socket.AF_INET, ("127.0.0.1", 0), self.answer_http("denied"))
        self.http_any = self.listen(socket.AF_INET, ("0.0.0.0", 0), self.answer_http("denied"))
        self.datagrams = 0
        self.udp = self.listen_udp(socket.AF_INET, ("127.0.0.1", 0))
        self.fifo = world.home + "/fifo"
        os.mkfifo(self.fifo)
        self.fifo_fd = os.open(self.fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.victim = subprocess.Popen(["sleep", "1000"], cwd=world.outside, stdin=open(world.outside + "/secret"),
                                       env={"BATTERY_CANARY": "1", "PATH": "/usr/bin:/bin"})

    def listen(self, family, address, handler=None):
        s = socket.socket(family)
        s.bind(address)
        s.listen(64)
        self.sockets.append(s)
        threading.Thread(target=self.serve, args=(s, handler), daemon=True).start()
        return s.getsockname()[1] if family != socket.AF_UNIX else None

    def serve(self, s, handler):
        while True:
            try:
                c, _ = s.accept()
            except OSError:
                return
            self.hits.append(s.getsockname())
            threading.Thread(target=lambda c=c: (handler and handler(c), c.close()), daemon=True).start()

    @staticmethod
    def answer_http(name):
        reply = ("HTTP/1.1 200 OK\r\nX-Who: listener-%s\r\nContent-Length: 0\r\n\r\n" % name).encode()

        def answer(c):
            c.settimeout(3)
            try:
                while c.recv(65536):
                    c.sendall(reply)
            except OSError:
                pass
        return answer

    def listen_udp(self, family, address):
        s = socket.socket(family, socket.SOCK_DGRAM)
        s.bind(address)
        self.sockets.append(s)

        def serve():
            while True:
                try:
                    _, who = s.recvfrom(64)
                    self.datagrams += 1
                    s.sendto(b"pong", who)
                except OSError:
                    return
        threading.Thread(target=serve, daemon=True).start()
        return s.getsockname()[1]

    def close(self):
        self.victim.kill()
        self.victim.wait()
        for s in self.sockets:
            s.close()
        os.close(self.fifo_fd)
        for p in (self.unix_tmp,):
            if os.path.exists(p):
                os.unlink(p)

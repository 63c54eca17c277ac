# SPDX-License-Identifier: Apache-2.0
"""A state directory, a plan of the docker provider for a run in it, and its launch command, driven as the guard does."""
import http.client, json, os, shutil, socket, subprocess, sys, tempfile, time

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)) + "/../lib", os.path.dirname(os.path.abspath(__file__)) + "/../isolation"]
from provider import Provider

BUILD = os.environ.get("OC_BUILD", "")
HOST = os.environ.get("OC_DOCKER_HOST", "")
PROVIDER = os.environ.get("OC_TEST_PROVIDER", BUILD + "/libexec/providers/open-conduit-provider-docker")
GUEST = os.environ.get("OC_TEST_STUB_GUEST", BUILD + "/tests/docker/stub_guest")
DIGEST = "sha256:" + "5" * 64
WAIT = 120  # seconds: a machine under load takes many


class Engine(http.client.HTTPConnection):
    """Asked as the provider asks it, to see what is there."""

    def __init__(self, path=None):
        super().__init__("engine", timeout=WAIT)
        self.path = path or HOST[len("unix://"):]

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(WAIT)
        self.sock.connect(self.path)

    def ask(self, method, path, body=None):
        text = json.dumps(body) if body is not None else None
        self.request(method, path, text, {"Content-Type": "application/json"} if text else {})
        reply = self.getresponse()
        data = reply.read()
        return reply.status, json.loads(data) if data else None

    def labelled(self, name, value):
        """Ids of containers and networks that carry one of our labels."""
        filters = "?all=1&filters=" + json.dumps({"label": ["io.openconduit.%s=%s" % (name, value)]}).replace(" ", "").replace('"', "%22")
        return [o["Id"] for o in self.ask("GET", "/containers/json" + filters)[1] + self.ask("GET", "/networks" + filters)[1]]


class World:
    def __init__(self):
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="oc-docker-", dir=os.environ.get("OC_TEST_TMP")))
        self.state = self.root + "/state"
        self.ws = self.root + "/ws"
        self.home = self.root + "/home"
        for path in (self.state, self.home, self.ws, self.ws + "/.git/hooks", self.ws + "/.git/info", self.root + "/read"):
            os.makedirs(path, 0o700)
        for path, text in ((self.ws + "/.git/config", "[core]\n"), (self.root + "/read/file", "read me\n"), (self.root + "/secret", "no\n")):
            with open(path, "w") as f:
                f.write(text)
        self.n = 0

    def close(self):
        shutil.rmtree(self.root, ignore_errors=True)

    def run(self):
        self.n += 1
        run = "dockertest%06d%s" % (self.n, os.urandom(3).hex())
        for path in ("live/" + run, "live/" + run + "/cwd", "live/" + run + "/run", "live/" + run + "/run/tmp", "runs/" + run):
            os.makedirs(self.state + "/" + path, 0o700)
        return run

    def entry(self, path, rule):
        at = os.stat(path)
        return {"path": path, "rule": rule, "as": path, "dev": at.st_dev, "ino": at.st_ino, "dir": os.path.isdir(path)}

    def resolved(self, run, image, **over):
        write = [self.entry(self.ws, "write[0]"), self.entry(self.home, "{home}"),
                 {"path": self.state + "/live/" + run + "/run", "rule": "{run}", "as": "{run}", "dev": 0, "ino": 0, "dir": True}]
        read = [{"path": "/", "allow": False, "rule": "container", "as": "/", "exists": True, "dir": True}]
        read += [dict(e, allow=True, exists=True) for e in write + [self.entry(self.root + "/read", "read[0]")]]
        git = self.entry(self.ws + "/.git", "git")
        return {"home": self.root, "workspace": self.ws, "run_dir": self.state + "/live/" + run + "/run", "agent_home": self.home,
                "write": write, "read": read, "protected": [], "hidden": [], "sockets": [], "unix_sockets": "all", "tools": [],
                "readonly": [{"path": self.ws + "/.git/" + p, "what": "git"} for p in ("config", "hooks", "info")],
                "git": {"path": self.ws + "/.git", "mode": "clone", "dev": git["dev"], "ino": git["ino"]},
                "network": [{"entry": "example.com", "host": "example.com", "port": 0, "wildcard": False}],
                "image": image, "context": "default", "limits": {"nano_cpus": 0, "memory": 0, "pids": 64}, **over}

    def environment(self, **more):
        env = {"PATH": "/usr/bin:/bin", "HOME": self.root, "LANG": "C.UTF-8", "DOCKER_HOST": HOST,
               "OPEN_CONDUIT_GATEWAY_IMAGE": os.environ.get("OPEN_CONDUIT_GATEWAY_IMAGE", ""), **more}
        return {k: v for k, v in env.items() if v is not None}

    def plan(self, run, image, guest=GUEST, env=None, **over):
        """The reply to plan, or the refusal."""
        provider = Provider(PROVIDER, self.environment(**(env or {})))
        try:
            return provider.call("plan", {"run": run, "resolved": self.resolved(run, image, **over), "guest": guest,
                                          "live": self.state + "/live/" + run, "terminal": False})
        finally:
            provider.close()


class Launch:
    """The launch command of a plan, with the guard's descriptors."""

    def __init__(self, plan, digest=DIGEST, spec=None, command="argv"):
        self.plan = plan
        launch = plan["launch"]
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.channel.settimeout(WAIT)
        self.memory = os.memfd_create("plan")
        os.write(self.memory, (spec or launch["files"][0]["text"]).encode())
        env = dict(launch["env"])
        if digest:
            env["OPEN_CONDUIT_DIGEST"] = digest
        self.log = tempfile.TemporaryFile()
        os.makedirs(launch["cwd"], exist_ok=True)

        def descriptors():
            os.dup2(self.memory, 3)

        self.process = subprocess.Popen(launch[command], stdin=theirs, stdout=self.log, stderr=self.log, env=env, cwd=launch["cwd"],
                                        preexec_fn=descriptors, pass_fds=(3,))
        theirs.close()
        self.lines = self.channel.makefile("rwb", buffering=0)

    def say(self, line):
        self.lines.write(line.encode() + b"\n")
        return self.lines.readline().decode().rstrip("\n")

    def hello(self):
        return self.lines.readline().decode().rstrip("\n")

    def cat(self, path):
        n = int(self.say("cat " + path))
        data = b""
        while len(data) < n:
            data += self.lines.read(n - len(data))
        return data.decode()

    def text(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def refused(self):
        lines = [l[len("refused "):] for l in self.text().splitlines() if l.startswith("refused {")]
        return json.loads(lines[0]) if len(lines) == 1 else {"message": self.text()}

    def wait(self):
        status = self.process.wait(WAIT)
        return status

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.lines.close()
        self.channel.close()
        os.close(self.memory)
        self.log.close()


def cleanup(plan):
    c = Launch(plan, command="cleanup")
    status = c.wait()
    text = c.text()
    c.close()
    return status, text


def eventually(what, seconds=WAIT):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True

# SPDX-License-Identifier: Apache-2.0
"""A world with a checkout, a Messages API of our own and the real Claude Code ($OC_CLAUDE: its program), and bindings that
run it: confined by srt with and without unix sockets, and not confined."""
import json, os, re, shutil, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "isolation")]
from messages_stub import Stub  # noqa: E402
from world import BUILD, World, put  # noqa: E402

CLAUDE = os.environ.get("OC_CLAUDE", "")
KEY = "key-of-the-stub"
GIT = "git -c user.name=Agent -c user.email=agent@example.org commit -qm"


def wait_for(what, seconds, every=0.1):
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(every)
    return what()


class Claude(World):
    def __init__(self, **more):
        super().__init__(clone=False)
        self.checkout, self.cfg = self.home + "/web", self.home + "/sandboxed-claude"
        os.makedirs(self.cfg, mode=0o700)
        self.make_checkout()
        os.makedirs(self.home + "/bin")
        os.symlink(CLAUDE, self.home + "/bin/claude")
        self.env["PATH"] = self.home + "/bin:" + self.env["PATH"]
        self.env["API_KEY"] = KEY
        self.stub, self.bindings, self.operations = Stub(key=KEY), None, []
        self.configure(**more)

    def make_checkout(self):
        os.makedirs(self.checkout)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Op")
        self.git("config", "user.email", "op@example.org")
        put(self.checkout + "/file", "one\n", 0o644)
        self.git("add", ".")
        self.git("commit", "-qm", "one")

    def git(self, *args, check=True):
        p = subprocess.run(["git", *args], cwd=self.checkout, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "HOME": self.home})
        if check and p.returncode:
            raise RuntimeError("git %s: %s" % (args, p.stderr))
        return p.stdout.strip()

    def binding(self, name, policy=None, env=None, requires=None, **config):
        b = {"name": name, "executor": "claude-code", "requires": {"inject": True, "resume": True, "workspace": True, **(requires or {})},
             "operations": [], "secret_names": ["key"],
             "config": {"workspace_mode": "clone", "secret_env": {"key": "ANTHROPIC_API_KEY"}, "author": {"name": "Agent", "email": "agent@example.org"},
                        "env": {"CLAUDE_CONFIG_DIR": self.cfg, "ANTHROPIC_BASE_URL": self.stub.url, **(env or {})}, **config},
             "resource": {"provider": "git", "config": {"checkout": self.checkout, "mode": "clone"}}}
        if policy is not None:
            b["sandbox"] = {"provider": "srt", "config": policy}
        return b

    def sandbox(self, **more):
        return {"write": ["{workspace}", self.cfg], "network": {"allow": ["127.0.0.1:%d" % self.stub.port]}, **more}

    def configure(self, *more):
        bindings = self.bindings or [self.binding("none"), self.binding("boxed", self.sandbox()), self.binding("all", self.sandbox(unix_sockets="all"))]
        bindings = bindings + list(more)
        put(self.config + "/config.json", json.dumps({"version": 1, "settings": {}, "connections": [], "scopes": [
            {"id": "web", "name": "web", "secret_refs": {"key": "env:API_KEY"}, "authorization": {"connections": [], "operations": self.operations, "read_scopes": []},
             "extensions": [], "routes": [], "bindings": bindings}]}))

    def argv(self, binding, key, prompt, *flags):
        args = [BUILD + "/host/open-conduit", "run", "web/" + binding, "--input", json.dumps(prompt if isinstance(prompt, dict) else {"prompt": prompt}), *flags]
        return args + (["--work", key] if key else [])

    def run(self, binding, key, prompt="do it", *flags, env=None, timeout=240):
        p = subprocess.run(self.argv(binding, key, prompt, *flags), env={**self.env, **(env or {})}, stdin=subprocess.DEVNULL, capture_output=True,
                           text=True, timeout=timeout, cwd=self.home)
        return p

    def start(self, binding, key, prompt="do it", *flags, env=None):
        return subprocess.Popen(self.argv(binding, key, prompt, *flags), env={**self.env, **(env or {})}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.home)

    def work(self, key):
        p = self.oc("work", "show", key, "--json", cwd=self.home)
        return json.loads(p.stdout)["work"] if p.returncode == 0 else {"runs": [], "stderr": p.stderr}

    def record(self, run):
        return json.loads(self.oc("runs", "get", run, "--json", cwd=self.home).stdout)["run"]

    def last(self, key):
        runs = self.work(key)["runs"]
        return self.record(runs[0]["id"]) if runs else {}

    def noted(self, record):
        notes = [e["data"] for e in record.get("events", []) if e["type"] == "note:agent"]
        return notes[-1] if notes else {}

    def messages(self, key):
        return self.git("log", "--format=%s", "refs/open-conduit/%s/head" % self.work(key)["id"], check=False).splitlines()

    def processes(self):
        """Whatever of ours is alive: anything with our root in its command line, environment or directory."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if int(pid) == os.getpid():
                continue
            try:
                text = open("/proc/%s/cmdline" % pid, "rb").read() + open("/proc/%s/environ" % pid, "rb").read()
                cwd = os.readlink("/proc/%s/cwd" % pid)
            except OSError:
                continue
            if self.root.encode() in text or cwd.startswith(self.root):
                found.append((pid, open("/proc/%s/cmdline" % pid, "rb").read()[:200]))
        return found

    def close(self):
        self.stub.close()
        super().close()

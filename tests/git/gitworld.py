# SPDX-License-Identifier: Apache-2.0
"""What the tests of the workspace provider share: the provider spoken to over its socket, real git, fresh directories.

OC_BUILD is the build folder.  Everything is made below one temporary directory and gone afterwards."""
import json, os, shutil, socket, subprocess, sys, tempfile

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import finish, ok, skip  # noqa: E402, F401

BUILD = os.environ["OC_BUILD"]
PROVIDER = BUILD + "/libexec/providers/open-conduit-provider-git"


class Refused(Exception):
    def __init__(self, data):
        super().__init__("%s: %s" % (data.get("reason"), data.get("message")))
        self.reason, self.subject = data.get("reason"), data.get("subject")
        self.message, self.fix = data.get("message"), data.get("fix")


class Provider:
    """One process of the provider, as a host starts it."""

    def __init__(self, env, path=PROVIDER):
        ours, theirs = socket.socketpair()
        self.p = subprocess.Popen([path], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=env, start_new_session=True)
        theirs.close()
        self.s = ours.makefile("rwb")
        ours.close()
        self.id = 0
        self.hello = self.ask("initialize", protocol=1, host="0.1.0")

    def ask(self, method, **params):
        """The result; Refused; or None when the provider ended instead."""
        self.id += 1
        try:
            self.s.write(json.dumps({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}).encode() + b"\n")
            self.s.flush()
            line = self.s.readline()
        except OSError:
            line = b""
        if not line:
            return None
        message = json.loads(line)
        if "error" in message:
            raise Refused(message["error"].get("data", {"reason": None, "message": message["error"].get("message")}))
        return message["result"]

    def end(self):
        try:
            self.s.close()
        except OSError:
            pass
        try:
            status = self.p.wait(20)
        except subprocess.TimeoutExpired:
            self.p.kill()
            status = "does not end"
        self.log = self.p.stderr.read().decode(errors="replace")
        self.p.stderr.close()
        return status


class GitWorld:
    def __init__(self, where=None):
        if os.geteuid() == 0:
            sys.exit("these tests run as an ordinary user")
        where = where or os.environ.get("OC_TEST_TMP") or os.path.expanduser("~")
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="o", dir=where))
        self.home = self.root + "/h"  # short: sockets beneath it have to fit
        os.mkdir(self.home, 0o700)
        self.env = {"PATH": "/usr/bin:/bin", "HOME": self.home, "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
        self.write(self.home + "/.gitconfig", "[user]\n\tname = Owner\n\temail = owner@example.test\n[init]\n\tdefaultBranch = main\n"
                   "[protocol \"file\"]\n\tallow = always\n")
        self.works = 0

    @staticmethod
    def write(path, text="", mode=0o644):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb" if isinstance(text, bytes) else "w") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def git(self, cwd, *args, check=True, env=None, input=None):
        """What real git prints, stripped; with check=False the whole result."""
        p = subprocess.run(["git", *args], cwd=cwd, env={**self.env, **(env or {})}, capture_output=True, text=input is None or isinstance(input, str), input=input)
        if not check:
            return p
        if p.returncode:
            raise RuntimeError("git %s: %s" % (" ".join(args), p.stderr))
        return p.stdout.strip()

    def commit(self, repo, name, text, message=None):
        self.write(repo + "/" + name, text)
        self.git(repo, "add", "--", name)
        self.git(repo, "commit", "-q", "-m", message or name)
        return self.git(repo, "rev-parse", "HEAD")

    def checkout(self, name="checkout", origin="https://git.example.test/acme/web.git"):
        """A checkout with two commits, a branch and tags."""
        repo = self.root + "/" + name
        self.git(self.root, "init", "-q", repo)
        self.commit(repo, "one", "one\n")
        self.git(repo, "tag", "light")
        self.git(repo, "branch", "other")
        self.commit(repo, "dir/two", "two\n")
        self.git(repo, "tag", "-a", "-m", "annotated", "v1")
        if origin:
            self.git(repo, "remote", "add", "origin", origin)
        return repo

    def work(self):
        """A Work's directory, as the host makes it."""
        self.works += 1
        path = self.root + "/works/w%d" % self.works
        os.makedirs(path, 0o700)
        return path

    def ask(self, method, env=None, **params):
        provider = Provider({**self.env, **(env or {})})
        try:
            return provider.ask(method, **params)
        finally:
            self.status = provider.end()
            self.log = provider.log

    def create(self, checkout, dir=None, branch="agent/1", base=None, author=None, env=None):
        self.dir = dir or self.work() + "/workspace"
        return self.ask("create", env=env, checkout=checkout, dir=self.dir, branch=branch, base=base, author=author)

    def refused(self, *args, **more):
        """The refusal of a create, or None."""
        try:
            self.create(*args, **more)
        except Refused as refusal:
            return refusal
        return None

    def close(self):
        subprocess.run(["chmod", "-R", "u+rwX", self.root], stderr=subprocess.DEVNULL)
        shutil.rmtree(self.root, ignore_errors=True)

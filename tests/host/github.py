# SPDX-License-Identifier: Apache-2.0
"""git as the bot, and the toolbelt's operations on GitHub: bindings without a sandbox and under srt, real git over HTTPS to the fake
GitHub, a real MCP client's calls.  What a run gets is good for its one repository and until it ends, and is nowhere written."""
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "github"), os.path.join(HERE, "..", "lib")]
from forge import Forge  # noqa: E402
from tap import finish, ok  # noqa: E402
from world import BUILD, World  # noqa: E402

HOST, BOT = os.path.join(BUILD, "host", "open-conduit"), "my-app[bot] <987654321+my-app[bot]@users.noreply.127.0.0.1>"

JOB = r"""
exec 2>&1
cd "$PWD"
git fetch -q origin && echo FETCHED
echo "$1" >work.txt && git add work.txt && git commit -qm "work $1" && git push -q origin HEAD && echo PUSHED
git log -1 --format='AUTHOR %an <%ae>%nCOMMITTER %cn <%ce>'
git push -q "$2/acme/other.git" HEAD:refs/heads/x && echo LEAKED-OTHER
git push -q "http://${2#https://}/acme/web.git" HEAD:refs/heads/x && echo LEAKED-HTTP
git push -q "https://127.0.0.1:$3/acme/web.git" HEAD:refs/heads/x && echo LEAKED-PORT
printf '[submodule "s"]\n\tpath = s\n\turl = %s/acme/other.git\n' "$2" >.gitmodules
git -c protocol.file.allow=always submodule add -q "$2/acme/other.git" s2 && echo LEAKED-SUBMODULE
"""

TALK = r"""
import json, subprocess, sys, os
p = subprocess.Popen([sys.argv[1], "mcp", os.environ["OPEN_CONDUIT_TOOLBELT"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def ask(i, method, params):
    p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": i, "method": method, "params": params}) + "\n"); p.stdin.flush()
    while True:
        line = json.loads(p.stdout.readline())
        if line.get("id") == i:
            return line.get("result", line)
ask(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
p.stdin.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n"); p.stdin.flush()
print("TOOLS", json.dumps(sorted(t["name"] for t in ask(2, "tools/list", {})["tools"])), flush=True)
for i, (name, arguments) in enumerate(json.loads(sys.argv[2])):
    print("CALL", json.dumps(ask(3 + i, "tools/call", {"name": name, "arguments": arguments})), flush=True)
"""


def git(where, *args, **more):
    return subprocess.run(("git", "-C", where) + args, check=args[0] != "log", capture_output=True, text=True, **more).stdout


class GitHubHost(World):
    def __init__(self):
        super().__init__()
        self.f = self.fake(kind=Forge, root=self.path("repos"))
        self.f.issues[7] = {"title": "It breaks", "body": "b", "labels": [], "comments": []}
        self.base = "https://127.0.0.1:%d" % self.f.port
        self.checkout, self.config = self.path("web"), self.path("config", "open-conduit")
        os.makedirs(self.config)
        for name in ("web", "other"):
            os.makedirs(self.path("repos", "acme"), exist_ok=True)
            git(self.dir, "init", "-q", "--bare", "-b", "main", self.path("repos", "acme", name + ".git"))
        git(self.dir, "init", "-q", "-b", "main", self.checkout)
        git(self.checkout, "config", "user.name", "Op")
        git(self.checkout, "config", "user.email", "op@example.org")
        git(self.checkout, "commit", "-q", "--allow-empty", "-m", "first")
        git(self.checkout, "push", "-q", self.path("repos", "acme", "web.git"), "main")
        git(self.checkout, "remote", "add", "origin", self.base + "/acme/web.git")
        git(self.checkout, "update-ref", "refs/remotes/origin/main", "main")
        for name, text in (("job.sh", JOB), ("talk.py", TALK)):
            with open(self.path(name), "w") as file:
                file.write(text)
        os.chmod(self.path("app.pem"), 0o600)
        self.env = self.environment(XDG_CONFIG_HOME=self.path("config"), XDG_STATE_HOME=self.path("s"), PATH=os.environ["PATH"])

    def configure(self, command, operations=("@github.workspace", "@github.author"), sandbox=False, key="app.pem", personal=False):
        binding = {"name": "job", "executor": "shell", "connection": "gh", "operations": list(operations),
                   "config": {"command": command, "branch": "agent/issue-{number}", "env": {"GIT_SSL_CAINFO": self.ca}},
                   "resource": {"provider": "git", "config": {"checkout": self.checkout, "mode": "clone"}}}
        if sandbox:
            binding["sandbox"] = {"provider": "srt", "config": {"write": ["{workspace}"], "network": {"allow": ["127.0.0.1:%d" % self.f.port]},
                                                                "sockets": ["{toolbelt}"], "unix_sockets": "all"}}
        doc = {"version": 1, "connections": [{"id": "gh", "type": "github", "config": {"auth": "app", "app_id": "123456", "base_url": self.base, "git": "bot",
                                                                                    "bot": {"app_id": "123456"}},
                                              "secret_refs": {"app_private_key": "file:" + self.path("app.pem"), "bot_private_key": "file:" + self.path(key)}}],
               "scopes": [{"id": "web", "authorization": {"connections": ["gh"], "operations": ["@github.workspace", "@github.author"]},
                           "extensions": [{"name": "web", "type": "github", "connection": "gh",
                                           "config": {"namespace": "github/x/acme/web", "scope": "web", "repo": "acme/web"}}],
                           "bindings": [binding]}]}
        if personal:
            doc["connections"][0].update(config={"auth": "token", "base_url": self.base}, secret_refs={"token": "env:MY_OWN"})
            doc["scopes"][0]["secret_refs"] = {"GH_TOKEN": "env:MY_OWN"}
            binding.update(secret_names=["GH_TOKEN"], operations=[])
        with open(os.path.join(self.config, "config.json"), "w") as file:
            json.dump(doc, file)

    def host(self, *args, timeout=100):
        return subprocess.run((HOST,) + args, env=self.env, capture_output=True, text=True, timeout=timeout, cwd=self.dir)

    def turn(self, key="k", number=7):
        return self.host("run", "web/job", "--work", key, "--input", json.dumps({"number": number}))

    def written(self, needle):
        """Files of the state with these bytes."""
        return subprocess.run(["grep", "-rlaF", needle, self.path("s")], capture_output=True, text=True).stdout.split()


def pushes(w, name, sandbox):
    branch = "agent/issue-%d" % (8 if sandbox else 7)
    w.configure(["sh", w.path("job.sh"), name, w.base, str(w.f.port + 1)], sandbox=sandbox)
    r = w.turn(name, 8 if sandbox else 7)
    said = r.stdout + r.stderr
    ok("FETCHED" in said and "PUSHED" in said, "%s: git fetch and git push sign in by themselves" % name, said)
    ok("AUTHOR " + BOT in said and "COMMITTER " + BOT in said, "%s: commits carry the bot's name" % name, said)
    ok(git(w.path("repos", "acme", "web.git"), "log", "-1", "--format=%an", branch).strip() == "my-app[bot]", "%s: GitHub has them" % name, said)
    ok("LEAKED" not in said, "%s: no other repository, port, protocol or submodule is signed in to" % name, said)
    sent = [q for q in w.f.requests("", r"other\.git|git-receive-pack") if "authorization" in q["headers"] and "/acme/other" in q["path"]]
    ok(not sent, "%s: and none got a token to look at" % name, sent[:1])
    minted = [json.loads(q["body"]) for q in w.f.requests("POST", "access_tokens")]
    wanted = {"repositories": ["web"], "permissions": {"contents": "write"}}
    ok(minted and wanted in minted and len([m for m in minted if m == wanted]) == (2 if sandbox else 1), "%s: one token for the run, for the one repository" % name, minted)
    ok(not w.f.alive() and w.f.tokens, "%s: at the end GitHub has none that is good" % name, said)
    runs = json.loads(w.host("runs", "list", "--json").stdout)["runs"]
    record = w.host("runs", "get", runs[0]["id"], "--json").stdout
    ok(not any(w.written(t) or t in record or t in said for t in w.f.tokens), "%s: its value is in no file, record or output" % name)
    ok(w.written(runs[0]["id"]) and '"revoked"' in record, "control: the run's id is in files, and its record has the token's end", record[-800:])


def operations(w):
    calls = [["github.issue.get", {}], ["github.issue.comment", {"body": "hello"}], ["github.pull.create", {"title": "Mend it"}], ["github.pull.get", {}],
             ["github.issue.get", {"number": 8}]]
    guest = os.path.join(BUILD, "libexec", "open-conduit-guest")
    w.configure(["/usr/bin/python3", w.path("talk.py"), guest, json.dumps(calls)])
    r = w.turn("ops")
    answers = [json.loads(x[5:]) for x in r.stdout.splitlines() if x.startswith("CALL ")]
    tools = next((json.loads(x[6:]) for x in r.stdout.splitlines() if x.startswith("TOOLS ")), [])
    ok("github.pull.create" in tools and "github.git.credential" not in tools, "the tools are those of the binding, git's own not among them", r.stdout + r.stderr)
    texts = [a.get("structuredContent") or a for a in answers]
    ok(len(texts) == 5 and texts[0].get("title") == "It breaks" and w.f.issues[7]["comments"] == ["hello"], "an agent reads the Work's issue and comments on it", r.stdout + r.stderr)
    ok(w.f.pulls and w.f.pulls[0]["head"]["ref"] == "agent/issue-7" and texts[3].get("number") == 100, "opens the pull request of the Work's branch, and reads it", texts[2:4])
    ok(len(answers) == 5 and answers[4] != answers[0] and "structuredContent" not in answers[4], "another issue can't even be named", answers[4:])


def seen_in_processes(needles, until):
    """Which of these bytes stand in an argument or a variable of any process of ours while something happens; and the words seen."""
    found, words = set(), set()
    while not until():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            for name in ("cmdline", "environ"):
                try:
                    with open("/proc/%s/%s" % (pid, name), "rb") as file:
                        data = file.read()
                except OSError:
                    continue
                words.update(x for x in (b"open-conduit-github", b"credential") if x in data)
                found.update(n for n in needles() if n.encode() in data)
        time.sleep(0.02)
    return found, words


def slow(w):
    """A mint that takes its time, and what can be seen of it."""
    w.configure(["sh", w.path("job.sh"), "slow", w.base, "1"])
    w.f.faults = [{"method": "POST", "path": "access_tokens", "times": 1, "delay": 2}]
    p = subprocess.Popen([HOST, "run", "web/job", "--work", "slow", "--input", '{"number": 12}'], env=w.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, cwd=w.dir)
    key = w.key.splitlines()[3]
    found, words = seen_in_processes(lambda: [key] + list(w.f.tokens), lambda: p.poll() is not None)
    said = p.stdout.read()
    ok("PUSHED" in said and not found, "while it is made neither key nor token is in an argument or a variable of any process", (found, said))
    ok(words == {b"open-conduit-github", b"credential"}, "control: the processes were seen", words)
    ok(not w.written(key), "the key is in no file of the state")


def together(w):
    """Two that want to sign in while nothing is made yet."""
    w.configure(["sh", "-c", "for i in 1 2 3; do (git ls-remote -q origin main && echo HEARD) & done; wait"])
    w.f.faults = [{"method": "POST", "path": "access_tokens", "times": 1, "delay": 2}]
    before = len(w.f.requests("POST", "access_tokens"))
    r = w.turn("together", 13)
    ok(r.stdout.count("HEARD") == 3, "three questions at once are all answered", r.stdout + r.stderr)
    made = [json.loads(q["body"])["permissions"] for q in w.f.requests("POST", "access_tokens")[before:]]
    ok(made.count({"contents": "write"}) == 1 and not w.f.alive(), "by one token, which is made once", made)


def by_hand(w):
    """A personal token is the run's to read, and git's for that host; it is nobody's to revoke."""
    own = "github_pat_" + "y" * 30
    w.f.personal(own, ["acme/web"])
    w.env["MY_OWN"] = own
    w.configure(["sh", w.path("job.sh"), "hand", w.base, str(w.f.port + 1)], sandbox=True, personal=True)
    made = len(w.f.requests("POST", "access_tokens"))
    r = w.turn("hand", 14)
    said = r.stdout + r.stderr
    ok("FETCHED" in said and "PUSHED" in said and "LEAKED" not in said, "a personal token: git signs in with it, at that host and by https alone", said)
    ok(len(w.f.requests("POST", "access_tokens")) == made and w.f.alive() == [own], "nothing is made beside it, and it stays", w.f.alive())
    ok(not w.written(own) and own not in said, "it is in no file of the state")
    with w.f.lock:
        del w.f.tokens[own]


def refusals(w):
    w.configure(["sh", w.path("job.sh"), "none", w.base, "1"], operations=["@github.author"])
    start = time.monotonic()
    r = w.turn("none", 9)
    said = r.stdout + r.stderr
    ok("PUSHED" not in said and "github.git.credential" in said and time.monotonic() - start < 60, "without the operation git fails, and says which", said)
    w.configure(["true"], key="other.pem")
    os.chmod(w.path("other.pem"), 0o600)
    r = w.turn("wrong", 10)
    ok(r.returncode == 125 and "github_denied" in r.stderr and "fix" in r.stderr, "a bot that GitHub doesn't know: nothing runs", r.stderr)
    r = w.host("doctor", "--json")
    github = json.loads(r.stdout)["github"]
    ok(len(github) == 1 and not github[0]["ok"] and any(c["fix"] for c in github[0]["checks"]), "doctor: the key is none of the App's, with a fix", github)
    w.configure(["true"])
    github = json.loads(w.host("doctor", "--json").stdout)["github"]
    ok(github[0]["ok"] and github[0]["repository"] == "acme/web" and len(github[0]["checks"]) >= 5, "control: with the right one all is well", github)


def unreachable(w):
    """The run ends, and GitHub can't be told: tried again at the next settling."""
    w.configure(["sh", w.path("job.sh"), "late", w.base, "1"])
    w.f.faults = [{"method": "DELETE", "path": "/installation/token", "times": 99, "status": 503}]
    r = w.turn("late", 11)
    alive = len(w.f.alive())
    ok("PUSHED" in r.stdout and alive == 1 and "not revoked" in r.stderr, "a token that can't be revoked yet: said, and the commits are saved", r.stdout + r.stderr)
    w.f.faults = []
    r = w.host("work", "settle")
    ok(r.returncode == 0 and not w.f.alive(), "settled again: revoked", r.stderr)


w = GitHubHost()
try:
    pushes(w, "plain", False)
    pushes(w, "sandbox", True)
    operations(w)
    slow(w)
    together(w)
    by_hand(w)
    refusals(w)
    unreachable(w)
finally:
    w.close()
finish()

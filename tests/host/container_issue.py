# SPDX-License-Identifier: Apache-2.0
"""The page's container binding from an issue's label to the pull request: the daemon finds the issue and makes the Work, the real
Claude Code works on it in a container, pushes, and opens the pull request in the bot's name; a comment that somebody writes
meanwhile reaches the turn that runs.  A network that this test is alone in (tests/stages/58-container-github.sh)."""
import json, os, signal, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "isolation")]
from boxworld import Boxes  # noqa: E402
from githubworld import ADDRESSES, GITHUB, MESSAGES, REPO, Hosts, carried, every_token_revoked, files_with, given, in_no_record, told_of_tokens  # noqa: E402
from messages_stub import Stub  # noqa: E402
from routeworld import Handler, Issues, fake_github  # noqa: E402
from serveworld import Served, finish, ok, put, wait_for  # noqa: E402
from work import head  # noqa: E402

KEY = "sk-ant-api-canary-of-a-key"
BOT = "my-app[bot] <987654321+my-app[bot]@users.noreply.%s>" % GITHUB
WORK = "issue-7"
COMMENT = "please mention the second floor as well"
LONG = "touch waiting; n=0; while [ ! -e go ] && [ $n -lt 500 ]; do n=$((n + 1)); sleep 0.2; done; rm -f waiting go; echo waited"
SCRIPT = (
    {"tool": "Bash", "input": {"command": "echo lift > lift && git add lift && git commit -qm 'the lift works' && git push -q origin HEAD && env | sort > ../home/environment; echo pushed",
                               "description": "push"}},
    {"tool": "mcp__open-conduit__github_pull_create", "input": {"title": "The lift works", "body": "Closes #7"}},
    {"tool": "Bash", "input": {"command": LONG, "description": "wait", "timeout": 120000}},
    {"text": "the issue is done"})


class Pulls(Issues):
    """And pull requests, from branches that were pushed."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.pulls, self.answers = [], []

    def places(self):
        return super().places() + [(r"/repos/acme/web/pulls", "GET", self.get_pulls), (r"/repos/acme/web/pulls", "POST", self.post_pull)]

    def may_pull(self, auth):
        t = self.bearer(auth)
        if t["permissions"].get("pull_requests") != "write" or t["repos"] != [REPO]:
            raise fake_github.Http(403, "Resource not accessible by integration")

    def get_pulls(self, m, auth, _):
        self.may_pull(auth)
        return 200, [p for p in self.pulls if "acme:" + p["head"]["ref"] == self.query["head"]]

    def post_pull(self, m, auth, raw):
        self.may_pull(auth)
        asked = json.loads(raw)
        tips = [subprocess.run(["git", "--git-dir", "%s/%s.git" % (self.root, REPO), "rev-parse", "-q", "--verify", "refs/heads/" + asked[side]], capture_output=True, text=True).stdout.strip()
                for side in ("head", "base")]
        if not all(tips) or tips[0] == tips[1]:
            raise fake_github.Http(422, "Validation Failed")
        repo, number = self.repo_object(REPO), 100 + len(self.pulls)
        self.pulls.append({"number": number, "title": asked["title"], "body": asked.get("body"), "state": "open", "draft": False, "html_url": "https://%s/%s/pull/%d" % (GITHUB, REPO, number),
                           "user": fake_github.user_object(self.slug + "[bot]", fake_github.BOT_ID, "Bot"), "head": {"ref": asked["head"], "sha": tips[0], "repo": repo},
                           "base": {"ref": asked["base"], "sha": tips[1], "repo": repo}})
        return 201, self.pulls[-1]


class World(Hosts, Served, Boxes):
    def __init__(self):
        super().__init__()
        fake_github.Handler = Handler
        self.hosts(Pulls)
        self.elsewhere.answers = []
        self.elsewhere.asked = self.github.asked
        self.env["OPEN_CONDUIT_POLL_MS"] = "2000"
        with open(self.tls + "/both", "w") as f:
            f.write(open(self.tls + "/srv.key").read() + open(self.tls + "/srv.pem").read())
        self.stub = Stub(SCRIPT, KEY, 443, None, ADDRESSES[MESSAGES], self.tls + "/both")
        self.env["MY_TOKEN"] = KEY
        self.connect(self.base, self.agent(), routes=[{"name": "issues", "handler": "github", "binding": "agent", "active_policy": "inject", "config": {}}])

    def agent(self, *_, **__):
        """The page's, with a test's values."""
        return {"name": "agent", "executor": "claude-code", "connection": "github", "operations": ["@github.author", "@github.workspace"], "secret_names": ["token"],
                "requires": {"toolbelt": "mcp", "inject": True, "resume": True, "workspace": True},
                "config": {"playbook": "work-issue", "branch": "agent/issue-{number}", "workspace_mode": "clone", "secret_env": {"token": "ANTHROPIC_API_KEY"}, "home_seed": self.seed,
                           "env": {"ANTHROPIC_BASE_URL": "https://" + MESSAGES, "NODE_EXTRA_CA_CERTS": getattr(self, "ca", ""), "GIT_SSL_CAINFO": getattr(self, "ca", ""),
                                   "CLAUDE_CODE_MAX_RETRIES": "0"}},
                "resource": {"provider": "git", "config": {"checkout": self.checkout, "mode": "clone"}},
                "container": {"provider": "docker", "config": {
                    "image": os.environ["OC_IMAGE_CLAUDE"], "write": ["{workspace}"], "read": [self.home + "/ca"], "network": {"allow": [MESSAGES, GITHUB]},
                    "limits": {"cpus": 1, "memory": "2g", "pids": 512}, "provider": {"context": "default"}}}}

    def told(self):
        """What the API was told in the last request of the agent's turns."""
        return json.dumps(self.stub.requests[-1]["messages"]) if self.stub.requests else ""


def ready(w):
    p = w.oc("config", "check", cwd=w.home)
    ok(p.returncode == 0, "the page's container binding with its route loads", p.stdout + p.stderr)
    p = w.oc("doctor", "--binding", "web/agent", cwd=w.home, timeout=300)
    ok(p.returncode == 0 and REPO in p.stdout, "doctor: its container, its App, its repository", p.stdout + p.stderr)


def begun(w):
    """The issue is found, and its Work's agent is at it."""
    w.github.issue(6, "Not for an agent", "leave it", labels=["bug"])
    w.github.issue(7, "The lift is broken", "It stops between floors.", labels=["bug"])
    w.serve()
    ok(wait_for(lambda: w.github.requests("GET", "/issues"), 60), "the daemon asks for issues", w.said()[-800:])
    ok(w.work(WORK)["state"] == "(none)", "control: without the label there is no Work")
    w.github.change(7, labels=["bug", "agent"])
    at_it = wait_for(lambda: os.path.exists(w.work(WORK).get("workspace", "/none") + "/waiting"), 240)
    if not ok(at_it, "the labelled issue becomes a Work, and its agent is at it", (w.said()[-1500:], w.work(WORK), w.told()[-1500:])):
        return False
    ok(w.work(WORK)["branch"] == "agent/issue-7" and w.work("issue-6")["state"] == "(none)", "on the issue's branch; the other issue has none", w.work(WORK))
    first = json.dumps(w.stub.requests[0]["messages"])
    ok("The lift is broken" in first and "It stops between floors." in first, "its prompt has the issue", first[-800:])
    return True


def pushed(w):
    ok(w.bare("log", "--format=%s", "agent/issue-7").splitlines() == ["the lift works", "one"], "its branch is pushed", w.told()[-800:])
    ok(w.bare("log", "-1", "--format=%an <%ae>%n%cn <%ce>", "agent/issue-7").splitlines() == [BOT] * 2, "its commit is the bot's", w.bare("log", "-1", "--format=%an <%ae>", "agent/issue-7"))
    pulls = w.github.pulls
    ok([(p["head"]["ref"], p["base"]["ref"], p["title"], p["user"]["login"]) for p in pulls] == [("agent/issue-7", "main", "The lift works", "my-app[bot]")], "its pull request is open, by the bot's name",
       (pulls, w.told()[-1500:]))


def spoken_to(w):
    """A comment reaches the turn that runs."""
    asked = len(w.stub.requests)
    w.github.comment(7, COMMENT, "alice")
    told = wait_for(lambda: "is given to the agent" in w.said(), 60)
    ok(told and len(w.stub.requests) == asked and COMMENT not in w.told(), "a comment on the issue is given to the turn that runs", w.said()[-800:])
    put(w.work(WORK)["workspace"] + "/go", "")
    ok(wait_for(lambda: COMMENT in w.told(), 60) and "alice" in w.told() and len(w.work(WORK)["runs"]) == 1, "and is in its next request, with who wrote it", w.told()[-800:])


def of_git(w):
    """The server's facts of tokens by which git may push."""
    return [t for t in given(w.github).values() if t["permissions"].get("contents") == "write"]


def ended(w):
    run = w.work(WORK)["runs"][0]["id"]
    ok(w.ended([run], 120), "the turn ends", (w.state_of(run), w.said()[-800:]))
    wait_for(lambda: not w.work(WORK)["unsaved"] and all(t["revoked"] for t in of_git(w)), 60)
    work, record = w.work(WORK), w.run_record(run)
    notes = [e["data"] for e in record["events"] if e["type"] == "note:agent"]
    ok(notes and notes[-1]["outcome"] == "done" and record["exit"]["status"] == 0, "well", (notes, record["exit"]))
    ok("the lift works" in w.messages(head(work)) and not work["unsaved"], "and all is saved back", w.messages(head(work)))
    ok(len(of_git(w)) == 1 and of_git(w)[0]["revoked"], "the one token of its git is revoked", of_git(w))
    record = w.run_record(run)
    tokens = record["tokens"]
    ok(len(tokens) == 1 and all(t["state"] == "revoked" and t["created"] and t["ended"] for t in tokens), "the record has the tokens of its git, made and revoked", tokens)
    ok(told_of_tokens(w, run) == 1, "and so has its text", w.oc("runs", "get", run, cwd=w.home).stdout[:2500])
    ok([(c["name"], c["outcome"]) for c in record["calls"] if c["name"] != "github.git.credential"] == [("github.pull.create", "done")], "and the call", record["calls"])
    values = list(given(w.github)) + [KEY]
    in_no_record(w, values, [run], "ended")
    there = [f for f in files_with(values, w.state, w.checkout) if not f.endswith("/home/environment")]
    ok(not there, "no token and no key is in a file", there)
    environment = w.home_of(WORK) + "/environment"
    ok(files_with(KEY, w.home_of(WORK)) == [environment] and not files_with(values[:-1], w.home_of(WORK)), "control: but where the agent wrote its environment, which has no token",
       files_with(KEY, w.home_of(WORK)))
    wrong = [p for t in given(w.github) for p in carried(w.fakes, t) if p[0] != GITHUB]
    ok(not wrong and not w.stub.problems, "a token was sent to its host alone; the Messages API would have taken every request", (wrong, w.stub.problems[:2]))


def main():
    w = World()
    ready(w)
    try:
        if begun(w):
            pushed(w)
            spoken_to(w)
            ended(w)
    finally:
        w.kill(signal.SIGTERM)
    wait_for(lambda: not w.github.alive(), 30)  # what is asked for the daemon outlives it
    every_token_revoked(w.github, "over")
    p = w.oc("work", "finish", WORK, cwd=w.home)
    ok(p.returncode == 0, "the Work is finished", p.stderr)
    ok(not w.objects(), "nothing is left in the engine", [o["Name"] for o in w.objects()])
    w.close()
    finish()


main()

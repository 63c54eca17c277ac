# SPDX-License-Identifier: Apache-2.0
"""git in containers, over HTTPS to a GitHub of our own through the gateway, by tokens that the run's toolbelt gives it: what it
may do, what it may not, what is left of it when its run is over, and where a token is never seen.  A network that this test is
alone in, with its names (tests/stages/58-container-github.sh)."""
import base64, http.client, json, os, ssl, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "isolation")]
from boxworld import Boxes  # noqa: E402
from githubworld import (ELSEWHERE, GITHUB, OTHER, REPO, Hosts, Watch, carried, every_token_revoked, files_with, given, in_no_record, shown,  # noqa: E402
                         told_of_tokens)
from terminal import Terminal  # noqa: E402
from work import wait_for  # noqa: E402
from world import BUILD, finish, ok, put  # noqa: E402

BASE = "https://" + GITHUB
BOT = "my-app[bot] <987654321+my-app[bot]@users.noreply.%s>" % GITHUB
FILL = "printf 'protocol=https\\nhost=%s\\npath=%s.git\\n\\n' | git credential fill | sed -n s/^password=//p" % (GITHUB, REPO)
# Each tried on its own: a line with its name, status and seconds, then what it said.
TRY = "try() { local n=$1 b=$(date +%s) s=0; shift; timeout 60 \"$@\" >said 2>&1 </dev/null || s=$?; echo \"== $n $s $(($(date +%s) - b))\"; cat said; rm said; }; "
PUSH = "echo %s > %s; git add %s; git commit -qm %s; "


class World(Hosts, Boxes):
    def __init__(self):
        super().__init__()
        self.hosts()
        self.connect(BASE, self.job("git"), self.job("without", operations=[]), self.person())

    def job(self, name, **more):
        config = {"branch": "agent/{name}", "env": {"GIT_SSL_CAINFO": self.ca}}
        b = self.box(name, {"read": [self.home + "/ca"], "network": {"allow": [GITHUB, ELSEWHERE]}}, connection="github", config=config,
                     **{"operations": ["@github.workspace"], **more})
        del b["config"]["author"]
        return b

    def person(self):
        """Its claude is a stand-in, whom a person can tell what to run."""
        b = self.agent("person", {"read": [self.home + "/bin", self.home + "/ca"], "network": {"allow": ["gateway.invalid", GITHUB]}}, connection="github", operations=["@github.workspace", "run.policy"])
        b["config"]["env"]["GIT_SSL_CAINFO"] = self.ca
        return b

    def begin(self, do, key, binding="git"):
        return subprocess.Popen(self.command("run", "web/" + binding, "--work", key, "--input", json.dumps({"name": key, "do": do})), cwd=self.home, env={**self.env, "MY_TOKEN": "x"},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def asks(token, path="/%s.git/info/refs?service=git-receive-pack" % REPO, ca=None):
    """How the server takes this token, by one request of its own."""
    c = http.client.HTTPSConnection(GITHUB, context=ssl.create_default_context(cafile=ca), timeout=30)
    c.request("GET", path, headers={"Authorization": "Basic " + base64.b64encode(b"x-access-token:" + token.encode()).decode(), "User-Agent": "the test"})
    status = c.getresponse().status
    c.close()
    return status


def inspected(w):
    objects = w.objects()
    return json.dumps(objects), len(objects)


def tries(text):
    """{name: (status, seconds, what it said)} of what TRY printed."""
    found = {}
    for part in text.split("== ")[1:]:
        line, _, rest = part.partition("\n")
        name, status, seconds = line.split()
        found[name] = (int(status), int(seconds), rest)
    return found


def everyday(w):
    """clone, fetch, pushes small and large; while the token is made, which takes its time, and while it lives, it is nowhere else."""
    w.github.faults = [{"method": "POST", "path": "access_tokens$", "delay": 3}]
    do = ("git fetch -q origin; git clone -q %s/%s.git $HOME/clone; git -C $HOME/clone log --format=%%s > cloned; " % (BASE, REPO) + PUSH % ("a", "a", "a", "small") +
          "git push -q origin HEAD; head -c 5000000 /dev/urandom > big; git add big; git commit -qm large; git push -q origin HEAD; "
          + FILL + " > kept; echo \"told $(cat kept)\"; touch started; n=0; while [ ! -e go ] && [ $n -lt 600 ]; do n=$((n + 1)); sleep 0.2; done; "
          "git push -q origin HEAD:refs/heads/again; rm started go")
    with Watch() as watch:
        p = w.begin(do, "one")
        began = wait_for(lambda: os.path.exists(w.work("one").get("workspace", "/none") + "/started") or p.poll() is not None, 180) and p.poll() is None
        if not ok(began, "everyday: clone, fetch, a small push and one of 5 MB", p.poll() is not None and p.communicate()):
            return None
        work, made = w.work("one"), list(given(w.github))
        text, n = inspected(w)
        put(work["workspace"] + "/go", "")
        out, err = p.communicate(timeout=120)
    kept = open(work["workspace"] + "/kept").read().strip()
    ok(p.returncode == 0 and made == [kept], "everyday: by one token, made once for all of it", (p.returncode, err, len(made)))
    facts = given(w.github)[kept]
    ok(facts["repos"] == [REPO] and facts["permissions"] == {"contents": "write", "metadata": "read"}, "everyday: for that repository and its contents alone", facts)
    ok(w.bare("log", "--format=%s", "agent/one").split() == ["large", "small", "one"] and w.bare("rev-parse", "again") == w.bare("rev-parse", "agent/one") and
       open(work["workspace"] + "/cloned").read() == "one\n", "everyday: it is all there", w.bare("log", "--format=%s", "--all"))
    names = w.bare("log", "-2", "--format=%an <%ae>%n%cn <%ce>", "agent/one").splitlines()
    ok(names == [BOT] * 4, "everyday: its commits are the bot's", names)
    ok(n == 2 and w.root in text and kept not in text, "everyday: no token in what the engine shows of its container and its gateway", n)
    ok(not watch.saw(kept) and watch.saw("open-conduit-github") and watch.saw(work["id"]), "everyday: nor in any argument or environment while it was made and lived")
    ok("[secret token]" in out and kept not in out + err, "everyday: nor in the output, where the agent printed it", out)
    there = files_with(kept, w.state, w.checkout, but=(work["workspace"] + "/kept",))
    ok(not there and files_with(kept, w.state) == [work["workspace"] + "/kept"], "everyday: nor in any file but the one that the agent wrote, which is found", there)
    return kept


def over(w, kept):
    """The run is over: its token is nobody's."""
    asked = [shown(r) for r in w.github.requests("DELETE", "/installation/token$")]
    ok(asked == [kept], "over: the token was revoked by itself, once", len(asked))
    every_token_revoked(w.github, "over")
    ok(asks(kept, ca=w.ca) == 401, "over: who kept it is told 401")
    run = w.work("one")["runs"][0]["id"]
    tokens = w.run_record(run)["tokens"]
    ok([t["state"] for t in tokens] == ["revoked"] and told_of_tokens(w, run) == 1, "over: the record has it by its id, made and revoked, and so has its text", tokens)
    in_no_record(w, [kept], [r["id"] for r in w.work("one")["runs"]], "over")


CURL = "printf 'user = \"x-access-token:%%s\"\\n' \"$(cat %s)\" | curl -sS -o /dev/null -w '%%{http_code}\\n' --cacert \"$GIT_SSL_CAINFO\" -K - '%s/%s.git/info/refs?service=git-receive-pack'; "


def another_run(w, kept):
    """What one run kept is of no use to the next, nor to another Work's; its own is."""
    p = w.turn(CURL % ("kept", BASE, REPO) + FILL + " > mine; " + CURL % ("mine", BASE, REPO) + "rm mine", "one", "git")
    ok(p.stdout.split() == ["401", "200"], "another run: the token of the last one is refused, its own is taken", (p.stdout, p.stderr))
    theirs = put(w.home + "/ca/theirs", kept)  # in its sight
    p = w.turn(CURL % (theirs, BASE, REPO) + PUSH % ("b", "b", "b", "b") + "git push -q origin HEAD", "two", "git")
    ok(p.returncode == 0 and p.stdout.split() == ["401"] and w.bare("log", "-1", "--format=%s", "agent/two") == "b", "another run: another Work's too, which pushes by its own", (p.stdout, p.stderr))
    ok(len(given(w.github)) == 3, "another run: each has a token of its own", len(given(w.github)))
    every_token_revoked(w.github, "another run")
    os.unlink(theirs)
    os.unlink(w.work("one")["workspace"] + "/kept")


def refused(w):
    """Other repositories, hosts, ways and names: git fails within seconds, with words, and no token is ever sent there."""
    redirect = {"status": 302, "headers": {"Location": "https://%s/%s.git/info/refs?service=git-receive-pack" % (ELSEWHERE, REPO)}, "path": "moved.git/info/refs"}
    w.github.faults = [redirect]
    targets = (("other", BASE, OTHER), ("host", "https://" + ELSEWHERE, REPO), ("http", "http://" + GITHUB, REPO), ("httphost", "http://" + ELSEWHERE, REPO),
               ("user", "https://somebody@" + GITHUB, REPO), ("moved", BASE, "acme/moved"), ("encoded", BASE, "acme/web/..%2fother"))
    do = TRY + "git push -q origin HEAD; " + PUSH % ("c", "c", "c", "c") + "".join("try %s git push %s/%s.git HEAD; " % t for t in targets)
    do += "try submodule git submodule add %s/%s.git sub; try control git push origin HEAD; git status --porcelain" % (BASE, OTHER)
    before = {name: len(fake.requests()) for name, fake in w.fakes.items()}
    p = w.turn(do, "three", "git")
    said = tries(p.stdout)
    ok(said.get("control", (1,))[0] == 0 and w.bare("log", "-1", "--format=%s", "agent/three") == "c", "refused: control: its own repository takes it", (p.stdout, p.stderr))
    for name in [t[0] for t in targets] + ["submodule"]:
        status, seconds, words = said.get(name, (0, 99, p.stderr))
        ok(status not in (0, 124) and seconds < 20 and words.strip(), "refused: %s, within seconds" % name, (status, seconds, words))
    ok(not w.bare("for-each-ref", "refs/heads/agent", full=OTHER), "refused: nothing came to the other repository", w.bare("for-each-ref", full=OTHER))
    new = w.elsewhere.requests()[before[ELSEWHERE]:]
    ok(len(new) >= 2 and not any(shown(r) for r in new), "refused: the other host was asked, and was told nothing", [(r["method"], r["path"]) for r in new])
    other = [r for r in w.github.requests()[before[GITHUB]:] if r["path"].startswith("/acme/") and not r["path"].startswith("/%s.git/" % REPO)]
    ok(len(other) >= 3 and not any(shown(r) for r in other), "refused: so it was for the other repository", [(r["path"], shown(r)[:8]) for r in other])
    heard = {name: d.heard for name, d in w.plain.items()}
    ok(all(b"GET /acme" in h and b"uthorization" not in h for h in heard.values()), "refused: and without TLS", heard)


def nowhere_else(w):
    """Over all that this world did: who was shown a token, and for what."""
    for token in given(w.github):
        places = carried(w.fakes, token)
        wrong = [p for p in places if p[0] != GITHUB or not (" /%s.git/" % REPO in p[1] or p[1] == "DELETE /api/v3/installation/token")]
        ok(places and not wrong, "a token was sent to its host alone, and for its repository", wrong)
    ok(not any(token.encode() in d.heard for d in w.plain.values() for token in given(w.github)), "and never without TLS")
    there = files_with(list(given(w.github)), w.state, w.checkout)
    ok(not there, "no token is in a file when all is over", there)


def without(w):
    n = len(given(w.github))
    p = w.turn(TRY + PUSH % ("d", "d", "d", "d") + "try push git push origin HEAD", "four", "without")
    status, seconds, words = tries(p.stdout).get("push", (0, 99, p.stderr))
    ok(status not in (0, 124) and seconds < 15 and "github.git.credential" in words and "@github.workspace" in words, "without the operation: git push fails within seconds, and names it", (status, seconds, words))
    ok(len(given(w.github)) == n, "without the operation: nothing was made for it")


def attach(w):
    p = w.turn("", "five", "person", prompt="begin")
    if not ok(p.returncode == 0, "attach: a turn before", p.stderr):
        return
    t = Terminal([BUILD + "/host/open-conduit", "work", "attach", "five"], {**w.env, "MY_TOKEN": "canary-of-a-token", "TERM": "xterm"}, cwd=w.home)
    try:
        ok(t.until(b"SESSION") and t.until(b"\n"), "attach: it is open", t.shown)
        t.type(b"git push origin HEAD; echo ended=$?\r")
        ok(t.until(b"ended=1", 30) and b"attach" in t.seen.split(b"ended=$?")[-1], "attach: git has no credential there, and it says why", t.seen)
        t.type(b"/exit\r")
        t.wait(120)
    finally:
        t.close()


def main():
    w = World()
    kept = everyday(w)
    if kept:
        over(w, kept)
        another_run(w, kept)
    refused(w)
    without(w)
    attach(w)
    nowhere_else(w)
    for key in ("one", "two", "three", "four", "five"):
        p = w.oc("work", "finish", key)
        ok(p.returncode == 0, "the Work %s is finished" % key, p.stderr)
    ok(not w.objects(), "nothing is left in the engine", [o["Name"] for o in w.objects()])
    w.close()
    finish()


main()

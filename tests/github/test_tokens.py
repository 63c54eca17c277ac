#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens from the request to the end of their run: open-conduit-github mint and revoke with real runs, real guards and a fake GitHub,
whose own list says what could still be used.  Killed at each point; the run over in between; the guard gone."""
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from world import BUILD, REPO, Prism, World, finish, reason
from tap import finish as end, ok

MINT, END = "/access_tokens$", "/installation/token$"
HOST = os.path.join(BUILD, "host", "open-conduit")
w = World()
ROWS = []


def row(f):
    ROWS.append(f)
    return f


class Run:
    """A run with its guard, which waits until it is to end."""

    starting = threading.Lock()

    def __init__(self):
        with Run.starting:
            self.end = w.path("here", "end-%d" % len(known))
            wait = "echo begun; until [ -e %s ]; do sleep 0.1; done" % self.end
            self.process = subprocess.Popen([HOST, "exec", "-v", "--unsandboxed", "--", "sh", "-c", wait], cwd=w.path("here"), env=w.environment(),
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            begun = self.process.stdout.readline()
            if begun != "begun\n":
                raise RuntimeError("no run: " + self.process.stderr.read())
            runs = [r["id"] for r in json.loads(host("runs", "list", "--json"))["runs"] if r["state"] == "running"]
            self.id = next(r for r in runs if r not in known)
            known.add(self.id)

    def stop(self):
        """It ends without a host, which would revoke what it had."""
        self.process.kill()
        self.process.communicate(timeout=60)
        open(self.end, "w").close()
        until = time.time() + 60
        while not os.path.exists(w.path("state", "open-conduit", "runs", self.id, "exit.json")):
            if time.time() > until:
                raise RuntimeError("the run does not end")
            time.sleep(0.05)
        return self

    def guard(self):
        """The process that has the run's lock."""
        told = subprocess.run(["pgrep", "-f", "open-conduit-guard.*" + self.id], capture_output=True, text=True).stdout.split()
        return int(told[0]) if told else 0

    def mint(self, fake, **more):
        return w.ask(fake, "mint", run=self.id, **more)

    def revoke(self, **env):
        return finish(w.begin({"op": "revoke", "run": self.id}, **env))

    def tokens(self):
        db = sqlite3.connect("file:%s?mode=ro" % w.path("state", "open-conduit", "state.db"), uri=True, timeout=30)
        try:
            return {i: {"state": s, "detail": d, "about": json.loads(a)} for i, s, d, a in
                    db.execute("SELECT id, state, detail, about FROM tokens WHERE run = ? ORDER BY created_ms, rowid", (self.id,))}
        finally:
            db.close()

    def states(self):
        return sorted(t["state"] for t in self.tokens().values())


known = set()


def host(*args):
    return subprocess.run([HOST] + list(args), env=w.environment(), cwd=w.path("here"), capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout


def found(value):
    """Files of the state that hold these bytes."""
    out = []
    for where, _, names in os.walk(w.path("state")):
        for name in names:
            try:
                with open(os.path.join(where, name), "rb") as f:
                    if value.encode() in f.read():
                        out.append(name)
            except OSError:
                pass
    return out


@row
def life():
    fake, run = w.fake(), Run()
    told = run.mint(fake)
    id, value = told["answer"].get("token"), next(iter(fake.tokens), "none")
    asked = [json.loads(r["body"]) for r in fake.requests("POST", MINT)]
    ok(id and asked == [{"repositories": ["web"], "permissions": {"contents": "write"}}], "mint: for the one repository, with contents alone", (told, asked))
    ok(abs(told["answer"].get("expires", 0) / 1000 - time.time() - 3600) < 60, "mint: when it expires", told)
    ok(run.tokens()[id]["state"] == "made" and run.tokens()[id]["about"] == {"service": "github", "api": w.api(fake), "repository": REPO, "app": "123456"},
       "mint: on the record", run.tokens())
    ok(not found(value) and value not in json.dumps(told), "mint: its value is in no file of the state, nor in the answer", found(value))
    ok(found(id), "control: its id is")
    early = run.revoke()
    ok([t["id"] for t in early["answer"].get("left", [])] == [id] and fake.alive(), "revoke: not while the run lives", early)
    run.stop()
    told = run.revoke()
    ok(told["answer"] == {"revoked": [id], "left": []} and not fake.alive() and run.states() == ["revoked"], "revoke: GitHub says it is over, and so does the record",
       (told, run.tokens()))
    again = run.revoke()
    ok(again["answer"] == {"revoked": [], "left": []} and len(fake.requests("DELETE", END)) == 1, "revoke: once", again)
    ok(not found(value), "revoke: its value is in no file after", found(value))
    late = run.mint(fake)
    ok(reason(late) == "run_over" and len(fake.tokens) == 1, "mint: none for a run that is over", late)


@row
def over_meanwhile():
    fake, run = w.fake(), Run()
    fake.faults = [{"method": "POST", "path": MINT, "delay": 4}]
    question = {"op": "mint", "api": w.api(fake), "repository": REPO, "auth": w.auth(), "run": run.id}
    p = w.begin(question)
    until = time.monotonic() + 30
    while not fake.requests("POST", MINT) and time.monotonic() < until:
        time.sleep(0.05)
    run.stop()
    told = finish(p)
    ok(reason(told) == "run_over" and len(fake.tokens) == 1 and not fake.alive(), "the run ends while GitHub makes a token: revoked at once", told)
    ok(run.states() == ["revoked"], "… and recorded so", run.tokens())


@row
def host_gone():
    """Who asked is gone before there is an answer: what was begun comes to its end."""
    fake, run = w.fake(), Run()
    fake.faults = [{"method": "POST", "path": MINT, "delay": 2}]
    p = w.begin({"op": "mint", "api": w.api(fake), "repository": REPO, "auth": w.auth(), "run": run.id})
    p.stdout.close()
    p.stderr.close()
    ok(p.wait(60) == 1 and run.states() == ["made"], "nobody listens any more: the token is with the guard, and on the record", (p.returncode, run.tokens()))
    run.stop()
    ok(len(run.revoke()["answer"].get("revoked", [])) == 1 and not fake.alive(), "nobody listens any more: revoked at the run's end")


@row
def lost():
    fake, run = w.fake(), Run()
    fake.faults = [{"method": "POST", "path": MINT, "lose": "reset", "times": 1}]
    told = run.mint(fake)
    ok(told["answer"].get("token") and len(fake.tokens) == 2 and run.states() == ["asked", "made"], "a lost answer: another token, and both on the record", run.tokens())
    run.stop()
    told = run.revoke()
    left = told["answer"].get("left", [])
    ok(len(told["answer"].get("revoked", [])) == 1 and len(fake.alive()) == 1 and len(left) == 1, "a lost answer: what is known is revoked", told)
    ok(left and "expires by itself at 20" in left[0]["why"] and abs(left[0]["expires"] / 1000 - time.time() - 3600) < 180, "a lost answer: until when the other may live", left)
    fake, run = w.fake(), Run()
    fake.faults = [{"method": "POST", "path": MINT, "status": 502, "times": 99}]
    told = run.mint(fake)
    ok(reason(told) == "github_unavailable" and len(fake.requests("POST", MINT)) == 3 and run.states() == ["asked"] * 3,
       "502 for ever: three requests, each on the record", (told, run.tokens()))
    run.stop()


@row
def none_made():
    fake, run = w.fake(), Run()
    rows = (("a limit", "rate_limited", {"status": 429, "headers": {"Retry-After": 3600}}),
            ("a permission", "github_denied", {"status": 422, "body": {"message": "The permissions requested are not granted to this installation."}}),
            ("a repository", "github_denied", {"status": 422, "body": {"message": "There is at least one repository that does not exist or is not "
                                                                                   "accessible to the parent installation."}}),
            ("an installation that is gone", "github_denied", {"status": 404, "body": {"message": "Not Found"}}),
            ("a suspension", "github_denied", {"status": 403, "body": {"message": "This installation has been suspended"}}),
            ("a redirect", "github_answer", {"status": 307, "headers": {"Location": w.api(fake) + "/x"}}))
    for name, want, fault in rows:
        before = len(run.tokens())
        fake.faults = [{"method": "POST", "path": MINT, "times": 9, **fault}]
        told = run.mint(fake)
        last = list(run.tokens().values())[before:]
        ok(reason(told) == want and told["answer"]["error"]["fix"] and [t["state"] for t in last] == ["never"] and last[0]["detail"],
           "no token for %s: %s, and the record says none was made" % (name, want), (told, last))
    ok(not fake.tokens, "control: none was made")
    run.stop()


@row
def not_as_asked():
    fake, run = w.fake(), Run()
    fake.scope = {"permissions": {"contents": "write", "metadata": "read", "issues": "write"}}
    told = run.mint(fake)
    ok(reason(told) == "github_answer" and not fake.alive() and run.states() == ["revoked"], "a token for more than was asked: revoked, refused, recorded", (told, run.tokens()))
    run.stop()


@row
def personal():
    run = Run()
    told = run.mint(w.fake(), auth={"token": "github_pat_x"})
    ok(reason(told) == "github_denied" and not run.tokens(), "a personal token makes none", told)
    run.stop()


# ---- killed ----


def killed(point, op, *args, **more):
    told = op(*args, **more)
    ok(told["status"] == -signal.SIGKILL, "killed at %s" % point, told)


@row
def killed_minting():
    want = {"github:minting": (["asked"], 0, 0), "github:minted": (["asked"], 1, 0), "github:deposited": (["made"], 1, 1)}
    for point, (states, at_github, revoked) in want.items():
        fake, run = w.fake(), Run()
        killed(point, run.mint, fake, env={"OPEN_CONDUIT_FAULT": point})
        ok(run.states() == states and len(fake.alive()) == at_github, "killed at %s: the record knows of it" % point, run.tokens())
        run.stop()
        told = run.revoke()
        ok(len(told["answer"].get("revoked", [])) == revoked and len(fake.alive()) == at_github - revoked,
           "killed at %s: %s" % (point, "revoked at the run's end" if revoked else "nobody has its value"), told)
        left = told["answer"].get("left", [])
        ok(revoked or ("expires by itself" in left[0]["why"] and left[0]["id"] in run.tokens()), "killed at %s: nothing is left without a word" % point, told)


@row
def killed_revoking():
    for point in ("github:revoking", "github:revoked"):
        fake, run = w.fake(), Run()
        run.mint(fake)
        run.stop()
        killed(point, run.revoke, OPEN_CONDUIT_FAULT=point)
        ok(run.states() == ["made"] and len(fake.alive()) == (point == "github:revoking"), "killed at %s: the record says it isn't known to be over" % point, run.tokens())
        told = run.revoke()
        ok(len(told["answer"].get("revoked", [])) == 1 and not fake.alive() and run.states() == ["revoked"], "killed at %s: revoked the next time" % point, (told, run.tokens()))


@row
def unreachable():
    fake, run = w.fake(), Run()
    id = run.mint(fake)["answer"].get("token")
    run.stop()
    fake.faults = [{"method": "DELETE", "path": END, "status": 503, "times": 5}]
    told = run.revoke()
    left = told["answer"].get("left", [])
    ok([t["id"] for t in left] == [id] and "503" in left[0]["why"] and "503" in (run.tokens()[id]["detail"] or "") and fake.alive(),
       "GitHub can't: left, and the record says why", (told, run.tokens()))
    told = run.revoke()
    ok(told["answer"].get("revoked") == [id] and not fake.alive() and not run.tokens()[id]["detail"], "GitHub can: revoked the next time", (told, run.tokens()))


@row
def gone_already():
    fake, run = w.fake(), Run()
    run.mint(fake)
    run.stop()
    for token in fake.tokens.values():
        token["revoked"] = True
    told = run.revoke()
    ok(len(told["answer"].get("revoked", [])) == 1 and run.states() == ["revoked"], "a token that is over already counts as revoked", told)


@row
def guard_gone():
    fake, run = w.fake(), Run()
    fake.ttl = 20
    id = run.mint(fake)["answer"].get("token")
    pid = run.guard()
    if ok(pid > 1 and id, "the run has a guard", pid):
        os.kill(pid, signal.SIGKILL)
    run.process.communicate(timeout=60)
    host("runs", "list")  # settles it
    told = run.revoke()
    left = told["answer"].get("left", [])
    ok([t["id"] for t in left] == [id] and "guard that held it is gone: it expires by itself at 20" in left[0]["why"] and fake.alive(), "the guard is gone: until when the token lives", told)
    ok(run.tokens()[id]["state"] == "made" and run.tokens()[id]["detail"] == left[0]["why"], "the guard is gone: on the record", run.tokens())
    while fake.alive():
        time.sleep(1)
    time.sleep(2)
    told = run.revoke()
    ok(told["answer"] == {"revoked": [], "left": []} and run.states() == ["expired"], "the guard is gone: expired in time", (told, run.tokens()))


@row
def described():
    plain, run = w.fake(tls=False), Run()
    prism = Prism(w, plain, os.path.join(os.environ["OC_NPM"], "github", "node_modules"))
    try:
        told = w.ask(None, "mint", api="https://127.0.0.1:%d" % prism.port, run=run.id)
        ok(told["answer"].get("token") and len(plain.alive()) == 1, "by GitHub's description: a token", told)
        run.stop()
        told = run.revoke()
        ok(len(told["answer"].get("revoked", [])) == 1 and not plain.alive(), "by GitHub's description: its end", told)
        ok(not prism.violations(), "by GitHub's description: nothing breaks it", prism.violations())
    finally:
        prism.stop()


def run_row(f):
    try:
        f()
    except Exception as e:  # one row's trouble is that row's
        ok(False, f.__name__ + ": runs to its end", repr(e))


os.mkdir(w.path("here"))
try:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run_row, [f for f in ROWS if not sys.argv[1:] or f.__name__ in sys.argv[1:]]))
finally:
    for one in known:
        host("runs", "stop", one)
    w.close()
end()

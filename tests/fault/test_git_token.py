#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens of runs whose ends are not as they should be: in the middle of one being made; the host killed while it is, before it
is recorded, and between the run's end and the revocation; the daemon killed; the guard too.  By the server's own list each that
it handed out is revoked by the next command about Works, as long as the guard or the process that made it lives; else the
record says until when it is good.  A GitHub of our own on loopback, and git of runs that nothing confines, or srt."""
import glob, json, os, signal, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "host"), os.path.join(HERE, "..", "isolation")]
from faults import guard_of, wait_for  # noqa: E402
from githubworld import REPO, GitHub, files_with, given, in_no_record  # noqa: E402
from serveworld import Served, finish, ok  # noqa: E402

PUSH = "echo {k} > {k}; git add {k}; git commit -qm {k}; touch started; git push -q origin HEAD; touch pushed; "
WAIT = "n=0; while [ ! -e go ] && [ $n -lt 300 ]; do n=$((n + 1)); sleep 0.2; done"
FILL = "printf 'protocol=https\\nhost=%s\\npath=%s.git\\n\\n' | git credential fill | sed -n s/^password=//p"
BOT = "my-app[bot] <987654321+my-app[bot]@users.noreply.127.0.0.1>"


class World(GitHub, Served):
    def __init__(self):
        super().__init__()
        self.prepare(["DNS:localhost", "IP:127.0.0.1"])
        self.github = self.fake("127.0.0.1", 0)
        self.address = "127.0.0.1:%d" % self.github.port
        self.base = "https://" + self.address
        self.origin(self.base)
        more = {"connection": "github", "operations": ["@github.workspace"]}
        policy = {"write": ["{workspace}"], "sockets": ["{toolbelt}"], "network": {"allow": [self.address]}}
        bindings = [self.binding("job", branch="agent/{name}", config={"env": {"GIT_SSL_CAINFO": self.ca}}, **more),
                    self.binding("boxed", branch="agent/{name}", sandbox=policy, config={"env": {"GIT_SSL_CAINFO": self.ca}}, **more)]
        for b in bindings:
            del b["config"]["author"]
        self.connect(self.base, *bindings)

    def begin(self, key, do=None, fault=None, binding="job", flags=()):
        argv = self.command("run", "web/" + binding, "--work", key, "--input", json.dumps({"name": key, "do": (do or PUSH + WAIT).replace("{k}", key)}), *flags)
        return subprocess.Popen(argv, cwd=self.home, env={**self.env, **({"OPEN_CONDUIT_FAULT": fault} if fault else {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    # Where things are, without asking a command, which would settle what it is to find.
    def has(self, key, name):
        return bool(glob.glob("%s/works/%s-*/workspace/%s" % (self.state, key, name)))

    def go(self, key):
        open(glob.glob("%s/works/%s-*/workspace" % (self.state, key))[0] + "/go", "w").close()

    def mints(self):
        return len(self.github.requests("POST", "access_tokens$"))

    def slow(self, seconds, times=1):
        self.github.faults = [{"method": "POST", "path": "access_tokens$", "delay": seconds, "times": times}]

    def run_of(self, key):
        """Its first."""
        return min(r["created"] + " " + r["id"] for r in self.runs()["runs"] if (r["work"] or "").startswith(key + "-")).split()[-1]

    def over(self, key):
        return os.path.exists("%s/runs/%s/exit.json" % (self.state, self.run_of(key)))

    def settle(self, *args, **more):
        return self.oc("work", "settle", *args, cwd=self.home, **more)

    def tokens(self, key):
        return self.run_record(self.run_of(key))["tokens"]


class Case:
    """Tokens that the server hands out from here on, and what has become of them."""

    def __init__(self, w, name, key):
        self.w, self.name, self.key, self.before, self.mints = w, name, key, set(given(w.github)), w.mints()

    def ok(self, good, what, detail=""):
        return ok(good, "%s: %s" % (self.name, what), detail)

    def new(self):
        return {t: f for t, f in given(self.w.github).items() if t not in self.before}

    def asked(self, p=None):
        """The server has been asked for one."""
        return wait_for(lambda: self.w.mints() > self.mints or (p and p.poll() is not None), 60) and self.w.mints() > self.mints

    def settled(self, handed=1):
        """By one command: all is revoked, by the server's list, the record says so, and the Work is free."""
        w = self.w
        self.ok(len(self.new()) == handed, "control: the server handed out %d" % handed, len(self.new()))
        p = w.settle()
        self.ok(p.returncode == 0 and all(f["revoked"] for f in self.new().values()), "the next command revokes each that the server handed out",
                (p.returncode, p.stderr, [f["revoked"] for f in self.new().values()], w.tokens(self.key)))
        self.recorded()

    def recorded(self):
        w, states = self.w, [t["state"] for t in self.w.tokens(self.key)]
        self.ok(states and all(s in ("revoked", "never", "expired") for s in states) and states.count("revoked") == len(self.new()), "the record says so", w.tokens(self.key))
        self.free()

    def free(self):
        w = self.w
        p = w.oc("run", "web/job", "--work", self.key, "--no-wait", "--input", json.dumps({"name": self.key, "do": "true"}), cwd=w.home)
        self.ok(p.returncode == 0, "the Work is free", p.stderr)


def well(w, binding):
    """Nothing happens: the control of all that follows."""
    c = Case(w, "%s: all is well" % binding, "well-" + binding)
    p = w.begin(c.key, PUSH + "git fetch -q; " + FILL % (w.address, REPO) + " > kept; git log -1 --format='%an <%ae>'", binding=binding)
    out, err = p.communicate(timeout=120)
    c.ok(p.returncode == 0 and w.bare("log", "-1", "--format=%s", "agent/" + c.key) == c.key and out.strip() == BOT, "a push in the bot's name", (out, err))
    c.ok(len(c.new()) == 1 and all(f["revoked"] for f in c.new().values()), "its one token is revoked when the run is over", c.new())
    kept = w.work(c.key)["workspace"] + "/kept"
    if c.new() and os.path.exists(kept):
        token = next(iter(c.new()))
        c.ok(files_with(token, w.state) == [kept], "a token is in no file but where the agent wrote it", files_with(token, w.state))
        in_no_record(w, [token], [w.run_of(c.key)], c.name)
        os.unlink(kept)
    c.recorded()


def stopped_in_a_mint(w):
    c = Case(w, "the run ends in the middle of a mint", "mid")
    w.slow(4)
    p = w.begin(c.key)
    c.ok(c.asked(p), "one is being made")
    stop = w.oc("runs", "stop", "--grace", "100ms", w.run_of(c.key))
    c.ok(stop.returncode == 0 and not c.new(), "control: it was stopped before there was one", (stop.stderr, c.new()))
    p.communicate(timeout=60)
    wait_for(c.new, 15)
    wait_for(lambda: all(f["revoked"] for f in c.new().values()), 10)
    c.ok(not w.has(c.key, "pushed"), "control: the push came to nothing")
    c.settled()


def ended(w, keys):
    """What has no host any more is ended by its guard."""
    return wait_for(lambda: all(w.over(k) for k in keys), 60, 0.3)


def hosts_killed(w):
    """While one is made; when it is with the guard and not recorded; when all of it is done."""
    cases = []
    for name, key, fault in (("the host is killed while one is made", "host-mint", None), ("the host is killed when the push is done", "host-done", None)):
        c = Case(w, name, key)
        w.slow(2 if key == "host-mint" else 0)
        p = w.begin(key, fault=fault)
        good = c.asked(p) and (key == "host-mint" or wait_for(lambda: w.has(key, "pushed"), 30))
        early = not c.new()
        p.send_signal(signal.SIGKILL)
        c.ok(good and early == (key == "host-mint"), "control: it was", (good, early))
        p.communicate(timeout=30)
        wait_for(c.new, 15)
        cases.append((c, set(c.new())))
    c, _ = cases[0]
    ok(ended(w, [x.key for x, _ in cases]), "hosts killed: their guards end the runs")
    made = given(w.github)
    ok(len(made) and not made[next(iter(cases[1][1]))]["revoked"], "hosts killed: control: nobody has revoked it yet")
    for c, own in cases:
        c.new = lambda own=own: {t: f for t, f in given(w.github).items() if t in own}
        c.settled()


# Where its maker is killed: what is recorded then, and whether the guard has it.
POINTS = (("token:asked", "asked", None), ("github:minted", "asked", False), ("token:deposited", "asked", True), ("token:recorded", "made", True), ("github:deposited", "made", True))


def makers_killed(w):
    """The process that makes one is killed, and the host with it: what the guard has is revoked, recorded or not; what nobody has
    expires, and the record says when."""
    cases, handed = [], set(given(w.github))
    for point, state, held in POINTS:
        c = Case(w, "its maker is killed at %s, and the host" % point, point.replace(":", "-"))
        w.slow(0)
        p = w.begin(c.key, "git push -q origin HEAD || touch failed; " + WAIT, fault=point)
        c.ok(wait_for(lambda: w.has(c.key, "failed"), 60), "git says that there is none", c.new())
        p.send_signal(signal.SIGKILL)
        p.communicate(timeout=30)
        c.own, c.held = set(c.new()), held
        c.ok(len(c.own) == (held is not None) and [t["state"] for t in w.tokens(c.key)] == [state], "control: what there is so far", (len(c.own), w.tokens(c.key)))
        cases.append(c)
    ended(w, [c.key for c in cases])
    made = {t: f["revoked"] for t, f in given(w.github).items() if t not in handed}
    ok(made and not any(made.values()), "makers killed: control: nobody has revoked anything yet", list(made.values()))
    p = w.settle()
    for c in cases:
        c.new = lambda own=c.own: {t: f for t, f in given(w.github).items() if t in own}
        if c.held:
            c.settled()
            continue
        token = w.tokens(c.key)[0]
        c.ok(token["ended"] is None and token["expires"] > time.strftime("%Y-%m-%dT%H:%M", time.gmtime(time.time() + 3000)) and "expires" in (token["detail"] or ""),
             "nobody has it: the record says when it expires at the latest", token)
        c.ok(p.returncode == 0 and not any(f["revoked"] for f in c.new().values()), "control: nobody could revoke it, and nobody tries again", p.stderr)
        c.free()


def between(w):
    """The host is killed between the run's end and the revocation; and the command that revokes, at each of its steps."""
    for n, revoker in enumerate(("github:revoking", "github:revoked", "token:ended")):
        c = Case(w, "the host is killed before it revokes, and whoever does next at " + revoker, "ended%d" % n)
        w.slow(0)
        p = w.begin(c.key, PUSH, fault="host:ended")
        p.communicate(timeout=60)
        c.ok(p.returncode == -signal.SIGKILL and c.new() and not any(f["revoked"] for f in c.new().values()), "control: it was, with a token that lives", (p.returncode, c.new()))
        p = w.settle(env={"OPEN_CONDUIT_FAULT": revoker})
        done = [f["revoked"] for f in c.new().values()]
        c.ok(p.returncode == 1 and done == [revoker != "github:revoking"], "control: it was there, and that it was killed is said", (p.stderr, done, w.tokens(c.key)))
        c.settled()


def daemons_killed(w):
    """The daemon, in the middle of one being made, and when it has been used; another takes the run up, or a command settles it."""
    cases = []
    for name, key in (("the daemon is killed while one is made", "serve-mint"), ("the daemon is killed when the push is done", "serve-done")):
        c = Case(w, name, key)
        w.slow(2 if key == "serve-mint" else 0)
        w.serve()
        p, run = w.submit(PUSH.replace("{k}", key) + ("sleep 4" if key == "serve-mint" else WAIT), key)
        good = p.returncode == 0 and c.asked() and (key == "serve-mint" or wait_for(lambda: w.has(key, "pushed"), 30))
        w.kill()
        c.ok(good, "control: it was", (p.stderr, w.said()[-500:]))
        cases.append((c, run))
        if key == "serve-done":
            w.go(key)
        wait_for(c.new, 15)
        c.own = set(c.new())
    ok(wait_for(lambda: all(w.over(c.key) for c, _ in cases), 90), "daemons killed: their runs end")
    for c, _ in cases:
        c.new = lambda own=c.own: {t: f for t, f in given(w.github).items() if t in own}
        c.settled()


def adopted(w):
    """A daemon that takes up a run revokes what one before it had made."""
    c = Case(w, "a daemon that adopts the run", "adopted")
    w.slow(0)
    w.serve()
    p, run = w.submit((PUSH + WAIT).replace("{k}", c.key), c.key)
    ready = p.returncode == 0 and wait_for(lambda: w.has(c.key, "pushed"), 60)
    w.kill()
    w.serve()
    c.ok(ready and wait_for(lambda: w.status().get("adopted") == 1, 30) and not any(f["revoked"] for f in c.new().values()), "control: it did, and the token lives", (p.stderr, w.said()[-500:]))
    w.go(c.key)
    c.ok(w.ended([run]) and wait_for(lambda: all(f["revoked"] for f in c.new().values()), 30), "revokes it when the run is over", w.said()[-500:])
    w.kill(signal.SIGTERM)
    c.recorded()


def both_killed(w):
    c = Case(w, "host and guard are killed", "both")
    w.slow(0)
    p = w.begin(c.key)
    c.ok(wait_for(lambda: w.has(c.key, "pushed"), 60), "control: it has pushed")
    run = w.run_of(c.key)
    guard = guard_of(w, run)
    p.send_signal(signal.SIGKILL)
    os.kill(guard, signal.SIGKILL)
    p.communicate(timeout=30)
    p = w.settle()
    token = w.tokens(c.key)[0]
    until = time.strftime("%Y-%m-%dT%H:%M", time.gmtime(next(iter(c.new().values()))["exp"]))
    c.ok(token["state"] == "made" and token["expires"].startswith(until), "the record says until when it is good", token)
    shown = w.oc("runs", "get", run, cwd=w.home).stdout
    c.ok("it expires at " + token["expires"][:10] in shown, "and so does its text", shown)
    c.ok(not any(f["revoked"] for f in c.new().values()), "control: nobody could revoke it")
    c.ok(p.returncode == 0 and w.settle().returncode == 0, "and nobody tries again", p.stderr)
    c.free()


def main():
    w = World()
    try:
        for part in (lambda w: well(w, "job"), lambda w: well(w, "boxed"), stopped_in_a_mint, between, makers_killed, hosts_killed, daemons_killed, adopted, both_killed):
            try:
                part(w)
            except Exception as e:  # one case must not hide the others
                ok(False, "a case ended by %s" % type(e).__name__, e)
    finally:
        w.close()
    finish()


if __name__ == "__main__":
    main()

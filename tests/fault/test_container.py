#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SIGKILL in container runs, on a real engine: of host and guard at each named point; of host, guard, launch command and all of
them before and after each request by which a run is made and removed; of the container's first process and the gateway; and the
engine's socket gone in the midst of it.  A third of the kills by turns, all in a soak.

After each the same holds as in test_kill.py, and the engine has nothing of the run; what others have there is as it was."""
import json, os, random, re, signal, sqlite3, sys, threading, time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from boxes import LABEL, Box, Boxes, alive, ask, read_json  # noqa: E402
from faults import SOAK, follow, get, guard_of, listed, ok, points, provider_points, start, wait_for  # noqa: E402
from test_kill import STATUS, kill_at, reached, tree  # noqa: E402
from world import finish  # noqa: E402

STEPS = [(method, path, n) for method, path, many in (
    ("POST", "/networks/create", 2), ("POST", "/containers/create", 2), ("GET", "/containers/ID/json", 2), ("POST", "/containers/ID/start", 2),
    ("DELETE", "/containers/ID", 2), ("DELETE", "/networks/ID", 2)) for n in range(many)]
PLANS = (("GET", "/version"), ("GET", "/info"))
LANES = 4  # most of the time is waiting for a guard to notice that its host is gone
LIVE = "echo run >> ran; while [ ! -e go ]; do sleep .2; done; exit %d" % STATUS


class At:
    """Does something once, at the n-th of such a request or reply."""

    def __init__(self, step, side, act):
        self.step, self.side, self.act, self.seen, self.hit = step, side, act, 0, None

    def __call__(self, side, method, path, whole):
        if self.hit is not None or side != self.side or (method, path) != self.step[:2]:
            return
        self.seen += 1
        if self.seen > self.step[2]:
            self.hit = self.act(whole) or False


def name_of(step):
    return "%s %s, the %s" % (step[0], step[1], ("first", "second")[step[2]])


def kill_step(w, target, step, side):
    c = Box(w, "SIGKILL of %s %s %s" % (target, "before" if side == "request" else "after", name_of(step)))
    at = At(step, side, lambda path: c.kill(target))
    w.between.watch = at
    p = c.exec()
    wait_for(lambda: at.hit is not None or not c.guards(), 60)
    w.between.watch = None
    if at.hit is None and step == ("DELETE", "/networks/ID", 1):
        c.name += " (not reached: another run used the network)"
    else:
        c.ok(at.hit, "somebody was there to be killed, at that step", (at.hit, p.stderr))
    c.ok(p.returncode in (STATUS, 125, -signal.SIGKILL), "told", (p.returncode, p.stderr))
    c.ok(p.returncode != STATUS or c.ran() == 1, "a status only of what ran")
    c.ok(p.returncode != 125 or "fix" in p.stderr or "record" in p.stderr, "and what to do", p.stderr)
    c.settle()


def kill_provider(w, method, path, side):
    """The provider, in the midst of what a plan asks the engine: nothing is pinned."""
    c = Box(w, "SIGKILL of the provider %s %s %s of its plan" % ("before" if side == "request" else "after", method, path))
    at = At((method, path, 0), side, lambda whole: c.kill("provider"))
    w.between.watch = at
    p = c.exec()
    w.between.watch = None
    c.ok(at.hit and p.returncode == 125 and "provider_failed" in p.stderr and "fix" in p.stderr and not c.ran(), "refused, with reason and fix", (at.hit, p.returncode, p.stderr))
    c.ok(not c.dirs() and not w.objects(), "nothing is pinned or made", c.dirs())
    c.settle()


def kill_part(w, role):
    """The container's first process or its gateway, in a run that nobody follows."""
    c = Box(w, "SIGKILL of the %s in a live run" % role, mark=w.ws + "/ran")
    run = start(w, "box", LIVE)
    c.ok(wait_for(c.ran, 60), "it ran")
    c.note_sessions()
    shown = ask("GET", "/containers/%s/json" % c.w.of_role(run, role))[1]
    os.kill(shown["State"]["Pid"], signal.SIGKILL)
    c.ok(wait_for(lambda: read_json("%s/runs/%s/exit.json" % (w.state, run)), 90), "the run ends")
    record = read_json("%s/runs/%s/exit.json" % (w.state, run)) or {}
    c.ok(record.get("state") == "run_lost" and not record.get("left"), "not called exited, and nothing is left", record)
    wait_for(lambda: not c.guards(), 30)
    c.recover()
    c.nothing_left()
    after = get(w, run)
    c.ok(after["state"] == "run_lost" and after["error"]["reason"] == "run_lost" and after["error"].get("fix"), "lost: with reason and fix", after["error"])
    c.ok(role != "gateway" or "gateway" in str(record), "that it was the gateway is told", record)
    again(c, w, run)


def kill_starting(w, n):
    c = Box(w, "SIGKILL of the container that is started %s" % ("first", "second")[n])
    at = At(("POST", "/containers/ID/start", n), "reply", lambda path: ask("POST", path.rsplit("/", 1)[0] + "/kill")[0] == 204)
    w.between.watch = at
    p = c.exec()
    w.between.watch = None
    c.ok(at.hit, "it was there to be killed", at.hit)
    c.ok(p.returncode == 125 and ("sandbox_unavailable" in p.stderr or "run_lost" in p.stderr) and "fix" in p.stderr, "refused, with reason and fix", p.stderr)
    c.settle()


def again(c, w, run):
    """A further attempt with the same pin, to its end."""
    open(w.ws + "/go", "w").close()
    p = follow(w, "retry", w.state, run)
    os.unlink(w.ws + "/go")
    after = get(w, run)
    c.ok(p.returncode == 0 and after["state"] == "exited" and after["status"] == STATUS, "a further attempt with the same pin works", (after["state"], p.stderr))
    c.nothing_left()
    ok(c.fine, "%s: %s" % (c.name, "settled" if c.fine else "FAILED"))


def kill_live(w, target):
    """The guard, alone or with all below it, in the midst of a run."""
    c = Box(w, "SIGKILL of %s in a live run" % target)
    run = start(w, "box", LIVE)
    c.ok(wait_for(c.ran, 60), "it ran")
    c.note_sessions()
    guard = guard_of(w, run)
    for pid in [guard] + (tree(guard) if target == "the guard and all below it" else []):
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not alive(guard), 5)
    c.recover()
    wait_for(lambda: not c.left(), 10)
    c.nothing_left()
    after = get(w, run)
    c.ok(after["state"] == "run_lost" and after["error"]["reason"] == "run_lost" and after["error"].get("fix"), "it is lost, with reason and fix", after)
    again(c, w, run)


def kill_cleanup(w):
    """A lost run's container is in the engine, and what recovery has remove it is killed: what is there blocks a retry, and the next
    recovery removes it."""
    c = Box(w, "SIGKILL of the cleanup that recovery asks for")
    run = start(w, "box", LIVE)
    c.ok(wait_for(c.ran, 60), "it ran")
    c.note_sessions()
    guard = guard_of(w, run)
    for pid in [guard] + tree(guard):
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not alive(guard), 5)
    at = At(("DELETE", "/containers/ID", 0), "request", lambda path: c.kill_all(c.cleanups(run)))
    w.between.watch = at
    p, runs = listed(w)
    w.between.watch = None
    error = get_stored(w, run)
    c.ok(at.hit and error.get("reason") == "container_running" and error.get("subject") == run and error.get("fix"), "container_running, with subject and fix", (at.hit, error))
    p = follow(w, "retry", w.state, run)
    c.ok(p.returncode == 1 and "container_running" in p.stderr, "and not tried again", p.stderr)
    c.ok(w.objects(), "control: something is left")
    listed(w)
    c.nothing_left()
    c.ok(get(w, run)["state"] == "run_lost", "the next recovery removes it: lost", get(w, run)["state"])
    again(c, w, run)


def get_stored(w, run):
    """What is recorded of it, without a recovery that would settle it."""
    db = sqlite3.connect(w.state + "/state.db", timeout=30)
    (text,) = db.execute("SELECT error FROM runs WHERE id = ?", (run,)).fetchone()
    db.close()
    return json.loads(text or "{}")


def unknown(c, w, run):
    """While the engine can't be asked: what blocks a retry, and what to bring back."""
    p, runs = listed(w)
    row = get(w, run)
    c.ok(p.returncode == 0 and row["state"] == "unknown", "while the engine is away: unknown", (p.stderr, row["state"]))
    error = row.get("error") or {}
    c.ok(error.get("reason") == "sandbox_unavailable" and error.get("fix") and w.between.path in error.get("message", "") + error.get("subject", ""),
         "with reason, the engine's socket and a fix", error)
    c.ok(os.path.isdir("%s/live/%s" % (w.state, run)), "what says what was made is kept")
    p = follow(w, "retry", w.state, run)
    c.ok(p.returncode != 0, "and it is not tried again", p.stderr)


def away_and_back(w):
    c = Box(w, "the engine's socket is away in a live run, and back before its end")
    run = start(w, "box", LIVE)
    c.ok(wait_for(c.ran, 60), "it ran")
    w.between.down()
    time.sleep(3)
    w.between.up()
    p, runs = listed(w)
    c.ok(get(w, run)["state"] == "running", "it runs on", get(w, run)["state"])
    open(w.ws + "/go", "w").close()
    p = follow(w, "adopt", w.state, run)
    os.unlink(w.ws + "/go")
    c.ok(p.returncode == 0 and get(w, run)["state"] == "exited" and get(w, run)["status"] == STATUS, "it ends with its status", (p.stderr, get(w, run)))
    c.nothing_left()
    ok(c.fine, "%s: %s" % (c.name, "exited" if c.fine else "FAILED"))


def away_at_end(w, followed):
    """Its exit is known and what it has in the engine can't be removed: the next command after it is back does."""
    c = Box(w, "the engine's socket is away at the end of a run%s" % (" that a host follows" if followed else ""))
    run = start(w, "box", LIVE)
    c.ok(wait_for(c.ran, 60), "it ran")
    w.between.down()
    open(w.ws + "/go", "w").close()
    if followed:
        p = follow(w, "adopt", w.state, run)
        c.ok(p.returncode != 0 and w.between.path in p.stderr, "the host is told that something is left", p.stderr)
    c.ok(wait_for(lambda: not c.guards() and read_json("%s/runs/%s/exit.json" % (w.state, run)), 150), "the guard ends")
    os.unlink(w.ws + "/go")
    record = read_json("%s/runs/%s/exit.json" % (w.state, run)) or {}
    c.ok(record.get("state") == "exited" and record.get("status") == STATUS, "the guard knows how it ended", record)
    c.ok((record.get("left") or {}).get("reason") == "sandbox_unavailable", "and that something is left", record)
    c.ok(w.objects(), "control: something is left")
    unknown(c, w, run)
    w.between.up()
    listed(w)
    c.nothing_left()
    after = get(w, run)
    c.ok(after["state"] == "exited" and after["status"] == STATUS, "when it is back: exited", after["state"])
    ok(c.fine, "%s: %s" % (c.name, "settled" if c.fine else "FAILED"))


def away_in_setup(w, step):
    c = Box(w, "the engine's socket goes away after " + name_of(step))
    at = At(step, "reply", lambda path: threading.Thread(target=w.between.down).start() or True)
    w.between.watch = at
    p = c.exec()
    w.between.watch = None
    c.ok(at.hit and p.returncode == 125 and "sandbox_unavailable" in p.stderr and "fix" in p.stderr and not c.ran(), "refused, with reason and fix", (at.hit, p.stderr))
    c.ok(w.objects(), "control: something is left")
    unknown(c, w, os.path.basename(c.dirs()[0]))
    w.between.up()
    c.settle()


def away_and_lost(w):
    c = Box(w, "the engine's socket is away, and the guard is killed with all below it")
    run = start(w, "box", LIVE)
    c.ok(wait_for(c.ran, 60), "it ran")
    c.note_sessions()
    w.between.down()
    guard = guard_of(w, run)
    for pid in [guard] + tree(guard):
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not alive(guard), 5)
    unknown(c, w, run)
    w.between.up()
    listed(w)
    c.nothing_left()
    c.ok(get(w, run)["state"] == "run_lost", "when it is back: lost", get(w, run)["state"])
    again(c, w, run)


def strangers(w):
    """Others' things: with names like ours, with our labels, and another instance's with the run's own."""
    c = Box(w, "what others have in the engine, by names and labels like a run's")
    made = []

    def make(path):
        if made:
            return True
        run = os.path.basename(c.dirs()[0])
        ours = {LABEL + k: v for k, v in (("instance", w.instance), ("role", "container"), ("run", run))}
        for i, more in enumerate(({}, {LABEL + "instance": "another"})):
            body = {"Image": w.image, "Cmd": ["/bin/true"], "Labels": {**ours, **more}}
            made.append(("containers", ask("POST", "/containers/create?name=oc-%s-%d" % (run, i), body)[1]["Id"]))
            body = {"Name": "oc-%s-%d" % (run, i), "Labels": {**ours, "%srole" % LABEL: "network", **more}, "Internal": True,
                    "IPAM": {"Config": [{"Subnet": "10.21%d.255.0/29" % (4 + i)}]}}
            made.append(("networks", ask("POST", "/networks/create", body)[1]["Id"]))
        w.strangers += [id_ for _, id_ in made]
        return True
    at = At(("POST", "/containers/create", 0), "request", lambda path: make(path) and c.kill("all"))
    w.between.watch = at
    try:
        c.exec()
        w.between.watch = None
        c.ok(at.hit and len(made) == 4, "control: they are there", made)
        c.settle()
        for kind, id_ in made:
            c.ok(ask("GET", "/%s/%s%s" % (kind, id_, "/json" if kind == "containers" else ""))[0] == 200, "theirs is there as it was: %s" % kind, id_)
    finally:
        w.between.watch = None
        for kind, id_ in made:
            ask("DELETE", "/%s/%s" % (kind, id_))
    ok(c.fine, "%s: %s" % (c.name, "untouched" if c.fine else "FAILED"))


def kills():
    """Named points and steps: those of this turn."""
    every = [lambda w, p=p: kill_at("box", w, p, Box(w, "killed at " + p, point=p)) for p in points() if p.startswith(("host:", "guard:"))]
    every += [lambda w, p=p: kill_at("box", w, p, Box(w, "killed at " + p, point=p)) for p in provider_points("plan")]
    every += [lambda w, m=m, p=p, side=side: kill_provider(w, m, p, side) for m, p in PLANS for side in ("request", "reply")]
    every += [lambda w, t=t, s=s, side=side: kill_step(w, t, s, side) for s in STEPS for side in ("request", "reply") for t in ("guard", "launch", "all")]
    every += [lambda w, s=s: kill_step(w, "host", s, "request") for s in STEPS]
    seed = int(os.environ.get("OC_TEST_SEED") or random.randrange(1 << 20))
    print("note - %d kills%s" % (len(every), "" if SOAK else ", of which a third: OC_TEST_SEED=%d" % seed), flush=True)
    return every if SOAK else random.Random(seed).sample(every, len(every) // 3)


def parts():
    """What is tried each time."""
    jobs = [lambda w, role=role: kill_part(w, role) for role in ("container", "gateway")]
    jobs += [lambda w, n=n: kill_starting(w, n) for n in (0, 1)]
    jobs += [lambda w, t=t: kill_live(w, t) for t in ("the guard", "the guard and all below it")]
    return jobs + [kill_cleanup, strangers]


def away():
    """The engine can't be asked for a while."""
    jobs = [away_and_back, lambda w: away_at_end(w, False), lambda w: away_at_end(w, True), away_and_lost]
    return jobs + [lambda w, s=s: away_in_setup(w, s) for s in (STEPS[1], STEPS[3], STEPS[7])]


def one_world(jobs):
    w = Boxes()
    try:
        for job in jobs if w.begin() else []:
            try:
                job(w)
            except Exception as e:  # one case must not hide the others
                w.between.watch = None
                ok(False, "a case ended by %s" % type(e).__name__, e)
    finally:
        w.close()


def main():
    wanted = re.compile(sys.argv[1]) if len(sys.argv) > 1 else None
    jobs = {"parts": parts, "away": away, "kills": kills}
    chosen = [job for name, make in jobs.items() if not wanted or wanted.search(name) for job in make()]
    with ThreadPoolExecutor(LANES) as pool:
        list(pool.map(lambda n: one_world(chosen[n::LANES]), range(LANES)))
    hit = {p: n for (_, p), n in sorted(reached.items()) if n}
    print("note - killed at %d named points: %s" % (len(hit), " ".join("%s %d" % i for i in hit.items())), flush=True)
    finish()


if __name__ == "__main__":
    main()

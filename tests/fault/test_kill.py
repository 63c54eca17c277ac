#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of host and guard at each named point from plan to finish, of the sandbox's own processes in a live run, and of
recovery and retry in their midst; then recovery by the next command.

After each: nothing ran that was not pinned and proved, and nothing twice; nothing of the run is left; the record says what
happened; where the recovery table says so a further attempt with the same pin works; and the next run does."""
import json, os, random, re, signal, subprocess, sys, threading, time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faults import (SOAK, alive, follow, get, guard_of, listed, of_user, ok, points, processes, provider_points, read_json, run_dirs, start,
                    stat_of, wait_for)
from world import BUILD, World, finish

STATUS = 7
SCRIPT = "echo run >> %%s; echo out; exit %d" % STATUS
reached, started_with = {}, of_user()
tmp_before = set(os.listdir("/tmp"))
counted, one_doctor = threading.Lock(), threading.Lock()


def count(kind, point, hit):
    with counted:
        reached.setdefault((kind, point), 0)
        reached[(kind, point)] += bool(hit)


class Case:
    def __init__(self, kind, w, name, point="", mark=None):
        self.mark = mark or w.ws + "/ran"
        self.kind, self.w, self.name, self.point, self.before = kind, w, "%s: %s" % (kind, name), point, set(run_dirs(w))
        self.fine, self.sessions = True, set()
        if os.path.exists(self.mark):
            os.unlink(self.mark)

    def ok(self, condition, what, detail=""):
        """One line for a case, or one for each thing that is wrong with it."""
        if not condition:
            self.fine = False
            ok(False, self.name + ": " + what, detail)
        return condition

    def ran(self):
        try:
            with open(self.mark) as f:
                return f.read().count("run")
        except OSError:
            return 0

    def flags(self):
        return ["--unsandboxed"] if self.kind == "none" else []

    def exec(self, env=None):
        return self.w.oc("exec", *self.flags(), "--", "/bin/sh", "-c", SCRIPT % self.mark, env=env, timeout=120)

    def dirs(self):
        return [d for d in run_dirs(self.w) if d not in self.before]

    def has(self, name):
        return any(os.path.exists(d + "/" + name) for d in self.dirs())

    def note_sessions(self):
        for d in self.dirs():
            self.sessions.add((read_json(d + "/started") or {}).get("session", -1))

    def guards(self):
        return [p for p in ((read_json(d + "/guard.json") or {}).get("pid", 0) for d in self.dirs()) if p and alive(p)]

    def left(self):
        return processes(self.w, self.sessions)

    def recovery_points(self):
        return points("recover:")

    def recover(self):
        """First killed at each of its own points, then whole."""
        for point in self.recovery_points():
            p, _ = listed(self.w, env={"OPEN_CONDUIT_FAULT": point})
            count(self.kind, point, p.returncode == -signal.SIGKILL)
            self.ok(p.returncode in (0, -signal.SIGKILL), "recovery killed at " + point, p.stderr)
        p, runs = listed(self.w)
        self.ok(p.returncode == 0, "recovery works", p.stderr)
        mine = {os.path.basename(d) for d in self.dirs()}
        return [r for r in runs if r["id"] in mine]

    def nothing_left(self):
        self.ok(not self.left(), "no process is left", self.left())
        for d in self.dirs():
            run = os.path.basename(d)
            self.ok(not os.path.lexists("%s/live/%s" % (self.w.state, run)), "its private directories are gone")
            sockets = [f for top, _, files in os.walk(d) for f in files if f.endswith(".sock")]
            self.ok(not sockets, "no socket is left", sockets)
        with open("/proc/self/mountinfo") as f:
            self.ok(self.w.root not in f.read(), "no mount is left")

    def chained(self, run):
        """Whatever was killed, its history is whole, and what else is recorded goes with it."""
        made = self.w.oc("runs", "get", "--receipt", run)
        held = self.w.oc("receipt", "verify", "-", "--json", input=made.stdout)
        facts = json.loads(held.stdout).get("receipt") if held.stdout else None
        self.ok(made.returncode == 0 and held.returncode == 0 and facts and not facts["unchained"], "its receipt holds", made.stderr + held.stderr)

    def truth(self, runs, exit_before, proved_before):
        """The record against what the test saw with its own eyes."""
        ran = self.ran()
        self.ok(ran <= 1, "the command ran once at most", ran)
        if not runs:
            self.ok(not ran and not self.dirs(), "a run without a record did not run, and left no directory", self.dirs())
            return None
        run = get(self.w, runs[0]["id"])
        self.ok(len(runs) == 1 and run["state"] == runs[0]["state"], "list and record agree", (runs, run["state"]))
        self.ok(run["pinned"], "what is recorded is pinned")
        self.chained(run["id"])
        state, exit_ = run["state"], run.get("exit")
        self.ok(not ran or (run["proved"] or proved_before), "what ran was proved first")
        if exit_before:
            expected = {"exited": "exited", "run_lost": "run_lost"}.get(exit_before["state"], "failed")
            self.ok(state == expected and exit_ == exit_before, "the guard's exit record is what is recorded", (state, exit_, exit_before))
        if state == "exited":
            self.ok(ran == 1 and run["status"] == STATUS and exit_["state"] == "exited" and exit_["status"] == STATUS,
                    "exited: it ran to its end with its status", (ran, exit_))
        elif state == "run_lost":
            self.ok(proved_before, "lost: it was proved", run["error"])
            self.ok((run["error"] or {}).get("reason") == "run_lost" and (run["error"] or {}).get("fix"), "lost: with reason and fix", run["error"])
        else:
            self.ok(state in ("pinned", "failed"), "its state is settled", state)
            self.ok(not ran, "neither exited nor lost: it did not run", state)
        return run

    def retry(self, run):
        """A further attempt with the same pin, killed at each point of its beginning, then whole."""
        ran, attempts, id_ = self.ran(), len(run["attempts"]), run["id"]
        # Where it was killed after the proof was gone, nothing of the last attempt says that it ran: the next one begins anew.
        late = [p for p in points("retry:") if p != "retry:recorded"]
        for point in ["retry:recorded", late[len(self.name) % len(late)]] if run["state"] != "pinned" else []:
            p = follow(self.w, "retry", self.w.state, id_, env={"OPEN_CONDUIT_FAULT": point})
            count(self.kind, point, p.returncode == -signal.SIGKILL)
            self.ok(p.returncode == -signal.SIGKILL, "a retry was killed at " + point, p.stderr)
            self.recover()
            self.ok(self.ran() == ran, "a retry that was killed ran nothing")
        p = follow(self.w, "retry", self.w.state, id_)
        self.ok(p.returncode == 0 and p.stdout.endswith("out\n"), "a further attempt with the same pin works", (p.returncode, p.stdout, p.stderr))
        after = get(self.w, id_)
        self.ok(after["state"] == "exited" and after["status"] == STATUS and self.ran() == ran + 1, "the further attempt is recorded", after["state"])
        self.ok(len(after["attempts"]) == attempts + 1 and after["digest"] == run["digest"], "as one more attempt of the same pin",
                (after["attempts"], run["attempts"]))
        if run["state"] == "run_lost":
            old = [e["data"] for e in after["events"] if e["type"] == "retry"]
            self.ok(old and old[0]["state"] == "run_lost", "how the last attempt ended stays in the history", after["events"])
        self.chained(id_)
        over = follow(self.w, "retry", self.w.state, id_)
        self.ok(over.returncode == 0 and self.ran() == ran + 1, "what is over is not run again", over.stderr)

    def settle(self, retry=True):
        """From whatever the kill left to the end; the record."""
        self.note_sessions()
        wait_for(lambda: not self.guards() or all(os.path.exists(d + "/exit.json") for d in self.dirs()), 30)
        wait_for(lambda: not self.guards(), 30)
        self.ok(not self.guards(), "no guard is left alone for long", self.guards())
        self.note_sessions()
        exits = [read_json(d + "/exit.json") for d in self.dirs()]
        proved = self.has("proved")
        runs = self.recover()
        wait_for(lambda: not self.left(), 10)
        self.nothing_left()
        run = self.truth(runs, exits[0] if exits else None, proved)
        if retry and run and run["state"] != "exited" and self.fine:
            self.retry(run)
            self.nothing_left()
        again = self.w.oc("exec", *self.flags(), "--", "/bin/echo", "again")
        self.ok(again.returncode == 0 and again.stdout == "again\n", "the next run works", again.stderr)
        ok(self.fine, self.name + ": " + (("after it: " + (run["state"] if run else "no record")) if self.fine else "FAILED"))
        return run


def kill_at(kind, w, point, c=None):
    c = c or Case(kind, w, "killed at " + point, point)
    p = c.exec(env={"OPEN_CONDUIT_FAULT": point})
    if point.startswith("host:"):
        c.ok(p.returncode == -signal.SIGKILL, "the host was killed there", "%d %s" % (p.returncode, p.stderr))
        count(kind, point, p.returncode == -signal.SIGKILL)
    else:
        # The host must say that it was not run, or what the record says; never success.
        c.ok(p.returncode in (STATUS, 125), "the host tells of a killed guard", "%d %s" % (p.returncode, p.stderr))
        c.ok(p.returncode != STATUS or c.ran() == 1, "a status only of what ran")
        c.ok(not point.startswith("provider:") or ("provider_failed" in p.stderr and "fix" in p.stderr), "told that the provider failed, with a fix", p.stderr)
        count(kind, point, p.returncode == 125 or point in ("guard:after-exit-record",))
    c.settle()


def children(pid):
    out = []
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            if stat_of(p)["ppid"] == pid:
                out.append(int(p))
        except OSError:
            pass
    return out


def tree(pid):
    out = []
    for child in children(pid):
        out += [child] + tree(child)
    return out


RELAY = "open-conduit-re"  # as /proc cuts its name


def names(pids):
    out = {}
    for p in pids:
        try:
            with open("/proc/%d/comm" % p) as f:
                out.setdefault(f.read().strip(), []).append(p)
        except OSError:
            pass
    return out


def kill_process(kind, w, comm, last=False):
    """One process of a live run's own: the sandbox's, the guest's."""
    c = Case(kind, w, "SIGKILL of %s%s in a live run" % ("the last " if last else "", comm))
    run = start(w, kind, "echo run >> ran; sleep 300; exit 3")
    c.ok(wait_for(lambda: c.ran(), 20), "it ran")
    found = names(tree(guard_of(w, run))).get(comm, [])
    if not c.ok(found, "there is such a process", names(tree(guard_of(w, run)))):
        return w.oc("runs", "stop", run)
    c.note_sessions()
    os.kill(found[-1 if last else 0], signal.SIGKILL)
    # A relay carries the proxy alone: without one the run goes on and must still be stoppable.
    ended = wait_for(lambda: os.path.exists("%s/runs/%s/exit.json" % (w.state, run)), 5 if comm == RELAY else 60)
    if not ended:
        c.ok(comm == RELAY, "the run ends")
        stopped = w.oc("runs", "stop", "--grace", "1s", run)
        c.ok(stopped.returncode == 0, "it can be stopped", stopped.stderr)
    record = read_json("%s/runs/%s/exit.json" % (w.state, run)) or {}
    c.ok(record.get("state") in ("run_lost", "stopped", "signaled") and record.get("status") == 0, "not called exited", record)
    wait_for(lambda: not c.guards(), 20)
    runs = c.recover()
    wait_for(lambda: not c.left(), 10)
    c.nothing_left()
    c.ok(len(runs) == 1 and get(w, run)["state"] == ("run_lost" if record.get("state") == "run_lost" else "exited"), "recorded as the guard did", runs)
    ok(c.fine, "%s: %s" % (c.name, record.get("state") if c.fine else "FAILED"))


def kill_live(kind, w):
    """The guard, killed in the middle of a run without a host; everything of it at once; both, with recovery between."""
    for name, also in (("the guard", False), ("the guard and all below it", True)):
        c = Case(kind, w, "SIGKILL of %s in a live run" % name)
        run = start(w, kind, "echo run >> ran; (setsid sleep 300 &) ; sleep 300")
        c.ok(wait_for(lambda: c.ran(), 20), "it ran")
        p, runs = listed(w)
        row = [r for r in runs if r["id"] == run]
        c.ok(row and row[0]["state"] == "running", "a live run is shown as running", row)
        c.note_sessions()
        guard = guard_of(w, run)
        for pid in [guard] + (tree(guard) if also else []):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        wait_for(lambda: not alive(guard), 5)
        runs = c.recover()
        wait_for(lambda: not c.left(), 10)
        c.nothing_left()
        record = get(w, run)
        c.ok(record["state"] == "run_lost" and record["error"]["reason"] == "run_lost", "it is lost", record["state"])
        again = follow(w, "start", w.state, w.ws, "-", "--", "/bin/true") if kind == "none" else None
        c.ok(again is None or again.returncode == 0, "the next run works", again and again.stderr)
        ok(c.fine, "%s: %s" % (c.name, record["state"] if c.fine else "FAILED"))


def provider_killed(w):
    """The provider dies while it plans: nothing is pinned, nothing runs, the host says so."""
    c = Case("srt", w, "SIGKILL of the provider while it plans")
    gone, box = [], []
    t = threading.Thread(target=lambda: box.append(c.exec()))
    seen = set(of_user())
    t.start()
    end = time.monotonic() + 20
    while t.is_alive() and not gone and time.monotonic() < end:
        for p in filter(str.isdigit, os.listdir("/proc")):
            try:
                if stat_of(p)["state"] in "ZX" or w.env["OPEN_CONDUIT_LIBEXEC"].encode() + b"/providers/" not in open("/proc/%s/cmdline" % p, "rb").read():
                    continue
                if w.root.encode() + b"/" not in open("/proc/%s/environ" % p, "rb").read():
                    continue
                os.kill(int(p), signal.SIGKILL)
                gone.append(p)
            except OSError:
                pass
    t.join()
    p = box[0]
    if gone and p.returncode == 125:
        c.ok("provider" in p.stderr and not c.ran(), "refused, naming the provider", p.stderr)
    c.ok(gone, "the provider was there to be killed", p.stderr)
    c.ok(p.returncode in (125, STATUS), "told", p.stderr)
    c.settle(retry=False)


def check_killed(w, point):
    """The provider dies while it is checked: doctor says so, and the next one is green."""
    with one_doctor:
        killed, after = (w.oc("doctor", env=env) for env in ({"OPEN_CONDUIT_FAULT": point}, None))
    count("srt", point, killed.returncode == 1)
    ok(killed.returncode == 1 and "provider" in killed.stdout + killed.stderr and after.returncode == 0, "srt: killed at %s: told, and green after it" % point,
       (killed.returncode, killed.stdout, killed.stderr, after.stdout))


def one_world(kind, jobs):
    w = World(clone=False)
    try:
        if kind == "srt":
            with one_doctor:  # it runs things against the clock
                d = w.oc("doctor")
            if d.returncode != 0:
                ok(False, "srt: doctor is green", d.stdout + d.stderr)
                return
        for job in jobs:
            try:
                job(w)
            except Exception as e:  # one case must not hide the others
                ok(False, "%s: a case ended by %s" % (kind, type(e).__name__), e)
    finally:
        w.close()


def jobs_of(kind):
    jobs = [lambda w, p=p: kill_at(kind, w, p) for p in points() if p.startswith(("host:", "guard:"))]
    jobs.append(lambda w: kill_live(kind, w))
    if kind == "srt":
        jobs += [lambda w, c=c, last=last: kill_process(kind, w, c, last)
                 for c, last in (("node", False), ("bwrap", False), ("bwrap", True), (RELAY, False))]
        jobs += [provider_killed] + [lambda w, p=p: kill_at(kind, w, p) for p in provider_points("plan")]
        jobs += [lambda w, p=p: check_killed(w, p) for p in provider_points("check")]
    else:
        jobs.append(lambda w: kill_process(kind, w, "open-conduit-gu"))
    return jobs


def many(kind, times, lanes):
    """Started and killed at any moment, again and again; then one recovery."""
    def lane(n):
        w = World(clone=False)
        try:
            if kind == "srt":
                w.oc("doctor")
            c = Case(kind, w, "%d runs started and killed" % n)
            for _ in range(n):
                p = subprocess.Popen([BUILD + "/host/open-conduit", "exec", *c.flags(), "--", "/bin/sh", "-c", "echo run >> ran; sleep 0.05"],
                                     cwd=w.ws, env=w.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(random.uniform(0, 0.15 if kind == "none" else 1.5))
                p.kill()
                p.wait()
                c.note_sessions()
                for g in c.guards() if random.random() < 0.5 else []:
                    try:
                        os.kill(g, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
            wait_for(lambda: not c.guards(), 60)
            c.recover()
            wait_for(lambda: not c.left(), 10)
            c.nothing_left()
            _, runs = listed(w, env=None)
            for r in json.loads(w.oc("runs", "list", "--json", "--limit", "100000").stdout)["runs"]:
                c.ok(r["state"] in ("exited", "run_lost", "failed", "pinned"), "settled", r)
            c.ok(len(c.dirs()) and c.ran() <= n, "each ran once at most", c.ran())
            ok(c.fine, "%s: %s" % (c.name, "all settled" if c.fine else "FAILED"))
        finally:
            w.close()
    with ThreadPoolExecutor(lanes) as pool:
        list(pool.map(lane, [-(-times // lanes)] * lanes))


def main():
    kinds = sys.argv[1].split(",") if len(sys.argv) > 1 else ["none", "srt"]
    only = re.compile(sys.argv[2]) if len(sys.argv) > 2 else None
    ok(len(points("guard:")) >= 14 and len(points("host:")) >= 12 and len(points("recover:")) >= 3 and len(points("retry:")) >= 3,
       "the source names points for host, guard, recovery and retry", points())
    for kind in kinds:
        lanes = 6 if kind == "none" else 4
        jobs = jobs_of(kind)
        if only:
            jobs = [lambda w, p=p: kill_at(kind, w, p) for p in points() if only.search(p)]
        began = time.monotonic()
        for _ in range(3 if SOAK else 1):
            # Dealt out in turn, so that the waits of ten seconds for a host lie beside each other.
            with ThreadPoolExecutor(lanes) as pool:
                list(pool.map(lambda n: one_world(kind, jobs[n::lanes]), range(lanes)))
        print("note - %s: %d cases in %.0f s" % (kind, len(jobs), time.monotonic() - began), flush=True)
        if not only:
            # Those of a Work, a call and a token are reached where there is one: tests/host/work.py, tests/protocol/test_calls.py,
            # test_token.py.
            hit = {p: n for (k, p), n in sorted(reached.items()) if k == kind and n}
            print("note - %s: killed at %d points, %d times: %s" % (kind, len(hit), sum(hit.values()), " ".join("%s %d" % i for i in hit.items())), flush=True)
            missed = sorted(p for p in points() if not p.startswith(("work:", "call:", "token:")) and not reached.get((kind, p)))
            ok(not missed, kind + ": every named point was reached", missed)
        if SOAK:
            many(kind, 1000 if kind == "none" else 30, lanes)
    wait_for(lambda: not set(of_user()) - set(started_with), 5)
    stray = {p: c for p, c in of_user().items() if p not in started_with}
    ok(not stray, "no process of this user is left that was not there", stray)
    new = [f for f in set(os.listdir("/tmp")) - tmp_before if os.lstat("/tmp/" + f).st_uid == os.getuid()]
    ok(not new, "nothing is left in /tmp", new)
    finish()


if __name__ == "__main__":
    main()

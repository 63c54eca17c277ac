#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a live run's guard, plan and store say, against each other: a number given to another process, another boot, a clock that was
set back, a changed row, a changed plan, a store that can't be read.  Each ends in the right state, with reason, subject and fix;
nothing is ended; and as soon as all is as it was the run is adopted and stopped."""
import json, os, sqlite3, stat, subprocess, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faults import alive, follow, get, guard_of, listed, ok, processes, read_json, start, stat_of, wait_for  # noqa: E402
from world import BUILD, World, finish, put  # noqa: E402

DAY = 86400 * 1000
SCRIPT = "echo out; trap 'exit 4' TERM; while :; do sleep 0.1; done"


class Live:
    def __init__(self, w, kind, name):
        self.w, self.name, self.fine = w, "%s: %s" % (kind, name), True
        self.run = start(w, kind, SCRIPT)
        self.dir = "%s/runs/%s" % (w.state, self.run)
        self.guard = guard_of(w, self.run)
        self.same("control: before")

    def ok(self, condition, what, detail=""):
        if not condition:
            self.fine = False
            ok(False, "%s: %s" % (self.name, what), detail)
        return condition

    def same(self, when):
        p, _ = listed(self.w)
        run = get(self.w, self.run)
        self.ok(p.returncode == 0 and run["state"] == "running" and not run["error"], when + ": it is running", (p.stderr, run))
        self.ok(alive(self.guard), when + ": its guard lives")
        self.ok(self.held() == "running", when + ": it is adopted")

    def held(self):
        host = subprocess.Popen([BUILD + "/tests/fault/follow", "hold", self.w.state, self.run], env=self.w.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = host.stdout.readline().strip()
        host.kill()
        return line or host.communicate()[1]

    def differs(self, when, *words):
        p, _ = listed(self.w)
        run, text = get(self.w, self.run), " ".join(self.w.oc("runs", "get", self.run).stdout.split())
        error = run["error"] or {}
        self.ok(p.returncode == 0 and run["state"] == "unknown" and error.get("reason") == "pin_mismatch" and error.get("subject") and error.get("fix") and
                all(x in error["message"] for x in words), when + ": unknown, with reason, subject, words and fix", (p.stderr, run["state"], error))
        self.ok(all(error.get(k) and " ".join(error[k].split()) in text for k in ("reason", "subject", "fix")), when + ": runs get prints them", text[:600])
        p = follow(self.w, "retry", self.w.state, self.run)
        self.ok(p.returncode == 1 and "pin_mismatch" in p.stderr, when + ": neither adopted nor tried again", p.stderr)
        self.ok(alive(self.guard), when + ": nothing was ended")

    def end(self):
        p = self.w.oc("runs", "stop", self.run)
        run = get(self.w, self.run)
        self.ok(p.returncode == 0 and run["state"] == "exited" and run["exit"]["state"] == "stopped", "runs stop ends it", (p.stderr, run["state"]))
        self.ok(wait_for(lambda: not processes(self.w), 10), "nothing is left", processes(self.w))
        ok(self.fine, "%s: %s" % (self.name, "told" if self.fine else "FAILED"))

    def info(self, **more):
        return json.dumps({**read_json(self.dir + "/guard.json"), **more})


def records(w, kind):
    """guard.json names another process, another boot, another plan, a protocol that nobody knows."""
    live = Live(w, kind, "its guard's record")
    good = live.info()
    bystander = subprocess.Popen(["sleep", "300"])
    other = stat_of(bystander.pid)["start"]
    for when, more, words in (("another process", {"pid": bystander.pid, "start": other}, ["guard"]),
                              ("another process by its number, the start of this one", {"pid": bystander.pid}, ["guard"]),
                              ("its number, and another start", {"start": other}, ["guard"]),
                              ("another boot", {"boot": "11111111-2222-3333-4444-555555555555"}, ["another boot"]),
                              ("another plan", {"digest": "sha256:" + "1" * 64}, ["another plan"]),
                              ("a later protocol", {"protocol": [7, 9]}, ["versions 7 to 9", "this build 1 to 2"]),
                              ("no protocol", {"protocol": "1"}, ["versions"])):
        put(live.dir + "/guard.json", live.info(**more))
        live.differs(when, *words)
        live.ok(bystander.poll() is None, when + ": the other process lives")
        put(live.dir + "/guard.json", good)
        live.same(when + ", put right")
    put(live.dir + "/guard.json", live.info(protocol=[1, 9]))
    live.same("a guard that speaks this protocol, and later ones")
    bystander.kill()
    bystander.wait()
    live.end()


def database(w):
    return sqlite3.connect(w.state + "/state.db", timeout=30)


def row(w, kind):
    """The pin in the store is another; the plan's file is."""
    live = Live(w, kind, "its pin")
    db = database(w)
    digest, text = db.execute("SELECT digest, text FROM pins WHERE run = ?", (live.run,)).fetchone()
    (trigger,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'pins_once'").fetchone()

    def change(member, value):
        db.execute("UPDATE pins SET %s = ? WHERE run = ?" % member, (value, live.run))
        db.commit()
    try:
        change("digest", "another")
        live.ok(False, "control: the store lets no pin be changed")
    except sqlite3.IntegrityError:
        pass
    db.execute("DROP TRIGGER pins_once")
    for member, value, good in (("digest", "sha256:" + "2" * 64, digest), ("text", text.replace("sleep", "SLEEP"), text)):
        change(member, value)
        live.differs("another %s in the store" % member, "plan")
        change(member, good)
        live.same("the %s put right" % member)
    db.execute(trigger)
    db.commit()
    db.close()
    path = live.dir + "/plan.json"
    with open(path) as f:
        good = f.read()
    put(path, good.replace("sleep 0.1", "sleep 0.2"))
    live.differs("another plan in its directory", "plan")
    put(path, good)
    live.same("its own plan again")
    live.end()


def clock(w, kind):
    """All that was recorded is of tomorrow: the clock was set back meanwhile.  Nothing goes by it."""
    live = Live(w, kind, "a clock that was set back a day")
    db = database(w)
    db.execute("UPDATE runs SET created_ms = created_ms + ? WHERE id = ?", (DAY, live.run))
    db.execute("UPDATE attempts SET at_ms = at_ms + ? WHERE run = ?", (DAY, live.run))  # its events are written once
    db.commit()
    db.close()
    for name in ("started", "proved"):
        record = read_json("%s/%s" % (live.dir, name))
        live.ok("at" in record, "control: %s has a time" % name, record)
        put("%s/%s" % (live.dir, name), json.dumps({**record, "at": "2099" + record["at"][4:]}))
    for name in os.listdir(live.dir):
        os.utime("%s/%s" % (live.dir, name), ns=(2 ** 61, 2 ** 61))
    live.same("of tomorrow")
    live.end()
    run = get(w, live.run)
    live.ok(run["ended"] < run["created"], "control: it ended before it began", (run["created"], run["ended"]))
    p = w.oc("runs", "get", live.run)
    live.ok(p.returncode == 0 and "stopped" in p.stdout, "runs get shows it", p.stdout[:400] + p.stderr)
    lost = Live(w, kind, "a clock that was set back, and its guard killed")
    put(lost.dir + "/started", json.dumps({**read_json(lost.dir + "/started"), "at": "2099-01-01T00:00:00.000Z"}))
    os.kill(lost.guard, 9)
    wait_for(lambda: not alive(lost.guard), 5)
    listed(w)
    run = get(w, lost.run)
    lost.ok(run["state"] == "run_lost" and wait_for(lambda: not processes(w), 10), "lost, and nothing of it is left", (run["state"], processes(w)))
    ok(lost.fine, "%s: %s" % (lost.name, "lost" if lost.fine else "FAILED"))


def unreadable(w, kind):
    """A page of the store is overwritten; it may not be read; it is no file.  No command takes it for an empty one."""
    live = Live(w, kind, "a store that can't be read")
    path = w.state + "/state.db"
    db = database(w)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    good = open(path, "rb").read()
    page = int.from_bytes(good[16:18], "big")

    def refused(when, *words):
        for command in (("runs", "list"), ("runs", "get", live.run), ("runs", "stop", live.run), ("exec", "--unsandboxed", "--", "touch", "ran")):
            p = w.oc(*command)
            live.ok(p.returncode in (1, 125) and "fix" in p.stderr and all(x in p.stderr for x in words), "%s: %s is refused, with what to do" % (when, " ".join(command[:2])),
                    (p.returncode, p.stdout, p.stderr))
        live.ok(alive(live.guard) and not os.path.exists(w.ws + "/ran"), when + ": nothing was ended or run")

    def damage(when, data):
        with open(path, "r+b") as f:
            f.write(data)
        refused(when, path)
        with open(path, "r+b") as f:
            f.write(good)
            f.truncate(len(good))
        for more in ("-wal", "-shm"):
            if os.path.exists(path + more):
                os.unlink(path + more)
        live.same(when + ", put right")
    damage("its first page overwritten", b"\xa5" * page)
    damage("each of its other pages overwritten", good[:page] + b"\xa5" * (len(good) - page))
    mode = stat.S_IMODE(os.lstat(path).st_mode)
    os.chmod(path, 0)
    refused("mode 000", path)
    os.chmod(path, mode)
    live.same("mode 0600")
    os.rename(path, path + ".away")
    os.mkdir(path)
    refused("a directory in its place", path)
    os.rmdir(path)
    os.rename(path + ".away", path)
    live.same("the store again")
    live.end()


def main():
    jobs = {f.__name__: f for f in (records, row, clock, unreadable)}
    w = World(clone=False)
    try:
        d = w.oc("doctor")
        ok(d.returncode == 0, "doctor is green", d.stdout + d.stderr)
        for name in sys.argv[1:] or jobs:
            for kind in ("none", "srt") if name in ("records", "clock") else ("none",):
                jobs[name](w, kind)
    finally:
        w.close()
    finish()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Receipts of real runs: each holds, what is changed in one or in the store shows and is named, and a host that was killed
anywhere leaves a whole chain.  A policy that is changed while a run goes on is shown, noted once, and applies to the next."""
import glob, json, os, re, signal, sqlite3, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "isolation")]
from work import COMMIT, ROOT, Works, wait_for  # noqa: E402
from world import BUILD, finish, ok, put  # noqa: E402


def receipt(w, run):
    p = w.oc("runs", "get", run, "--receipt")
    return p.stdout if p.returncode == 0 else "runs get --receipt: %d %s" % (p.returncode, p.stderr)


def verify(w, text, *args):
    p = w.oc("receipt", "verify", "-", "--json", *args, input=text)
    answer = json.loads(p.stdout) if p.stdout else {}
    error = answer.get("error")
    return p.returncode, answer.get("receipt"), [e["subject"] for e in [error, *error["more"]]] if error else []


def runs(w):
    return json.loads(w.oc("runs", "list", "--json", "-n", "1000").stdout)["runs"]


def newest(w):
    return runs(w)[0]["id"]


def every_run(w, what):
    bad = {}
    for run in runs(w):
        text = receipt(w, run["id"])
        rc, facts, wrong = verify(w, text)
        if rc or facts["unchained"] or facts["state"] != run["state"]:
            bad[run["id"]] = (run["state"], rc, facts, wrong, text[:300])
    return ok(not bad, what + ": the receipts of all %d runs hold" % len(runs(w)), bad)


def changed(text, change):
    json_ = json.loads(text)
    change(json_)
    return json.dumps(json_)


def ends(w):
    here = w.home + "/here"
    os.makedirs(here)
    for what, args, status in (("none", ["--unsandboxed"], 7), ("sandbox", [], 7), ("sandbox", ["--timeout", "1s"], 124)):
        p = w.oc("exec", *args, "--", "sh", "-c", "test $0 = 124 && sleep 60; exit 7", str(status), cwd=here)
        text = receipt(w, newest(w))
        rc, facts, wrong = verify(w, text)
        ok(p.returncode == status and rc == 0 and facts["kind"] == what and facts["over"] and facts["state"] == "exited", "%s %d: its receipt holds" % (what, status), (p.stderr, facts, wrong))
    j = json.loads(text)
    proved = {p["id"] for p in j["proved"]["probes"]}
    ok(j["plan_digest"] == w.run_record(newest(w))["digest"] and j["exit"]["digest"] == j["plan_digest"] and {p["id"] for p in j["plan"]["probes"]} <= proved and len(proved) > 10,
       "it has plan, probes and exit")
    ok(text == receipt(w, newest(w)), "it is the same text each time")
    for what, change, subject in (
            ("a status", lambda r: r["exit"].update(status=9), "exit"), ("a policy", lambda r: r.update(policy="{}"), "policy"),
            ("a probe", lambda r: r["proved"]["probes"].pop(), "proved"), ("an event gone", lambda r: r["events"].pop(3), "events[3]"),
            ("an event changed", lambda r: r["events"][3]["data"].update(x=1), "events[3]"), ("a plan", lambda r: r["plan"].update(notes=[]), "plan"),
            ("events that change places", lambda r: r["events"].insert(2, r["events"].pop(4)), "events[2]")):
        rc, facts, wrong = verify(w, changed(text, change))
        ok(rc == 1 and "digest" in wrong and subject in wrong, "changed: %s is named" % what, (rc, wrong))
    rc, facts, wrong = verify(w, changed(text, lambda r: None))
    ok(rc == 0, "control: laid out otherwise it holds", wrong)
    p = w.oc("receipt", "verify", "-", input=text)
    ok(p.returncode == 0 and p.stdout.startswith("holds") and facts["digest"] in p.stdout and "kept elsewhere" in p.stdout, "in words", p.stdout)
    p = w.oc("receipt", "verify", "-", input=text.replace('"status": ', '"status": 1'))
    ok(p.returncode == 1 and not p.stdout and all(x in p.stderr for x in ("receipt_broken", "about", "fix", "--receipt")), "in words: what doesn't hold, and a fix", p.stderr)
    rc, _, _ = verify(w, text, "--digest", facts["digest"])
    other = verify(w, text, "--digest", "sha256:" + "0" * 64)
    ok(rc == 0 and other[0] == 1 and other[2] == ["digest"], "--digest: the one that was kept, and another", other)
    return text


def offline(w, text):
    place = w.root + "/elsewhere"
    os.makedirs(place)
    file = put(place + "/r.json", text)
    env = {"HOME": place, "XDG_STATE_HOME": place + "/state", "XDG_CONFIG_HOME": place + "/config"}
    p = w.oc("receipt", "verify", file, env=env, cwd=place)
    ok(p.returncode == 0 and os.listdir(place) == ["r.json"], "it needs nothing but the file, and makes nothing", (p.stderr, os.listdir(place)))
    for what, args, status in (("no file", [], 2), ("two", [file, file], 2), ("one that isn't there", [place + "/x"], 2), ("a directory", [place], 2), ("no such option", ["--x", file], 2)):
        p = w.oc("receipt", "verify", *args, env=env, cwd=place)
        ok(p.returncode == status and p.stderr, "usage: " + what, (p.returncode, p.stderr))
    for what, junk in (("nothing", ""), ("no JSON", "{"), ("something else", "{}"), ("half of one", text[:len(text) // 2])):
        p = w.oc("receipt", "verify", "-", env=env, cwd=place, input=junk)
        ok(p.returncode == 1 and "receipt_broken" in p.stderr, "no receipt: " + what, (p.returncode, p.stderr))


def turns(w):
    p = w.turn(COMMIT % ("a", "a"), "kept", "boxed")
    run = newest(w)
    text = receipt(w, run)
    rc, facts, wrong = verify(w, text)
    j = json.loads(text)
    ok(p.returncode == 0 and rc == 0 and j["run"]["binding"] == "web/boxed" and j["save"]["result"]["saved"], "a turn: its receipt has its binding and its save", (p.stderr, rc, wrong))
    for what, change, subject in (("a commit", lambda r: r["save"]["result"].update(tip="0" * 40), "save.result"), ("no save", lambda r: r.update(save=None), "save")):
        rc, _, wrong = verify(w, changed(text, change))
        ok(rc == 1 and subject in wrong, "a turn, changed: %s is named" % what, wrong)
    put(w.home + "/outside", "x")
    os.link(w.home + "/outside", w.work("kept")["workspace"] + "/linked")
    p = w.turn("true", "kept", "boxed")
    rc, facts, wrong = verify(w, receipt(w, newest(w)))
    ok(p.returncode == 125 and rc == 0 and facts["state"] == "failed" and facts["over"], "a run that was refused has one too", (p.stderr, facts, wrong))
    os.unlink(w.work("kept")["workspace"] + "/linked")


def going_on(w, key, binding="boxed"):
    """A run that waits for a file: its id, and what ends it."""
    p = w.turn("touch there; while ! test -e go; do sleep 0.2; done", key, binding, flags=["--detach"])
    run = p.stdout.strip()
    wait_for(lambda: os.path.exists(w.work(key).get("workspace", "") + "/there"), 60)

    def end():
        put(w.work(key)["workspace"] + "/go", "")
        return wait_for(lambda: w.run_record(run)["state"] == "exited", 60)
    return run, end


def shown(w, run):
    p = w.oc("runs", "get", run)
    return p.stdout


def notes(w, run):
    return [e["data"] for e in w.run_record(run)["events"] if e["type"] == "note:policy"]


def rebind(w, **policy):
    path = w.config + "/config.json"
    config = json.load(open(path))
    box = next(b for b in config["scopes"][0]["bindings"] if b["name"] == "boxed")
    box["sandbox"]["config"].update(policy)
    put(path, json.dumps(config))


def changed_policy(w):
    run, end = going_on(w, "long")
    before = shown(w, run)
    rc, facts, wrong = verify(w, receipt(w, run))
    ok(rc == 0 and not facts["over"], "a run that isn't over: its receipt says so", (facts, wrong))
    ok("by now" not in before and not notes(w, run) and w.run_record(run)["config"]["state"] == "same", "control: nothing was changed, nothing is said", before)
    rebind(w, network={"allow": ["example.org"]})
    after = shown(w, run)
    ok(all(x in after for x in ("policy of its binding by now", "applies from the next run", 'network.allow    with "example.org"', "policy as written")), "changed: both are shown, and what differs", after)
    now = w.run_record(run)
    ok(now["config"]["state"] == "changed" and now["config"]["differs"] == [{"field": "network.allow", "removed": [], "added": ["example.org"]}] and "example.org" not in now["policy"],
       "changed: in JSON too, and the run has what it had", now["config"])
    ok(len(notes(w, run)) == 1 and notes(w, run)[0]["differs"] == now["config"]["differs"], "changed: noted once, however often it is looked at", notes(w, run))
    rebind(w, network={"allow": ["example.org"]}, write=["{workspace}", w.home])
    shown(w, run)
    rebind(w, network={"allow": []}, write=["{workspace}"])
    shown(w, run)
    ok([n["state"] for n in notes(w, run)] == ["changed", "changed", "same"], "changed again, and back: each is noted", notes(w, run))
    path = w.config + "/config.json"
    text = open(path).read()
    put(path, "{")
    ok("can't be read" in shown(w, run) and len(notes(w, run)) == 3, "a config that can't be read is said to be so, and nothing is noted")
    put(path, text.replace('"name": "boxed"', '"name": "other"'))
    ok("no such binding" in shown(w, run) and notes(w, run)[-1]["state"] == "gone", "a binding that is gone")
    put(path, text)
    rebind(w, network={"allow": ["example.com"]})
    ok(end(), "it goes on to its end")
    kept = receipt(w, run)
    last = shown(w, run)
    ok("example.com" in last and "applies from the next run" in last, "the last run of a binding: both are shown", last)
    rebind(w, network={"allow": ["example.net"]})
    ok("example.net" in shown(w, run) and receipt(w, run) == kept and verify(w, kept)[0] == 0, "looking at a run that is over changes nothing of it")
    p = w.turn("true", "next", "boxed")
    ok(p.returncode == 0 and "example.net" in w.run_record(newest(w))["policy"] and w.run_record(newest(w))["config"]["state"] == "same", "the next run has the new one", p.stderr)
    ok("by now" not in shown(w, run) and w.run_record(run)["config"] is None, "one that isn't the last of its binding is compared with nothing")


def in_the_store(w):
    run = newest(w)
    db = sqlite3.connect(w.state + "/state.db", timeout=30)
    try:
        db.execute("UPDATE events SET type = 'x' WHERE run = ?", (run,))
        refused = False
    except sqlite3.IntegrityError:
        refused = True
    db.rollback()
    ok(refused, "the store: an event is written once")
    ok(verify(w, receipt(w, run))[0] == 0, "control: the receipt holds before")
    db.execute("DELETE FROM events WHERE run = ? AND seq = 3", (run,))
    db.commit()
    rc, _, wrong = verify(w, receipt(w, run))
    ok(rc == 1 and wrong[0] == "events[2]", "the store: an event that was removed shows", wrong)
    db.execute("DELETE FROM runs WHERE id = ?", (run,))
    db.commit()
    db.close()


POINTS = sorted({p for f in glob.glob(ROOT + "/lib/**/*.c", recursive=True) for p in re.findall(r'oc_fault\("((?:host|guard):[^"]+)"\)', open(f).read())})


def killed(w):
    here, hit = w.home + "/killed", set()
    os.makedirs(here)
    for point in POINTS:
        p = w.oc("exec", "--unsandboxed", "--", "true", cwd=here, env={"OPEN_CONDUIT_FAULT": point})
        if p.returncode in (-signal.SIGKILL, 125):
            hit.add(point)
    ok(len(POINTS) > 20 and len(hit) > 20, "killed at %d points of %d" % (len(hit), len(POINTS)), set(POINTS) - hit)
    w.oc("runs", "list")
    wait_for(lambda: all(r["state"] in ("exited", "failed", "run_lost", "pinned") for r in runs(w)), 60)
    every_run(w, "killed")


def main():
    w = Works()
    try:
        text = ends(w)
        offline(w, text)
        turns(w)
        changed_policy(w)
        in_the_store(w)
        killed(w)
    finally:
        w.close()
    finish()


if __name__ == "__main__":
    main()

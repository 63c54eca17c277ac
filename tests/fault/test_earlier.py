#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs that were started by an earlier build, host and guard, and are adopted by this one: test_earlier.py BUILD OTHER, the two
folders that tests/stages/63-earlier-guard.sh builds of frozen sources; OTHER's guard speaks only versions that nobody knows."""
import json, os, shutil, signal, subprocess, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faults import alive, follow, get, guard_of, listed, ok, processes, wait_for  # noqa: E402
from world import BUILD, World, finish  # noqa: E402

POLICY = json.dumps({"write": ["{workspace}"], "network": {"allow": []}})
SCRIPT = "while read line; do echo \"got $line\"; done; while [ ! -e go ]; do sleep .1; done; rm go; exit 5"


def libexec(w, build):
    """Its guard and guest, with the providers of the day: those speak to both."""
    place = "%s/libexec-%s" % (w.root, os.path.basename(build))
    shutil.copytree(BUILD + "/libexec/providers", place + "/providers")
    for name, part in (("open-conduit-guard", "guard"), ("open-conduit-guest", "guest")):
        shutil.copy("%s/lib/%s/%s" % (build, part, name), place)
    if not os.path.lexists(w.root + "/lib"):
        os.symlink(BUILD + "/lib", w.root + "/lib")  # where the providers look for it
    return place


def start(w, build, place, kind):
    p = subprocess.run([build + "/follow", "start", w.state, w.ws, POLICY if kind == "srt" else "-", "--", "/bin/sh", "-c", SCRIPT],
                       env={**w.env, "OPEN_CONDUIT_LIBEXEC": place}, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    if not ok(p.returncode == 0, "%s: it is started by %s" % (kind, os.path.basename(build)), p.stderr):
        return None
    run = p.stdout.strip()
    with open("/proc/%d/cmdline" % guard_of(w, run)) as f:
        ok(f.read().startswith(place + "/"), "%s: control: its guard is that build's" % kind)
    return run


def adopted(w, build, place, kind):
    """All are started before this build opens the store: from then on it is of a schema that the earlier one may not know."""
    run, stopped, lost = (start(w, build, place, kind) for _ in range(3))
    if not run or not stopped or not lost:
        return
    p, runs = listed(w)
    ok(p.returncode == 0 and [r["state"] for r in runs if r["id"] == run] == ["running"], kind + ": this build shows it as running", (p.stderr, runs))
    with open(w.root + "/input", "w") as f:
        f.write("one\ntwo\n")
    open(w.ws + "/go", "w").close()
    p = follow(w, "adopt", w.state, run, w.root + "/input")
    record = json.loads(p.stderr.splitlines()[-1]) if p.returncode == 0 else {}
    ok(p.stdout == "got one\ngot two\n" and record.get("status") == 5 and record.get("state") == "exited", kind + ": adopted: input, output and status",
       (p.stdout, p.stderr))
    after = get(w, run)
    ok(after["state"] == "exited" and after["status"] == 5 and len(after["attempts"]) == 1, kind + ": and recorded", after["state"])
    p = w.oc("runs", "stop", stopped)
    ok(p.returncode == 0 and get(w, stopped)["exit"]["state"] == "stopped", kind + ": runs stop of this build ends one", p.stderr)
    run = lost
    guard = guard_of(w, run)
    os.kill(guard, signal.SIGKILL)
    wait_for(lambda: not alive(guard), 5)
    listed(w)
    ok(get(w, run)["state"] == "run_lost", kind + ": one whose guard was killed is lost", get(w, run)["state"])
    open(w.ws + "/go", "w").close()
    p = follow(w, "retry", w.state, run, w.root + "/input")
    after = get(w, run)
    ok(p.returncode == 0 and after["status"] == 5 and len(after["attempts"]) == 2, kind + ": and this build makes a further attempt, as pinned", (p.stderr, after))
    ok(wait_for(lambda: not processes(w), 10), kind + ": nothing is left", processes(w))


def unknown_protocol(w, build, place):
    run = start(w, build, place, "none")
    if not run:
        return
    listed(w)
    error = get(w, run)["error"] or {}
    ok(get(w, run)["state"] == "unknown" and error.get("reason") == "pin_mismatch" and "versions 7 to 9" in error.get("message", "") and
       "runs stop " + run in error.get("fix", ""), "a guard that speaks versions that nobody knows: not adopted, with words", error)
    for command in (["adopt"], ["retry"]):
        p = follow(w, *command, w.state, run)
        ok(p.returncode == 1 and "versions 7 to 9" in p.stderr, "a guard that speaks versions that nobody knows: %s is refused" % command[0], p.stderr)
    p = w.oc("runs", "stop", run)
    ok(p.returncode == 1 and "versions 7 to 9" in p.stderr and alive(guard_of(w, run)), "and neither stopped by guess nor ended", p.stderr)
    os.kill(guard_of(w, run), signal.SIGKILL)


def main():
    build, other = (os.path.abspath(a) for a in sys.argv[1:3])
    for folder, kind in ((build, "none"), (build, "srt"), (other, None)):
        w = World(clone=False)
        try:
            place = libexec(w, folder)
            if kind:
                adopted(w, folder, place, kind)
            else:
                unknown_protocol(w, folder, place)
        finally:
            w.close()
    finish()


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of host and guard at each named point from plan to finish, then recovery.  The points are
read from the source, so that a new one is tried without anyone remembering it.

Invariants after each: nothing runs that was not proved; nothing of the run is left (processes,
directories); the record says what happened; the store works; a further run is not in the way."""
import glob, json, os, re, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "isolation"))
from world import BUILD, World, finish, ok

ROOT = os.path.join(HERE, "..", "..")
SETTLED = {"failed", "exited", "finished", "run_lost", "stopped", "signaled", "timeout", "unavailable", "refused", "forgotten",
           "launchable", "pinned", "planned", "launched"}


def points():
    found = set()
    for f in glob.glob(ROOT + "/lib/**/*.c", recursive=True):
        found |= set(re.findall(r'oc_fault\("([^"]+)"\)', open(f).read()))
    return sorted(found)


def processes(w):
    """Everything whose environment carries a run of this world."""
    mine = []
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = open("/proc/%s/environ" % p, "rb").read()
            command = open("/proc/%s/cmdline" % p, "rb").read()
        except OSError:
            continue
        if (b"OPEN_CONDUIT_RUN=" in text and w.root.encode() in text + command) or w.state.encode() + b"/runs/" in command:
            mine.append((int(p), command.replace(b"\0", b" ").decode(errors="replace")[:80]))
    return mine


def settle(w, seconds=60):
    end = time.monotonic() + seconds
    while processes(w) and time.monotonic() < end:
        time.sleep(0.1)
    return processes(w)


def try_point(w, kind, point):
    mark = w.ws + "/ran"
    script = "echo ran >> ran; echo out; exit 0"
    args = ["exec"] + (["--unsandboxed"] if kind == "none" else []) + ["-v", "--", "/bin/sh", "-c", script]
    p = w.oc(*args, env={"OPEN_CONDUIT_FAULT": point}, timeout=120)
    name = "%s at %s" % (kind, point)
    killed = point.startswith("host:") and p.returncode == -9
    if point.startswith("host:"):
        ok(killed, name + ": the host was killed there", "%d %s" % (p.returncode, p.stderr))
    left = settle(w)
    listed = w.oc("runs", "list", "--json")
    ok(listed.returncode == 0, name + ": recovery works", listed.stderr)
    left = settle(w, 10)
    ok(not left, name + ": no process is left", left)
    runs = json.loads(listed.stdout or '{"runs":[]}')["runs"]
    ran = os.path.exists(mark)
    count = open(mark).read().count("ran") if ran else 0
    if not runs:
        ok(not ran, name + ": a run that is not recorded did not run")
        return
    record = json.loads(w.oc("runs", "get", runs[0]["id"], "--json").stdout)
    run = record.get("run", record)
    ok(run["state"] in SETTLED, name + ": the state is settled", run["state"])
    ok(count <= 1, name + ": the agent ran once at most", count)
    proved = os.path.exists("%s/runs/%s/proved" % (w.state, run["id"]))
    ok(not ran or proved, name + ": what ran was proved")
    ok(not os.path.exists("%s/live/%s" % (w.state, run["id"])), name + ": its directories are gone", os.listdir(w.state + "/live"))
    if run["state"] == "exited":
        ok(ran, name + ": a run recorded as exited ran")
    if ran:
        os.unlink(mark)


def main():
    kinds = sys.argv[1].split(",") if len(sys.argv) > 1 else ["none", "srt"]
    found = points()
    ok(len([p for p in found if p.startswith("guard:")]) >= 10 and len([p for p in found if p.startswith("host:")]) >= 6,
       "the source names points for host and guard", found)
    for kind in kinds:
        for point in found:
            w = World(clone=False)
            try:
                if kind == "srt":
                    w.oc("doctor")
                try_point(w, kind, point)
                again = w.oc("exec", *(["--unsandboxed"] if kind == "none" else []), "--", "/bin/echo", "again")
                ok(again.stdout == "again\n", "%s at %s: the next run works" % (kind, point), again.stderr)
            finally:
                w.close()
    finish()


main()

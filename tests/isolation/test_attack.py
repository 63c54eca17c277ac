#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An agent that attacks the guest and the guard can't forge its exit status, its journal or its
record, and the run ends in a true state."""
import json, os, subprocess, sys, time

from world import HERE, World, finish, ok, put, skip

ATTACKS = ["take_descriptors", "open_descriptors", "trace", "signals", "stop_group", "frames", "reopen_output", "run_directory",
           "flood", "orphans"]


def records(w):
    listed = json.loads(w.oc("runs", "list", "--json").stdout)["runs"]
    record = json.loads(w.oc("runs", "get", listed[0]["id"], "--json").stdout)
    return listed[0]["id"], record


def attack(w, name, mode, policy, **kw):
    script = put(w.ws + "/attack.py", open(HERE + "/attack.py").read(), 0o644)
    p = w.oc("exec", "--policy", policy, "--", "/usr/bin/python3", script, name, **kw)
    title = "unix_sockets %s: %s" % (mode, name)
    ok("GOT" not in p.stdout, title + " gains nothing", p.stdout[:600])
    # What the agent may do to itself (be killed by its own signal) is a true end too; a success never is.
    ok(p.returncode in (37, 137, 143), title + ": the exit status is the agent's own", "%d %s" % (p.returncode, p.stderr))
    run, record = records(w)
    end = record.get("exit") or {}
    ok((end.get("state"), end.get("status")) == ("exited", 37) or end.get("state") == "signaled", title + ": the record says so", end)
    ok(not os.path.exists(w.state + "/live/" + run), title + ": nothing of the run is left", os.listdir(w.state + "/live"))
    return p, record


def frames_control(w, policy):
    """The forged bytes are output like any other."""
    p, _ = attack(w, "frames", "none", policy)
    run, _ = records(w)
    logs = subprocess.run([os.environ["OC_BUILD"] + "/host/open-conduit", "runs", "logs", run], env=w.env, capture_output=True)
    ok(b"\x05\x00\x00\x00\x25" in logs.stdout, "forged frames are kept as what they are: output", logs.stdout[:200])


def outlives_nothing(w, policy):
    attack(w, "orphans", "none", policy)
    beat = w.ws + "/heartbeat"
    size = os.path.getsize(beat)
    time.sleep(0.5)
    ok(size > 0 and os.path.getsize(beat) == size, "no daemon of the agent outlives the run", os.path.getsize(beat) - size)
    os.unlink(beat)


def stops(w, policy):
    """A child that ignores SIGTERM, a child in a new session: the timeout ends them all."""
    script = "trap '' TERM; (setsid sh -c 'trap \"\" TERM; while :; do date > beat; sleep 0.1; done' &) ; while :; do sleep 0.1; done"
    p = w.oc("exec", "--policy", policy, "--timeout", "2", "--", "/bin/sh", "-c", script, timeout=120)
    ok(p.returncode == 124, "a run that ignores SIGTERM ends by its timeout", "%d %s" % (p.returncode, p.stderr))
    before = open(w.ws + "/beat").read()
    time.sleep(1.2)
    ok(open(w.ws + "/beat").read() == before, "and so does its child in a new session")


def full_disk(w):
    """State and workspace on a small file system of their own, in a namespace of this user's."""
    small = w.root + "/small"
    os.makedirs(small)
    inner = ("mount -t tmpfs -o size=24m,mode=0777 none %s && cp -r %s %s/ws && mkdir %s/state && "
             "exec unshare --user --map-user=%d --map-group=%d %%s" % (small, w.ws, small, small, os.getuid(), os.getgid()))
    script = put(w.root + "/full.sh", """#!/bin/sh
cd %s/ws || exit 99
export XDG_STATE_HOME=%s/state
%s/host/open-conduit exec --write . -- /usr/bin/python3 attack.py fill_disk >out.txt 2>err.txt
echo "exec $?"
rm -rf full [0-9]*
%s/host/open-conduit runs list --json
""" % (small, small, os.environ["OC_BUILD"], os.environ["OC_BUILD"]), 0o755)
    put(w.ws + "/attack.py", open(HERE + "/attack.py").read(), 0o644)
    p = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", inner % script], env=w.env,
                       capture_output=True, text=True, timeout=300)
    if "unshare:" in p.stderr or "mount:" in p.stderr:
        skip("full disk", "no mount namespace for an ordinary user here: " + p.stderr.strip())
        return
    lines = p.stdout.strip().splitlines()
    ok(lines and lines[0] == "exec 37", "with the disk full the exit status is the agent's", p.stdout + p.stderr)
    runs = json.loads(lines[-1])["runs"] if len(lines) > 1 else []
    ok(runs and runs[0]["state"] in ("exited", "finished"), "with the disk full the record is true", runs)


def main():
    w = World(clone=False)
    for mode in ("none", "all"):
        policy = w.policy(**({"unix_sockets": "all"} if mode == "all" else {}))
        for name in ATTACKS:
            attack(w, name, mode, policy, timeout=300)
    frames_control(w, w.policy())
    outlives_nothing(w, w.policy())
    stops(w, w.policy())
    full_disk(w)
    # The control: unsandboxed, the same attempts do gain something, so "gains nothing" can fail.
    script = put(w.ws + "/attack.py", open(HERE + "/attack.py").read(), 0o644)
    p = w.oc("exec", "--unsandboxed", "--", "/usr/bin/python3", script, "open_descriptors")
    q = subprocess.run(["/usr/bin/python3", script, "trace"], capture_output=True, text=True, env=w.env)
    ok("GOT" in p.stdout + q.stdout, "the control: unconfined, an attack gains something", p.stdout + q.stdout + p.stderr)
    w.close()
    finish()


main()

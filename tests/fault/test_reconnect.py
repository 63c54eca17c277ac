#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The host is killed and reconnected 20 times during one live run: no line of output is lost."""
import json, os, random, subprocess, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "isolation"))
from world import BUILD, World, finish, ok

FOLLOW = BUILD + "/tests/fault/follow"
LINES, KILLS = 6000, 20
SCRIPT = "i=0; while [ $i -lt %d ]; do i=$((i+1)); echo line $i; [ $((i %% 60)) != 0 ] || sleep 0.1; done" % LINES


def lines_of(w, kind, policy):
    args = [FOLLOW, "start", w.state, w.ws, policy, "--", "/bin/sh", "-c", SCRIPT]
    p = subprocess.run(args, env=w.env, capture_output=True, text=True, timeout=120)
    if not ok(p.returncode == 0, kind + ": the run starts", p.stderr):
        return
    run, seen, kills, last = p.stdout.strip(), [], 0, None
    while last is None:
        log = open(w.root + "/out", "w+b")
        host = subprocess.Popen([FOLLOW, "adopt", w.state, run], env=w.env, stdout=log, stderr=subprocess.PIPE)
        if kills < KILLS:
            time.sleep(random.uniform(0.05, 0.4))
            if host.poll() is None:
                host.kill()
                kills += 1
        _, err = host.communicate(timeout=120)
        log.seek(0)
        seen.append(log.read().decode())
        if host.returncode == 0:
            last = json.loads(err.decode().strip().splitlines()[-1])
        elif host.returncode != -9:
            ok(False, kind + ": a reconnected host goes on", err.decode())
            return
    ok(kills == KILLS, "%s: the host was killed %d times while the run lived" % (kind, KILLS), kills)
    ok(last["state"] == "exited" and last["status"] == 0 and last["lost_bytes"] == 0, kind + ": the record is whole", last)
    # A line may come twice, where a host died between writing it and acknowledging it; none may be missing.
    numbers = set()
    for part in seen:
        for line in part.split("\n"):
            if line.startswith("line ") and line[5:].isdigit():
                numbers.add(int(line[5:]))
    missing = set(range(1, LINES + 1)) - numbers
    # A kill can cut a write in two; its line is then whole again in the next host's output.
    ok(not missing, "%s: all %d lines arrived" % (kind, LINES), sorted(missing)[:20])


def main():
    w = World(clone=False)
    lines_of(w, "none", "-")
    lines_of(w, "srt", json.dumps({"write": ["{workspace}"], "network": {"allow": []}}))
    w.close()
    finish()


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An agent that attacks the guest and the guard can't forge its exit status, its journal or its
record, and the run ends in a true state.

    test_attack.py              what an ordinary user can arrange
    test_attack.py memory       in a memory cgroup that root made: the agent exhausts it
    test_attack.py disk DIR     on a small file system that root mounted: the agent fills it"""
import glob, json, os, re, subprocess, sys, time

from world import BUILD, HERE, World, finish, ok, put, skip

# name -> (exit status of exec, state, status, signal) that is the truth about it.
PLAIN = (37, "exited", 37, 0)
ATTACKS = {name: PLAIN for name in ("take_descriptors", "open_descriptors", "trace", "signals", "stop_all", "stop_group", "frames",
                                    "reopen_output", "run_directory", "limits", "flood", "orphans")}
ATTACKS["kill_self"] = (137, "signaled", 0, 9)
ATTACKS["stop_self"] = (124, "timeout", 0, 9)
FLOOD = 1600 * 65536
FORGED = b"\x0c\x00\x00\x00\x22\x00\x00\x00" + b"\x01" + bytes(11) + b"\x05\x00\x00\x00\x25\x00\x00\x00\x01\x00\x00\x00\x00"


def last(w):
    run = json.loads(w.oc("runs", "list", "--json").stdout)["runs"][0]["id"]
    return run, json.loads(w.oc("runs", "get", run, "--json").stdout)["run"]


def journal(w, run):
    p = subprocess.run([BUILD + "/host/open-conduit", "runs", "logs", run], env=w.env, cwd=w.ws, capture_output=True)
    return p.stdout, p.stderr


def script(w):
    return put(w.ws + "/attack.py", open(HERE + "/attack.py").read(), 0o644)


def attack(w, name, mode, policy, *flags, **kw):
    title = "%s: %s" % (mode, name)
    status, *end = ATTACKS[name]
    p = w.oc("exec", "--policy", policy, *flags, "--", "/usr/bin/python3", script(w), name, text=False, **kw)
    ok(b"GOT" not in p.stdout, title + " gains nothing", p.stdout[:600])
    ok(p.returncode == status, title + ": exec ends with %d" % status, "%d %s" % (p.returncode, p.stderr))
    run, record = last(w)
    exit = record.get("exit") or {}
    ok([exit.get("state"), exit.get("status"), exit.get("signal")] == end, title + ": the record says so", exit)
    ok((record["state"], record["status"], record["signal"]) == ("exited", *end[1:]) and exit.get("error") is None and
       exit.get("digest") == record["digest"], title + ": and so does the store, for the plan that was pinned", record["state"])
    if name == "flood":
        flooded(p, run, exit, title)
    elif status == 37:
        ok(exit.get("output_bytes") == len(p.stdout) + len(p.stderr) and exit.get("lost_bytes") == 0,
           title + ": every byte of output is counted", "%s %d %d" % (exit, len(p.stdout), len(p.stderr)))
    ok(not os.path.exists(w.state + "/live/" + run), title + ": nothing of the run is left", os.listdir(w.state + "/live"))
    return p, run


def flooded(p, run, exit, title):
    """100 MiB as fast as it goes, 64 of which are kept: what a slow host lost is said, and counted by the guard, which
    can't know what was read but not yet acknowledged."""
    lost = FLOOD - len(p.stdout)
    ok(exit.get("output_bytes") == FLOOD and set(p.stdout) <= {ord("f")}, title + ": every byte of output is counted", exit)
    ok(lost <= exit.get("lost_bytes") <= lost + (8 << 20), title + ": what was lost is in the record", "%d %s" % (lost, exit))
    said = sum(map(int, re.findall(rb"(\d+) bytes of output were dropped", p.stderr)))
    # The journal knows where it goes on, with the eight bytes before each of its records: a bound, and a close one.
    ok(lost <= said <= lost + lost // 500 + 4096, title + ": and is said, as a close bound", "%d %s" % (lost, p.stderr))


def forged_bytes(w, mode, policy):
    """Forged frames and a forged journal record are output like any other."""
    p, run = attack(w, "frames", mode, policy)
    kept = journal(w, run)
    ok(FORGED in kept[0] and kept == (p.stdout, p.stderr), "%s: forged frames are kept as what they are: output" % mode, kept)


def outlives_nothing(w, mode, policy):
    attack(w, "orphans", mode, policy)
    beat = w.ws + "/heartbeat"
    size = os.path.getsize(beat)
    time.sleep(0.5)
    ok(size > 0 and os.path.getsize(beat) == size, "%s: no daemon of the agent outlives the run" % mode, os.path.getsize(beat) - size)
    os.unlink(beat)


def stops(w, mode, policy):
    """A child that ignores SIGTERM, a child in a new session: the timeout ends them all."""
    shell = "trap '' TERM; (setsid sh -c 'trap \"\" TERM; while :; do date +%N > beat; sleep 0.1; done' &) ; while :; do sleep 0.1; done"
    p = w.oc("exec", "--policy", policy, "--timeout", "1500ms", "--", "/bin/sh", "-c", shell, timeout=120)
    ok(p.returncode == 124, "%s: a run that ignores SIGTERM ends by its timeout" % mode, "%d %s" % (p.returncode, p.stderr))
    before = open(w.ws + "/beat").read()
    time.sleep(0.5)
    ok(before and open(w.ws + "/beat").read() == before, "%s: and so does its child in a new session" % mode)


def run_directory_harmless(w, policy):
    """What the agent made of {run} is removed without following a link out of it."""
    put(w.home + "/kept", "kept")
    attack(w, "run_directory", "unix_sockets none", policy)
    ok(open(w.home + "/kept").read() == "kept" and os.path.exists(w.outside + "/victim"), "cleaning {run} followed no link of the agent's")


def full_disk(small):
    """Workspace and state on a small file system of their own (made by root for this), which the agent fills.  The
    record's room was taken before the agent started."""
    w = World(clone=False)
    w.ws = small + "/ws"
    os.makedirs(w.ws)
    os.makedirs(small + "/s", mode=0o700)
    env = {"XDG_STATE_HOME": small + "/s"}
    script(w)
    p = w.oc("exec", "--write", ".", "--", "/usr/bin/python3", "attack.py", "fill_disk", env=env, timeout=300)
    ok(os.statvfs(small).f_bavail < 256, "the agent did fill the disk, and it still is", os.statvfs(small).f_bavail)
    listed = w.oc("runs", "list", "--json", env=env)
    ok(p.returncode == 37, "with the disk full exec says how the agent ended", "%d %s" % (p.returncode, p.stderr))
    ok(listed.returncode == 0, "with the disk full the runs can be listed", listed.stderr)
    records = glob.glob(small + "/s/open-conduit/runs/*/exit.json")
    exit = json.load(open(records[0])) if records else {}
    ok((exit.get("state"), exit.get("status")) == ("exited", 37), "with the disk full the record is whole and true", exit)
    ok(exit.get("output_bytes", 0) > 1000000 and len(p.stdout) + exit.get("lost_bytes", 0) >= exit["output_bytes"],
       "output that found no room is counted as lost", "%d %s" % (len(p.stdout), exit))
    for path in glob.glob(w.ws + "/[0-9f]*"):
        os.unlink(path) if os.path.isfile(path) else os.rmdir(path)
    run = json.loads(w.oc("runs", "list", "--json", env=env).stdout)["runs"][0]
    ok((run["state"], run["status"]) == ("exited", 37), "with room again the store says the same", run)
    q = w.oc("exec", "--write", ".", "--", "/bin/true", env=env)
    ok(q.returncode == 0, "with room again the next run works", q.stderr)
    w.close()
    finish()


def mapped_away(w):
    """In a user namespace root's files are nobody's, so that what confines can't be trusted: nothing is run there."""
    p = subprocess.run(["unshare", "--user", "--map-user=%d" % os.getuid(), "--map-group=%d" % os.getgid(), BUILD + "/host/open-conduit", "exec",
                        "--policy", w.policy(), "--", "/bin/sh", "-c", "echo ran > ran"], cwd=w.ws, env=w.env, capture_output=True, text=True, timeout=120)
    if "unshare:" in p.stderr:
        skip("a namespace where root's files are nobody's", p.stderr.strip())
        return
    ok(p.returncode == 125 and "sandbox_" in p.stderr and not os.path.exists(w.ws + "/ran"),
       "where root's files are nobody's exec refuses, and says of which file", "%d %s" % (p.returncode, p.stderr))


def oom_score(w, policy):
    """Who is killed first when memory ends: the agent, and it can't change that."""
    p = w.oc("exec", "--policy", policy, "--", "/bin/sh", "-c", "ulimit -v 400000; exec /usr/bin/python3 attack.py memory")
    ok("oom_score_adj 500" in p.stdout, "the agent is the kernel's first choice when memory ends", p.stdout)
    ok(p.returncode == 37, "an agent that runs out of its own memory ends as it wants to", "%d %s" % (p.returncode, p.stderr))
    q = w.oc("exec", "--policy", policy, "--", "/bin/sh", "-c", "echo 0 > /proc/self/oom_score_adj; cat /proc/self/oom_score_adj")
    ok(q.stdout.strip() == "500", "and can't lower it", q.stdout + q.stderr)
    c = subprocess.run(["/bin/sh", "-c", "echo 500 > /proc/self/oom_score_adj; echo 0 > /proc/self/oom_score_adj; cat /proc/self/oom_score_adj"],
                       capture_output=True, text=True)
    ok(c.stdout.strip() == "0", "the control: unconfined, it can", c.stdout + c.stderr)


def controls(w):
    """Unconfined, the same attempts do gain something, so "gains nothing" can fail."""
    for name in ("open_descriptors", "trace", "take_descriptors", "stop_all", "signals"):
        victim = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, stdout=open("/dev/null", "w"))
        # Of the attacks with kill(-1) only the part that names a process is tried.
        p = subprocess.run(["/usr/bin/python3", script(w), name], capture_output=True, text=True, timeout=60,
                           env={**w.env, "ATTACK_ONLY": str(victim.pid)})
        ok("GOT" in p.stdout, "the control: unconfined, %s gains something" % name, p.stdout + p.stderr)
        victim.kill()
        victim.wait()


def main():
    if sys.argv[1:2] == ["disk"]:
        full_disk(sys.argv[2])
    w = World(clone=False)
    if sys.argv[1:2] == ["memory"]:
        memory(w)
    controls(w)
    for mode in ("none", "all"):
        policy, mode = w.policy(**({"unix_sockets": "all"} if mode == "all" else {})), "unix_sockets " + mode
        for name in ATTACKS:
            if name in ("frames", "orphans", "run_directory"):
                continue
            flags = ["--timeout", "1"] if name == "stop_self" else []
            attack(w, name, mode, policy, *flags, timeout=300)
        forged_bytes(w, mode, policy)
        outlives_nothing(w, mode, policy)
        stops(w, mode, policy)
    run_directory_harmless(w, w.policy())
    oom_score(w, w.policy())
    mapped_away(w)
    w.close()
    finish()


def memory(w):
    """Started in a memory cgroup that holds host, guard, srt and agent together: the kernel takes the agent."""
    script(w)
    policy = w.policy()
    p = w.oc("exec", "--policy", policy, "--", "/usr/bin/python3", "attack.py", "memory", timeout=120)
    run, record = last(w)
    exit = record.get("exit") or {}
    ok(p.returncode == 137, "memory ends: exec says that the agent was killed", "%d %s %s" % (p.returncode, p.stdout[-300:], p.stderr))
    ok((exit.get("state"), exit.get("signal")) == ("signaled", 9), "memory ends: so does the record, written by a guard that lives", exit)
    ok("oom_score_adj 500" in p.stdout and "GOT" not in p.stdout, "memory ends: the agent could not save itself", p.stdout)
    q = w.oc("exec", "--policy", policy, "--", "/bin/true")
    ok(q.returncode == 0, "memory ends: the next run works", q.stderr)
    w.close()
    finish()


if __name__ == "__main__":
    main()

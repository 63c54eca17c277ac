#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The host is killed and reconnected 20 times during one live run: no line of output is lost, and stdin goes on where the
guard has it.  What else may be done with a run whose host is gone: two hosts, runs list, logs -f, stop; a guard that hangs;
records that are damaged."""
import hashlib, json, os, random, signal, subprocess, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faults import FOLLOW, SOAK, alive, follow, get, guard_of, listed, ok, processes, read_json, start, wait_for
from world import BUILD, World, finish, put

KILLS = 20
# A run goes on by as much for each host that was killed, and freely after the last: its end can't come before, however fast
# the machine is.
PACE = "pace() { while ! [ -e killed.$1 ] && ! [ -e killed.%d ]; do sleep 0.02; done; }; " % KILLS
LINES = KILLS * 200
SCRIPT = PACE + ("i=0; while [ $i -lt %d ]; do i=$((i+1)); echo line $i; "
                 "[ $((i %% 40)) != 0 ] || { sleep 0.1; pace $((i/200)); }; done; exit 3" % LINES)
INPUT = KILLS * 10 << 14
# Slowly, so that hosts die with stdin on its way.
READER = PACE + ("n=0; while pace $((n/10)); dd bs=16384 count=1 2>/dev/null of=part && [ -s part ]; do "
                 "cat part >> got; n=$((n+1)); sleep 0.02; done; cat got | sha256sum")


def popen(w, *args, **more):
    return subprocess.Popen([FOLLOW, *args], env=w.env, stdin=subprocess.DEVNULL, **{"stderr": subprocess.PIPE, **more})


def size(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def kill_hosts(w, kind, run, out, watched, *more):
    """KILLS hosts one after the other, the last one sees the end: (kills, parts, record).  Every other host is killed at any
    moment, maybe before it has adopted the run; the rest once what is watched has grown under them."""
    parts, kills = [], 0
    while True:
        with open(out, "w+b") as log:
            before = size(watched)
            host = popen(w, "adopt", w.state, run, *more, stdout=log)
            if kills < KILLS:
                if kills % 2 and not wait_for(lambda: size(watched) > before or host.poll() is not None, 60):
                    ok(False, kind + ": a reconnected host moves the run on", (kills, before))
                time.sleep(random.uniform(0, 0.3))
                if host.poll() is None:
                    host.kill()
                    kills += 1
                    put("%s/killed.%d" % (w.ws, kills), "")
            _, err = host.communicate(timeout=120)
            log.seek(0)
            parts.append(log.read())
        if host.returncode == 0:
            for k in range(kills + 1):
                os.unlink("%s/killed.%d" % (w.ws, k))
            return kills, parts, json.loads(err.decode().strip().splitlines()[-1])
        if host.returncode != -9:
            ok(False, kind + ": a reconnected host goes on", err.decode())
            return kills, parts, None


def lines_of(w, kind):
    put(w.ws + "/killed.0", "")
    run = start(w, kind, SCRIPT)
    kills, parts, last = kill_hosts(w, kind, run, w.root + "/out", w.root + "/out")
    if last is None:
        return
    ok(kills == KILLS, "%s: the host was killed %d times while the run lived" % (kind, KILLS), kills)
    ok(last["state"] == "exited" and last["status"] == 3 and last["lost_bytes"] == 0, kind + ": the record is whole", last)
    # A line may come twice, where a host died between writing it and acknowledging it; none may be missing, and each host's
    # part is a stretch of the output as it was: joined by their overlaps they are all of it.
    whole = b"".join(b"line %d\n" % (i + 1) for i in range(LINES))
    at, fine = 0, True
    for part in parts:
        where = [i for i in range(max(0, at - 65536), at + 1) if whole.startswith(part, i)]
        if not where:
            fine = ok(False, "%s: a host's part follows the last without a hole" % kind, (at, part[:80], part[-80:]))
            break
        at = max(at, max(i for i in where) + len(part))
    ok(fine and at == len(whole), "%s: all %d lines arrived" % (kind, LINES), (at, len(whole)))
    kept = w.oc("runs", "logs", run)
    ok(kept.stdout == whole.decode(), kind + ": the journal has each line once", len(kept.stdout))
    record = get(w, run)
    states = [e["data"]["state"] for e in record["events"] if e["type"] == "state"]
    ok([s for s in states if s in ("launched", "held", "started", "proved", "running", "exited")] ==
       ["launched", "held", "started", "proved", "running", "exited"], kind + ": the history has each state once, in order", states)


def input_of(w, kind):
    """What the hosts send arrives as one stream; nothing twice, nothing missing, whoever died when."""
    data = random.Random(1).randbytes(INPUT)
    with open(w.root + "/input", "wb") as f:
        f.write(data)
    put(w.ws + "/killed.0", "")
    run = start(w, kind, READER)
    kills, parts, last = kill_hosts(w, kind, run, w.root + "/out", w.ws + "/got", w.root + "/input")
    if last is None:
        return
    sent = hashlib.sha256(data).hexdigest()
    with open(w.ws + "/got", "rb") as f:
        got = f.read()
    ok(kills == KILLS, "%s: the host was killed %d times while it fed stdin" % (kind, KILLS), kills)
    ok(got == data and sent in b"".join(parts).decode(), kind + ": stdin arrived whole, once, in order", (len(got), len(data), last))
    os.unlink(w.ws + "/got")


def two_hosts(w, kind):
    run = start(w, kind, "i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo line $i; sleep 0.02; done")
    first = popen(w, "hold", w.state, run, stdout=subprocess.PIPE, text=True)
    line = first.stdout.readline().strip()
    ok(line == "running", kind + ": a host that adopts is told that it runs", line)
    second = popen(w, "adopt", w.state, run, stdout=subprocess.PIPE)
    out, err = second.communicate(timeout=60)
    ok(second.returncode == 0 and out.decode().split("\n")[-2:] == ["line 100", ""], kind + ": the newest host owns the run", err.decode())
    _, said = first.communicate(timeout=30)
    ok(first.returncode == 1 and "goes on without this host" in said and "run_lost" not in said, kind + ": the host before it is told", (first.returncode, said))


def logs_and_stop(w, kind):
    run = start(w, kind, "trap 'echo bye; exit 0' TERM; echo hello; while :; do sleep 0.1; done")
    _, runs = listed(w)
    row = [r for r in runs if r["id"] == run]
    ok(row and row[0]["state"] == "running" and row[0]["ended"] is None, kind + ": runs list shows a live run as running", row)
    record = get(w, run)
    ok(record["state"] == "running" and len(record["attempts"]) == 1 and record["exit"] is None and record["proved"], kind + ": runs get shows a live run", record["state"])
    logs = subprocess.Popen([BUILD + "/host/open-conduit", "runs", "logs", "-f", run], env=w.env, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ok(logs.stdout.readline() == "hello\n", kind + ": runs logs -f shows what was printed")
    time.sleep(0.3)
    ok(logs.poll() is None, kind + ": runs logs -f waits for more")
    stopped = w.oc("runs", "stop", run, "--json")
    answer = json.loads(stopped.stdout or "{}")
    ok(stopped.returncode == 0 and answer.get("stopped") is True, kind + ": runs stop stops a run without a host", stopped.stdout + stopped.stderr)
    out, err = logs.communicate(timeout=30)
    ok(out == "bye\n" and logs.returncode == 0, kind + ": runs logs -f ends with the run", (out, err))
    record = get(w, run)
    ok(record["state"] == "exited" and record["exit"]["state"] == "stopped", kind + ": it is recorded as stopped", record["exit"])
    again = w.oc("runs", "stop", run)
    ok(again.returncode == 0 and "nothing of run" in again.stderr, kind + ": stopping what is over says so", again.stderr)
    ok(not processes(w), kind + ": nothing is left", processes(w))


def guard_hangs(w):
    """A guard that does not answer: said, with what to do, in bounded time; nothing is called over."""
    run = start(w, "none", "sleep 300")
    guard = guard_of(w, run)
    os.kill(guard, signal.SIGSTOP)
    began = time.monotonic()
    stopped = w.oc("runs", "stop", run, timeout=120)
    took = time.monotonic() - began
    ok(stopped.returncode == 1 and took < 45, "a guard that hangs: runs stop gives up in bounded time", (stopped.returncode, took))
    ok("kill -CONT %d" % guard in stopped.stderr, "a guard that hangs: the fix names the process", stopped.stderr)
    ok(get(w, run)["state"] == "running", "a guard that hangs: the run is not called over", get(w, run)["state"])
    os.kill(guard, signal.SIGCONT)
    stopped = w.oc("runs", "stop", run)
    ok(stopped.returncode == 0 and get(w, run)["exit"]["state"] == "stopped", "a guard that goes on: it is stopped", stopped.stderr)
    # Dead while the stop is under way.
    run = start(w, "none", "trap '' TERM; sleep 300")
    stop = subprocess.Popen([BUILD + "/host/open-conduit", "runs", "stop", run], env=w.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    wait_for(lambda: get(w, run)["state"] == "stopping", 10)
    ok(get(w, run)["state"] == "stopping", "a run that is being stopped is shown as stopping", get(w, run)["state"])
    os.kill(guard_of(w, run), signal.SIGKILL)
    _, err = stop.communicate(timeout=60)
    ok(stop.returncode == 1 and "run_lost" in err, "a guard killed during the stop: it is told", err)
    stopped = w.oc("runs", "stop", run)
    ok(stopped.returncode == 0 and get(w, run)["state"] == "run_lost", "a dead guard: stop settles the run as lost", stopped.stderr)
    ok(wait_for(lambda: not processes(w), 10), "a dead guard: nothing is left", processes(w))


def damaged(w):
    """Records that can't be read, or name another process: the run is neither adopted nor tried again, and nobody is hurt."""
    bystander = subprocess.Popen(["sleep", "300"])
    with open("/proc/%d/stat" % bystander.pid) as f:
        ticks = int(f.read().rsplit(")", 1)[1].split()[19])
    for file, what in (("guard.json", b"{"), ("guard.json", b""), ("guard.json", b"\0" * 70000), ("started", b"[]"), ("started", b"{}"),
                       ("plan.json", b"{}"), ("exit.json", b"{\"version\":1"), ("exit.json", b"{}")):
        name = "%s of %d bytes" % (file, len(what))
        run = start(w, "none", "sleep 300")
        os.kill(guard_of(w, run), signal.SIGKILL)
        path = "%s/runs/%s/%s" % (w.state, run, file)
        good = open(path, "rb").read() if os.path.exists(path) else None
        with open(path, "wb") as f:
            f.write(what)
        p, _ = listed(w)
        record = get(w, run)
        ok(p.returncode == 0 and record["state"] == "unknown" and record["error"]["fix"], name + ": unknown, with what to do", record["state"])
        for command in (("runs", "stop", run), ("runs", "logs", run)):
            p = w.oc(*command)
            ok(p.returncode == (1 if command[1] == "stop" else 0), "%s: %s tells" % (name, command[1]), p.stderr)
        p = follow(w, "retry", w.state, run)
        ok(p.returncode == 1 and json.loads(p.stderr)["reason"] in ("pin_mismatch", "run_lost"), name + ": not tried again", p.stderr)
        os.unlink(path) if good is None else open(path, "wb").write(good)
        listed(w)
        ok(get(w, run)["state"] == "run_lost", name + ": put right, the run is settled", get(w, run)["state"])
    # A number that was given to another process: by its start it is not the guard; with it, it holds no lock.
    for start_time, expected in ((ticks + 1, "run_lost"), (ticks, "unknown")):
        run = start(w, "none", "sleep 300")
        info = read_json("%s/runs/%s/guard.json" % (w.state, run))
        os.kill(info["pid"], signal.SIGKILL)
        wait_for(lambda: not alive(info["pid"]), 5)
        put("%s/runs/%s/guard.json" % (w.state, run), json.dumps({**info, "pid": bystander.pid, "start": start_time}))
        listed(w)
        ok(get(w, run)["state"] == expected, "a number of another process, start %s: %s" % ("equal" if start_time == ticks else "different", expected), get(w, run)["state"])
        p = w.oc("runs", "stop", run)
        ok(p.returncode == (0 if expected == "run_lost" else 1), "a number of another process: stop tells", p.stderr)
        ok(bystander.poll() is None, "a number of another process: that one lives on")
        put("%s/runs/%s/guard.json" % (w.state, run), json.dumps(info))
        listed(w)
        ok(get(w, run)["state"] == "run_lost", "a number of another process: settled when the record is right", get(w, run)["state"])
    # The same for what was launched: nothing is ended by its number alone.
    run = start(w, "none", "sleep 300")
    base = "%s/runs/%s/" % (w.state, run)
    os.kill(guard_of(w, run), signal.SIGKILL)
    info = read_json(base + "started")
    put(base + "started", json.dumps({**info, "pid": bystander.pid, "start": ticks, "pgrp": os.getpgid(bystander.pid), "session": os.getsid(0)}))
    listed(w)
    ok(bystander.poll() is None, "started names another process: that one lives on")
    bystander.kill()
    bystander.wait()
    ok(wait_for(lambda: not processes(w), 10), "damaged records: nothing is left", processes(w))


def main():
    parts = sys.argv[1].split(",") if len(sys.argv) > 1 else ["none", "srt", "hangs", "damaged"]
    w = World(clone=False)
    try:
        for kind in ("none", "srt"):
            if kind in parts:
                for _ in range(3 if SOAK else 1):
                    lines_of(w, kind)
                    input_of(w, kind)
                    two_hosts(w, kind)
                    logs_and_stop(w, kind)
        if "hangs" in parts:
            guard_hangs(w)
        if "damaged" in parts:
            damaged(w)
    finally:
        w.close()
    finish()


main()

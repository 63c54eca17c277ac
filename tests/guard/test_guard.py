#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The real guard, driven over its socket with plans of kind none.  usage: test_guard.py GUARD GUEST [NAME…]
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Run, b64, marked, place, run_tests, sha  # noqa: E402

GUARD, GUEST = (os.path.abspath(a) for a in sys.argv[1:3])
ROOT = place()


def sh(script, *args, **options):
    return Run(GUARD, GUEST, ["/bin/sh", "-c", script, "sh", *args], ROOT, **options)


def check(condition, *what):
    if not condition:
        raise AssertionError(*what)


def test_exit_codes():
    for code in (0, 1, 7, 77, 126, 127, 255):
        run = sh("exit $1", str(code))
        record = run.finish(run.begin())
        check(record["state"] == "exited" and record["status"] == code, record)
        check(run.has("started") and run.has("proved"))
        check(not os.path.exists(run.live), "live directory left")


def test_signals():
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
        run = sh("kill -%d $$" % number)
        record = run.finish(run.begin())
        check(record["state"] == "signaled" and record["signal"] == number, record)


def waiting(script):
    """A run whose launch command is a shell's: what it prints is what the guard reads."""
    return sh("exit 3", launch={"argv": ["/bin/sh", "-c", script, "sh", GUEST, "enter"]})


def test_launch_waits():
    def started(c):
        return [s.get("waiting", False) for s in c.states if s["state"] == "started"]
    run = waiting('echo waiting; sleep 1; echo waiting over; sleep 1; exec "$@"')
    c = run.begin()
    record = run.finish(c)
    check(record["state"] == "exited" and record["status"] == 3, record)
    check(started(c) == [False, True, False], c.states)
    # Said twice it counts once; said otherwise, or by what is no whole line, not at all.
    for script, want in (("echo waiting; sleep 1; echo waiting over; sleep 1; echo waiting; sleep 1", [False, True, False]),
                         ("echo not waiting; echo waiting for you; printf waiting; sleep 1", [False])):
        run = waiting(script + '; exec "$@"')
        c = run.begin()
        check(run.finish(c)["status"] == 3 and started(c) == want, c.states)
    # One that dies while it waits is seen at once, and one that is to end ends.
    run = waiting("echo waiting; sleep 1; exit 1")
    c = run.begin()
    record = run.finish(c, timeout=20)
    check(record["state"] == "unavailable" and True in started(c), record)
    run = waiting("echo waiting; exec sleep 1000")
    c = run.begin()
    while True not in started(c):
        c.message()
    c.call("stop", {"grace_ms": 100})
    check(run.finish(c, timeout=20)["state"] == "stopped", c.states)


def test_output():
    run = sh("printf out; printf err >&2; cat")
    c = run.begin()
    c.call("stdin", {"offset": 0, "data": b64(b"in")})
    c.call("stdin_end", {"offset": 2})
    record = run.finish(c)
    check(bytes(run.journal.streams[1]) == b"outin" and bytes(run.journal.streams[2]) == b"err")
    check(record["output_bytes"] == 8 and record["lost_bytes"] == 0, record)


def test_terminal():
    size = {"argv": ["/bin/sh", "-c", "stty size; trap 'stty size; exit 4' WINCH; echo ready; while :; do sleep .05; done"],
            "terminal": {"rows": 24, "cols": 80}}
    run = sh("", command=size)
    assert run.start().returncode == 0
    c = run.connect()
    c.wait("held")
    for bad in ({"rows": 0, "cols": 80}, {"rows": 24, "cols": 65536}, {"rows": 24}, {"rows": "x", "cols": 1}):
        check("error" in c.call("resize", bad), bad)
    check("result" in c.call("resize", {"rows": 30, "cols": 90}))  # before there is a guest: kept for it
    c.call("release", {"digest": run.digest, "env": {}, "secrets": {}})
    c.wait("running")
    until = time.time() + 20
    while b"ready\r\n" not in bytes(run.journal.streams[1]) and time.time() < until:
        run.journal.read()
        time.sleep(0.02)
    c.send("resize", {"rows": 41, "cols": 133})
    record = run.finish(c)
    check(record["status"] == 4, record)
    check(bytes(run.journal.streams[1]) == b"30 90\r\nready\r\n41 133\r\n", bytes(run.journal.streams[1]))
    check(not run.journal.streams[2])
    run = sh("exit 0")  # the control: one without a terminal has no size
    c = run.begin()
    check("error" in c.call("resize", {"rows": 24, "cols": 80}))
    run.finish(c)


def test_environment_and_secrets():
    secret = "canary-%d" % os.getpid()
    run = sh('printf "%s %s" "$TOKEN" "$TERM"; [ -z "$OPEN_CONDUIT_RUN" ]', command={
        "secrets": ["TOKEN"], "env": [{"name": "PATH", "value": "/usr/bin:/bin"}, {"name": "TERM", "value": None}]})
    check(run.start().returncode == 0)
    c = run.connect()
    c.wait("held")
    reply = c.call("release", {"digest": run.digest, "env": {}, "secrets": {}})
    check(reply["error"]["data"]["reason"] == "secret_missing", reply)
    reply = c.call("release", {"digest": run.digest, "env": {"LD_PRELOAD": b64(b"/x")}, "secrets": {"TOKEN": b64(secret.encode())}})
    check(reply["error"]["data"]["reason"] == "pin_mismatch", reply)
    reply = c.call("release", {"digest": "sha256:" + "0" * 64, "env": {}, "secrets": {"TOKEN": b64(secret.encode())}})
    check(reply["error"]["data"]["reason"] == "pin_mismatch", reply)
    check(not run.has("started"), "started before a valid release")
    check("result" in c.call("release", {"digest": run.digest, "env": {"TERM": b64(b"dumb")},
                                         "secrets": {"TOKEN": b64(secret.encode())}}))
    run.finish(c)
    check(bytes(run.journal.streams[1]) == b"[secret TOKEN] dumb", run.journal.streams)
    for folder, _, names in os.walk(run.state):
        for name in names:
            if "journal" not in folder:
                with open(os.path.join(folder, name), "rb") as f:
                    check(secret.encode() not in f.read(), name)


def test_stop():
    mark = "4242%d" % os.getpid()
    run = sh("trap '' TERM; (trap '' TERM; sleep %s & wait; sleep %s) & setsid sleep %s & "
             "(setsid sh -c 'sleep %s & sleep %s' &) ; echo up; while :; do sleep 0.1; done" % ((mark,) * 5))
    c = run.begin()
    c.wait("running")
    while b"up" not in run.journal.streams[1]:
        run.journal.read()
        time.sleep(0.01)
    time.sleep(0.1)
    check(len(marked(mark)) >= 3, "the control: children are there", marked(mark))
    before = time.time()
    c.call("stop", {"grace_ms": 300})
    record = run.finish(c)
    check(record["state"] == "stopped" and record["stop"]["by"] == "host" and record["stop"]["forced"], record)
    check(0.25 < time.time() - before < 3, time.time() - before)
    check(not marked(mark), "left alive", marked(mark))


def test_stop_is_heard():
    run = sh("trap 'echo bye; exit 9' TERM; echo up; while :; do sleep 0.05; done")
    c = run.begin()
    c.wait("running")
    while b"up" not in run.journal.streams[1]:
        run.journal.read()
        time.sleep(0.01)
    c.call("stop", {"grace_ms": 5000})
    record = run.finish(c)
    check(record["state"] == "stopped" and record["status"] == 9 and not record["stop"]["forced"], record)
    check(b"bye" in run.journal.streams[1])


def test_daemons_do_not_keep_the_run():
    mark = "4343%d" % os.getpid()
    run = sh("sleep %s & setsid sleep %s & (setsid sh -c 'while :; do echo x; sleep 0.2; : %s; done' &); echo done" % ((mark,) * 3))
    before = time.time()
    record = run.finish(run.begin())
    check(record["state"] == "exited" and record["status"] == 0, record)
    check(time.time() - before < 6.5, time.time() - before)
    check(b"done" in run.journal.streams[1])
    check(not marked(mark), marked(mark))


def test_large_stdin():
    data = os.urandom(5_000_000)
    run = sh("sha256sum; printf .")
    c = run.begin()
    at = 0
    while at < len(data):
        reply = c.call("stdin", {"offset": at, "data": b64(data[at:at + 32768])})
        check("result" in reply, reply)
        at = reply["result"]["accepted"]
        if at == 1_310_720:  # again, from before: must not be taken twice
            reply = c.call("stdin", {"offset": at - 65536, "data": b64(data[at - 65536:at - 32768])})
            check(reply["result"]["accepted"] == at, reply)
            reply = c.call("stdin", {"offset": at - 16384, "data": b64(data[at - 16384:at + 16384])})
            check(reply["result"]["accepted"] == at + 16384, reply)
            at += 16384
    check("error" in c.call("stdin", {"offset": at + 1, "data": b64(b"x")}), "a gap must be refused")
    check("result" in c.call("stdin_end", {"offset": at}))
    run.finish(c)
    check(bytes(run.journal.streams[1]).startswith(hashlib.sha256(data).hexdigest().encode()), run.journal.streams[1])


def test_stdin_backpressure():
    run = sh("sleep 1; wc -c")
    c = run.begin()
    at, data = 0, b"x" * 32768
    started = time.time()
    for _ in range(64):  # 2 MiB against a queue of 1 MiB and a sleeping reader
        at = c.call("stdin", {"offset": at, "data": b64(data)})["result"]["accepted"]
    check(time.time() - started > 0.5, "nothing waited", time.time() - started)
    c.call("stdin_end", {"offset": at})
    run.finish(c)
    check(int(run.journal.streams[1]) == 64 * 32768, run.journal.streams[1])


def test_closed_stdin():
    run = sh("exec <&-; sleep 0.5; echo ok")
    c = run.begin()
    c.wait("running")
    at = 0
    for _ in range(80):
        at = c.call("stdin", {"offset": at, "data": b64(b"x" * 32768)})["result"]["accepted"]
    record = run.finish(c)
    check(record["status"] == 0 and b"ok" in run.journal.streams[1])


def test_large_output():
    size = 200_000_000
    run = sh("yes 0123456789abcde | head -c %d" % size)
    run.journal.keep = False
    c = run.begin()
    while not any(s["state"] == "exited" for s in c.states):
        if run.journal.read(1):
            c.send("ack", {"next": run.journal.position})
        else:
            c.message()
    record = run.finish(c)
    want = hashlib.sha256((b"0123456789abcde\n" * (size // 16 + 1))[:size]).hexdigest()
    check(record["output_bytes"] == size, record)
    if run.journal.lost:
        check(record["lost_bytes"] > 0, "the record does not say what the journal lost", record)
        check(run.journal.count[1] < size)
        print("# the reader was too slow here: %d bytes lost, and said so" % record["lost_bytes"])
    else:
        check(run.journal.digest[1].hexdigest() == want and run.journal.count[1] == size, run.journal.count)
        check(record["lost_bytes"] == 0, record)


def test_output_without_a_reader():
    run = sh("yes 0123456789abcde | head -c 150000000; echo >&2 end")
    run.journal.keep = False
    before = time.time()
    record = run.finish(run.begin())
    check(record["output_bytes"] == 150_000_004, record)
    total = sum(os.path.getsize(os.path.join(run.dir, "journal", n)) for n in os.listdir(run.dir + "/journal"))
    check(total <= 64 << 20 and run.journal.lost > 0, total, run.journal.lost)
    check(record["lost_bytes"] + run.journal.count[1] + run.journal.count[2] == record["output_bytes"], record, run.journal.count)
    check(run.journal.count[2] == 4)
    print("# 150 MB into a journal of 64 MiB in %.2f s" % (time.time() - before))


def test_timeout():
    run = sh("sleep 30", limits={"timeout_ms": 300})
    before = time.time()
    record = run.finish(run.begin())
    check(record["state"] == "timeout" and time.time() - before < 3, record)


def test_unhosted():
    run = sh("sleep 30", limits={"unhosted_ms": 400})
    c = run.begin()
    c.wait("running")
    c.close()
    run.gone()
    check(run.record()["state"] == "stopped" and run.record()["stop"]["by"] == "unhosted", run.record())
    # The control: with keep it goes on and can be found again.
    run = sh("sleep 1.2; echo kept", limits={"unhosted_ms": 200, "keep": True})
    c = run.begin()
    c.wait("running")
    c.close()
    time.sleep(0.6)
    c = run.connect()
    check(c.hello["state"] == "running", c.hello)
    check(run.finish(c)["state"] == "exited" and b"kept" in run.journal.streams[1])


def test_abandoned():
    run = sh("echo never")
    check(run.start().returncode == 0)
    c = run.connect()
    c.wait("held")
    check(os.path.isdir(run.live + "/run/tmp"))
    c.close()
    run.gone(timeout=15)
    check(not run.has("started") and not run.has("exit.json") and not os.path.exists(run.live))


def test_two_connections():
    run = sh("read x; echo $x")
    c1 = run.begin()
    c1.wait("running")
    c2 = run.connect()
    try:
        while True:
            c1.message()
    except EOFError:
        pass
    # One that does not know the digest disturbs nobody.
    c3 = run.connect(hello=False)
    check(c3.call("hello", {"digest": "sha256:" + "1" * 64})["error"]["data"]["reason"] == "pin_mismatch")
    check("error" in c3.call("stop", {"grace_ms": 0}), "stop without hello")
    c2.call("stdin", {"offset": 0, "data": b64(b"second\n")})
    check(run.finish(c2)["status"] == 0 and bytes(run.journal.streams[1]) == b"second\n")


def test_garbage():
    run = sh("read x; echo $x")
    c = run.begin()
    c.wait("running")
    for junk in (b"\0" * 100, b"{]\n", b"x" * 200_000, b'{"jsonrpc":"2.0","id":1,"method":"hello","params":[]}\n',
                 b'{"jsonrpc":"2.0","id":1,"method":"hello"}\n', b"[" * 5000 + b"\n", b'{"id":1e400}\n', b"\n\n\n"):
        j = run.connect(hello=False)
        try:
            j.s.sendall(junk)
            j.s.settimeout(0.2)
            j.s.recv(4096)
        except OSError:
            pass
        j.close()
    held = [run.connect(hello=False) for _ in range(12)]
    for method, params in (("stdin", {"offset": -1, "data": ""}), ("stdin", {"offset": 0, "data": "%%%"}), ("nonsense", {}),
                           ("stdin", {"offset": 0, "data": b64(b"x" * 40000)}), ("stop", {"grace_ms": "x"}), ("ack", {"next": "y"}),
                           ("stdin_end", {"offset": 99}), ("release", {"digest": run.digest, "env": {}, "secrets": {}})):
        check("error" in c.call(method, params), method, params)
    c.call("stdin", {"offset": 0, "data": b64(b"fine\n")})
    check(run.finish(c)["status"] == 0 and bytes(run.journal.streams[1]) == b"fine\n")
    for j in held:
        j.close()


def test_memory():
    run = sh("sleep 5")
    c = run.begin()
    c.wait("running")
    time.sleep(0.3)
    with open("/proc/%d/status" % run.info()["pid"]) as f:
        kib = int(next(line for line in f if line.startswith("VmRSS")).split()[1])
    c.call("stop", {"grace_ms": 100})
    run.finish(c)
    print("# resident memory of a running guard: %d KiB" % kib)
    check(kib <= 2560, kib)


def test_start_refused():
    run = sh("true")
    check(run.start().returncode == 0)
    again = run.start()
    check(again.returncode == 1 and b"Another guard" in again.stderr, again)
    c = run.connect()
    c.wait("held")
    c.call("stop", {})
    record = run.finish(c)
    check(record["state"] == "stopped" and not run.has("started"), record)
    again = run.start()
    check(again.returncode == 1 and json.loads(again.stderr)["message"].startswith("The run is over"), again)
    for name, text in (("plan.json", b"{}"), ("plan.json", b"\0" * 4000), ("plan.json", b"")):
        run = sh("true")
        with open(os.path.join(run.dir, name), "wb") as f:
            f.write(text)
        r = run.start()
        check(r.returncode == 1 and "message" in json.loads(r.stderr), r)
    run = sh("true")
    os.chmod(run.dir, 0o755)
    check(run.start().returncode == 1)


def test_changed_plan_is_not_released():
    run = sh("echo pinned")
    check(run.start().returncode == 0)
    c = run.connect()
    c.wait("held")
    path = os.path.join(run.dir, "plan.json")
    with open(path, "rb") as f:
        text = f.read()
    with open(path, "wb") as f:
        f.write(text.replace(b"echo pinned", b"echo other!"))
    reply = c.call("release", {"digest": run.digest, "env": {}, "secrets": {}})
    check(reply["error"]["data"]["reason"] == "pin_mismatch", reply)
    check(not run.has("started"))
    c.call("stop", {})
    run.finish(c)


def test_changed_guest_is_refused():
    copy = os.path.join(ROOT, "guest-copy")
    shutil.copy(GUEST, copy)
    run = Run(GUARD, copy, ["/bin/true"], ROOT)
    with open(copy, "ab") as f:
        f.write(b"x")
    record = run.finish(run.begin())
    check(record["error"]["reason"] == "pin_mismatch" and record["error"]["subject"] == copy, record)
    check(record["state"] == "unavailable" and not run.has("started"), record)


def test_launch_failures():
    for argv, text in ((["/nonexistent/srt"], "No such file"),
                       (["/bin/sh", "-c", "echo 'bwrap: Creating new namespace failed: nesting depth or x' >&2; exit 1"],
                        "allows no user namespaces"),
                       (["/bin/sh", "-c", "printf 'odd\\033[31m text' >&2; exit 1"], "odd\\x1b[31m text"),
                       (["/bin/sh", "-c", "echo not a frame >&0; sleep 5"], "no frame")):
        run = sh("echo never", launch={"argv": argv, "hello_retries": 2})
        record = run.finish(run.begin())
        check(record["state"] == "unavailable" and record["error"]["reason"] == "sandbox_unavailable", record)
        check(text in record["error"]["message"], record["error"])
        check(run.has("started") and not run.has("proved") and not run.journal.streams[1])


def test_retry_before_hello():
    flag = os.path.join(ROOT, "flag")
    script = 'if mkdir "%s" 2>/dev/null; then echo "bwrap: Unable to apply mount flags" >&2; exit 1; fi; exec "%s" enter' % (flag, GUEST)
    run = sh("echo second", launch={"argv": ["/bin/sh", "-c", script], "hello_retries": 3})
    record = run.finish(run.begin())
    check(record["state"] == "exited" and record["attempts"] == 2, record)
    check(bytes(run.journal.streams[1]) == b"second\n")
    os.rmdir(flag)
    run = sh("echo never", launch={"argv": ["/bin/sh", "-c", script], "hello_retries": 0})  # the control
    check(run.finish(run.begin())["state"] == "unavailable")


def test_command_missing():
    run = Run(GUARD, GUEST, ["/nonexistent/agent"], ROOT)
    record = run.finish(run.begin())
    check(record["state"] == "unavailable" and "No such file" in record["error"]["message"], record)


def test_guest_killed():
    run = sh("kill -9 $PPID; sleep 5; echo forged")
    record = run.finish(run.begin())
    check(record["state"] == "run_lost" and record["error"]["reason"] == "run_lost", record)


def test_term_to_the_guard():
    run = sh("trap 'exit 3' TERM; echo up; while :; do sleep 0.05; done")
    c = run.begin()
    c.wait("running")
    while b"up" not in run.journal.streams[1]:
        run.journal.read()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGUSR1):
        os.kill(run.info()["pid"], number)
    time.sleep(0.1)
    check(c.call("ack", {"next": 0}).get("result") == {}, "still there")
    os.kill(run.info()["pid"], signal.SIGTERM)
    record = run.finish(c)
    check(record["state"] == "stopped" and record["stop"]["by"] == "signal" and record["status"] == 3, record)


def test_launch_gets_nothing_else():
    run = sh("true", launch={"argv": ["/bin/sh", "-c", "ls -l /proc/self/fd >&2; env >&2; umask >&2; pwd >&2; cat /proc/self/fd/5 >&2"],
                             "env": {"PATH": "/usr/bin:/bin", "ODD": "a b"}, "files": [{"fd": 5, "text": "settings é"}]})
    record = run.finish(run.begin())
    log = record["launch_log"]
    fds = sorted(int(line.split(" -> ")[0].split()[-1]) for line in log.splitlines() if " -> " in line)
    check([f for f in fds if f > 2 and f not in (3, 5)] == [], log)  # 3: ls reading the directory
    check("settings é" in log and "ODD=a b" in log and "OPEN_CONDUIT_RUN=" + run.id in log, log)
    check(run.live + "/cwd" in log, log)


def fake(mode, **options):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_guest.py")
    return sh("true", launch={"argv": [sys.executable, script, mode]},
              guest={"confined": True, "landlock": True},
              probes=[{"id": "P9", "kind": 7, "args": ["/x"]}, {"id": "P6", "kind": 5, "args": ["/y"]}], **options)


def test_fake_guest_control():
    run = fake("good")
    c = run.begin()
    record = run.finish(c)
    check(record["state"] == "exited" and record["status"] == 5, record)
    check(bytes(run.journal.streams[1]) == b"agent ran\n")
    with open(os.path.join(run.dir, "proved")) as f:
        proved = json.load(f)
    ids = {p["id"] for p in proved["probes"]}
    check(ids == {"P1", "P3", "P6", "P9", "P13", "P14", "P15"}, ids)
    check(proved["facts"] == {"landlock": "7"} and all(p["ok"] for p in proved["probes"]), proved)
    event = next(s for s in c.states if s["state"] == "proved")
    check(event["probes"] == proved["probes"], event)


def test_fake_guests_run_nothing():
    for mode, subject in (("nonce", "P13"), ("run", "P13"), ("version", "P13"), ("early-exit", "P13"), ("ready-first", "P13"),
                          ("hello-twice", "P13"), ("odd-fact", "P13"), ("connect", "P3"), ("missing", "P14"), ("fail", "P9"),
                          ("fail-hidden", "P13"), ("unknown", "P13"), ("huge", "P13")):
        run = fake(mode)
        try:
            record = run.finish(run.begin())
        except Exception as e:
            raise AssertionError(mode) from e
        check(record["state"] == "unavailable" and record["error"]["reason"] == "sandbox_unavailable", mode, record)
        check(record["error"]["subject"] == subject, mode, record["error"])
        check(not run.has("proved") and not run.journal.streams[1], mode, "something ran")
        check("\x1b" not in json.dumps(record), mode)
        check("wrote it" in record["error"]["message"] or mode != "fail", record)


def test_hardening_that_fails_is_refused_with_its_fix():
    for mode, word in (("nest", "unix_sockets"), ("keyring", "open-conduit doctor"), ("quota", "kernel.keys.maxkeys")):
        run = fake(mode)
        record = run.finish(run.begin())
        check(record["state"] == "unavailable" and record["error"]["subject"] == "guest", mode, record)
        check(word in record["error"]["fix"], mode, record["error"])
        check(not run.has("proved") and not run.journal.streams[1], mode, "something ran")


def test_halves_of_files_go():
    run = sh("true")
    left = os.path.join(run.dir, ".oc-abcdefghijklmnopqrst.tmp")
    open(left, "w").close()
    record = run.finish(run.begin())
    check(record["state"] == "exited" and not os.path.exists(left), record)
    check(not [n for n in os.listdir(run.dir) if n.endswith(".tmp")], os.listdir(run.dir))


def test_fake_guests_cannot_forge_an_end():
    for mode in ("failed-late", "result-late", "eof", "exit-value"):
        run = fake(mode)
        record = run.finish(run.begin())
        check(record["state"] == "run_lost" and record["error"]["reason"] == "run_lost" or mode != "eof", mode, record)
        check(record["state"] == "run_lost", mode, record)
    run = fake("exit-twice")
    record = run.finish(run.begin())
    check(record["state"] == "exited" and record["status"] == 5, record)
    run = fake("deaf")
    c = run.begin()
    c.wait("running")
    before = time.time()
    c.call("stop", {"grace_ms": 100})
    record = run.finish(c)
    check(record["state"] == "stopped" and time.time() - before < 4, record, time.time() - before)


def inside_full_disk():
    disk = os.path.join(ROOT, "disk")
    os.mkdir(disk, 0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "none", disk], check=True)
    run = Run(GUARD, GUEST, ["/bin/sh", "-c", "head -c 8000000 /dev/zero; exit 6"], disk)
    record = run.finish(run.begin())
    check(record["state"] == "exited" and record["status"] == 6, record)
    check(record["output_bytes"] == 8_000_000 and record["lost_bytes"] > 5_000_000, record)
    check(record["lost_bytes"] == run.journal.lost and run.journal.count[1] + run.journal.lost == 8_000_000, record, run.journal.count)
    # No room for the record: nothing starts.
    run = Run(GUARD, GUEST, ["/bin/true"], disk)
    check(run.start().returncode == 0)
    c = run.connect()
    c.wait("held")
    try:
        with open(os.path.join(disk, "filler"), "wb") as f:
            while True:
                f.write(bytes(4096))
                f.flush()
    except OSError:
        pass
    reply = c.call("release", {"digest": run.digest, "env": {}, "secrets": {}})
    check(reply["error"]["data"]["reason"] == "sandbox_unavailable", reply)
    check(not run.has("started"))
    c.call("stop", {})


def test_full_disk():
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True).returncode:
        print("# skipped: no user namespace can be made here, and so no small disk mounted")
        return
    r = subprocess.run(["unshare", "-Urm", sys.executable, os.path.abspath(__file__), GUARD, GUEST, "inside_full_disk"],
                       env=dict(os.environ, OC_TEST_INSIDE="1"), capture_output=True, text=True, timeout=60)
    check(r.returncode == 0, r.stdout + r.stderr)


def slow_silent_guest():
    run = fake("silent")
    before = time.time()
    c = run.begin()
    c.s.settimeout(60)
    record = run.finish(c, timeout=60)
    check(record["state"] == "run_lost" and 25 < time.time() - before < 45, record, time.time() - before)


POINTS = ["after-lock", "after-listen", "preflight", "held", "before-started", "after-started", "after-spawn", "hello", "ready",
          "after-proved", "after-go", "running", "exit-frame", "before-exit-record", "after-exit-record"]


def fault(point):
    """SIGKILL at the point; what the files must say then, and that nothing is left alive."""
    mark = "4444%d" % os.getpid()
    out = os.path.join(ROOT, "ran-" + point)
    run = sh("echo x > '%s'; sleep 0.%s; setsid sleep 0.3%s" % (out, mark, mark))
    started_guard = run.start("guard:" + point)
    try:
        c = run.connect()
        c.wait("held", "refused")
        c.call("release", {"digest": run.digest, "env": {}, "secrets": {}})
        c.wait("exited")
        alive = True
    except (OSError, EOFError):
        alive = False
    check(not alive, point, "the guard lived past its fault point")
    check(run.has("started") or not os.path.exists(out), point, "ran without started")
    check(run.has("proved") or not os.path.exists(out), point, "ran without proved")
    index = POINTS.index(point)
    check(run.has("started") == (index >= POINTS.index("after-started")), point, "started")
    check(run.has("proved") == (index >= POINTS.index("after-proved")), point, "proved")
    check(run.has("exit.json") == (point == "after-exit-record"), point, "exit.json")
    if run.has("exit.json"):
        check(run.record()["state"] == "exited", run.record())
    until = time.time() + 5
    while marked(mark) and time.time() < until:
        time.sleep(0.02)
    check(not marked(mark), point, "left alive", marked(mark))
    again = run.start()  # what an unfinished run may do next
    if point == "after-exit-record" or run.has("proved"):
        check(again.returncode == 1, point, again)
        return
    check(again.returncode == 0, point, again)
    c = run.connect()
    c.wait("held")
    check("result" in c.call("release", {"digest": run.digest, "env": {}, "secrets": {}}))
    check(run.finish(c)["state"] == "exited", point)


def test_faults():
    probe = sh("true")
    if probe.start("guard:after-lock").returncode == 0:
        print("# skipped: built without fault points (-Dfaults=true)")
        return
    for point in POINTS:
        fault(point)


run_tests(globals(), sys.argv[3:], (GUARD, GUEST), ROOT)

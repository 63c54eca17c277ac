#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Tokens of a run at its guard: given, put into answers, taken out of records, kept after the end.  usage: test_token.py GUARD GUEST [NAME…]
import base64
import fcntl
import json
import os
import shutil
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Run, b64, place, run_tests  # noqa: E402

GUARD, GUEST = (os.path.abspath(a) for a in sys.argv[1:3])
ROOT = place()
TOOL = {"name": "say", "description": "says it", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
IDS = ["token%011dx%d" % (n, n % 10) for n in range(80)]
HOUR = 3600 * 1000

# An agent that asks once, says what the host may hear of it, and goes on as the script says; w is what it was answered.
CLIENT = """
import json, os, socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.settimeout(90)
s.connect(sys.argv[1])
f = s.makefile("rw")
def ask(id, method, params):
    f.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + "\\n")
    f.flush()
    while True:
        m = json.loads(f.readline())
        if m.get("id") == id:
            return m
def call(id, text):
    return ask(id, "tools/call", {"name": "say", "arguments": {"text": text}})["result"]
ask(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
"""


def check(condition, *what):
    if not condition:
        raise AssertionError(*what)


def plain(script="exec sleep 60", **options):
    return Run(GUARD, GUEST, ["/bin/sh", "-c", script], ROOT, **options)


def agent(script, **options):
    run = Run(GUARD, GUEST, ["/bin/true"], ROOT)
    at = os.path.join(run.live, "run", "toolbelt.sock")
    shutil.rmtree(run.dir)
    Run.count -= 1
    return Run(GUARD, GUEST, ["/usr/bin/python3", "-c", CLIENT + script, at], ROOT, toolbelt={"at": at, "belt": {"tools": [TOOL]}}, **options)


def now():
    return int(time.time() * 1000)


def ask(run, method, digest=None, **params):
    """Over a connection of its own, as whoever made a token does: the answer, or the error."""
    c = run.connect(hello=False)
    reply = c.call(method, {"digest": digest or run.digest, **params})
    c.close()
    return reply


def deposit(run, id, value, lives=HOUR, **more):
    return ask(run, "deposit", id=id, value=b64(value.encode()), expires_ms=now() + lives, **more)


def withdraw(run, id, **more):
    reply = ask(run, "withdraw", id=id, **more)
    return base64.b64decode(reply["result"]["value"]).decode() if "result" in reply else reply["error"]


def forget(run, id, **more):
    return ask(run, "forget", id=id, **more)


def reason(reply):
    return reply.get("error", {}).get("data", {}).get("reason")


def code(error):
    return error.get("data", {}).get("code")


def running(run):
    c = run.begin()
    c.wait("running")
    return c


def canary(name):
    return "ghs_" + name + "0123456789abcdefghijklmnopqrstuv"


def holders(root, value):
    """Files below root that have these bytes; and that this finds them is what the caller shows too."""
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                with open(path, "rb") as f:
                    if value.encode() in f.read():
                        found.append(path)
    return found


def ended(run, timeout=60):
    until = time.time() + timeout
    while not run.has("exit.json"):
        check(time.time() < until, "it did not end")
        time.sleep(0.02)


def alive(run):
    try:
        with open("/proc/%d/stat" % run.info()["pid"]) as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_given_taken_forgotten():
    run = plain()
    c = running(run)
    value = canary("given")
    check("result" in deposit(run, IDS[0], value))
    check("result" in deposit(run, IDS[0], value), "the same again is no error")
    check("error" in deposit(run, IDS[0], value + "x"), "another value of the same id is taken")
    check(isinstance(withdraw(run, IDS[0]), dict), "a run that goes on gives its token away")
    check("result" in c.call("stop", {"grace_ms": 0}), "the host that is there was disturbed")
    c.wait("exited")
    c.close()
    check(withdraw(run, IDS[0]) == value, "what was given is not what is taken")
    check(withdraw(run, IDS[0]) == value, "taken once, it is gone")
    check(isinstance(withdraw(run, IDS[1]), dict), "one that never was is given")
    check("result" in forget(run, IDS[0]))
    run.gone()
    check(not run.has("guard.sock"), "its socket is left")


def test_of_this_plan_alone():
    run = plain()
    c = running(run)
    other, value = "sha256:" + "0" * 64, canary("plan")
    check(reason(deposit(run, IDS[0], value, digest=other)) == "pin_mismatch")
    check("result" in deposit(run, IDS[0], value), "control: with the right one it is taken")
    check(reason(forget(run, IDS[0], digest=other)) == "pin_mismatch")
    c.call("stop", {"grace_ms": 0})
    c.wait("exited")
    c.close()
    check(withdraw(run, IDS[0], digest=other)["data"]["reason"] == "pin_mismatch")
    check(withdraw(run, IDS[0]) == value, "control: it was not forgotten")
    forget(run, IDS[0])
    run.gone()


def test_what_is_no_token():
    run = plain()
    c = running(run)
    good = {"digest": run.digest, "id": IDS[0], "value": b64(b"long-enough"), "expires_ms": now() + HOUR}
    bad = ({"id": "short"}, {"id": "UPPER" * 4}, {"id": "a" * 33}, {"value": "%%%"}, {"value": b64(b"short")}, {"value": b64(b"a\nb\nc\nd\ne")},
           {"value": b64(b"with\0nul-inside")}, {"value": b64(b"x" * 16385)}, {"expires_ms": now() - 1}, {"expires_ms": now() + 400 * 24 * HOUR},
           {"expires_ms": "soon"}, {"more": 1})
    for one in bad:
        check("error" in ask(run, "deposit", **{**good, **one}), one)
    check("result" in ask(run, "deposit", **{**good, "value": b64(b"x" * 16384)}), "control: the longest is taken")
    c.call("stop", {"grace_ms": 0})
    c.wait("exited")
    check(withdraw(run, IDS[0]) == "x" * 16384)
    c.close()
    forget(run, IDS[0])
    run.gone()


def test_so_many_and_no_more():
    run = plain()
    c = running(run)
    for n in range(64):
        check("result" in deposit(run, IDS[n], canary("n%d" % n)), n)
    check("error" in deposit(run, IDS[64], canary("n64")), "one more than it holds")
    check("result" in forget(run, IDS[10]))
    check("result" in deposit(run, IDS[64], canary("n64")), "control: with one less it is taken")
    c.call("stop", {"grace_ms": 0})
    c.wait("exited")
    c.close()
    for n in [x for x in range(65) if x != 10]:
        check(withdraw(run, IDS[n]) == canary("n%d" % n), n)
        check(alive(run), "it left with tokens")
        forget(run, IDS[n])
    run.gone()


def test_a_run_that_ends_gets_none():
    run = plain("trap '' TERM; while :; do sleep 0.05; done")
    r = run.start()
    check(r.returncode == 0, r.stderr)
    c = run.connect()
    c.wait("held")
    check(reason(deposit(run, IDS[0], canary("held"))) == "run_over", "one that was never proved gets one")
    c.call("release", {"digest": run.digest, "env": {}, "secrets": {}})
    c.wait("running")
    check("result" in deposit(run, IDS[0], canary("goes")), "control: while it runs it is taken")
    c.call("stop", {"grace_ms": 3000})
    c.wait("stopping")
    check(reason(deposit(run, IDS[1], canary("stops"))) == "run_over")
    check(withdraw(run, IDS[0]) == canary("goes"), "one that is ending gives its token to whoever ends it")
    c.wait("exited")
    check(reason(deposit(run, IDS[1], canary("over"))) == "run_over")
    c.close()
    forget(run, IDS[0])
    run.gone()


def locked(path):
    fd = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(fd)


def test_it_stays_and_the_work_is_free():
    work = os.path.join(ROOT, "state", "works", "testwork")
    lock = work + "/lock"
    os.makedirs(work + "/workspace/.git", 0o700)
    open(lock, "w").close()
    seen = {name: os.stat(work + path) for name, path in (("root", "/workspace"), ("git", "/workspace/.git"))}
    run = plain("sleep 0.5", work="testwork", clone={name: {"dev": s.st_dev, "ino": s.st_ino} for name, s in seen.items()})
    c = running(run)
    check(locked(lock), "control: a run that goes on holds its Work")
    check("result" in deposit(run, IDS[0], canary("stays")))
    record = c.wait("exited")["record"]
    check(record["state"] == "exited" and not locked(lock) and not os.path.exists(run.live), "what was the run's is not gone", record)
    time.sleep(3)
    c.close()
    time.sleep(0.5)
    check(alive(run) and run.has("guard.sock") and locked(os.path.join(run.dir, "lock")), "it left with a token")
    d = run.connect()
    check(d.hello["state"] == "exited" and d.hello["record"] == run.record() == record, d.hello)
    d.close()
    time.sleep(0.3)
    check(withdraw(run, IDS[0]) == canary("stays"), "a host that came and went took it along")
    forget(run, IDS[0])
    run.gone()
    check(not run.has("guard.sock"))
    without = plain("sleep 0.5")
    without.finish(running(without))  # control: without a token it leaves when its host does
    check(not without.has("guard.sock"))


def test_it_leaves_at_the_expiry():
    run = plain("sleep 0.2")
    c = running(run)
    check("result" in deposit(run, IDS[0], canary("soon"), lives=4000))
    until = time.time() + 4
    c.wait("exited")
    c.close()
    time.sleep(1)
    check(alive(run), "it left before")
    run.gone()
    check(until - 0.5 < time.time() < until + 30, time.time() - until)


def test_expired_while_it_runs():
    run = plain()
    c = running(run)
    check("result" in deposit(run, IDS[0], canary("short"), lives=1000))
    check("result" in deposit(run, IDS[1], canary("longer")))
    time.sleep(2)
    c.call("stop", {"grace_ms": 0})
    c.wait("exited")
    c.close()
    check(code(withdraw(run, IDS[0])) is not None and withdraw(run, IDS[1]) == canary("longer"))
    forget(run, IDS[1])
    run.gone()


def test_put_into_an_answer_and_into_nothing_else():
    value = canary("answer") + '"\\q'
    run = agent("""
got = call(1, "please")
token = got["structuredContent"]["password"]
assert json.loads(got["content"][0]["text"]) == got["structuredContent"] == {"username": "x", "password": token}, got
sys.stdout.write("it is " + token[:7]); sys.stdout.flush(); time.sleep(0.3)
sys.stdout.write(token[7:] + ".\\n" + json.dumps(token) + "\\n"); sys.stdout.flush()
sys.stderr.write(token)
call(2, "with " + token)
open(os.path.join(%r, "control"), "w").write(token)
late = call(3, "once more")
print(late["isError"], late["content"][0]["text"])
""" % ROOT)
    c = run.begin()
    c.wait("running")

    def next_call():
        while True:
            m = c.message()
            if m.get("method") == "call":
                return m["params"]

    answer = {"content": [{"type": "text", "text": "{}"}], "structuredContent": {"username": "x"}}
    one = next_call()
    check("error" in c.call("answer", {"call": 1, "result": {"content": []}, "token": IDS[0]}), "a result with no structure")
    check("result" in deposit(run, IDS[0], value))
    check("error" in c.call("answer", {"call": 1, "error": "x", "token": IDS[0]}), "an error with a token")
    check("result" in c.call("answer", {"call": one["call"], "result": answer, "token": IDS[0]}))
    two = next_call()
    check(two["arguments"] == {"text": "with [secret token]"}, two)
    c.call("answer", {"call": two["call"], "result": {"content": [{"type": "text", "text": "yes"}]}})
    three = next_call()
    forget(run, IDS[0])
    check("result" in c.call("answer", {"call": three["call"], "result": answer, "token": IDS[0]}))
    record = run.finish(c)
    out, err = bytes(run.journal.streams[1]).decode(), bytes(run.journal.streams[2]).decode()
    check(record["status"] == 0, record, err)
    check(out.startswith('it is [secret token].\n"[secret token]"\n') and err == "[secret token]", out, err)
    check("True token_gone" in out, out)
    control = os.path.join(ROOT, "control")
    check(holders(ROOT, value) == [control], "a value is in a file", holders(ROOT, value))
    os.unlink(control)


def test_a_second_joins_open_streams():
    """Values come while the output of a run with secrets of its own is open; the place of one that is over is used again."""
    secret = "an-own-secret-of-the-run"
    run = agent("""
own = os.environ["TOKEN"]
for n in range(70):
    token = call(n + 1, "next")["structuredContent"]["password"]
    sys.stdout.write(own[:9]); sys.stdout.flush()
    sys.stdout.write(own[9:] + token[:20]); sys.stdout.flush()
    sys.stdout.write(token[20:] + "\\n"); sys.stdout.flush()
""", command={"secrets": ["TOKEN"], "env": [{"name": "PATH", "value": "/usr/bin:/bin"}]})
    c = run.begin(secrets={"TOKEN": b64(secret.encode())})
    c.wait("running")
    n = 0
    while n < 70:
        m = c.message()
        if m.get("method") != "call":
            continue
        check("result" in deposit(run, IDS[n], canary("n%d" % n) + "z" * n * 40), n)
        check("result" in c.call("answer", {"call": n + 1, "result": {"content": [{"type": "text", "text": "{}"}], "structuredContent": {}}, "token": IDS[n]}))
        n += 1
        if n >= 3:
            forget(run, IDS[n - 3])
    c.wait("exited")
    c.close()
    for one in IDS[68:70]:
        forget(run, one)
    run.gone()
    run.journal.read()
    out = bytes(run.journal.streams[1]).decode()
    check(out == "[secret TOKEN][secret token]\n" * 70, out[:500])


def test_killed_with_a_token():
    run = plain("sleep 0.2")
    c = running(run)
    check("result" in deposit(run, IDS[0], canary("killed")))
    c.wait("exited")
    c.close()
    check(withdraw(run, IDS[0]) == canary("killed"), "control: it has it")
    os.kill(run.info()["pid"], signal.SIGKILL)
    run.gone()
    check(not holders(os.path.join(ROOT, "state"), canary("killed")), "it wrote it somewhere")
    try:
        run.connect(hello=False)
        check(False, "something listens")
    except OSError:
        pass


def test_asked_to_go_it_goes():
    run = plain("sleep 0.2")
    c = running(run)
    check("result" in deposit(run, IDS[0], canary("asked")))
    c.wait("exited")
    c.close()
    time.sleep(0.5)
    check(alive(run), "control: nobody asked")
    os.kill(run.info()["pid"], signal.SIGTERM)
    run.gone()
    check(not run.has("guard.sock"))


def test_without_a_host_it_stays_too():
    run = plain("sleep 1", limits={"keep": True})
    c = running(run)
    check("result" in deposit(run, IDS[0], canary("nobody")))
    c.close()
    ended(run)
    time.sleep(3)
    check(alive(run), "it left with a token")
    check(withdraw(run, IDS[0]) == canary("nobody"))
    forget(run, IDS[0])
    run.gone()


run_tests(globals(), sys.argv[3:], (GUARD, GUEST), ROOT)

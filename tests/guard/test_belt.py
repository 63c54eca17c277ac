#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The toolbelt of a run, from an agent's connection to the guard's socket and back.  usage: test_belt.py GUARD GUEST [NAME…]
import json
import os
import shutil
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Run, b64, marked, place, run_tests  # noqa: E402

GUARD, GUEST = (os.path.abspath(a) for a in sys.argv[1:3])
ROOT = place()
TOOL = {"name": "say", "description": "says it", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}, "text": {"type": "string"}}}}

# What agents have in common: a client of the socket, and a line on stdout for what the test is to know.
CLIENT = """
import json, os, socket, sys, time
AT = sys.argv[1]
class Client:
    def __init__(self, hello=True):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(90)
        self.s.connect(AT)
        self.buf = b""
        if hello:
            self.send(id=0, method="initialize", params={"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
            assert self.get()["result"]["serverInfo"]["name"] == "open-conduit"
            self.send(method="notifications/initialized")
    def send(self, **m):
        self.s.sendall(json.dumps({"jsonrpc": "2.0", **m}).encode() + b"\\n")
    def get(self):
        while b"\\n" not in self.buf:
            data = self.s.recv(65536)
            if not data:
                return None
            self.buf += data
        line, self.buf = self.buf.split(b"\\n", 1)
        return json.loads(line)
    def call(self, id, **arguments):
        self.send(id=id, method="tools/call", params={"name": "say", "arguments": arguments, "_meta": {"progressToken": id}})
def tell(x):
    print(json.dumps(x), flush=True)
"""


def agent(script, **options):
    """A run of this script with a toolbelt, whose address is known once the run has an id."""
    run = Run(GUARD, GUEST, ["/bin/true"], ROOT)
    at = os.path.join(run.live, "run", "toolbelt.sock")
    shutil.rmtree(run.dir)
    Run.count -= 1
    return Run(GUARD, GUEST, ["/usr/bin/python3", "-c", CLIENT + script, at], ROOT, toolbelt={"at": at, "belt": {"tools": [TOOL]}}, **options)


def check(condition, *what):
    if not condition:
        raise AssertionError(*what)


def calls(c, n):
    """The next n calls that the guard tells."""
    got = []
    while len(got) < n:
        m = c.message()
        if m.get("method") == "call":
            got.append(m["params"])
    return got


def answer(c, number, text):
    return c.call("answer", {"call": number, "result": {"content": [{"type": "text", "text": text}]}})


def said(run, c):
    """What the agent told, once it has ended well."""
    record = run.finish(c, timeout=120)
    check(record["state"] == "exited" and record["status"] == 0, record, bytes(run.journal.streams[2]))
    return [json.loads(line) for line in bytes(run.journal.streams[1]).decode().splitlines()]


def test_a_call_and_its_answer():
    run = agent("""
c = Client(); c.call(1, text="a"); tell(c.get()); tell(c.get()); c.call("two", n=2); tell(c.get()); c.call(3, n="no number"); tell(c.get())
""")
    c = run.begin()
    one, = calls(c, 1)
    check(one == {"call": 1, "name": "say", "arguments": {"text": "a"}}, one)
    c.s.sendall(json.dumps({"jsonrpc": "2.0", "method": "progress", "params": {"call": 1, "progress": 1, "total": 2, "message": "half"}}).encode() + b"\n")
    check("result" in answer(c, 1, "one"))
    two, = calls(c, 1)
    check(two["call"] == 2, two)
    check("error" in answer(c, 9, "never asked"), "a number that never was is taken")
    check("error" in c.call("answer", {"call": 1}), "an answer that is none is taken")
    check("result" in answer(c, 1, "again"), "an answer that came late is no error")
    check("result" in c.call("answer", {"call": 2, "error": "no: it can't"}))  # last: with that the agent goes on to its end
    out = said(run, c)
    check(out[0]["method"] == "notifications/progress" and out[0]["params"]["progress"] == 1, out)
    check(out[1]["id"] == 1 and out[1]["result"]["content"][0]["text"] == "one", out)
    check(out[2]["id"] == "two" and out[2]["result"]["isError"] and "it can't" in out[2]["result"]["content"][0]["text"], out)
    check(out[3]["id"] == 3 and out[3]["result"]["isError"], "arguments that don't fit reach nobody", out)


def test_the_next_host_is_told_again():
    run = agent("c = Client(); c.call(1, n=1); c.call(2, n=2); tell(c.get()); tell(c.get())", limits={"keep": True})
    c = run.begin()
    first = calls(c, 2)
    check([x["call"] for x in first] == [1, 2], first)
    check("result" in answer(c, 2, "by the first"))
    c.close()
    d = run.connect()
    again, = calls(d, 1)
    check(again["call"] == 1 and again["arguments"] == {"n": 1}, again)
    check("result" in answer(d, 1, "by the second"))
    out = said(run, d)
    check([(m["id"], m["result"]["content"][0]["text"]) for m in out] == [(2, "by the first"), (1, "by the second")], out)


def test_so_many_wait_and_no_more():
    run = agent("""
a, b = Client(), Client()
for i in range(40): a.call(i, n=i)
time.sleep(0.5)
for i in range(40): b.call(i, n=i)
first = [b.get() for _ in range(16)]
tell([m["result"].get("isError") for m in first])
tell(sorted(a.get()["id"] for _ in range(40))); tell(len([b.get() for _ in range(24)]))
""")
    c = run.begin()
    got = calls(c, 64)
    check([x["call"] for x in got] == list(range(1, 65)), "numbered in order")
    time.sleep(1)
    for x in got:
        answer(c, x["call"], "yes")
    out = said(run, c)
    check(out[0] == [True] * 16 and out[1] == list(range(40)) and out[2] == 24, out)


def heard(run, lines):
    """What the agent told once it told that much, which may take the minute that the guard waits for a host."""
    until = time.time() + 120
    while bytes(run.journal.streams[1]).count(b"\n") < lines:
        check(time.time() < until, "nothing came")
        time.sleep(0.5)
        run.journal.read()
    return bytes(run.journal.streams[1])


def test_no_host_answers_in_a_minute():
    """What a host had, and what none had: two runs, which wait together."""
    had = agent("""
c = Client(); c.call(1, n=1); c.call(2, n=2)
tell(c.get()["result"]["content"][0]["text"]); tell(c.get()["result"]["content"][0]["text"])
c.call(3, n=3); tell(c.get()["result"]["content"][0]["text"])
""", limits={"keep": True})
    away = agent("""
time.sleep(2); c = Client(); c.call(1, n=1); tell(c.get()["result"]["content"][0]["text"])
""", limits={"keep": True})
    c = had.begin()
    calls(c, 2)
    c.close()
    c = away.begin()
    c.wait("running")
    c.close()
    heard(had, 2)
    d = had.connect()
    three, = calls(d, 1)
    check(three["call"] == 3, three)
    answer(d, 3, "here")
    out = said(had, d)
    check(all("outcome_unknown" in t for t in out[:2]), "a host had them", out)
    check(out[2] == "here", out)
    told = heard(away, 1)
    check(b"host_away" in told and b"outcome_unknown" not in told, told)
    until = time.time() + 60
    while not away.has("exit.json"):
        check(time.time() < until, "it did not end")
        time.sleep(0.1)


def test_hostile_clients_end_themselves_alone():
    run = agent("""
good = Client()
for bad in (b"x" * (2 << 20), b"{" * 100000 + b"\\n", b"\\xff\\xfe\\n", b"[" * 5000 + b"\\n", b"null\\n", b'{"jsonrpc":"2.0","id":{},"method":"ping"}\\n'):
    c = Client(hello=False)
    try:
        c.s.sendall(bad)
        c.s.settimeout(2)
        c.s.recv(10)
    except OSError:
        pass
    c.s.close()
deaf = Client()
try:
    deaf.s.settimeout(5)
    for i in range(200000): deaf.send(id=i, method="tools/list")
    tell("still")
except OSError:
    tell("let go")
many = []
for i in range(15): many.append(Client())
late = Client(hello=False); late.send(id=1, method="ping")
late.s.settimeout(1)
try: tell(late.get())
except OSError: tell("waits")
many[0].s.close(); late.s.settimeout(20); tell(late.get()["id"])
good.call(7, n=7); tell(good.get()["id"])
""")
    c = run.begin()
    c.s.settimeout(150)
    one, = calls(c, 1)
    answer(c, one["call"], "yes")
    out = said(run, c)
    check(out[0] == "let go", "a client that reads nothing is kept for ever", out)
    check(out[-1] == 7 and out[-2] == 1, out)
    check("waits" in out, "the seventeenth is taken", out)


def test_no_secret_leaves_by_a_call():
    secret = "a-canary-that-nobody-may-see"
    run = agent("c = Client(); c.call(1, text='it is ' + os.environ['TOKEN'] + '.'); tell(c.get())",
                command={"secrets": ["TOKEN"], "env": [{"name": "PATH", "value": "/usr/bin:/bin"}]})
    c = run.begin(secrets={"TOKEN": b64(secret.encode())})
    one, = calls(c, 1)
    check(one["arguments"] == {"text": "it is [secret TOKEN]."}, one)
    answer(c, 1, "yes")
    said(run, c)


def test_the_end_of_the_run_is_the_end_of_the_belt():
    run = agent("c = Client(); c.call(1, n=1); time.sleep(0.2)")
    c = run.begin()
    calls(c, 1)
    record = run.finish(c)
    check(record["state"] == "exited", record)
    check(not marked(run.live) and not os.path.exists(run.live), "something is left")


def test_a_run_without_one():
    """Nothing listens, and a plan whose belt is none is not carried out."""
    run = Run(GUARD, GUEST, ["/bin/sh", "-c", "%s mcp %s/live/none/toolbelt.sock" % (GUEST, ROOT)], ROOT)
    record = run.finish(run.begin())
    check(record["status"] == 1, record)
    for belt in ({}, {"tools": [{"name": "bad name", "description": "", "inputSchema": {"type": "object"}}]}, {"tools": [TOOL, TOOL]}):
        bad = Run(GUARD, GUEST, ["/bin/true"], ROOT, toolbelt={"at": "/x/y", "belt": belt})
        check(bad.start().returncode != 0, belt)


run_tests(globals(), sys.argv[3:], (GUARD, GUEST), ROOT)

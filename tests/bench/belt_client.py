# SPDX-License-Identifier: Apache-2.0
"""An agent that does nothing but call its toolbelt: how long a call takes, and a ping, which only goes to the guard."""
import json, os, socket, statistics, time

COUNT = 500
at = os.environ["OPEN_CONDUIT_TOOLBELT"]
s = socket.socket(socket.AF_UNIX if at[0] == "/" else socket.AF_INET)
s.connect(at if at[0] == "/" else ("127.0.0.1", int(at)))
f = s.makefile("rwb")


def ask(id, method, **params):
    began = time.perf_counter()
    f.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n")
    f.flush()
    answer = json.loads(f.readline())
    assert answer["id"] == id and "result" in answer, answer
    return (time.perf_counter() - began) * 1e3


ask(0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "bench", "version": "1"})
calls = [ask(1 + i, "tools/call", name="say", arguments={"text": "hello"}) for i in range(COUNT)]
pings = [ask(1 + COUNT + i, "ping") for i in range(COUNT)]
print("calls %d" % len(calls))
print("call_ms %.3f %.3f" % (statistics.median(calls), min(calls)))
print("ping_ms %.3f" % statistics.median(pings))

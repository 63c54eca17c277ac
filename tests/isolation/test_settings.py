#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What srt is told, by what was planned: the parts that no run without a network can show."""
import json, os

from provider import Provider, make_live, resolved
from world import BUILD, World, finish, ok

w = World(clone=False)
live = w.state + "/live/abcdefgh"
make_live(live)
p = Provider(BUILD + "/libexec/providers/open-conduit-provider-srt", w.env)


def plan(**what):
    answer = p.call("plan", {"run": "abcdefgh", "resolved": resolved(w.home, w.ws, live, write=[w.ws], **what),
                             "guest": BUILD + "/libexec/open-conduit-guest", "live": live})
    return answer if "refused" in answer else (json.loads(answer["launch"]["files"][0]["text"]), answer["notes"])


PRIVATE = {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"}
for name, network in (("a name", [("git.corp.test", "git.corp.test", 0, False)]),
                      ("a wildcard", [("*.corp.test", "corp.test", 0, True)]),
                      ("an address", [("10.1.2.3:443", "10.1.2.3", 443, False)])):
    answer = plan(network=network)
    s, notes = answer if isinstance(answer, tuple) else ({"network": {}}, [])
    denied = set(s["network"].get("deniedResolvedAddresses", []))
    ok(PRIVATE <= denied and "127.0.0.0/8" in denied and "169.254.0.0/16" in denied,
       "%s: no name may resolve to a private address" % name, answer)
    ok(any("private address" in n and "listed too" in n for n in notes) == (name != "an address"),
       "%s: the record says so where it matters" % name, notes)
ok(s["network"].get("allowedDomains") == ["10.1.2.3:443"], "a private address itself may be listed", s)
p.close()
w.close()
finish()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The isolation battery in a container: every attempt where nothing forbids it (on the host, in an ordinary container and in one
that nothing confines), then in runs, by exec and in a clone; then what else tests of a process sandbox try, there."""
import json, os, subprocess, sys

import test_battery
from boxes import ENGINE, NOTHING_FORBIDS, Boxes, Listeners
from test_battery import Objects, battery, facts, open_outside, parse, plant
from world import finish, ok, put, skip

# Neither on the host as an ordinary user nor as root in a container without limits, on this kernel: blocked inside all the same.
NO_CONTROL = {"vsock", "open-by-handle", "watch-a-host-mount", "xattr-outside", "push-input-into-a-terminal", "push-input-with-high-bits", "userfaultfd",
              "io-uring", "perf-events", "load-bpf", "join-a-host-namespace"}


def box_facts(w, s, o, fds):
    addresses, alias = w.network()
    bridge = next(a for a in addresses if ":" not in a)
    more = {"port": s.port, "target": test_battery.host_address(), "bridge": bridge, "addresses": addresses + [test_battery.host_address()], "port6_any": s.port6_any,
            "udp_any": s.udp_any, "http": s.http_any, "http_ok": s.http_any_ok, "alias": alias, "engine": ENGINE[len("unix://"):]}
    return {**facts(w, s, o, *fds), **more}


def beside(w, f, *flags):
    """The attempts in a container of nobody's making but the engine's."""
    scripts = w.put_scripts()
    p = w.docker("run", "--rm", "-v", "%s:%s" % (w.root, w.root), "-w", w.ws, *flags, w.image, "/usr/bin/python3", "-B", scripts[-1], json.dumps(f), timeout=400)
    for script in scripts:
        os.unlink(script)
    return parse(p.stdout), p.stderr


def controls(w, f, fds):
    """By name, the best of what came of them."""
    scripts = w.put_scripts()
    p = subprocess.run(["/usr/bin/python3", "-B", scripts[-1], json.dumps(f)], cwd=w.ws, text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=400,
                       pass_fds=fds, env={"PATH": "/usr/bin:/bin", "HOME": w.home})
    host = parse(p.stdout)
    ordinary, said = beside(w, f, "--network", w.name)
    free, more = beside(w, f, *NOTHING_FORBIDS)
    # What root made anew in them is the operator's again.
    p = w.plain("chown", "-hR", "%d:%d" % (os.getuid(), os.getgid()), w.root, flags=("-v", "%s:%s" % (w.root, w.root)))
    ok(p.returncode == 0, "the world is the operator's again", p.stderr)
    ok(len(host) > 150 and set(host) == set(ordinary) == set(free), "the controls ran every attempt", (len(host), len(ordinary), len(free), p.stderr, said, more))
    best = {name: min((where[name] for where in (free, ordinary, host)), key=lambda r: r[0] != "succeeded") for name in host}
    for name in sorted(n for n, (outcome, _) in best.items() if outcome != "succeeded"):
        if name in NO_CONTROL:
            skip("control of " + name, "nobody can do this here: " + best[name][1])
        else:
            ok(False, "control of " + name, (host[name], ordinary[name], free[name]))
    ok(sum(outcome == "succeeded" for outcome, _ in best.values()) > 140, "the controls succeeded", len(best))
    return best


def gateway_is_there(w, f):
    """The proxy's attempts could all fail for a proxy that is dead.  An address of this machine is refused where a policy lists it."""
    script = w.ws + "/ask.py"
    put(script, """import os, sys, urllib.request, urllib.error
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url, timeout=20).read())
    except urllib.error.HTTPError as e:
        print(e.code, e.reason)
""")
    own = "%s:%d" % (f["target"], f["http_ok"])
    p = w.oc("exec", "--policy", w.policy(network={"allow": [own]}), "--", "/usr/bin/python3", script, "http://%s/" % own, "http://other.example/")
    said = p.stdout.splitlines()
    ok(len(said) == 2 and said[0].startswith("403") and "own network" in said[0], "an address of this machine is refused although it is listed", p.stdout + p.stderr)
    ok(len(said) == 2 and said[1].startswith("403") and "own network" not in said[1], "the control: the gateway is there, and refuses another host for another reason", p.stdout + p.stderr)


def the_battery(w):
    fds = open_outside(w)
    s, o = Listeners(w), Objects()
    plant(w)
    f = box_facts(w, s, o, fds)
    outside = controls(w, f, fds)
    for how in ("exec", "clone"):
        battery(w, s, f, outside, None, how, fds)
    gateway_is_there(w, f)
    o.close()
    s.close()


def as_in_a_process_sandbox(w):
    test_battery.hard_link_there(w, None)
    test_battery.policy_changed_mid_run(w)
    test_battery.replaced_between(w)


PARTS = (the_battery, as_in_a_process_sandbox)


def main():
    for part in PARTS:
        if sys.argv[1:] and part.__name__ not in sys.argv[1:]:
            continue
        w = Boxes()
        try:
            part(w)
            left = w.left()
            ok(not left, "%s: nothing is left in the engine" % part.__name__, left)
        finally:
            w.close()
    finish()


if __name__ == "__main__":
    main()

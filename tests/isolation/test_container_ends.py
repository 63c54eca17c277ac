#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an agent in a container can make of its processes, memory and guest; what becomes of a secret; what changes between the
plan of a run and its start; names that lead where none may."""
import json, os, subprocess, sys, time

import test_attack
import test_battery
from boxes import ENGINE, TOOLS, Boxes, wait_for
from world import finish, ok, put

FORKS = r'''
import errno, os, signal
n, why = 0, ""
try:
    while n < 300:
        if os.fork() == 0:
            signal.pause()
        n += 1
except OSError as e:
    why = errno.errorcode[e.errno]
print(n, why, flush=True)
'''
EATS = "x = bytearray(200 << 20); x[::4096] = b'x' * len(x[::4096]); print('had', len(x) >> 20, flush=True)"


def limits(w):
    script = put(w.ws + "/forks.py", FORKS)
    for pids, good in ((50, lambda n, why: n < 50 and why == "EAGAIN"), (600, lambda n, why: n == 300 and not why)):
        p = w.oc("exec", "--policy", w.policy(limits={"pids": pids}), "--", "/usr/bin/python3", script)
        n, why = (p.stdout.split() + ["", ""])[:2]
        ok(p.returncode == 0 and good(int(n or 0), why), "%sa limit of %d processes: %s" % ("" if pids == 50 else "control: ", pids, "no more" if pids == 50 else "300 are made"), p.stdout + p.stderr)
    p = w.oc("exec", "--policy", w.policy(limits={"pids": 50}), "--timeout", "3s", "--", "/bin/bash", "-c", "bomb() { bomb | bomb & }; bomb; while :; do sleep 1; done 2>/dev/null", timeout=120)
    ok(p.returncode == 124 and not w.left(), "a fork bomb ends with its run", (p.returncode, p.stderr[-300:]))
    for memory in ("64m", "600m"):
        p = w.oc("exec", "--policy", w.policy(limits={"memory": memory}), "--", "/usr/bin/python3", "-c", EATS)
        exit = w.last()[1].get("exit") or {}
        said = "limits.memory" in json.dumps(exit)
        if memory == "64m":
            ok(p.returncode == 137 and exit.get("signal") == 9 and said and "had" not in p.stdout, "memory past its limit: killed, and the record says why", (p.returncode, exit))
        else:
            ok(p.returncode == 0 and p.stdout == "had 200\n" and not said, "control: within it, and the record says nothing", (p.returncode, exit))
    # Swallowed by a shell: the command's own status is 0.
    p = w.oc("exec", "--policy", w.policy(limits={"memory": "64m"}), "--", "/bin/sh", "-c", "/usr/bin/python3 -c \"%s\"; exit 0" % EATS)
    exit = w.last()[1].get("exit") or {}
    ok(p.returncode == 0 and "limits.memory" in json.dumps(exit), "a child that was killed for its memory is in the record too", exit)


def attacks(w):
    """The attacks on guest and guard: the guest is the container's first process."""
    test_attack.controls(w)
    policy = w.policy()
    for name in test_attack.ATTACKS:
        if name in ("frames", "orphans", "run_directory"):
            continue
        test_attack.attack(w, name, "a container", policy, *(["--timeout", "1"] if name == "stop_self" else []), timeout=300)
    test_attack.forged_bytes(w, "a container", policy)
    test_attack.outlives_nothing(w, "a container", policy)
    test_attack.stops(w, "a container", policy)
    test_attack.run_directory_harmless(w, policy)
    beats = w.ws + "/beats"
    c = subprocess.run(["/bin/sh", "-c", "(setsid sh -c 'trap \"\" TERM; for i in 1 2 3; do date >> %s; sleep 1; done' &)" % beats])
    size = wait_for(lambda: os.path.exists(beats) and os.path.getsize(beats), 20)
    before = os.path.getsize(beats)
    ok(c.returncode == 0 and size and wait_for(lambda: os.path.getsize(beats) > before, 20), "control: unconfined, such a child outlives who made it")


def secrets(w):
    """As for a process sandbox, and nowhere in the engine."""
    def elsewhere(canary):
        seen = w.running()
        objects = seen["container"] + seen["gateway"]
        network = objects[0]["HostConfig"]["NetworkMode"]
        shown = w.docker("inspect", network, *[o["Id"] for o in objects]).stdout
        for o in objects:
            for what in ("top", "logs", "diff"):
                p = w.docker(what, o["Id"])
                shown += p.stdout + p.stderr
        ok(len(seen["container"]) == 1 and objects[0]["Id"] in shown and canary not in shown, "in the engine no object, log or process list holds it", len(shown))
        since = w.docker("events", "--since", "10m", "--until", str(int(time.time())), "--format", "json").stdout
        ok(objects[0]["Id"] in since and canary not in since, "nor does an event of the engine's", len(since))
        p = w.docker("create", "--name", w.name + "-told", "-e", "TOKEN=" + canary, TOOLS, "sleep", "1")
        w.made.append(("rm", "-f", w.name + "-told"))
        ok(p.returncode == 0 and canary in json.dumps(w.inspect(w.name + "-told")), "control: a variable of a container is shown by the engine", p.stderr)
    test_battery.secrets(w, elsewhere)


def swaps(w):
    """Something that was granted becomes something else between plan and launch."""
    granted, moved = w.home + "/granted", w.home + "/moved"
    os.makedirs(granted)
    put(granted + "/mine", "mine\n", 0o644)
    look = ["/bin/sh", "-c", "cat %s/mine %s/secret; echo x > %s/new; echo ran > ran" % ((granted,) * 3)]
    text = w.policy(write=["{workspace}", granted])
    to_link = "mv %s %s && ln -s %s %s" % (granted, moved, w.denied, granted)
    other = "mv %s %s && mkdir %s && cp %s/secret %s/" % (granted, moved, granted, w.denied, granted)
    gone = "mv %s %s" % (granted, moved)
    for what, hook in (("a link to what is denied", to_link), ("another directory", other), ("nothing", gone)):
        for when in ("planned", "pinned", "held"):
            _, record = w.steps(text, when, hook, look, clone=False)
            error = record.get("error") or record
            ok(not os.path.exists(w.ws + "/ran") and not os.path.exists(w.denied + "/new") and "topsecret" not in w.printed and bool(error.get("reason")),
               "a grant that is %s once the run was %s: nothing starts" % (what, when), (record, w.printed))
            subprocess.run("rm -rf %s ; mv %s %s" % (granted, moved, granted), shell=True, check=True)
    _, record = w.steps(text, "never", "true", look, clone=False)
    ok(os.path.exists(w.ws + "/ran") and os.path.exists(granted + "/new") and "mine\n" in w.printed, "control: left as it was the run starts, and may write there", (record, w.printed))


def tag_moved(w):
    """An image is what its digest says, whatever a tag of its name leads to by then."""
    small, tools = os.environ["OC_IMAGE_SMALL"], TOOLS
    tag = small.split("@")[0] + ":" + w.name
    w.docker("tag", small, tag)
    w.made.append(("rmi", tag))
    wanted = w.inspect(small)[0]["Id"]
    w.image = small
    hook = "DOCKER_HOST=%s %s tag %s %s" % (ENGINE, os.environ["OC_DOCKER"], tools, tag)
    _, record = w.steps(w.policy(), "pinned", hook, ["/bin/sh", "-c", "ls /usr/bin/python3 || echo small"], clone=False)
    ok("small" in w.printed, "a tag that moves between plan and launch changes nothing", (record, w.printed))
    ok(w.inspect(tag)[0]["Id"] == w.inspect(tools)[0]["Id"] != wanted, "control: it did move")
    run = w.last()[1]
    ok(run["plan"]["provider"]["identity"]["image"] and wanted.split(":")[1] in json.dumps(run["plan"]), "and the record says which image it was", run["plan"]["provider"])


CONNECT = r'''
import json, os, socket, sys
own = os.environ["HTTP_PROXY"].rpartition("/")[2].split(":")[0]
for target in sys.argv[1:]:
    with socket.create_connection((own, 3128), 5) as s:
        s.settimeout(30)
        target = target.replace("GATEWAY", own)
        s.sendall(("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, target)).encode())
        print(target, s.recv(4096).split(b"\r\n")[0].decode(), flush=True)
'''


def names(w):
    """A name that is allowed and leads to a private address; the gateway's own; metadata: nothing is dialled."""
    script = put(w.ws + "/connect.py", CONNECT)
    domain = w.name + ".example"
    w.docker("network", "create", w.name + "-x")
    w.made.append(("network", "rm", w.name + "-x"))
    # It holds the runs' way out open, so that a container with a name can be put there before the next run.
    q, line = w.start("--policy", w.policy(), "--", "/bin/sh", "-c", "echo up; while [ ! -e go ]; do sleep .2; done")
    egress = next(n for n in w.running()["gateway"][0]["NetworkSettings"]["Networks"] if n.endswith("-egress"))
    w.docker("run", "-d", "--name", w.name + "-there", "--network", egress, "--network-alias", "inner." + domain, TOOLS, "python3", "-m", "http.server", "8000")
    targets = ["inner.%s:8000" % domain, "absent.%s:8000" % domain, "other.example:8000", "169.254.169.254:80", "[fd00:ec2::254]:80", "GATEWAY:3128", "127.0.0.11:53", "127.0.0.1:3128", "[::ffff:169.254.169.254]:80"]
    never = w.oc("exec", "--policy", w.policy(network={"allow": targets[3:5] + targets[6:8]}), "--", "/bin/true")
    ok(never.returncode == 125 and never.stderr.count("never reached") == 4, "a policy can't list metadata or loopback addresses", never.stderr)
    policy = w.policy(network={"allow": ["*." + domain]})
    p = w.oc("exec", "--policy", policy, "--", "/usr/bin/python3", script, *targets)
    said = p.stdout.splitlines()
    ok(p.returncode == 0 and len(said) == len(targets) and not any(" 200 " in s for s in said), "nothing private is dialled, by name or address, also where a policy lists a wildcard of it", p.stdout + p.stderr)
    if p.returncode == 0:
        why = {"%s:%d" % (e["host"], e["port"]): e["why"] for e in w.decided(w.last()[0]) if e["event"] == "deny"}
        ok(why.get(targets[0]) in ("private", "own") and why.get(targets[1]) == "unresolved" and why.get(targets[2]) == "not_listed",
           "an allowed name with a private address is refused for that; control: others for not being there, or not listed", why)
    w.docker("rm", "-f", w.name + "-there")
    put(w.ws + "/go", "")
    ok(q.wait(120) == 0, "control: the first run was there", line)


PARTS = (limits, attacks, secrets, swaps, tag_moved, names)


def main():
    for part in PARTS:
        if sys.argv[1:] and part.__name__ not in sys.argv[1:]:
            continue
        w = Boxes(clone=part is secrets)
        try:
            part(w)
            ok(not w.left(), "%s: nothing is left in the engine" % part.__name__, w.left())
        finally:
            w.close()
    finish()


if __name__ == "__main__":
    main()

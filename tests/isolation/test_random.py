#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random (policy, question) pairs: what `explain` says is what a real open or connect does.

    test_random.py [PAIRS [SEED]]"""
import json, os, random, socket, sys

from ask import mark
from world import HERE, Services, World, finish, ok, put

DIRS = ["a", "a/b", "a/b/c", "a/d", "e", "e/f"]
PER_POLICY = 20


def build(w, s):
    w.tree = w.home + "/tree"
    paths = []
    for d in DIRS:
        paths.append(w.tree + "/" + d)
        paths.append(put(w.tree + "/" + d + "/x"))
        put(w.tree + "/" + d + "/keep")
    paths += [w.ws, put(w.ws + "/sub/y"), w.ws + "/sub", w.home + "/.ssh", w.home + "/.ssh/id_test", w.home + "/.netrc", w.denied + "/secret",
              w.state + "/state.db", w.config + "/config.json", "/etc/passwd", "/usr/bin", w.home + "/.claude/secret", w.home + "/.bashrc"]
    # Links in a directory that is hidden (home: it holds denied files) and in one that isn't; to what may be granted, is
    # always denied, lies outside of the hidden directory, or isn't there; and through a link, a link.
    for d in (w.tree, w.ws, w.ws + "/sub", w.home + "/.ssh", w.root + "/beyond"):
        put(d + "/keep")
    beyond = put(w.root + "/beyond/x")
    links = {w.home + "/to-tree": w.tree, w.home + "/to-file": "tree/a/b/x", w.home + "/to-ws": w.ws, w.home + "/to-ssh": ".ssh",
             w.home + "/to-beyond": w.root + "/beyond", w.home + "/to-link": "to-tree/a", w.tree + "/e/to-a": "../a", w.tree + "/to-b": w.tree + "/a/b",
             w.home + "/to-nothing": "nothing", w.home + "/to-state": w.state}
    for path, target in links.items():
        os.symlink(target, path)
    paths += [beyond, w.home + "/to-tree/a/x", w.home + "/to-tree/a/b", w.home + "/to-file", w.home + "/to-ws", w.home + "/to-ws/sub/y",
              w.home + "/to-ssh/id_test", w.home + "/to-beyond/x", w.home + "/to-link/x", w.home + "/to-link/b/c/x", w.tree + "/e/to-a/x",
              w.tree + "/to-b/x", w.tree + "/to-b", w.home + "/to-state/state.db"] * 2
    sockets = [s.unix, s.unix_tmp]
    hosts = ["127.0.0.1:%d" % s.port, "127.0.0.1:%d" % s.port_any, "one.invalid", "deep.one.invalid", "two.invalid:8443",
             "two.invalid:443", "x.three.invalid", "three.invalid", "four.invalid:1"]
    return paths, sockets, hosts


def random_policy(rng, w, s):
    tree = [w.tree + "/" + d for d in DIRS] + [w.tree + "/" + d + "/x" for d in DIRS]
    deny, allow = rng.sample(tree, rng.randrange(4)), rng.sample(tree, rng.randrange(4))
    allow += rng.sample([w.home + "/.ssh", w.home + "/.ssh/id_test", w.home + "/.netrc"], rng.randrange(2))
    write = ["{workspace}"] * rng.randrange(2)
    write += rng.sample([w.tree + "/" + d for d in DIRS], rng.randrange(2))
    write += rng.sample([w.root + "/beyond", w.tree], rng.randrange(8) == 0)
    network = rng.sample(["127.0.0.1:%d" % s.port, "one.invalid", "two.invalid:8443", "*.three.invalid"], rng.randrange(5))
    policy = {"write": write, "read": {"deny": deny, "allow": allow}, "network": {"allow": network}}
    if rng.random() < 0.4:
        policy["unix_sockets"] = "all"
        policy["sockets"] = rng.sample([s.unix, s.unix_tmp], rng.randrange(2))
    return policy


def explain(w, policy, op, subject):
    p = w.oc("explain", "--policy", policy, "--" + op, subject, "--json")
    if p.returncode not in (0, 1):
        return None, p.stderr
    answer = json.loads(p.stdout)
    return answer.get("allowed"), p.stdout


def arrived(path, number):
    """Did what was written there come to the host?  It is taken away again."""
    if os.path.isdir(path):
        probe = os.path.join(path, mark(number))
        there = os.path.exists(probe)
        if there:
            os.unlink(probe)
        return there
    with open(path, "rb") as f:
        text = f.read()
    there = mark(number).encode() in text
    if there:
        with open(path, "wb") as f:
            f.write(text.replace(mark(number).encode(), b""))
    return there


def main():
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
    rng = random.Random(seed)
    print("note - seed %d" % seed, flush=True)
    w = World(clone=False)
    s = Services(w)
    paths, sockets, hosts = build(w, s)
    w.oc("runs", "list")
    asked = refused = lost = 0
    answers = {}
    while asked < pairs:
        policy = random_policy(rng, w, s)
        file = w.policy(**policy)
        questions = [[rng.choice(["read", "read", "write"]), rng.choice(paths)] for _ in range(PER_POLICY - 5)]
        questions += [["host", h] for h in rng.sample(hosts, 4)]
        questions += [["socket", rng.choice(sockets)]]
        said = [explain(w, file, *q) for q in questions]
        if any(a is None for a, _ in said):
            ok(all(a is None for a, _ in said), "explain refuses a policy for each question, or for none",
               [[q, t] for q, (a, t) in zip(questions, said) if a is None][:1] + [policy])
            # A policy that contradicts itself is refused by explain and by a run alike.
            p = w.oc("exec", "--policy", file, "--", "/bin/true")
            refused += 1
            if p.returncode != 125:
                ok(False, "explain refuses a policy that exec runs", json.dumps(policy) + said[0][1])
            if refused > pairs:
                ok(False, "policies that agree with themselves are among them", said[0][1])
                break
            continue
        p = w.oc("exec", "--policy", file, "--", "/usr/bin/python3", HERE + "/ask.py", json.dumps(questions))
        try:
            real = json.loads(p.stdout)
        except ValueError:
            ok(False, "the run answers", json.dumps(policy) + p.stderr)
            break
        for i, (q, (allowed, text), did) in enumerate(zip(questions, said, real)):
            asked += 1
            # A directory that srt hides takes writes, in a file system of the run's own that ends with it.
            if q[0] == "write" and did in (True, False) and arrived(q[1], i) != did:
                if not ok(did, "what was refused was not written", q):
                    continue
                did, lost = False, lost + 1
            answers[q[0], did] = answers.get((q[0], did), 0) + 1
            if allowed != did:
                ok(False, "explain and reality agree", "%s %s: explain %s, really %s; policy %s" % (q[0], q[1], text, did, json.dumps(policy)))
            else:
                ok(True, "%s %s is %s" % (q[0], os.path.basename(q[1]), "allowed" if did else "refused"))
    print("note - %d pairs, %d policies refused as contradictory, %d writes that were lost with the run" % (asked, refused, lost))
    for op in ("read", "write", "host", "socket"):
        for did in (True, False):
            if pairs >= 200:
                ok(answers.get((op, did), 0) > 0, "among them were %ss that are %s" % (op, "allowed" if did else "refused"), sorted(answers.items(), key=str))
    s.close()
    w.close()
    finish()


main()

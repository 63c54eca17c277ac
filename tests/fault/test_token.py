#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens of runs across hosts that are killed, and after the run's end: each is with the guard until somebody says that it is over,
none is on the disk, and the run is settled all the same.  Unsandboxed runs: the guard is the same one."""
import json, os, signal, subprocess, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faults import alive, get, guard_of, ok, points, wait_for
from world import BUILD, World, finish

TOKENS = BUILD + "/tests/fault/tokens"
HOUR = "3600000"
VALUE = "ghs_a-token-that-is-seen-nowhere-0123456789"
ASK = """
import json, os, socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.settimeout(90)
s.connect(os.environ["OPEN_CONDUIT_TOOLBELT"])
f = s.makefile("rw")
def ask(id, method, params):
    f.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + "\\n")
    f.flush()
    while True:
        m = json.loads(f.readline())
        if m.get("id") == id:
            return m["result"]
ask(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
got = ask(1, "tools/call", {"name": "ask", "arguments": {}})
open("got", "w").write(json.dumps(got))
print("got " + json.dumps(got), flush=True)
"""
WAIT = "while not os.path.exists('go'): time.sleep(0.05)\n"


def tokens(w, *args, fault=None):
    env = {**w.env, **({"OPEN_CONDUIT_FAULT": fault} if fault else {})}
    return subprocess.run([TOKENS, args[0], w.state, *args[1:]], env=env, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


def host(w, script, fault=None):
    """Its process and the run's id, once it runs."""
    env = {**w.env, **({"OPEN_CONDUIT_FAULT": fault} if fault else {})}
    for name in ("got", "go"):
        if os.path.exists(w.ws + "/" + name):
            os.unlink(w.ws + "/" + name)
    p = subprocess.Popen([TOKENS, "host", w.state, w.ws, VALUE, "--", "/usr/bin/python3", "-c", script], env=env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=w.ws)
    return p, p.stdout.readline().strip()


def go(w):
    open(w.ws + "/go", "w").close()


def path(w, run, name):
    return "%s/runs/%s/%s" % (w.state, run, name)


def listed(w, *run):
    return json.loads(tokens(w, "list", *run).stdout)


def recovered(w):
    return {r["id"]: r["outcome"] for r in json.loads(tokens(w, "recover").stdout)}


def holders(root):
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            try:
                with open(os.path.join(folder, name), "rb") as f:
                    if VALUE.encode() in f.read():
                        found.append(os.path.join(folder, name))
            except OSError:
                pass
    return found


def stays(w, run, name):
    guard = guard_of(w, run)
    ok(alive(guard) and os.path.exists(path(w, run, "guard.sock")), name + ": its guard stays, and can be asked")
    return guard


def over(w, run, name, state="revoked"):
    """What whoever settles does with the one token of a run that is over."""
    one = [t for t in listed(w) if t["run"] == run]
    if not ok(len(one) == 1 and one[0]["ended"] is None, name + ": it is listed as not over", one):
        return
    guard = stays(w, run, name)
    p = tokens(w, "take", run, one[0]["id"])
    ok(p.stdout.strip() == VALUE, name + ": its value is had from the guard", (p.stdout, p.stderr))
    p = tokens(w, "end", run, one[0]["id"], state)
    ok(p.returncode == 0 and listed(w, run)[0]["state"] == state, name + ": it is over", p.stderr)
    ok(wait_for(lambda: not alive(guard), 20), name + ": then the guard leaves")
    ok(not os.path.exists(path(w, run, "guard.sock")) and run not in [t["run"] for t in listed(w)], name + ": and nothing is left to do")


def whole_life(w):
    p, run = host(w, ASK)
    _, err = p.communicate(timeout=60)
    ok(p.returncode == 0 and json.loads(err.splitlines()[-1])["status"] == 0, "a run asks for a token, and ends", err)
    with open(w.ws + "/got") as f:
        got = json.load(f)
    ok(got.get("structuredContent") == {"username": "x-access-token", "password": VALUE}, "its agent got the value", got)
    ok(json.loads(got["content"][0]["text"]) == got["structuredContent"], "as text too")
    ok(holders(w.ws) == [w.ws + "/got"], "control: where the value is it is found", holders(w.ws))
    ok(holders(w.state) == [], "no file of ours has it", holders(w.state))
    p = w.oc("runs", "logs", run)
    ok(p.stdout.startswith("got ") and "[secret token]" in p.stdout, "the output that printed it is recorded without it", p.stdout)
    after = get(w, run)
    ok(after["state"] == "exited" and [t["state"] for t in after["tokens"]] == ["made"], "the run is over, its token is not", after["tokens"])
    p = w.oc("runs", "get", run)
    ok("acme/app" in p.stdout and "it expires at" in p.stdout, "runs get says so", p.stdout)
    p = tokens(w, "deposit", run, after["tokens"][0]["id"], VALUE + "-late", HOUR)
    ok(p.stdout.strip() == "0", "a run that is over gets no further one", (p.stdout, p.stderr))
    p = tokens(w, "begin", run)
    ok(p.returncode == 1 and json.loads(p.stderr)["reason"] == "run_over", "none is begun for it", p.stderr)
    over(w, run, "whole life")
    p = w.oc("runs", "get", run)
    ok("revoked" in p.stdout and "it expires at" not in p.stdout, "runs get knows when it was revoked", p.stdout)
    p = w.oc("runs", "get", "--receipt", run)
    with open(w.root + "/receipt", "w") as f:
        f.write(p.stdout)
    p = w.oc("receipt", "verify", w.root + "/receipt")
    ok(p.returncode == 0, "its receipt holds", p.stderr)


def killed_between(w):
    """The host that mints dies at each step; another goes on."""
    for point, state in (("token:asked", "asked"), ("token:deposited", "asked"), ("token:recorded", "made"), ("call:recorded", "made")):
        p, run = host(w, ASK + WAIT, fault=point)
        p.communicate(timeout=60)
        ok(p.returncode == -signal.SIGKILL, point + ": control: the host is killed there", p.returncode)
        ok([t["state"] for t in listed(w, run)] == [state], point + ": the record says what was known", listed(w, run))
        q = subprocess.Popen([TOKENS, "adopt", w.state, run, VALUE], env=w.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True)
        ok(wait_for(lambda: os.path.exists(w.ws + "/got") and os.path.getsize(w.ws + "/got"), 30), point + ": the agent is answered")
        with open(w.ws + "/got") as f:
            got = json.load(f)
        if point == "call:recorded":
            ok(got.get("structuredContent", {}).get("password") == VALUE, point + ": told again, it is answered with the token", got)
        else:
            ok(got.get("isError") and "outcome_unknown" in got["content"][0]["text"], point + ": and not minted for again", got)
        go(w)
        _, err = q.communicate(timeout=60)
        ok(q.returncode == 0, point + ": the run ends", err)
        if point == "token:asked":
            one = listed(w, run)[0]
            p = tokens(w, "take", run, one["id"])
            ok(p.returncode == 1 and not alive(guard_of(w, run)), point + ": no guard has it", p.stderr)
            tokens(w, "end", run, one["id"], "never", "its service made none")
            ok(listed(w, run)[0]["detail"] == "its service made none", point + ": and that is recorded")
        else:
            over(w, run, point)


def ended_without_a_host(w):
    p, run = host(w, ASK + WAIT)
    wait_for(lambda: os.path.exists(w.ws + "/got"), 30)
    p.kill()
    p.communicate()
    ok(recovered(w).get(run) == "alive", "control: it goes on without its host")
    go(w)
    ok(wait_for(lambda: os.path.exists(path(w, run, "exit.json")), 30), "it ends")
    guard = guard_of(w, run)
    ok(recovered(w).get(run) == "finished", "recovery settles it")
    ok(get(w, run)["state"] == "exited" and not os.path.exists("%s/live/%s" % (w.state, run)), "it is over, and what was its is gone")
    ok(alive(guard) and guard == stays(w, run, "settled"), "the sweep did not end its guard")
    ok(run not in recovered(w), "there is nothing more to settle")
    over(w, run, "settled")


def guard_killed(w):
    p, run = host(w, ASK)
    p.communicate(timeout=60)
    one, guard = listed(w, run)[0], stays(w, run, "killed guard")
    os.kill(guard, signal.SIGKILL)
    wait_for(lambda: not alive(guard), 10)
    p = tokens(w, "take", run, one["id"])
    ok(p.returncode == 1 and "no guard" in json.loads(p.stderr)["message"], "killed guard: nobody has it", p.stderr)
    p = tokens(w, "end", run, one["id"], "made", "its guard is gone, and it can't be revoked")
    p = w.oc("runs", "get", run)
    ok("its guard is gone" in p.stdout and "it expires at" in p.stdout, "killed guard: the record says when it expires", p.stdout)
    p = tokens(w, "end", run, one["id"], "expired")
    ok(p.returncode == 0 and not os.path.exists(path(w, run, "guard.sock")), "killed guard: the end takes its socket along", p.stderr)


def killed_at_the_end(w):
    p, run = host(w, ASK)
    p.communicate(timeout=60)
    one, guard = listed(w, run)[0], stays(w, run, "token:ended")
    p = tokens(w, "end", run, one["id"], "revoked", fault="token:ended")
    ok(p.returncode == -signal.SIGKILL and listed(w, run)[0]["state"] == "revoked" and alive(guard), "token:ended: recorded, and not forgotten yet")
    p = tokens(w, "end", run, one["id"], "revoked")
    ok(p.returncode == 0 and wait_for(lambda: not alive(guard), 20), "token:ended: said again, the guard forgets it", p.stderr)


ok(points("token:") == ["token:asked", "token:deposited", "token:ended", "token:recorded"], "every point of tokens is tried", points("token:"))
w = World(clone=False)
try:
    for test in (whole_life, killed_between, ended_without_a_host, guard_killed, killed_at_the_end):
        test(w)
finally:
    w.close()
finish()

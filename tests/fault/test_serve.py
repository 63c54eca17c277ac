#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon killed: again and again during one run, at each named point, in the middle of a queue; and what it adopts.  No
line of a run is lost or doubled, nothing is done twice, each run has one end."""
import collections, json, os, random, re, signal, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "host"), os.path.join(HERE, "..", "isolation")]
from faults import get, start, wait_for  # noqa: E402
from serveworld import COMMIT, OVER, SOAK, Served, finish, head, ok, put  # noqa: E402

RESTARTS = 50 if SOAK else 12
# Confined ones first: each takes two keyrings of its user, who has 200 on most machines, and can't do without.
COUNTS = (("box", 20), ("srt", 30), ("none", 1000)) if SOAK else (("box", 2), ("srt", 3), ("none", 200))

# Stands in for claude: a numbered line every 10 ms, and calls of its toolbelt beside them, until it has had enough.
AGENT = r'''#!/usr/bin/python3
import json, os, subprocess, sys, threading, time
said = json.loads(sys.stdin.readline())
config = sys.argv[sys.argv.index("--mcp-config") + 1]
server = next(iter(json.load(open(config))["mcpServers"].values()))
client = subprocess.Popen([server["command"], *server.get("args", [])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **server.get("env", {})})
lock = threading.Lock()
def ask(number, method, params):
    client.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
    client.stdin.flush()
    return json.loads(client.stdout.readline())
def say(**line):
    with lock:
        os.write(1, (json.dumps({"type": "system", "subtype": "note", **line}) + "\n").encode())
ask(0, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}})
print(json.dumps({"type": "system", "subtype": "init", "session_id": "s", "model": "none", "mcp_servers": [{"name": "open-conduit", "status": "connected"}]}))
print(json.dumps({**said, "isReplay": True, "session_id": "s"}), flush=True)
over = False
def calls():
    n = 0
    while not over:
        note = n % 15 == 0 and n // 15 < 10
        name, text = ("work.note", "note %d" % (n // 15)) if note else ("work.status", "status %d" % n)
        result = ask(n + 1, "tools/call", {"name": name, "arguments": {"text": text}}).get("result", {})
        say(call=text, ok=not result.get("isError", False), said=result.get("content", [{}])[0].get("text", "")[:80])
        n += 1
        time.sleep(0.05)
thread = threading.Thread(target=calls)
thread.start()
i = 0
while not os.path.exists("enough"):
    say(line=i)
    i += 1
    time.sleep(0.01)
over = True
thread.join()
say(lines=i)
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "done", "session_id": "s"}), flush=True)
'''


def agent(w, kind):
    put(w.home + "/bin/claude", AGENT, 0o755)
    put(w.home + "/cfg/.keep", "")
    operations = ["work.note", "work.status"]
    b = w.binding("agent", executor="claude-code", command=None, requires={"toolbelt": "mcp", "workspace": True}, operations=operations, secret_names=["token"],
                  config={"secret_env": {"token": "ANTHROPIC_API_KEY"}, "env": {"PATH": w.home + "/bin:/usr/bin:/bin", "CLAUDE_CONFIG_DIR": w.home + "/cfg",
                                                                               "ANTHROPIC_BASE_URL": "https://gateway.invalid"}})
    if kind == "srt":
        b["sandbox"] = {"provider": "srt", "config": {"write": ["{workspace}", w.home + "/cfg"], "network": {"allow": ["gateway.invalid"]}, "sockets": ["{toolbelt}"]}}
    path = w.config + "/config.json"
    config = json.load(open(path))
    config["scopes"][0]["authorization"]["operations"] = operations
    config["scopes"][0]["bindings"] = [b]
    put(path, json.dumps(config))
    w.env.update({"MY_TOKEN": "canary-of-a-token", "PATH": w.home + "/bin:" + w.env["PATH"]})


def restarts(w, kind):
    """One run, and daemon after daemon."""
    agent(w, kind)
    w.serve("--jobs", "2")
    p, run = w.submit("", "k", "agent", prompt="count")
    if not ok(p.returncode == 0 and wait_for(lambda: w.state_of(run) in ("running", *OVER, "refused"), 120) and w.state_of(run) == "running", kind + ": a run that prints and calls",
              p.stderr + w.oc("runs", "get", run).stdout + w.said()):
        return
    for n in range(RESTARTS):
        # Some before they have adopted it, some in the middle of its calls.
        time.sleep(random.uniform(0, 0.3) if n % 3 == 0 else random.uniform(0.5, 1.2))
        w.kill()
        w.serve("--jobs", "2")
    ok(wait_for(lambda: w.status().get("adopted") == 1, 30), "%s: the daemon was killed %d times, and the last has adopted it" % (kind, RESTARTS), w.status())
    time.sleep(1.5)
    put(w.work("k")["workspace"] + "/enough", "")
    ok(w.ended([run]), kind + ": it ends when it may", w.state_of(run))
    lines = [json.loads(line) for line in w.oc("runs", "logs", "--json", run).stdout.splitlines() if line.startswith('{"type": "system"')]
    numbers = [x["line"] for x in lines if "line" in x]
    total = next((x["lines"] for x in lines if "lines" in x), None)
    ok(total and numbers == list(range(total)), "%s: its %s lines are there, each once, in order" % (kind, total), (total, len(numbers)))
    record = get(w, run)
    states = [e["data"]["state"] for e in record["events"] if e["type"] == "state"]
    ok(states.count("exited") == 1 and record["exit"]["status"] == 0, kind + ": one end is recorded", states)
    said = {x["call"]: x for x in lines if "call" in x}
    work = w.work("k")
    notes = collections.Counter(n["text"] for n in work["data"].get("notes", []))
    ok(len(said) > RESTARTS and max(notes.values(), default=0) == 1, "%s: of %d calls none was acted on twice" % (kind, len(said)), notes)
    answered = [t for t, x in said.items() if t.startswith("note ") and x["ok"]]
    ok(answered and all(notes[t] == 1 for t in answered), kind + ": each note that was answered is there", (answered, notes))
    bad = [x for x in said.values() if not x["ok"] and "outcome_unknown" not in x["said"]]
    ok(not bad, "%s: the rest are told to be unknown (%d)" % (kind, sum(not x["ok"] for x in said.values())), bad[:3])
    ok(len(record["calls"]) == len(said), kind + ": and each is recorded once", (len(record["calls"]), len(said)))
    ok(any(e["type"] == "note:agent" for e in record["events"]), kind + ": how its turn went is noted by the daemon", w.said()[-500:])


POINTS = ("serve:submit", "serve:submitted", "serve:taken", "serve:spawned", "serve:child-over", "serve:started", "serve:adopting", "serve:adopted", "serve:ended",
          "serve:finished")


def points(w):
    for point in POINTS:
        effect, key = w.home + "/" + point.replace(":", "-"), point.replace(":", "-")
        w.serve(env={"OPEN_CONDUIT_FAULT": point})
        p, run = w.submit("echo x >> '%s'; sleep 1.5; %s" % (effect, COMMIT % (key, key)), key)
        died = wait_for(lambda: w.daemon.poll() is not None, 60)
        ok(died and w.daemon.returncode == -9, "killed at %s: it was there" % point, w.daemon.returncode)
        w.kill()
        w.serve()
        if point == "serve:submit":
            ok(p.returncode == 125 and "serve_unreachable" in p.stderr, "killed at %s: the command says that it isn't queued" % point, p.stderr)
            time.sleep(2)
            ok(not os.path.exists(effect) and not w.queue(), "killed at %s: and nothing of it is" % point, w.queue())
            w.kill(signal.SIGTERM)
            continue
        ok(p.returncode == 0 and w.ended([run]), "killed at %s: the run ends" % point, (p.stderr, w.state_of(run)))
        ok(open(effect).read() == "x\n", "killed at %s: it ran once" % point, open(effect).read())
        record = get(w, run)
        states = [e["data"]["state"] for e in record["events"] if e["type"] == "state"]
        ok(states.count("exited") == 1 and len(record["attempts"]) == 1, "killed at %s: one attempt, one end" % point, states)
        ok(wait_for(lambda: not w.work(key)["unsaved"] and key in w.messages(head(w.work(key))), 30), "killed at %s: its commit is saved" % point)
        ok(wait_for(lambda: not w.queue() and w.status().get("started") == 0, 30), "killed at %s: the queue is empty" % point, (w.queue(), w.status()))
        w.kill(signal.SIGTERM)


def starter(w):
    """Who starts a run is killed: before its pin it is started again, after it is told, and never is it started twice."""
    for point, again in (("work:recorded", True), ("host:pinned", False), ("host:launched", False)):
        effect = w.home + "/" + point.replace(":", "-")
        w.serve(env={"OPEN_CONDUIT_FAULT": point})
        p, run = w.submit("echo x >> '%s'" % effect, point.replace(":", "-"))
        wait_for(lambda: w.status().get("starting") == 1, 20)
        time.sleep(3)
        w.kill()
        w.serve()
        done = wait_for(lambda: w.state_of(run) in ("refused", "pinned", *OVER) and not w.status().get("starting"), 90)
        facts = w.oc("runs", "get", run).stdout
        rows = [r for r in w.queue() if r["id"] == run]
        count = open(effect).read().count("x") if os.path.exists(effect) else 0
        ok(done and count <= 1 and (count == 1 if again else True), "the starter killed at %s: %s" % (point, "it ran, once" if count else "it did not run, and never twice"),
           (w.state_of(run), count, facts, rows, w.status()))
        w.kill(signal.SIGTERM)


def order(w):
    """Twenty turns of three Works, and a daemon that is killed all the time."""
    w.serve("--jobs", "3")
    runs = {}
    for n in range(20):
        key = "w%d" % (n % 3)
        p, runs[n] = w.submit("echo %d >> '%s/%s'; sleep 0.4; %s" % (n, w.home, key, COMMIT % (n, n)), key)
        ok(p.returncode == 0, "a queue of 20: turn %d is queued" % n, p.stderr)
    kills = 0
    while kills < 60:
        time.sleep(random.uniform(0.1, 1.2))
        w.kill()
        kills += 1
        w.serve("--jobs", "3")
        listed = {r["id"]: r["state"] for r in w.runs()["runs"]}
        if all(listed.get(r) in OVER for r in runs.values()):
            break
    ok(w.ended(runs.values()), "a queue of 20: all end under %d kills" % kills, [w.state_of(r) for r in runs.values()])
    for k in range(3):
        done = open("%s/w%d" % (w.home, k)).read().split()
        ok(done == [str(n) for n in range(20) if n % 3 == k], "a queue of 20: each of Work %d once, in order" % k, done)
        ok(wait_for(lambda: len(w.messages(head(w.work("w%d" % k)))) == len(done) + 1, 60), "a queue of 20: and all its commits are saved")
    states = [w.state_of(r) for r in runs.values()]
    ok(states == ["exited"] * 20 and wait_for(lambda: not w.queue(), 30), "a queue of 20: nothing is left of it", states)


def many(w, kinds):
    """Runs of every kind that are there when a daemon comes."""
    if "box" in kinds:
        w.env.update({k: os.environ[k] for k in ("DOCKER_HOST", "OPEN_CONDUIT_GATEWAY_IMAGE")})
        w.image = os.environ["OC_IMAGE_SMALL"]
    put(w.config + "/config.json", json.dumps({"version": 1, "settings": {"extensions": {"docker": {"pass_env": ["DOCKER_HOST"]}}}, "connections": [], "scopes": []}))
    gate, runs = w.ws + "/gate", {}
    os.mkfifo(gate)
    for kind, n in COUNTS:
        if kind not in kinds:
            continue
        if kind == "box":
            p = w.oc("exec", "--container", w.image, "--", "true", timeout=300)
            if not ok(p.returncode == 0, "a container run works", p.stderr):
                continue
        with ThreadPoolExecutor(3) as pool:
            runs[kind] = list(pool.map(lambda _: start(w, kind, "cat gate", timeout=300), range(n)))
    all_ = [r for kind in runs.values() for r in kind]
    for what in ("adopted", "killed and adopted again"):
        began = time.monotonic()
        w.serve()
        # They don't say that their host went, as run --detach does: it takes a while until they are taken for left.
        good = wait_for(lambda: w.status().get("adopted") == len(all_), 120, 0.5)
        took = time.monotonic() - began
        ok(good, "%s by one daemon: %s" % (what, ", ".join("%d %s" % (len(v), k) for k, v in runs.items())), w.status())
        rss, pss = w.memory()
        print("note - %d runs %s after %.1f s: %d KiB resident, %d KiB its own share, %d descriptors" % (len(all_), what, took, rss, pss, len(os.listdir("/proc/%d/fd" % w.daemon.pid))), flush=True)
        if what == "adopted":
            w.kill()
    cpu = os.times()
    before = open("/proc/%d/stat" % w.daemon.pid).read().rsplit(")", 1)[1].split()[11:13]
    time.sleep(10)
    after = open("/proc/%d/stat" % w.daemon.pid).read().rsplit(")", 1)[1].split()[11:13]
    ticks = sum(map(int, after)) - sum(map(int, before))
    print("note - with all of them it takes %.1f%% of a processor" % (ticks * 100 / os.sysconf("SC_CLK_TCK") / 10), flush=True)
    ok(ticks < 2 * os.sysconf("SC_CLK_TCK"), "it rests while they run", ticks)
    began = time.monotonic()
    while not wait_for(lambda: w.status().get("adopted") == 0, 1) and time.monotonic() < began + 300:
        try:
            os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            pass
    print("note - all ended and finished after %.1f s" % (time.monotonic() - began), flush=True)
    listed = {r["id"]: r["state"] for r in json.loads(w.oc("runs", "list", "--json", "-n", "5000").stdout)["runs"]}
    states = collections.Counter(listed[r] for r in all_)
    ok(states == {"exited": len(all_)}, "each has its end", states)
    ends = collections.Counter(len([e for e in get(w, r)["events"] if e["type"] == "state" and e["data"]["state"] == "exited"]) for kind in runs.values() for r in kind[:5])
    ok(set(ends) == {1}, "recorded once", ends)


def part(name):
    w = Served()
    try:
        name, _, kind = name.partition(":")
        globals()[name](*([w, kind] if kind else [w]))
    finally:
        w.close()


def main():
    every = ["restarts:srt", "restarts:none", "points", "starter", "order"]
    if sys.argv[1:]:
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(part, sys.argv[1:]))
    else:
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(part, every))
        part("many:none,srt")
    finish()


main()

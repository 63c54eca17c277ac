# SPDX-License-Identifier: Apache-2.0
"""The real Claude Code ($OC_CLAUDE: its program), offline against a Messages API of our own, inside the real srt with and
without unix sockets, and not confined: turns that work, resume, are spoken to, interrupted, stopped, refused by the API, and
killed at any point.  Each ends with the right state, reason and status, and with nothing left running."""
import json, os, re, shutil, signal, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from claudeworld import BUILD, CLAUDE, GIT, KEY, Claude, put, wait_for  # noqa: E402
from receipt import every_run  # noqa: E402
from tap import finish, ok  # noqa: E402

COMMIT = "echo %s >> log; git add log; git commit -qm %s"


def bash(command):
    return {"tool": "Bash", "input": {"command": command}}


def clean(w, what):
    """A record that says "over" and processes that go on would be a lie; that a loaded machine takes its time to bury them is
    not, so how long it took is said."""
    begun = time.monotonic()
    gone = wait_for(lambda: not w.processes(), 30)
    took = time.monotonic() - begun
    if took > 5:
        print("note - %s: %.0f s until all of its processes were gone" % (what, took), flush=True)
    ok(gone, what + ": nothing is left running", w.processes())


def how(w, key, p, status, outcome, reason=None, subject=None):
    """The three places that tell how a turn went say the same."""
    record = w.last(key)
    noted = w.noted(record)
    good = p.returncode == status and noted.get("outcome") == outcome and noted.get("reason") == reason
    good = good and (subject is None or noted.get("subject") == subject) and (reason is None or (noted["fix"] and reason in p.stderr))
    shown = w.oc("runs", "get", record.get("id", "none"), cwd=w.home).stdout
    return good and (reason or outcome) in shown, (p.returncode, noted, p.stderr[-1500:])


def life(w, binding):
    """A turn that edits, commits and calls the toolbelt; a second that goes on; what is recorded of them."""
    key = "life"
    w.stub.set(bash(COMMIT % ("a", "a") + "; ps -eo args | grep -c '[k]ey-of-the-stub'; env | grep -c ^TMPDIR=$OPEN_CONDUIT_RUN_DIR/tmp"),
               {"tool": "mcp__open-conduit__work_note", "input": {"text": "a note of the agent's"}}, {"text": "did \x1b[31mit\x1b[0m\nsecond line"})
    p = w.run(binding, key, "please do the first thing")
    good, seen = how(w, key, p, 0, "done")
    ok(good, "the first turn", seen)
    ok(w.messages(key) == ["a", "one"], "its commit is saved", w.messages(key))
    ok("did \\x1b[31mit" in p.stdout and "\x1b" not in p.stdout and "* Bash: echo a" in p.stdout and "\nsecond line\n" in p.stdout,
       "what it says and does is shown, escaped", p.stdout)
    record = w.last(key)
    argv, env = record["plan"]["command"]["argv"], {e["name"]: e["value"] for e in record["plan"]["command"]["env"]}
    ok(argv[0] == os.path.realpath(CLAUDE) and "--strict-mcp-config" in argv and argv[argv.index("--setting-sources") + 1] == "user" and
       not [a for a in argv if "first thing" in a or KEY in a], "the program by its real path; neither prompt nor key in its arguments", argv)
    session = argv[argv.index("--session-id") + 1]
    ok(env["OPEN_CONDUIT_SESSION"] == session == w.noted(record)["session"], "its session is pinned, and it is the one", (session, env))
    first = json.loads([f["text"] for f in record["plan"]["command"]["files"] if f["name"] == "prompt.json"][0])
    ok(first["message"]["content"] == "please do the first thing", "the prompt is in the plan", first)
    ok([(c["name"], c["outcome"]) for c in record["calls"]] == [("work.note", "done")] and "a note of the agent's" in w.oc("work", "show", key, cwd=w.home).stdout,
       "the call of the toolbelt reached the host", record.get("calls"))
    results = [b for r in w.stub.requests for b in r["messages"][-1]["content"] if isinstance(b, dict) and b.get("type") == "tool_result"]
    ok(results and results[0]["content"] in ("0\n1", "0\n1\n"), "no key in any command line, and its own TMPDIR", results[:1])
    transcript = "%s/projects" % w.cfg
    ok(any(session + ".jsonl" in f for _, _, f in os.walk(transcript)), "its transcript is in its own config directory")
    w.stub.set(bash("test \"$(cat log)\" = a && " + COMMIT % ("b", "b")), {"text": "and that"})
    p = w.run(binding, key, "please do the second thing", "--json")
    facts = json.loads(p.stdout)
    ok(p.returncode == 0 and facts["agent"]["outcome"] == "done" and facts["agent"]["session"] == session and facts["save"]["saved"], "--json: the turn's outcome", p.stdout)
    raw = [json.loads(line) for line in p.stderr.splitlines() if line.startswith('{"')]
    ok({"system", "assistant", "result"} <= {r.get("type") for r in raw}, "--json: its own lines, as they are", p.stderr[:300])
    seen = json.dumps(w.stub.requests[-1]["messages"])
    ok("first thing" in seen and "did " in seen and "second thing" in seen, "the second turn goes on where the first was", seen[-600:])
    argv = w.last(key)["plan"]["command"]["argv"]
    ok(argv[argv.index("--resume") + 1] == session and "--session-id" not in argv and w.messages(key) == ["b", "a", "one"], "by the same session", argv)
    logs = w.oc("runs", "logs", w.last(key)["id"], cwd=w.home).stdout
    raw = w.oc("runs", "logs", w.last(key)["id"], "--json", cwd=w.home).stdout
    ok("and that\n" in logs and '"type"' not in logs and all(json.loads(line) for line in raw.splitlines()), "runs logs: to be read; --json: as it was", logs)
    found = subprocess.run(["grep", "-rlaF", KEY, w.state], capture_output=True, text=True).stdout
    ok(not found, "the key is on no disk of ours", found)
    ok(subprocess.run(["grep", "-rlaF", "first thing", w.state], capture_output=True).stdout, "control: what is on it is found")
    p = w.oc("work", "finish", key, cwd=w.home)
    ok(p.returncode == 0, "the Work is finished", p.stderr)
    clean(w, binding)


def page(w, _):
    """The page's own binding, with real paths put in; the API, which the page leaves where it is, is the stub.  It signs in by
    the config directory."""
    os.makedirs(w.home + "/.npm")
    os.makedirs(w.home + "/.config/op", exist_ok=True)
    put(w.cfg + "/.credentials.json", json.dumps({"claudeAiOauth": {"accessToken": KEY, "refreshToken": "r", "expiresAt": 4102444800000, "scopes": ["user:inference"], "subscriptionType": "max"}}))
    agent = {
        "name": "agent", "executor": "claude-code", "connection": "github",
        "requires": {"toolbelt": "mcp", "inject": True, "resume": True, "workspace": True},
        "operations": ["@github.author"], "secret_names": [],
        "config": {"playbook": "work-issue", "branch": "agent/issue-{number}", "workspace_mode": "clone",
                   "env": {"CLAUDE_CONFIG_DIR": w.cfg, "ANTHROPIC_BASE_URL": w.stub.url}},
        "resource": {"provider": "git", "config": {"checkout": w.checkout, "mode": "clone"}},
        "sandbox": {"provider": "srt", "config": {
            "write": ["{workspace}", w.cfg, "~/.npm"],
            "read": {"deny": ["~/.config/op"]},
            "network": {"allow": ["api.anthropic.com", "github.com", "*.githubusercontent.com", "packages.example.com", "127.0.0.1:%d" % w.stub.port]},
            "sockets": ["{toolbelt}"], "unix_sockets": "all"}}}
    put(w.config + "/config.json", json.dumps({"version": 1, "settings": {}, "connections": [
        {"id": "github", "type": "github", "config": {"auth": "token"}, "secret_refs": {"token": "env:GH_TOKEN"}}], "scopes": [
        {"id": "web", "name": "acme/web", "secret_refs": {}, "authorization": {"connections": ["github"], "operations": ["@github.author"], "read_scopes": []},
         "extensions": [{"name": "web", "type": "github", "connection": "github", "secret_names": [],
                         "config": {"namespace": "github/github.com/acme/web", "scope": "web", "repo": "acme/web"}}],
         "routes": [], "bindings": [agent]}]}))
    w.stub.set(bash("cat ~/.config/op/x ~/.claude/secret 2>&1 | grep -c -i -e denied -e 'no such'; " + COMMIT % ("p", "p")),
               {"tool": "mcp__open-conduit__work_status", "input": {"text": "done with it"}}, {"text": "the issue is done"})
    p = w.run("agent", "i7", {"number": 7, "title": "A title", "body": "What is wanted {here}"}, "--json")
    facts = json.loads(p.stdout) if p.stdout else {}
    ok(p.returncode == 0 and facts["agent"]["outcome"] == "done" and facts["work"]["branch"] == "agent/issue-7", "the page's binding runs", p.stdout + p.stderr[-2000:])
    asked = json.dumps(w.stub.requests[0]["messages"])
    ok("issue #7 of this repository: A title" in asked and "What is wanted {here}" in asked and "agent/issue-7" in asked, "the playbook is filled from the input", asked[-800:])
    ok(w.messages("i7") == ["p", "one"] and [c["name"] for c in w.last("i7")["calls"]] == ["work.status"], "it commits, and calls its toolbelt", w.last("i7").get("calls"))
    ok("Bearer" not in open(w.state + "/runs/%s/plan.json" % facts["run"]).read(), "control: its plan can be read")
    for what, members, words in (("no body", {"number": 7, "title": "t"}, "{body}"), ("a list", {"number": 7, "title": ["x"], "body": "b"}, "{title}")):
        p = w.run("agent", "i7", members)
        ok(p.returncode == 125 and words in p.stderr and "config.playbook" in p.stderr, "a playbook that is not filled is refused: " + what, p.stderr)
    clean(w, "page")


def playbooks(w, _):
    w.configure(w.binding("book", playbook="fix"), w.binding("gone", playbook="work-issue"))
    put(w.config + "/playbooks/fix.md", "Fix {what.name}, {n} times, on {branch} of {work}. {{literally}}\n")
    w.stub.set({"text": "x"})
    p = w.run("book", "k", {"what": {"name": "it"}, "n": 3})
    ok(p.returncode == 0 and "Fix it, 3 times, on open-conduit/%s of k. {literally}" % w.work("k")["id"] in json.dumps(w.stub.requests[0]["messages"]),
       "a playbook of the operator's own", p.stderr)
    put(w.config + "/playbooks/work-issue.md", "My own: {number}\n")
    w.stub.set({"text": "x"})
    p = w.run("gone", "k", {"number": 5})
    ok(p.returncode == 0 and "My own: 5" in json.dumps(w.stub.requests[-1]["messages"]), "one that is called like the built-in comes first", p.stderr)
    p = w.run("none", "k", {"x": 1})
    ok(p.returncode == 125 and '"prompt"' in p.stderr, "without one the input has to ask", p.stderr)
    put(w.home + "/long.json", json.dumps({"prompt": "x" * 300000}))
    p = w.oc("run", "web/none", "--work", "k", "--input", "@%s/long.json" % w.home, cwd=w.home)
    ok(p.returncode == 125 and "256 KiB" in p.stderr, "a prompt that is too long is refused", p.stderr[-500:])
    clean(w, "playbooks")


def refusals(w, _):
    narrow = w.sandbox()
    narrow["network"] = {"allow": ["github.com"]}
    w.configure(w.binding("narrow", narrow), w.binding("url", None, env={"ANTHROPIC_BASE_URL": "https://me:pw@example.com"}),
                w.binding("default", w.sandbox(), env={"ANTHROPIC_BASE_URL": w.stub.url}))
    p = w.run("narrow", "r")
    ok(p.returncode == 125 and "sandbox_denied" in p.stderr and "127.0.0.1:%d" % w.stub.port in p.stderr, "an API that network.allow doesn't name is refused", p.stderr)
    p = w.run("url", "r")
    ok(p.returncode == 125 and "sandbox_config" in p.stderr and "pw" not in p.stderr, "a base URL with a password is refused, and not repeated", p.stderr)
    p = w.run("none", "r", env={"PATH": "/usr/bin:/bin"})
    ok(p.returncode == 125 and "no claude in PATH" in p.stderr and "npm install" in p.stderr, "no claude: said, with what to paste", p.stderr)
    bare = w.binding("bare", w.sandbox())
    bare["sandbox"]["config"]["write"] = ["{workspace}"]
    w.configure(bare)
    p = w.run("bare", "r")
    ok(p.returncode == 125 and "sandbox_config" in p.stderr and w.cfg in p.stderr, "a config directory that is not granted is refused", p.stderr)
    os.makedirs(w.home + "/tools")
    shutil.copy("/bin/true", w.home + "/tools/claude")
    own = w.binding("own", w.sandbox())
    own["sandbox"]["config"]["write"].append(w.home + "/tools")
    w.configure(own)
    p = w.run("own", "r", env={"PATH": w.home + "/tools:" + w.env["PATH"]})
    ok(p.returncode == 125 and "sandbox_denied" in p.stderr and w.home + "/tools/claude" in p.stderr, "a claude that its own runs could replace is refused", p.stderr)
    w.configure()
    ok(not w.stub.requests, "none of them asked the API anything")
    w.stub.set({"text": "x"})
    p = w.run("boxed", "r")
    ok(p.returncode == 0, "control: with everything in its place it runs", p.stderr)
    clean(w, "refusals")


def speak(w, binding):
    """A message while it works goes in; one that comes later waits, and is put first."""
    key = "speak"
    w.stub.set(bash("touch started; sleep 6"), {"text": "heard"})
    p = w.start(binding, key)
    ok(wait_for(lambda: os.path.exists(w.work(key).get("workspace", "/none") + "/started"), 60), "speak: it works")
    run = w.work(key)["runs"][0]["id"]
    q = w.oc("work", "send", key, "and also \"this\"\nplease", "--json", cwd=w.home)
    facts = json.loads(q.stdout) if q.stdout else {}
    ok(q.returncode == 0 and facts.get("state") in ("given", "delivered") and facts["run"] == run, "speak: the sender is told that the run has it", q.stdout + q.stderr)
    said = p.communicate(timeout=120)
    ok(p.returncode == 0 and "message 1 is given" in said[1], "speak: so is the operator of the run", said)
    inside = [json.dumps(r["messages"][-1]) for r in w.stub.requests]
    ok(sum('and also \\"this\\"\\nplease' in m for m in inside) == 1 and len(inside) == 2, "speak: the agent reads it in the same turn, once", inside)
    q = w.oc("work", "send", key, "-", input="for the next turn", cwd=w.home)
    ok(q.returncode == 0 and "waits for the next turn: no run" in q.stdout, "speak: with no run it waits, and that is said", q.stdout + q.stderr)
    ok("for the next turn" in w.oc("work", "show", key, cwd=w.home).stdout, "speak: work show has it")
    w.stub.set({"text": "ok"})
    p = w.run(binding, key, "the next thing")
    text = [b["text"] for b in w.stub.requests[-1]["messages"][-1]["content"] if b["type"] == "text"][-1]
    ok(p.returncode == 0 and 0 < text.find("for the next turn") < text.find("the next thing"), "speak: it is put before what is asked next", text)
    ok(len([r for r in w.stub.requests if "for the next turn" in json.dumps(r["messages"])]) == 1 and
       not re.search("messages +", w.oc("work", "show", key, cwd=w.home).stdout), "speak: and is delivered")
    w.stub.set({"text": "one two three four five six seven eight", "slow": 0.4}, {"text": "to the late one"})
    p = w.start(binding, key, "talk")
    wait_for(lambda: len(w.stub.requests) == 4, 60)
    time.sleep(1)
    q = w.oc("work", "send", key, "while you talk", cwd=w.home)
    said = p.communicate(timeout=120)
    ok(p.returncode == 0 and "to the late one" in said[0] and "while you talk" in json.dumps(w.stub.requests[-1]["messages"]),
       "speak: while it talks: it becomes a turn of its own, which is waited for", (said, q.stdout))
    clean(w, "speak")


def detach(w, binding):
    w.stub.set(bash("sleep 4; " + COMMIT % ("d", "d")), {"text": "done alone"})
    p = w.run(binding, "det", "do it", "--detach")
    q = w.oc("work", "send", "det", "hello?", cwd=w.home)
    ok(p.returncode == 0 and "takes no messages" in q.stdout, "detach: a message waits, and that is said", (p.stderr, q.stdout))
    ok(wait_for(lambda: w.last("det")["state"] == "exited", 60), "detach: it ends by itself")
    good, seen = w.noted(w.last("det")).get("outcome") == "done", w.noted(w.last("det"))
    ok(good, "detach: how it went is told by the first who asks", seen)
    w.oc("work", "list", cwd=w.home)
    ok(w.messages("det") == ["d", "one"], "detach: its commit is saved", w.messages("det"))
    w.stub.set({"text": "yes"})
    p = w.run(binding, "det", "next")
    ok(p.returncode == 0 and "hello?" in json.dumps(w.stub.requests[-1]["messages"][-1]), "detach: the next turn has the message", p.stderr)
    clean(w, "detach")


def stops(w, binding):
    def working(key, n):
        w.stub.set(bash("touch started%d; %s; sleep 300" % (n, COMMIT % (n, n))), {"text": "never said"})
        p = w.start(binding, key)
        ok(wait_for(lambda: os.path.exists(w.work(key).get("workspace", "/none") + "/started%d" % n), 60), "stops: it works")
        time.sleep(1)
        return p
    p = working("int", 1)
    p.send_signal(signal.SIGINT)
    said = p.communicate(timeout=60)
    p.stderr_, p.stderr = p.stderr, said[1]
    good, seen = how(w, "int", p, 130, "interrupted", "agent_interrupted")
    ok(good and w.last("int")["exit"]["state"] == "exited", "interrupt: the agent stops, and ends by itself", seen)
    ok(w.messages("int") == ["1", "one"], "interrupt: what it had committed is saved", w.messages("int"))
    clean(w, "interrupt")
    w.stub.set({"text": "went on"})
    p = w.run(binding, "int", "go on")
    ok(p.returncode == 0 and "started1" in json.dumps(w.stub.requests[-1]["messages"]), "interrupt: the next turn goes on with its session", p.stderr)
    w.stub.set({"hang": True, "sticky": True})
    p = w.start(binding, "twice")
    wait_for(lambda: w.stub.open > 0, 60)
    p.send_signal(signal.SIGINT)
    said = p.communicate(timeout=60)
    p.stderr_, p.stderr = p.stderr, said[1]
    good, seen = how(w, "twice", p, 130, "interrupted", "agent_interrupted")
    ok(good, "interrupt: also of an agent that waits for its API", seen)
    p = working("stop", 2)
    q = w.oc("runs", "stop", w.work("stop")["runs"][0]["id"], cwd=w.home)
    said = p.communicate(timeout=60)
    p.stderr_, p.stderr = p.stderr, said[1]
    good, seen = how(w, "stop", p, 143, "stopped", "agent_interrupted")
    ok(q.returncode == 0 and good and w.last("stop")["exit"]["state"] == "stopped", "stop: by another command: the run is ended", (seen, q.stderr))
    clean(w, "stop")
    p = working("term", 3)
    p.send_signal(signal.SIGTERM)
    said = p.communicate(timeout=60)
    p.stderr_, p.stderr = p.stderr, said[1]
    good, seen = how(w, "term", p, 143, "stopped", "agent_interrupted")
    ok(good, "stop: by SIGTERM of its host", seen)
    clean(w, "stop by a signal")
    w.stub.set({"text": "after all"})
    p = w.run(binding, "term", "go on")
    ok(p.returncode == 0 and "cut short" in p.stderr and "started3" in json.dumps(w.stub.requests[-1]["messages"]), "stop: the next turn says so, and goes on with its session", p.stderr)
    w.stub.set({"hang": True, "sticky": True})
    p = w.run(binding, "hang", "do it", "--timeout", "8s")
    good, seen = how(w, "hang", p, 124, "timeout", "agent_timeout")
    ok(good and w.last("hang")["exit"]["state"] == "timeout", "hang: the time ends it", seen)
    clean(w, "hang")


ERRORS = (
    ("401", {"status": 401, "type": "authentication_error", "message": "invalid x-api-key"}, "agent_sign_in", "HTTP 401"),
    ("403", {"status": 403, "type": "permission_error", "message": "not for you"}, "agent_sign_in", "HTTP 403"),
    ("429", {"status": 429, "type": "rate_limit_error", "message": "slow down"}, "agent_limited", "HTTP 429"),
    ("529", {"status": 529, "type": "overloaded_error", "message": "Overloaded"}, "agent_unreachable", "HTTP 529"),
    ("500", {"status": 500, "type": "api_error", "message": "oops"}, "agent_unreachable", "HTTP 500"),
    ("billing", {"status": 400, "type": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API."}, "agent_limited", "HTTP 400"),
    ("connection", {"drop": True}, "agent_unreachable", None))


def errors(w, binding):
    for name, reply, reason, subject in ERRORS:
        w.stub.set({**reply, "sticky": True})
        before = time.monotonic()
        p = w.run(binding, name)
        took = time.monotonic() - before
        good, seen = how(w, name, p, 1, "failed", reason, subject)
        ok(good and w.last(name)["exit"]["state"] == "exited" and took < 60, "%s: told apart, in bounded time" % name, (seen, took))
        clean(w, name)
    w.stub.set({"text": "better now"})
    p = w.run(binding, "401")
    ok(p.returncode == 0 and "better now" in p.stdout and "cut short" not in p.stderr, "the turn after a failed one goes on", p.stderr)
    w.stub.set({"text": "x"})
    p = w.run(binding, "badkey", env={"API_KEY": "another"})
    good, seen = how(w, "badkey", p, 1, "failed", "agent_sign_in", "HTTP 401")
    ok(good, "a wrong key", seen)
    unsigned = w.binding("unsigned", w.sandbox())
    unsigned["secret_names"], unsigned["config"]["secret_env"] = [], {}
    w.configure(unsigned)
    n = len(w.stub.requests)
    p = w.run("unsigned", "unsigned")
    good, seen = how(w, "unsigned", p, 1, "failed", "agent_sign_in")
    ok(good and len(w.stub.requests) == n, "no key at all", seen)
    clean(w, "errors")


def guard_pid(w, run):
    try:
        return json.load(open("%s/runs/%s/guard.json" % (w.state, run)))["pid"]
    except (OSError, ValueError):
        return 0


def kill_case(w, point):
    """One turn in which host or guard is killed at a point, then another.  The agent's first turn is never done twice, and
    never lost without a word; a message that was given is not lost."""
    key = re.sub("[^a-z]", "-", point)
    name = "killed at %s: " % point
    if point.startswith("host:"):
        w.stub.set(bash("touch started; sleep 1"), {"text": "first is done"})
        p = w.run("none", key, "the first thing", env={"OPEN_CONDUIT_FAULT": point})
        ok(p.returncode == -signal.SIGKILL, name + "it was", p.returncode)
    else:
        w.stub.set(bash("touch started; sleep 5"), {"text": "first is done", "slow": 0.3})
        p = w.start("none", key, "the first thing")
        ok(wait_for(lambda: os.path.exists(w.work(key).get("workspace", "/none") + "/started"), 60), name + "it works")
        if "message" in point:
            w.oc("work", "send", key, "a message to it", cwd=w.home)
        if "replayed" in point:
            wait_for(lambda: len(w.stub.requests) >= 2, 30)
            time.sleep(0.5)
        run = w.work(key)["runs"][0]["id"]
        victim = guard_pid(w, run) if point.startswith("guard") else p.pid
        os.kill(victim, signal.SIGKILL)
        p.communicate(timeout=60)
    wait_for(lambda: all(r["state"] in ("exited", "run_lost", "failed", "pinned", "planned") for r in w.work(key)["runs"]) or w.oc("runs", "list", cwd=w.home) is None, 40, 0.5)
    asked = len(w.stub.requests)  # its guard lets it go on for a while
    w.stub.set({"text": "second is done"})
    p = w.run("none", key, "the second thing")
    ok(p.returncode == 0, name + "the next turn runs", p.stderr)
    seen = json.dumps(w.stub.requests[-1]["messages"])
    knew = "the first thing" in seen
    began = asked > 0
    argv = w.last(key)["plan"]["command"]["argv"]
    if began:
        ok(knew and "--resume" in argv and ("cut short" in p.stderr or point == "host:finished"), name + "it goes on with the session, and says what was", (p.stderr, argv, seen[-300:]))
    else:
        ok("--session-id" in argv and not knew, name + "nothing was begun, so it begins", (p.stderr, argv))
    if "message" in point:
        times = seen.count("a message to it")
        ok(times == 1 or (times > 1 and "given again" in p.stderr), name + "the message is there, and if twice that is said", (times, p.stderr))
        ok("a message to it" not in w.oc("work", "show", key, cwd=w.home).stdout, name + "and is delivered")
    w.stub.requests.clear()
    clean(w, name[:-2])


POINTS = ["host:planned", "host:pinned", "host:held", "host:running", "host:finished", "host in a tool", "host with a message", "host with a message replayed",
          "guard in a tool", "guard with a message"]


def kills(w, _):
    for point in POINTS[::2]:
        kill_case(w, point)


def kills2(w, _):
    for point in POINTS[1::2]:
        kill_case(w, point)


def lost_session(w, binding):
    """Transcripts that are gone or broken: said, and begun afresh; never a turn that fails for ever."""
    w.stub.set({"text": "x"})
    p = w.run(binding, "lost", "the first thing")
    files = [os.path.join(b, f) for b, _, fs in os.walk(w.cfg + "/projects") for f in fs if f.endswith(".jsonl")]
    ok(p.returncode == 0 and len(files) == 1, "lost session: there is one", files)
    os.unlink(files[0])
    w.stub.set({"text": "y"})
    p = w.run(binding, "lost", "the second thing")
    ok(p.returncode == 0 and "begins a new session" in p.stderr and "first thing" not in json.dumps(w.stub.requests[-1]["messages"]), "lost session: said, and begun afresh", p.stderr)
    files = [os.path.join(b, f) for b, _, fs in os.walk(w.cfg + "/projects") for f in fs if f.endswith(".jsonl")]
    put(files[0], "\n")
    p = w.run(binding, "lost", "the third thing")
    good, seen = how(w, "lost", p, 1, "failed", "agent_failed")
    ok(good and "begins a new session" in p.stderr, "broken session: said", seen)
    w.stub.set({"text": "z"})
    p = w.run(binding, "lost", "the third thing")
    ok(p.returncode == 0 and "third thing" in json.dumps(w.stub.requests[-1]["messages"]), "broken session: the next turn begins afresh", p.stderr)
    clean(w, "lost session")


PARTS = {"life-boxed": (life, "boxed"), "life-all": (life, "all"), "life-none": (life, "none"), "page": (page, None), "playbooks": (playbooks, None),
         "refusals": (refusals, None), "speak": (speak, "boxed"), "detach": (detach, "all"), "stops": (stops, "boxed"), "errors": (errors, "boxed"),
         "kills": (kills, None), "kills2": (kills2, None), "lost_session": (lost_session, "none")}


def belted(w):
    """The bindings of life: with the toolbelt."""
    for name, policy in (("boxed", w.sandbox(sockets=["{toolbelt}"])), ("all", w.sandbox(sockets=["{toolbelt}"], unix_sockets="all")), ("none", None)):
        yield {**w.binding(name, policy, requires={"toolbelt": "mcp"}), "operations": ["@work"]}


def part(name):
    w = Claude()
    try:
        function, binding = PARTS[name]
        if function is life:
            w.bindings, w.operations = list(belted(w)), ["@work"]
            w.configure()
        function(w, binding)
        every_run(w, name)
        ok(not w.stub.problems, name + ": the API would have taken every request", w.stub.problems[:3])
    except Exception as e:  # a part that breaks is a failure, and no reason to lose the others
        ok(False, name + " ran to its end", repr(e))
        raise
    finally:
        w.close()


def main():
    if not os.access(CLAUDE, os.X_OK):
        sys.exit("OC_CLAUDE names no program")
    order = ["errors", "kills", "kills2", "stops", "life-boxed", "life-all", "page", "speak", "life-none", "detach", "refusals", "playbooks", "lost_session"]
    with ThreadPoolExecutor(int(os.environ.get("OC_CLAUDE_JOBS", "3"))) as pool:
        list(pool.map(part, sys.argv[1:] or order))
    finish()


if __name__ == "__main__":
    main()

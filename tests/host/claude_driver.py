# SPDX-License-Identifier: Apache-2.0
"""The driver of an agent that speaks, with a stand-in for Claude Code that says what it is told to: servers of tools that are
not there, lines that are none, results that lie, work in the background, and no result at all.  And the stub of the Messages
API: what it refuses."""
import json, os, sys, threading, time, urllib.error, urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import claudeworld  # noqa: E402
from claudeworld import KEY, Claude, put, wait_for  # noqa: E402
from tap import finish, ok  # noqa: E402

# Plays $SCRIPT: each step prints a line, waits for one of its input, sleeps, exits, or tells of the end of input.
PLAYER = r'''#!/usr/bin/python3
import json, os, sys, time
out = os.fdopen(1, "wb", 0)
mark = None
for step in json.load(open(os.environ["SCRIPT"])):
    kind, value = step
    if kind == "read":
        line = sys.stdin.readline()
        if not line:
            out.write(b'{"type":"system","subtype":"note","end":true}\n')
            continue
        got = json.loads(line)
        mark = got.get("uuid")
        open(os.environ["SCRIPT"] + ".got", "a").write(line)
        if value == "replay":
            out.write((json.dumps({"type": "user", "isReplay": True, "uuid": mark, "message": {"role": "user", "content": "x"}}) + "\n").encode())
    elif kind == "say":
        out.write((json.dumps(value) + "\n").encode())
    elif kind == "raw":
        out.write(value.encode("latin-1"))
    elif kind == "big":
        out.write(b'{"type":"assistant","pad":"' + b"x" * value + b'"}\n')
    elif kind == "err":
        sys.stderr.write(value); sys.stderr.flush()
    elif kind == "sleep":
        time.sleep(value)
    elif kind == "touch":
        open(os.environ["SCRIPT"] + "." + value, "w").write(str(time.time()))
    elif kind == "exit":
        os._exit(value)
'''

GOOD = {"subtype": "success", "is_error": False, "result": "ok", "type": "result"}  # "type" last, as it is


def init(*servers):
    return {"type": "system", "subtype": "init", "session_id": "s", "model": "m", "mcp_servers": [{"name": n, "status": s} for n, s in servers]}


def text(t):
    return {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": t}]}}


def result(**more):
    return {**GOOD, **more}


class Played(Claude):
    def __init__(self):
        super().__init__()
        os.unlink(self.home + "/bin/claude")
        put(self.home + "/bin/claude", PLAYER, 0o755)
        self.script = self.root + "/script"
        self.operations = ["@work"]
        self.bindings = [self.binding("plain", env={"SCRIPT": self.script}),
                         {**self.binding("belt", requires={"toolbelt": "mcp"}, env={"SCRIPT": self.script}), "operations": ["@work"]}]
        self.configure()
        self.n = 0

    def play(self, *steps, binding="plain", flags=(), key=None):
        self.write(*steps)
        self.n += 1
        self.key = key or "k%d" % self.n
        return self.run(binding, self.key, "do it", *flags)

    def write(self, *steps):
        for end in ("", ".got", ".went", ".late"):
            if os.path.exists(self.script + end):
                os.unlink(self.script + end)
        put(self.script, json.dumps(steps))

    def outcome(self):
        return self.noted(self.last(self.key))


START = (["read", "replay"], ["say", init()])
END = (["read", ""],)


def tools(w):
    for what, servers, status in (("connected", [("open-conduit", "connected")], 0), ("failed", [("open-conduit", "failed")], 125), ("not in the list", [], 125),
                                  ("another's", [("other", "connected")], 125)):
        p = w.play(["read", "replay"], ["say", init(*servers)], ["sleep", 0.7], ["touch", "went"], ["say", text("went on")], ["say", GOOD], *END, binding="belt")
        went = os.path.exists(w.script + ".went")
        ok(p.returncode == status and went == (status == 0), "the toolbelt is %s: %s" % (what, "it goes on" if status == 0 else "nothing goes on"), (p.returncode, went, p.stderr))
        if status:
            o = w.outcome()
            ok(o["outcome"] == "no_toolbelt" and o["reason"] == "agent_failed" and o["subject"] == "open-conduit" and o["fix"] and "toolbelt" in p.stderr,
               "the toolbelt is %s: the record says so" % what, o)
    p = w.play(["read", "replay"], ["say", init()], ["say", text("went on")], ["say", GOOD], *END)
    ok(p.returncode == 0, "no toolbelt: control: a binding that requires none goes on", p.stderr)


def judged(w):
    for what, last, status, code, outcome in (
            ("good", GOOD, 0, 0, "done"),
            ("an error that calls itself a success", result(is_error=True, result="no", terminal_reason="api_error", api_error_status=529), 1, 1, "failed"),
            ("an error, and exit status 0", result(is_error=True, result="no"), 0, 1, "failed"),
            ("a success that calls itself an error", result(subtype="error_max_turns"), 0, 0, "done"),
            ("no word on whether it is an error", {"type": "result", "subtype": "success"}, 0, 1, "failed"),
            ("no more turns", result(is_error=True, subtype="error_max_turns"), 1, 1, "failed"),
            ("a good one, and another exit status", GOOD, 7, 7, "done")):
        p = w.play(*START, ["say", last], *END, ["exit", status])
        o = w.outcome()
        ok(p.returncode == code and o["outcome"] == outcome, "judged: " + what, (p.returncode, o, p.stderr))
    p = w.play(*START, ["say", result(is_error=True)], ["say", init()], ["say", text("again")], ["say", GOOD], *END)
    ok(p.returncode == 0 and w.outcome()["outcome"] == "done", "judged: by the last result", w.outcome())
    p = w.play(*START, ["say", GOOD], ["say", text("and more")], ["exit", 0])
    ok(p.returncode == 1 and w.outcome()["outcome"] == "no_result", "judged: what it says after its result has none", w.outcome())
    for what, steps, words in (("it ends without a result", (*START, ["exit", 0]), "without a result"), ("it reads nothing", (["exit", 0],), "before it had read"),
                               ("it dies", (*START, ["exit", 3]), "without a result")):
        p = w.play(*steps)
        o = w.outcome()
        ok(p.returncode == (3 if what == "it dies" else 1) and o["outcome"] == "no_result" and words in o["message"] and o["reason"] == "agent_failed", "judged: " + what, (p.returncode, o))


def garbage(w):
    p = w.play(*START, ["raw", "\x1b]0;title\x07 no JSON\n"], ["raw", "\xff\xfe\n"], ["raw", "{\"type\":\n"], ["raw", "[1,2]\n"], ["raw", "{\"type\":5}\n"], ["raw", "\n\n"],
               ["say", {"type": "never heard of"}], ["say", {"type": "assistant", "message": 5}], ["say", {"type": "user", "isReplay": True, "uuid": 7}],
               ["raw", "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"a\\u001b[2Jb\\u0000c\"}]}}\n"], ["say", GOOD], *END)
    ok(p.returncode == 0 and w.outcome()["outcome"] == "done", "lines that are none of its protocol end nothing", (p.returncode, p.stderr))
    ok("\x1b" not in p.stdout and "no JSON" in p.stdout and "\\x1b[2J" in p.stdout, "and are shown, escaped", p.stdout)
    raw = w.oc("runs", "logs", w.last(w.key)["id"], "--json", cwd=w.home, text=False).stdout
    ok(b"\x1b]0;title\x07 no JSON\n\xff\xfe\n" in raw, "and are kept as they were", raw[:300])
    p = w.play(*START, ["big", 17 << 20], ["say", text("after it")], ["say", GOOD], *END)
    ok(p.returncode == 0 and "longer than 16 MiB" in p.stdout and "after it" in p.stdout, "a line without bounds is passed over, and said", p.stdout[-500:])
    p = w.play(*START, ["big", 15 << 20], ["say", GOOD], *END)
    ok(p.returncode == 0 and "longer than" not in p.stdout, "control: one that is long is read", p.stdout[-500:])
    p = w.play(*START, ["raw", json.dumps(GOOD)], ["exit", 0])
    ok(p.returncode == 0 and w.outcome()["outcome"] == "done", "a last line without its end counts", w.outcome())
    p = w.play(*START, ["err", "a word \x1b[31mon stderr\n"], ["say", GOOD], *END)
    ok("a word \x1b[31mon stderr" in p.stderr, "what it says on stderr is stderr's", p.stderr)


def background(w):
    tasks = {"type": "system", "subtype": "background_tasks_changed", "tasks": [{"id": "t"}]}
    none = {**tasks, "tasks": []}
    p = w.play(*START, ["say", tasks], ["say", GOOD], ["sleep", 1.5], ["touch", "late"], ["say", none], ["sleep", 0.2], ["say", init()],
               ["say", text("the job is done")], ["say", GOOD], ["read", ""], ["touch", "went"])
    ok(p.returncode == 0 and "the job is done" in p.stdout and os.path.exists(w.script + ".went"), "work in the background is waited for, and the turn that follows", (p.stdout, p.stderr))
    begun = time.monotonic()
    p = w.play(*START, ["say", GOOD], ["read", ""], ["touch", "went"])
    ok(p.returncode == 0 and os.path.exists(w.script + ".went") and time.monotonic() - begun < 20, "control: with none its input is closed at once", p.stderr)
    # A message that was written and is not delivered keeps its input open, whatever results there are.
    w.write(["read", "replay"], ["say", init()], ["touch", "late"], ["read", ""], ["say", GOOD], ["sleep", 1], ["touch", "went"],
            ["say", {"type": "user", "isReplay": True, "uuid": "nobody's"}], ["sleep", 1], ["exit", 0])
    p = w.start("plain", "pend")
    wait_for(lambda: os.path.exists(w.script + ".late"), 30)
    q = w.oc("work", "send", "pend", "hello", cwd=w.home)
    p.communicate(timeout=60)
    got = [json.loads(line) for line in open(w.script + ".got")]
    ok("is given" in q.stdout and [g["message"]["content"] for g in got] == ["do it", "hello"] and got[0]["uuid"] != got[1]["uuid"], "a message is written with a mark of its own", (q.stdout, got))
    ok(" given " in w.oc("work", "show", "pend", cwd=w.home).stdout, "one that it never said it had is not taken for delivered")
    w.write(*START, ["say", GOOD], *END)
    r = w.run("plain", "pend", "next")
    got = [json.loads(line) for line in open(w.script + ".got")]
    ok(r.returncode == 0 and "hello" in got[0]["message"]["content"] and "given again" in r.stderr and "messages " not in w.oc("work", "show", "pend", cwd=w.home).stdout,
       "it goes in with the next turn, and that is said", (r.stderr, got))


def sends(w):
    for args, words in ((("nowork", "x"), "no Work"), (("k",), "what?"), ((), "which Work"), (("k", "a", "b"), "one TEXT")):
        q = w.oc("work", "send", *args, cwd=w.home)
        ok(q.returncode in (1, 2) and words in q.stderr, "work send refuses: %s" % (args,), q.stderr)
    w.play(*START, ["say", GOOD], *END, key="snd")
    for what, t, words in (("nothing", "", "not empty"), ("too much", "x" * 65537, "64 KiB")):
        q = w.oc("work", "send", "snd", "-", input=t, cwd=w.home)
        ok(q.returncode == 1 and words in q.stderr.replace("too long", "64 KiB"), "work send refuses: " + what, q.stderr)
    w.bindings = [{**w.binding("job", command=["true"]), "executor": "shell", "requires": {"workspace": True}}]
    w.configure()
    ok(w.run("job", "sh", {}).returncode == 0, "a Work of a shell")
    q = w.oc("work", "send", "sh", "hello", cwd=w.home)
    ok(q.returncode == 1 and "takes no messages" in q.stderr, "work send refuses: a Work that reads none", q.stderr)
    q = w.oc("work", "finish", "snd", cwd=w.home)
    q = w.oc("work", "send", "snd", "hello", cwd=w.home)
    ok(q.returncode == 1 and "finished" in q.stderr, "work send refuses: a Work that is finished", q.stderr)


def stub(w):
    """Strict: each of these is refused, and the one they are made of is not."""
    good = {"model": "m", "max_tokens": 5, "messages": [
        {"role": "user", "content": "x"}, {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "y"}]}]}
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": KEY}

    def ask(body, h=headers):
        request = urllib.request.Request(w.stub.url + "/v1/messages", json.dumps(body).encode(), h)
        try:
            return urllib.request.urlopen(request, timeout=10).status
        except urllib.error.HTTPError as e:
            return e.code
    ok(ask(good) == 200, "stub: control: a good request is answered")
    user, use, answer = good["messages"]
    for what, messages in (("no messages", []), ("an assistant first", [use, answer]), ("a tool_use without its result", [user, use, user]), ("a result of nothing", [user, answer]),
                           ("a tool_use at the end", [user, use]), ("a result for another", [user, use, {"role": "user", "content": [{**answer["content"][0], "tool_use_id": "t2"}]}]),
                           ("an empty text", [{"role": "user", "content": ""}]), ("one id twice", [user, use, answer, use, answer])):
        ok(ask({**good, "messages": messages}) == 400, "stub: refused: " + what)
    for what, body in (("no model", {k: v for k, v in good.items() if k != "model"}), ("an unknown member", {**good, "x": 1}),
                       ("a tool's name with a dot", {**good, "tools": [{"name": "a.b", "input_schema": {"type": "object"}}]}),
                       ("two tools of one name", {**good, "tools": [{"name": "a", "input_schema": {"type": "object"}}] * 2})):
        ok(ask(body) == 400, "stub: refused: " + what)
    ok(ask(good, {**headers, "x-api-key": "wrong"}) == 401 and ask(good, {k: v for k, v in headers.items() if k != "x-api-key"}) == 401, "stub: refused: another key, none")
    ok(ask(good, {k: v for k, v in headers.items() if k != "anthropic-version"}) == 400, "stub: refused: no version")


def part(name):
    w = Played()
    try:
        globals()[name](w)
        ok(wait_for(lambda: not w.processes(), 10), name + ": nothing is left running", w.processes())
    except Exception as e:
        ok(False, name + " ran to its end", repr(e))
        raise
    finally:
        w.close()


def main():
    parts = [threading.Thread(target=part, args=(name,)) for name in sys.argv[1:] or ["tools", "judged", "garbage", "background", "sends", "stub"]]
    for at in range(0, len(parts), 3):
        for t in parts[at:at + 3]:
            t.start()
        for t in parts[at:at + 3]:
            t.join()
    finish()


if __name__ == "__main__":
    claudeworld.CLAUDE = "/bin/true"  # replaced by the player
    main()

# SPDX-License-Identifier: Apache-2.0
"""A person at a Work's terminal, by a real pty: `work exec --terminal`, and `work attach` with an agent that keeps sessions
as the real one does and does what is typed.  Whatever happens, the terminal is given back as it was."""
import hashlib, json, os, re, signal, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "isolation")]
from claudeworld import CLAUDE as REAL, KEY, Claude  # noqa: E402
from terminal import Terminal  # noqa: E402
from work import COMMIT, Works, head, wait_for  # noqa: E402
from world import BUILD, finish, ok, put, skip  # noqa: E402

PROGRAM = BUILD + "/host/open-conduit"
# It begins a session in a turn, and opens it without --print: what is typed is a command for /bin/sh.
CLAUDE = r'''#!/usr/bin/python3
import json, os, subprocess, sys
home = os.environ.get("CLAUDE_CONFIG_DIR") or os.environ["HOME"] + "/.claude"
args = sys.argv[1:]
name = next((args[i + 1] for i, a in enumerate(args) if a in ("--resume", "--session-id")), None)
path = home + "/projects/x/%s.jsonl" % name
if "--print" in args:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    for line in sys.stdin:
        said = json.loads(line)
        if said.get("type") != "user":
            continue
        open(path, "a").write(line)
        print(json.dumps({"type": "system", "subtype": "init", "session_id": name, "model": "none", "mcp_servers": []}))
        print(json.dumps({**said, "isReplay": True, "session_id": name}))
        print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "done", "session_id": name}), flush=True)
    sys.exit(0)
if "--resume" not in args or not os.path.exists(path):
    print("No conversation found with session ID")
    sys.exit(1)
print("SESSION %s TURNS %d TTY %s KEY %s ARGS %s CWD %s" % (name, len(open(path).readlines()), os.isatty(0) and os.isatty(1) and os.isatty(2),
      os.environ.get("ANTHROPIC_API_KEY") == "canary-of-" + "a-key" and "given", " ".join(args[:-1]), os.getcwd()), flush=True)
for line in sys.stdin:
    if line.strip() == "/exit":
        sys.exit(0)
    open(path, "a").write(line)
    subprocess.run(["/bin/sh", "-c", line])
    print("> ", flush=True)
sys.exit(4)
'''


class Attached(Works):
    def __init__(self):
        super().__init__()
        os.makedirs(self.home + "/bin")
        put(self.home + "/bin/claude", CLAUDE, 0o755)
        self.env["PATH"] = self.home + "/bin:" + self.env["PATH"]
        self.terminals = []
        self.configure(self.agent("mind"), self.agent("boxedmind", sandbox={"write": ["{workspace}", self.home + "/cfg"], "network": {"allow": []}},
                                                      env={"CLAUDE_CONFIG_DIR": self.home + "/cfg"}))
        os.makedirs(self.home + "/cfg", exist_ok=True)

    def agent(self, name, sandbox=None, env=None):
        return self.binding(name, executor="claude-code", command=None, sandbox=sandbox, secret_names=["token"],
                            config={"secret_env": {"token": "ANTHROPIC_API_KEY"}, "env": {"OF_BINDING": "yes", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9", **(env or {})}})

    def open(self, *args, **more):
        t = Terminal([PROGRAM, *args], {**self.env, "MY_TOKEN": "canary-of-a-key", "TERM": "xterm", "LINES": "7", "COLUMNS": "7"}, cwd=self.home, **more)
        self.terminals.append(t)
        return t

    def sh(self, script, key="tty", **more):
        return self.open("work", "exec", "--terminal", key, "--", "/bin/sh", "-c", script, **more)

    def runs_of(self, key):
        return self.work(key)["runs"]

    def close(self):
        for t in self.terminals:
            t.close()
        super().close()


def begin(w, key="tty"):
    p = w.turn("true", key, "plain")
    return ok(p.returncode == 0, "a Work to be at", p.stderr)


def typed(w):
    t = w.sh("stty size; tty; test -t 0 && test -t 1 && test -t 2 && echo all; echo ${LINES-none}; echo ready; exec cat")
    ok(t.until(b"ready\r\n") and re.match(rb"30 100\r\n/dev/pts/\d+\r\nall\r\nnone\r\n", t.seen[t.seen.find(b"30 "):]) is not None,
       "the command has a terminal, of our size", t.seen)
    ok(t.raw(), "ours is in raw mode meanwhile")
    t.type(b"hello\r")
    ok(t.until(b"hello\r\nhello\r\n"), "what is typed is echoed once, and read", t.shown)
    t.type(b"\x04")
    ok(t.wait() == 0, "^D ends the input of the command", t.shown)
    ok(t.as_before(), "given back after a normal end")
    t = w.sh("trap 'stty size' WINCH; echo ready; while :; do sleep .05; done")
    t.until(b"ready\r\n")
    t.resize(41, 133)
    ok(t.until(b"41 133\r\n", 20), "a new size arrives as SIGWINCH", t.shown)
    t.type(b"\x03")
    ok(t.wait() == 128 + signal.SIGINT and t.as_before(), "^C ends the command, and its signal is our status", (t.process.returncode, t.shown))
    t = w.sh("trap 'echo caught' INT; echo ready; for i in 1 2 3 4 5 6 7 8 9 10; do sleep .1; done; exit 7")
    t.until(b"ready\r\n")
    t.type(b"\x03")
    ok(t.until(b"caught\r\n") and t.wait() == 7 and t.as_before(), "^C reaches a command that goes on, and not us; its status passes", t.shown)
    t = w.sh("kill -KILL $$")
    ok(t.wait() == 128 + signal.SIGKILL and t.as_before(), "a signal's status passes", t.process.returncode)
    t = w.open("work", "exec", "-t", "tty", "--", "/bin/bash", "--norc", "-i")
    t.until(b"$ ")
    t.type(b"sleep 1000\r")
    time.sleep(0.5)
    t.type(b"\x1a")
    ok(t.until(b"Stopped", 20), "^Z stops the job in the run, and not us", t.shown)
    t.until(b"$ ")
    t.type(b"fg\r")
    t.until(b"sleep 1000\r\n")
    t.type(b"\x03")
    t.until(b"^C")
    t.until(b"$ ")
    t.type(b"exit 3\r")
    ok(t.wait() == 3 and t.as_before(), "job control goes on there", (t.process.returncode, t.shown))


def bytes_pass(w):
    everything = bytes(range(1, 256))
    put(w.home + "/all", "", 0o644)
    open(w.home + "/all", "wb").write(everything * 40)
    t = w.sh("stty -opost; echo ready; cat ~/all; printf END; exit 0")
    ok(t.until(b"ready\n"), "ready")
    ok(t.until(b"END") and t.seen == everything * 40 + b"END", "bytes to the terminal are not touched", t.seen[:100])
    t.wait()
    t = w.sh("printf '\\033[?1049h\\033[?25l\\033[?2004;1006h\\033[31mdrawn'; exit 0")
    status = t.wait()
    drawn = b"\x1b[?1049h\x1b[?25l\x1b[?2004;1006h\x1b[31mdrawn"
    ok(status == 0 and drawn in t.shown, "escape sequences pass", t.shown)
    after = t.shown[t.shown.find(drawn) + len(drawn):]
    ok(all(m in after for m in (b"\x1b[0m", b"\x1b[?25h", b"\x1b[?2004l", b"\x1b[?1006l", b"\x1b[?1049l")), "what was left on is put off", after)
    t = w.sh("printf '\\033[?1049h\\033[?25lx\\033[?25h\\033[?1049l\\n'; exit 0")
    t.wait()
    ok(b"\x1b[?25h\x1b[?1049l\r\n" in t.shown and t.shown.count(b"\x1b[?1049l") == 1, "control: what was put off is left alone", t.shown)
    size = 3 << 20
    t = w.sh("stty raw -echo; echo ready; head -c %d | sha256sum; head -c %d /dev/zero | tr '\\0' y; printf END; exit 0" % (100000, size))
    t.until(b"ready\n")
    paste = os.urandom(75000).hex().encode()[:100000]
    t.type(paste)
    ok(t.until(hashlib.sha256(paste).hexdigest().encode()), "a large paste arrives whole", t.shown[:200])
    ok(t.until(b"END", 90) and t.seen.count(b"y") == size, "much output arrives whole", len(t.seen))
    ok(t.wait() == 0 and t.as_before(), "and that ended well", t.process.returncode)


def newest(w, key="tty"):
    return w.run_record(w.runs_of(key)[0]["id"])


def ends(w):
    t = w.sh("trap '' TERM; echo $$ ready; while :; do sleep .05; done")
    t.until(b"ready\r\n")
    raw = t.raw()
    busy = w.oc("work", "exec", "--no-wait", "tty", "--", "true")
    ok(busy.returncode == 125 and "work_busy" in busy.stderr, "meanwhile a second run is refused: work_busy", busy.stderr)
    t.process.send_signal(signal.SIGTERM)
    ok(t.wait(20) == 128 + signal.SIGTERM and raw and t.as_before(), "SIGTERM to us: the run is stopped, the terminal given back",
       (t.process.returncode, t.shown))
    record = newest(w)
    ok(record["exit"]["state"] == "stopped", "and the record says stopped", record["exit"])
    t = w.sh("echo ready; exec sleep 1000")
    t.until(b"ready\r\n")
    run = w.runs_of("tty")[0]["id"]
    guard = json.load(open(w.state + "/runs/%s/guard.json" % run))["pid"]
    os.kill(guard, signal.SIGKILL)
    ok(t.wait(60) == 125 and t.as_before(), "the guard killed: the terminal is given back", (t.process.returncode, t.shown))
    ok(b"run_lost" in t.shown and newest(w)["state"] == "run_lost", "and the run is lost, and said so", t.shown)
    t = w.sh("printf '\\033[?1049h'; echo ready; exec sleep 1000")
    t.until(b"ready\r\n")
    guard = json.load(open(w.state + "/runs/%s/guard.json" % w.runs_of("tty")[0]["id"]))["pid"]
    os.kill(guard, signal.SIGKILL)
    t.wait(60)
    ok(b"\x1b[?1049l" in t.shown and t.shown.find(b"\x1b[?1049l") < t.shown.find(b"run_lost"), "its screen is left before that is said", t.shown)
    t = w.sh("echo ready; exec sleep 1000")
    t.until(b"ready\r\n")
    t.hang_up()
    wait_for(lambda: t.process.poll() is not None, 30)
    ok(t.process.returncode is not None and newest(w)["state"] == "exited" and newest(w)["exit"]["state"] == "stopped",
       "the terminal gone: the run is stopped", (t.process.returncode, newest(w).get("exit")))
    t = w.sh("echo ready; exec sleep 1000")
    t.until(b"ready\r\n")
    t.process.send_signal(signal.SIGTSTP)
    stopped = wait_for(lambda: open("/proc/%d/stat" % t.process.pid).read().rsplit(")", 1)[1].split()[0] == "T", 10)
    ok(stopped and t.as_before(), "SIGTSTP to us: the terminal is given back while we are stopped")
    t.process.send_signal(signal.SIGCONT)
    ok(wait_for(t.raw, 10), "and lent again after it")
    t.type(b"\x03")
    ok(t.wait(20) == 130 and t.as_before(), "and then all goes on", (t.process.returncode, t.shown))
    t = w.sh("(trap '' HUP TERM INT; exec sleep 1000) & echo gone; exit 6")
    ok(t.wait(20) == 6 and t.as_before(), "a job in the background holds up nothing", t.process.returncode)


def refusals(w):
    p = w.oc("work", "exec", "--terminal", "tty", "--", "true")
    ok(p.returncode == 125 and "standard input is no terminal" in p.stderr and "fix" in p.stderr, "stdin is no terminal: refused", p.stderr)
    t = w.sh("true", stdout=subprocess.DEVNULL)
    ok(t.wait() == 125 and b"standard output is no terminal" in t.shown, "stdout is no terminal: refused", t.shown)
    p = w.oc("work", "exec", "--terminal", "--json", "tty", "--", "true")
    ok(p.returncode == 2, "--json with it is a usage error", p.stderr)
    t = w.open("work", "attach", "tty")
    ok(t.wait() == 125 and b"no agent" in t.shown and b"work exec --terminal tty -- sh" in t.shown, "a command has no session to attach to", t.shown)
    t = w.open("work", "attach", "no-such-work")
    ok(t.wait() == 125 and t.as_before(), "no such Work", t.shown)


def recorded(w):
    t = w.sh(COMMIT % ("by-hand", "by-hand") + "; printf 'shown \\033[31mred\\033[0m\\n'; exit 0")
    ok(t.wait() == 0 and b"saved to" in t.shown, "commits made by hand are saved", t.shown)
    work = w.work("tty")
    ok(w.messages(head(work))[0] == "by-hand", "they are in the checkout", w.messages(head(work)))
    record = newest(w)
    ok(record["kind"] == "none" and record["plan"]["command"]["terminal"] == {"rows": 30, "cols": 100}, "the plan says which terminal", record["plan"]["command"].get("terminal"))
    logs = w.oc("runs", "logs", record["id"], text=False).stdout
    ok(b"shown \x1b[31mred\x1b[0m\r\n" in logs, "the journal has the bytes", logs)
    w.sound("by hand")


def attach(w):
    p = w.oc("run", "web/mind", "--work", "m", "--input", json.dumps({"prompt": "go"}), env={"MY_TOKEN": "canary-of-a-key"})
    if not ok(p.returncode == 0, "a turn of an agent", p.stdout + p.stderr):
        return
    work = w.work("m")
    p = w.oc("work", "attach", "m")
    ok(p.returncode == 125 and "standard input is no terminal" in p.stderr, "attach without a terminal: refused", p.stderr)
    t = w.open("work", "attach", "m")
    good = t.until(b"SESSION ") and t.until(b"\r\n")
    line = t.seen.decode()
    ok(good and "TURNS 1 TTY True KEY given ARGS --setting-sources user --strict-mcp-config --resume CWD " + work["workspace"] in line,
       "attach opens the session, with the binding's secret, in the workspace", line + str(t.shown))
    t.type(b"can")
    ok(t.until(b"can", 10), "what is typed is seen at once, though a secret begins so", t.shown)
    t.type(b"\x15")
    t.type(b"echo $OF_BINDING $OPEN_CONDUIT_WORK; stty size\r")
    ok(t.until(b"yes m\r\n30 100\r\n"), "with the Work's environment and our size", t.shown)
    p = w.oc("run", "web/mind", "--work", "m", "--no-wait", "--input", json.dumps({"prompt": "meanwhile"}), env={"MY_TOKEN": "canary-of-a-key"})
    ok(p.returncode == 125 and "work_busy" in p.stderr, "a turn meanwhile is refused: work_busy", p.stderr)
    listed = w.oc("runs", "list").stdout
    ok("UNSANDBOXED attach" in listed, "runs list says what it is", listed)
    t.type((COMMIT % ("attached", "attached")).encode() + b"\r")
    t.until(b"> ")
    t.type(b"/exit\r")
    ok(t.wait() == 0 and t.as_before() and b"saved to" in t.shown, "left as it is left; its commits are saved", t.shown)
    ok(w.messages(head(w.work("m")))[0] == "attached", "they are in the checkout")
    record = newest(w, "m")
    plan = record["plan"]
    ok(record["kind"] == "attach" and plan["kind"] == "attach" and plan["work"] == work["id"] and plan["binding"] == "web/mind" and
       plan["command"]["terminal"] and record["exit"]["state"] == "exited" and record["save"],
       "the record is that of a run, of the kind attach", (record["kind"], plan["kind"], record["state"]))
    shown = w.oc("runs", "get", record["id"]).stdout
    ok("UNSANDBOXED" in shown and "attach" in shown, "runs get says that nothing confined it", shown[:800])
    found = subprocess.run(["grep", "-rlaE", "canary-of-a-key", w.state + "/state.db", w.state + "/runs/%s/plan.json" % record["id"]], capture_output=True, text=True).stdout
    ok(not found, "no secret is in its plan", found)
    p = w.oc("run", "web/mind", "--work", "m", "--input", json.dumps({"prompt": "again"}), env={"MY_TOKEN": "canary-of-a-key"})
    ok(p.returncode == 0 and "cut short" not in p.stderr and "new session" not in p.stderr, "the next turn goes on in the same session", p.stderr)
    t = w.open("work", "attach", "m")
    t.until(b"SESSION ")
    t.until(b"\r\n")
    ok(b"TURNS 4" in t.seen, "and a further attach sees it", t.seen)
    t.type(b"\x04")
    ok(t.wait() == 4 and t.as_before(), "its status passes", t.process.returncode)
    fence = {"write": ["{workspace}", w.home + "/cfg"], "network": {"allow": []}}
    w.configure(w.agent("mind", sandbox=fence, env={"CLAUDE_CONFIG_DIR": w.home + "/cfg"}))
    t = w.open("work", "attach", "m")
    ok(t.wait() == 125 and b"attach_sandboxed" in t.shown and b"confines its agent by now" in t.shown, "a binding that confines by now: refused", t.shown)
    w.configure()
    t = w.open("work", "attach", "m")
    ok(t.wait() == 125 and b"no such binding" in t.shown, "a binding that is gone: refused", t.shown)
    gone = w.oc("work", "finish", "m")
    t = w.open("work", "attach", "m")
    ok(gone.returncode == 0 and t.wait() == 125 and b"finished" in t.shown, "a finished Work has nothing to attach to", t.shown)


def confined(w):
    p = w.turn("true", "box", "boxed")
    ok(p.returncode == 0, "a Work that ran in a sandbox", p.stderr)
    t = w.open("work", "attach", "box")
    ok(t.wait() == 125 and b"attach_sandboxed" in t.shown and b"work exec box -- COMMAND" in t.shown, "attach to it is refused", t.shown)
    t = w.sh("stty size; exit 0", "box")
    ok(t.wait() == 0 and b"not confined" in t.shown and b"30 100" in t.shown, "a command of one's own may have a terminal there, and is told", t.shown)
    t = w.open("work", "attach", "box")
    ok(t.wait() == 125 and b"attach_sandboxed" in t.shown, "and that makes it no other Work", t.shown)


def real():
    """The real Claude Code: a turn's session on the terminal, its own questions answered before."""
    if not REAL:
        skip("the real Claude Code", "OC_CLAUDE names no program")
        return
    w = Claude()
    try:
        p = w.run("none", "k", "say hello")
        if not ok(p.returncode == 0, "real: a turn", p.stderr):
            return
        ws = json.loads(w.oc("work", "show", "k", "--json").stdout)["work"]["workspace"]
        put(w.cfg + "/.claude.json", json.dumps({"hasCompletedOnboarding": True, "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
                                                 "projects": {ws: {"hasTrustDialogAccepted": True}}}))
        t = Terminal([PROGRAM, "work", "attach", "k"], {**w.env, "TERM": "xterm-256color"}, cwd=w.home)
        ok(t.until(b"say hello") and t.until("\u276f".encode()) and t.raw(), "real: the session is there, with the turn that it had", t.shown[-500:])
        time.sleep(1)
        t.type(b"/exit")
        time.sleep(1)
        t.type(b"\r")
        ok(t.wait(30) == 0 and t.as_before() and b"--resume" in t.shown, "real: left by /exit, the terminal given back", (t.process.returncode, t.shown[-500:]))
        t.close()
    finally:
        w.close()


def part(name):
    if name == "real":
        real()
        return
    w = Attached()
    try:
        if name not in ("attach", "confined"):
            begin(w)
        globals()[name](w)
    except Exception as e:  # one part's trouble is not the others' silence
        ok(False, name + " ran to its end", repr(e))
    finally:
        w.close()


def main():
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(part, sys.argv[1:] or ["ends", "attach", "typed", "bytes_pass", "confined", "refusals", "recorded"]))
    finish()


main()

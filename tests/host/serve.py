# SPDX-License-Identifier: Apache-2.0
"""The daemon by the command line and by its socket: the queue, its limits and its order; who may speak; what of it no sandbox
reaches; its ends; and each refusal's words."""
import json, os, signal, socket, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "isolation")]
from serveworld import COMMIT, OVER, PROGRAM, Served, finish, head, hear, ok, put, say, wait_for  # noqa: E402

EVERY = ["plain", "busy", "refused", "speaking", "ends", "full", "hangs", "reach", "notify"]


def plain(w):
    """A turn that is queued goes as one that isn't; without a daemon nothing is different."""
    p, run = w.submit("echo alone", "k")
    ok(p.returncode == 0 and w.ended([run]), "without a daemon: run --detach starts it", p.stderr)
    w.serve("--jobs", "2")
    p, run = w.submit(COMMIT % ("a", "a") + "; echo said; cat $OPEN_CONDUIT_INPUT", "k", n=1)
    ok(p.returncode == 0 and len(run) == 12, "with one it is queued, and its id is told", p.stdout + p.stderr)
    ok(w.ended([run]) and w.state_of(run) == "exited", "the daemon starts it, and it ends", w.state_of(run))
    logs = w.oc("runs", "logs", run)
    ok("said" in logs.stdout and '"n": 1' in logs.stdout, "its input arrived", logs.stdout)
    work = w.work("k")
    ok(wait_for(lambda: w.messages(head(work)) == ["a", "one"], 30), "its commits are saved by the daemon", w.messages(head(work)))
    ok(w.queue() == [], "nothing of it is left in the queue", w.queue())
    p, run = w.submit("true")
    ok(p.returncode == 0, "without a key too", p.stderr)
    p = w.turn("true", "other", flags=("--detach", "--json"))
    facts = json.loads(p.stdout) if p.returncode == 0 else {}
    ok(facts.get("state") == "queued" and w.ended([facts["run"]]), "--json tells the run and that it is queued", p.stdout + p.stderr)
    p = w.turn("true", "other", flags=("--detach", "--no-wait"))
    ok(p.returncode == 0 and w.ended([p.stdout.strip()]), "--no-wait passes the queue by", p.stderr)
    p = w.turn("exit 3", "third")
    ok(p.returncode == 3, "a turn in the foreground goes by itself beside a daemon", p.stderr)
    status = w.status()
    ok(status.get("pid") == w.daemon.pid and status["jobs"] == 2 and not status["queued"], "serve --status tells", status)
    ok("pid" in w.oc("serve", "--status").stdout, "for people too")
    rss, pss = w.memory()
    print("note - the daemon idle: %d KiB resident, %d KiB of it its own share" % (rss, pss), flush=True)
    ok(rss <= 15 << 10, "idle it has at most 15 MiB resident", rss)


def busy(w):
    """One turn of a Work at a time, in order; others pass it by; the number at once is bounded."""
    w.serve("--jobs", "2")
    gate = w.home + "/gate"
    _, first = w.submit("echo 1 >> '%s/order'; while [ ! -e '%s' ]; do sleep 0.05; done" % (w.home, gate), "one")
    ok(wait_for(lambda: w.state_of(first) == "running", 30), "the first of a Work runs", w.state_of(first))
    waiting = [w.submit("echo %d >> '%s/order'" % (n, w.home), "one")[1] for n in (2, 3)]
    _, other = w.submit("true", "two")
    ok(w.ended([other]), "another Work's passes by those that wait", w.state_of(other))
    ok([w.state_of(r) for r in waiting] == ["queued", "queued"], "which are queued", [w.state_of(r) for r in waiting])
    shown, listed = w.oc("runs", "get", waiting[0]), w.oc("runs", "list")
    ok("queued" in shown.stdout and "web/job --work one" in shown.stdout, "runs get shows one that waits", shown.stdout + shown.stderr)
    ok(waiting[1] in listed.stdout and "queued" in listed.stdout, "runs list too", listed.stdout)
    p = w.oc("runs", "stop", waiting[1])
    ok(p.returncode == 0 and "nothing of it ran" in p.stderr and w.state_of(waiting[1]) == "(none)", "runs stop takes one out of the queue", p.stderr)
    more = [w.submit("while [ ! -e '%s' ]; do sleep 0.05; done" % gate, "k%d" % n)[1] for n in range(3)]
    time.sleep(3)
    states = [w.state_of(r) for r in more]
    ok(states.count("running") == 1 and states.count("queued") == 2, "--jobs bounds how many run at once", states)
    put(gate, "")
    ok(w.ended([first, waiting[0], *more]), "they all end when they may")
    ok(open(w.home + "/order").read().split() == ["1", "2"], "the Work's in their order, and what was stopped never", open(w.home + "/order").read())
    # A Work that a turn in the foreground has.
    os.unlink(gate)
    front = subprocess.Popen([PROGRAM, "run", "web/job", "--work", "one", "--input", json.dumps({"name": "one", "do": "touch '%s/in'; while [ ! -e '%s' ]; do sleep 0.05; done" % (w.home, gate)})],
                             env=w.env, cwd=w.home, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: os.path.exists(w.home + "/in"), 30)
    _, behind = w.submit("true", "one")
    _, beside = w.submit("true", "two")
    ok(w.ended([beside]) and w.state_of(behind) in ("queued", "starting"), "a Work that somebody else has is waited for, and blocks no other", w.state_of(behind))
    put(gate, "")
    front.communicate(timeout=60)
    ok(w.ended([behind]) and w.state_of(behind) == "exited", "it comes when the Work is free", w.state_of(behind))


def refused(w):
    """What run refuses is kept with its row, with all its words."""
    w.serve()
    p, run = w.submit("true", "k", "reaching")
    ok(p.returncode == 0 and wait_for(lambda: w.state_of(run) in ("refused", "failed"), 60), "a policy that can't be is refused when it is started", p.stderr)
    shown = w.oc("runs", "get", run)
    ok("sandbox_denied" in shown.stdout and "fix" in shown.stdout and w.state in shown.stdout, "runs get has reason, subject and fix", shown.stdout)
    ok("sandbox_denied" in w.oc("runs", "list").stdout, "runs list has the reason")
    p = w.turn("true", "k", "none", flags=("--detach",))
    ok(p.returncode == 125 and "no such binding" in p.stderr, "a binding that isn't there is refused at once", p.stderr)
    p = w.oc("run", "web/job", "--work", "k", "--detach", "--input", "[]")
    ok(p.returncode == 125 and "sandbox_config" in p.stderr, "so is an input that is none", p.stderr)
    before = len(w.queue())
    p = w.oc("runs", "stop", run)
    ok(p.returncode == 0 and len(w.queue()) == before - 1, "runs stop forgets a refused one", p.stderr)
    p = w.oc("serve")
    ok(p.returncode == 1 and "serve_running" in p.stderr and "fix" in p.stderr, "a second daemon is refused", p.stderr)
    for args, words in ((("--jobs", "0"), "1 to 256"), (("--drain", "--status"), "one of them"), (("x",), "no arguments")):
        p = w.oc("serve", *args)
        ok(p.returncode == 2 and words in p.stderr, "usage: serve " + " ".join(args), p.stderr)


def speaking(w):
    """The socket: the operator's token first, bounded lines, bounded clients, and nothing else."""
    w.serve()
    ok(os.stat(w.sock).st_mode & 0o777 == 0o600 and os.stat(w.state + "/serve.token").st_mode & 0o777 == 0o600, "socket and token are the operator's alone")
    with w.dial() as s:
        say(s, "hello", version=1, token=w.token())
        ok((hear(s) or {}).get("result", {}).get("pid") == w.daemon.pid, "control: with the token it answers")
        say(s, "nothing", 2)
        answer = hear(s)
        ok(answer["id"] == 2 and "no such method" in answer["error"]["data"]["message"], "a method that isn't there is refused", answer)
        say(s, "submit", 3, run="x", binding="web/job", key=None, request={})
        ok("run id" in hear(s)["error"]["data"]["message"], "a submission that is none is refused")
        s.sendall(b"no json\n")
        ok(hear(s) is None, "what is no message ends it")
    for name, params in (("a wrong token", {"version": 1, "token": "0" * 64}), ("a short token", {"version": 1, "token": w.token()[:10]}),
                         ("no token", {"version": 1}), ("another version", {"version": 2, "token": w.token()})):
        with w.dial() as s:
            say(s, "hello", **params)
            ok(hear(s) is None, name + ": closed without a word")
    with w.dial() as s:
        say(s, "status")
        ok(hear(s) is None, "another method first: closed")
    with w.dial() as s:
        try:
            s.sendall(b"x" * 70000)
        except OSError:
            pass
        ok(hear(s) is None, "a long line before the greeting: closed")
    with w.dial() as s:
        say(s, "hello", version=1, token=w.token())
        hear(s)
        try:
            for _ in range(100):
                s.sendall(b"x" * (1 << 20))
        except OSError:
            pass
        ok(hear(s) is None, "a line without end after it: closed")
    silent = [w.dial() for _ in range(32)]
    time.sleep(0.5)
    with w.dial() as s:
        ok(hear(s) is None, "the 33rd client is turned away")
    began = time.monotonic()
    ok(hear(silent[0]) is None and time.monotonic() - began < 8, "one that says nothing is closed after five seconds")
    for s in silent:
        s.close()
    ok(w.status().get("pid") == w.daemon.pid, "then there is room again")
    token = w.token()
    w.kill()
    w.serve()
    ok(w.token() != token, "each daemon has a new token")


def ends(w):
    """Stop: the runs go on. Drain: it waits for them. Two ways to end, and what is told of each."""
    w.serve("--jobs", "1")
    gate = w.home + "/gate"
    loop = "while [ ! -e '%s' ]; do sleep 0.05; done; echo over" % gate
    _, run = w.submit(loop, "k")
    wait_for(lambda: w.state_of(run) == "running", 30)
    _, second = w.submit("true", "k2")
    ok(w.kill(signal.SIGTERM) == 0 and not os.path.exists(w.sock), "SIGTERM ends it with 0, and the socket is gone")
    ok(w.state_of(run) == "running" and w.state_of(second) == "queued", "the run goes on, what waits waits", (w.state_of(run), w.state_of(second)))
    p = w.oc("serve", "--status")
    ok(p.returncode == 1 and "serve_unreachable" in p.stderr and "open-conduit serve" in p.stderr, "then there is none to ask", p.stderr)
    p = w.oc("runs", "stop", second)
    ok(p.returncode == 0 and w.state_of(second) == "(none)", "runs stop takes one out without a daemon", p.stderr)
    w.serve("--jobs", "1")
    ok(wait_for(lambda: w.status().get("adopted") == 1, 30), "the next daemon adopts it", w.status())
    w.daemon.send_signal(signal.SIGHUP)
    _, third = w.submit("true", "k3")
    drain = subprocess.Popen([PROGRAM, "serve", "--drain"], env=w.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    ok(wait_for(lambda: w.status().get("draining"), 30), "SIGHUP changes nothing; --drain is taken", w.status())
    p, _ = w.submit("true", "k4")
    ok(p.returncode == 125 and "serve_draining" in p.stderr, "nothing new is queued while it drains", p.stderr)
    time.sleep(1)
    ok(drain.poll() is None and w.daemon.poll() is None and w.state_of(third) == "queued", "it waits for the run, and starts nothing", w.state_of(third))
    put(gate, "")
    _, err = drain.communicate(timeout=60)
    ok(drain.returncode == 0 and w.daemon.wait(30) == 0, "the run over, both end with 0", err)
    work = w.work("k")
    ok(w.state_of(run) == "exited" and not work["unsaved"], "it is settled and saved by then", work)
    w.daemon = None
    w.serve()
    ok(w.ended([third]), "what was queued is the next daemon's")


def full(w):
    """A thousand may wait."""
    w.serve("--jobs", "1")
    gate = w.home + "/gate"
    _, run = w.submit("while [ ! -e '%s' ]; do sleep 0.05; done" % gate, "k")
    wait_for(lambda: w.state_of(run) == "running", 30)
    with w.dial() as s:
        say(s, "hello", version=1, token=w.token())
        hear(s)
        answers = []
        for n in range(1001):
            say(s, "submit", n, run="wait%04d" % n, binding="web/job", key="k", request={"input": "{}"})
            answers.append(hear(s))
    ok(all("result" in a for a in answers[:1000]), "a thousand are queued", [a for a in answers[:1000] if "result" not in a][:1])
    error = answers[1000].get("error", {}).get("data", {})
    ok(error.get("reason") == "queue_full" and error.get("fix"), "one more is refused", error)
    p, _ = w.submit("true", "k2")
    ok(p.returncode == 125 and "queue_full" in p.stderr and "fix" in p.stderr, "by the command too, with what to do", p.stderr)
    ok(w.status()["queued"] == 1000, "the daemon counts them", w.status())
    rss, _ = w.memory()
    print("note - the daemon with a full queue: %d KiB resident" % rss, flush=True)
    w.kill(signal.SIGTERM)
    put(gate, "")


def hangs(w):
    """A daemon that is there and silent: nothing goes round it, in a bounded time."""
    w.serve()
    w.daemon.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    p, _ = w.submit("touch '%s/ran'" % w.home, "k")
    took = time.monotonic() - began
    ok(p.returncode == 125 and "serve_unreachable" in p.stderr and "systemctl --user restart" in p.stderr and took < 30, "run --detach gives up, with what to do", (took, p.stderr))
    ok(not os.path.exists(w.home + "/ran"), "and nothing ran")
    w.daemon.send_signal(signal.SIGCONT)
    p, run = w.submit("touch '%s/ran'" % w.home, "k")
    ok(p.returncode == 0 and w.ended([run]) and os.path.exists(w.home + "/ran"), "control: when it goes on, it does", p.stderr)
    w.daemon.send_signal(signal.SIGSTOP)
    stop = w.oc("runs", "list")
    ok(stop.returncode == 0, "what needs no daemon asks none", stop.stderr)
    w.daemon.send_signal(signal.SIGCONT)
    w.kill()
    # The lock is what tells whether one is there, not what one left.
    put(w.state + "/serve.token", "0" * 64)
    p, run = w.submit("true", "k")
    ok(p.returncode == 0 and w.ended([run]), "what a killed one left behind is no daemon", p.stderr)
    long = w.home + "/" + "x" * 90
    os.makedirs(long, mode=0o700)
    p = w.oc("serve", env={"XDG_STATE_HOME": long})
    ok(p.returncode == 1 and "too long for a socket" in p.stderr and "XDG_STATE_HOME" in p.stderr, "a path too long for a socket is refused", p.stderr)


TRY = """import socket
for what in (lambda: open('%(s)s/serve.token').read(), lambda: socket.socket(socket.AF_UNIX).connect('%(s)s/serve.sock')):
    try:
        what()
        print('reached')
    except OSError as e:
        print('refused')
"""


def reach(w):
    """From inside a sandbox neither the token nor the socket is there."""
    w.serve()
    script = put(w.home + "/try.py", TRY % {"s": w.state}, 0o644)
    p = subprocess.run(["/usr/bin/python3", script], capture_output=True, text=True)
    ok(p.stdout.split() == ["reached", "reached"], "control: outside both are reached", p.stdout + p.stderr)
    ws = w.home + "/box"
    os.makedirs(ws)
    for name, flags in (("a process sandbox", ()), ("one that may read everything", ("--read", "/"))):
        p = w.oc("exec", *flags, "--", "/usr/bin/python3", "-c", TRY % {"s": w.state}, cwd=ws)
        ok(p.stdout.split() == ["refused", "refused"], "%s reaches neither token nor socket" % name, p.stdout + p.stderr)
    p = w.oc("exec", "--unsandboxed", "--", "/usr/bin/python3", "-c", TRY % {"s": w.state}, cwd=ws)
    ok(p.stdout.split() == ["reached", "reached"], "control: an unsandboxed run does", p.stdout + p.stderr)
    p = w.oc("exec", "--write", w.state, "--", "true", cwd=ws)
    ok(p.returncode == 125 and "sandbox_denied" in p.stderr, "a grant of the state directory is refused", p.stderr)


def boxes(w):
    """Nor from a container, which has of this machine only what is granted."""
    image = os.environ["OC_IMAGE_TOOLS"]
    w.env.update({k: os.environ[k] for k in ("DOCKER_HOST", "OPEN_CONDUIT_GATEWAY_IMAGE")})
    put(w.config + "/config.json", json.dumps({"version": 1, "settings": {"extensions": {"docker": {"pass_env": ["DOCKER_HOST"]}}}, "connections": [], "scopes": []}))
    w.serve()
    ws = w.home + "/box"
    os.makedirs(ws)
    p = w.oc("exec", "--container", image, "--", "python3", "-c", TRY % {"s": w.state}, cwd=ws, timeout=300)
    ok(p.stdout.split() == ["refused", "refused"], "a container reaches neither token nor socket", p.stdout + p.stderr)
    put(ws + "/serve.token", "mine")
    p = w.oc("exec", "--container", image, "--", "python3", "-c", "print(open('%s/serve.token').read())" % ws, cwd=ws)
    ok(p.stdout.strip() == "mine", "control: a file of that name where it may read is read", p.stdout + p.stderr)
    for flag in ("--read", "--write"):
        p = w.oc("exec", "--container", image, flag, w.state, "--", "true", cwd=ws)
        ok(p.returncode == 125 and "sandbox_denied" in p.stderr and w.state in p.stderr, "a %s of the state directory is refused" % flag[2:], p.stderr)


def notify(w):
    """The service manager's socket, a real one."""
    for name in (w.home + "/notify", "@" + w.root):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        s.bind("\0" + name[1:] if name[0] == "@" else name)
        s.settimeout(30)
        w.serve(env={"NOTIFY_SOCKET": name})
        said = s.recv(4096).decode()
        ok(said.startswith("READY=1\n") and "STATUS=" in said and w.status().get("pid") == w.daemon.pid, "READY=1 when it can be asked", said)
        w.kill(signal.SIGTERM)
        ok(s.recv(4096) == b"STOPPING=1", "STOPPING=1 at its end")
        s.close()
    # None of it is for the runs.
    w.serve(env={"NOTIFY_SOCKET": w.home + "/gone"})
    _, run = w.submit("env", "k")
    ok(w.ended([run]) and "NOTIFY_SOCKET" not in w.oc("runs", "logs", run).stdout, "runs don't hear of it")


def part(name):
    w = Served()
    try:
        globals()[name](w)
    finally:
        w.close()


def main():
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(part, sys.argv[1:] or EVERY))
    finish()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Containers by the command line, on the real engine: exec, turns of a Work and its home, attach, doctor, secrets, and nothing
that stays."""
import json, os, re, signal, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "isolation")]
from boxworld import ENGINE, TOOLS, Boxes  # noqa: E402
from receipt import every_run, receipt  # noqa: E402
from terminal import Terminal  # noqa: E402
from work import COMMIT, head, wait_for  # noqa: E402
from world import BUILD, finish, ok, put  # noqa: E402

PROGRAM = BUILD + "/host/open-conduit"


def one_command(w):
    here = w.home + "/here"
    os.makedirs(here)
    canary = put(w.home + "/outside/file", "outside", 0o644)

    def box(*args, **more):
        return w.oc("exec", "--container", TOOLS, *args, cwd=here, **more)
    p = box("--", "sh", "-c", "echo hello > out; id -u; cat; exit 7", input="text\n")
    ok(p.returncode == 7 and p.stdout == "%d\ntext\n" % os.geteuid() and open(here + "/out").read() == "hello\n" and os.stat(here + "/out").st_uid == os.geteuid(),
       "exec: the current directory, input, output and status, as its operator", (p.returncode, p.stdout, p.stderr))
    p = box("--", "sh", "-c", "cat '%s' || echo no; cat ~/.ssh/id_test || echo no; touch /x || echo no; ls '%s'" % (canary, w.home))
    ok(p.stdout.split()[:3] == ["no", "no", "no"] and set(p.stdout.split()[3:]) <= {"here", ".local"}, "exec: nothing of this machine but what is granted", (p.stdout, p.stderr))
    p = box("--read", os.path.dirname(canary), "--", "sh", "-c", "cat '%s'; echo x >> '%s' || echo no" % (canary, canary))
    ok(p.stdout == "outsideno\n", "exec: --read mounts to be read", (p.stdout, p.stderr))
    p = box("--write", os.path.dirname(canary), "--", "sh", "-c", "echo more > '%s'" % canary)
    ok(p.returncode == 0 and open(canary).read() == "more\n", "exec: --write mounts to be written", p.stderr)
    p = box("--cpus", "0.25", "--memory", "200m", "--pids", "50", "--json", "--", "true")
    run = json.loads(p.stdout)["run"] if p.stdout else ""
    limits = w.run_record(run)["plan"]["resolved"]["limits"] if run else None
    ok(p.returncode == 0 and limits == {"nano_cpus": 250000000, "memory": 200 << 20, "pids": 50}, "exec: limits are the plan's, and hold (P12)", (p.stderr, limits))
    p = box("--cpus", "4000", "--", "true")
    ok(p.returncode == 125 and "sandbox_unavailable" in p.stderr and "fix" in p.stderr, "exec: more processors than there are", p.stderr)
    p = box("--allow", "*.example.org", "--", "sh", "-c", "wget -O- http://elsewhere.invalid/ 2>&1; echo $?")
    ok(p.returncode == 0 and "403" in p.stdout and not p.stdout.strip().endswith("0"), "exec: a host that isn't listed is refused by the gateway", (p.stdout, p.stderr))
    run = w.runs()["runs"][0]["id"]
    bound = [e["data"] for e in json.loads(receipt(w, run))["events"] if e["type"] == "network"]
    ok(bound == [w.run_record(run)["network"]] and any(h["host"] == "elsewhere.invalid" and h["denied"] for h in bound[0]["hosts"]), "exec: its receipt has what it asked its gateway for", bound)
    p = box("--", "no-such-command")
    ok(p.returncode == 127, "exec: a command that the image lacks is 127", (p.returncode, p.stderr))
    p = box("--timeout", "2s", "--", "sleep", "100")
    ok(p.returncode == 124, "exec: the time is over", (p.returncode, p.stderr))
    for what, args, words in (("deny", ("--deny", "/x"), "--deny"), ("a policy and a limit", ("--policy", "x", "--cpus", "1"), "--policy"),
                              ("both kinds", ("--sandbox", "srt"), "choose one")):
        p = box(*args, "--", "true")
        ok(p.returncode == 2 and words in p.stderr, "exec: usage: " + what, p.stderr)
    p = w.oc("exec", "--context", "default", "--", "true", cwd=here)
    ok(p.returncode == 2 and "--container" in p.stderr, "exec: usage: a context alone", p.stderr)
    for what, args, words in (("a tag", ("--container", TOOLS.split("@")[0] + ":latest"), "digest"), ("cpus that are none", ("--container", TOOLS, "--cpus", "many"), "cpus")):
        p = w.oc("exec", *args, "--", "true", cwd=here)
        ok(p.returncode == 125 and "sandbox_config" in p.stderr and words in p.stderr, "exec: refused: " + what, p.stderr)
    policy = put(w.root + "/box.json", json.dumps({"image": TOOLS, "write": ["{workspace}"], "network": {"allow": []}}))
    p = box("--policy", policy, "--", "true")
    ok(p.returncode == 0, "exec: a policy file", p.stderr)
    p = w.oc("exec", "--container", TOOLS[:-4] + "0000", "--policy", policy, "--", "true", cwd=here)
    ok(p.returncode == 125 and "another" in p.stderr, "exec: a policy file of another image is refused", p.stderr)
    p = w.oc("exec", "--container", TOOLS[:-4] + "0000", "--", "true", cwd=here)
    ok(p.returncode == 125 and "sandbox_unavailable" in p.stderr and "pull" in p.stderr, "exec: an image that isn't here: the fix is to pull it", p.stderr)
    p = w.oc("exec", "--clone", "--container", TOOLS, "--", "sh", "-c", "set -e; " + COMMIT % ("c", "c") + "; git gc -q; pwd", cwd=w.checkout + "/sub")
    branch = re.search(r"open-conduit/\S+", p.stderr)
    ok(p.returncode == 0 and p.stdout.strip().endswith("/workspace/sub") and branch and "c" in w.git("log", "--format=%s", "--all").split() and "unable to" not in p.stderr,
       "exec --clone: its commit comes back; git gc is silent", (p.stdout, p.stderr))
    ok(not w.left(), "exec --clone: no clone and no home stays", w.left())


def a_work(w):
    first = w.turn("set -e; " + COMMIT % ("a", "a") + "; echo kept > $HOME/mine; cat $HOME/settings.json; echo; $HOME/plugins/tool; ls -A $HOME/plugins", "one", "seeded")
    ok(first.returncode == 0 and first.stdout.split() == ["{}", "tool", "tool"], "a Work: its home starts with its seed, without credentials", (first.stdout, first.stderr))
    work, home = w.work("one"), w.home_of("one")
    ok(w.messages(head(work)) == ["a", "one"] and os.stat(home).st_mode & 0o777 == 0o700, "a Work: its commit is in the checkout")
    second = w.turn("set -e; cat $HOME/mine log; " + COMMIT % ("b", "b") + "; for d in $HOME/.. $HOME/../..; do ls -A $d; done", "one", "seeded")
    ok(second.returncode == 0 and second.stdout.split()[:2] == ["kept", "a"] and set(second.stdout.split()[2:]) <= {"home", "workspace", work["id"]},
       "a Work: the next turn has the same home, and sees nothing beside it", (second.stdout, second.stderr))
    put(w.seed + "/later", "x")
    p = w.turn("test ! -e $HOME/later", "one", "seeded")
    ok(p.returncode == 0, "a Work: a home that is there is left alone", p.stderr)
    p = w.turn("echo x > .git/config || echo no; echo x > .git/hooks/x || echo no; echo x > sub/file || echo no; echo x > '%s/new'" % w.shared, "two", "mounted")
    ok(p.returncode == 0 and p.stdout.split() == ["no", "no", "no"] and os.path.exists(w.shared + "/new"), "a Work: git's own files and a part that is mounted to be read are read-only", (p.stdout, p.stderr))
    other = w.home_of("two")
    p = w.turn("ls '%s' '%s' 2>&1 || true; find / -xdev -name mine 2>/dev/null | grep -v \"^$HOME\" || true" % (home, w.work("one")["workspace"]), "two", "mounted")
    ok(p.returncode == 0 and p.stdout.count("No such file") == 2 and "mine" not in p.stdout.replace(home, ""), "a Work: another Work's home and clone aren't there", p.stdout)
    # What an agent makes of its home is its own, and goes.
    p = w.turn("mkdir $HOME/closed; touch $HOME/closed/x; chmod 0 $HOME/closed; ln -s / $HOME/root; chmod 777 $HOME", "two", "mounted")
    ok(p.returncode == 0, "a Work: a home as somebody left it", p.stderr)
    p = w.oc("work", "exec", "two", "--", "true")
    ok(p.returncode == 125 and "attach_sandboxed" in p.stderr and "container" in p.stderr, "work exec: refused for a Work that ran in a container", p.stderr)
    w.rebind("mounted", lambda b: b.pop("container"))
    p = w.turn("true", "two", "mounted")
    ok(p.returncode == 125 and "attach_sandboxed" in p.stderr, "run: refused too, once its binding confines nothing", p.stderr)
    w.reset()
    p = w.turn("true", "two", "mounted")
    ok(p.returncode == 0, "run: control: with its container again it goes on", p.stderr)
    for key, place in (("one", home), ("two", other)):
        p = w.oc("work", "finish", key)
        ok(p.returncode == 0 and not os.path.exists(place), "finish: the home is gone", p.stderr)
    w.sound("a Work")
    put(w.seed + "/link", "x")
    os.unlink(w.seed + "/link")
    os.symlink("/etc/passwd", w.seed + "/link")
    p = w.turn("true", "three", "seeded")
    ok(p.returncode == 125 and "/etc/passwd" in p.stderr and "plain files" in p.stderr, "a seed with a link that leads out is refused", p.stderr)
    os.unlink(w.seed + "/link")
    p = w.turn("true", "three", "seeded")
    ok(p.returncode == 0, "control: without it the same Work goes on", p.stderr)
    w.oc("work", "finish", "three")


def secrets(w):
    def inside():
        return [o for o in w.objects() if o["State"]["Running"]]
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(w.turn, "test -n \"$TOKEN\"; echo $TOKEN; touch ready; while [ ! -e go ]; do sleep .2; done", "kept", "box")
        wait_for(lambda: os.path.exists(w.work("kept").get("workspace", "/none") + "/ready"), 60)
        seen = inside()
        text = json.dumps(seen)
        ok(len(seen) == 2 and "canary-of-a-token" not in text, "secrets: not in docker inspect, of neither container", [o["Name"] for o in seen])
        ok(any(w.work("kept")["workspace"] in json.dumps(o["Mounts"]) for o in seen), "control: these are the run's")
        put(w.work("kept")["workspace"] + "/go", "")
        p = run.result()
    ok(p.returncode == 0 and "[secret TOKEN]" in p.stdout, "secrets: the command has it, and what it prints of it is taken out", (p.stdout, p.stderr))
    record = json.dumps(w.run_record(w.work("kept")["runs"][0]["id"]))
    found = []
    for base, _, files in os.walk(w.home + "/.local"):
        for name in files:
            try:
                with open(base + "/" + name, "rb") as file:
                    found += [base + "/" + name] if b"canary-of-a-token" in file.read() else []
            except OSError:
                pass
    ok("canary-of-a-token" not in record and not found, "secrets: not in the record, nor in any file of the state", found)
    w.oc("work", "finish", "kept")


def prompted(w, key, prompt="do it"):
    return w.oc("run", "web/mind", "--work", key, "--input", json.dumps({"prompt": prompt}), env={"MY_TOKEN": "canary-of-a-token"}, cwd=w.home)


def agent(w):
    for i, resume in enumerate((False, True)):
        p = prompted(w, "mind")
        work = w.work("mind")
        facts = json.load(open(work["workspace"] + "/facts.json")) if os.path.exists(work.get("workspace", "") + "/facts.json") else {}
        ok(p.returncode == 0 and facts == {"resume": resume, "home": True, "container": True, "key": True, "claude.json": True, "seeded": True, "git": "repack.updateServerInfo"},
           "agent: turn %d: in its home, %s" % (i + 1, "its session resumed" if resume else "a new session"), (p.returncode, facts, p.stderr))
    return w.work("mind")


def toolbelt(w):
    p = w.oc("run", "web/belted", "--work", "belt", "--input", json.dumps({"prompt": "ask"}), env={"MY_TOKEN": "canary-of-a-token"}, cwd=w.home)
    work = w.work("belt")
    path = work.get("workspace", "") + "/facts.json"
    policy = json.load(open(path)).get("policy", {}) if os.path.exists(path) else {}
    ok(p.returncode == 0 and policy.get("kind") == "container" and w.home + "/bin" in policy.get("read", []) and policy["read_denied"] == [] and "mounted" in policy["summary"],
       "toolbelt: called from a container, without a grant; it tells what the run may do", (p.stderr, policy))
    w.oc("work", "finish", "belt")


def open_attach(w, key="mind"):
    return Terminal([PROGRAM, "work", "attach", key], {**w.env, "MY_TOKEN": "canary-of-a-token", "TERM": "xterm"}, cwd=w.home)


def attach(w):
    work = agent(w)
    plan = w.run_record(work["runs"][0]["id"])["plan"]
    # Today's config is wider: attach goes by what is recorded.
    w.rebind("mind", lambda b: b["container"]["config"]["write"].append(w.shared))
    t = open_attach(w)
    try:
        ok(t.until(b"SESSION") and t.until(b"\n") and b"TURNS 2 TTY True" in t.seen, "attach: the Work's session on this terminal", t.seen)
        ok(b"BYPASS True BELT False" in t.seen, "attach: no toolbelt, and what it may do is the container's to say", t.seen)
        t.type(b"id -u; pwd; echo at > attached; git add attached; git commit -qm attached; echo x > '%s/attach' || echo refused; tty\r" % w.shared.encode())
        ok(t.until(b"refused") and t.until(b"/dev/pts/"), "attach: in a container, with the mounts of the last run", t.shown)
        boxes = [o for o in w.objects() if o["State"]["Running"]]
        ok(len(boxes) == 2, "attach: a container of its own, and its gateway", [o["Name"] for o in boxes])
        t.type(b"/exit\r")
        ok(t.wait(120) == 0 and t.as_before(), "attach: left, the terminal is as it was", t.shown)
    finally:
        t.close()
    run = w.run_record(w.work("mind")["runs"][0]["id"])
    ok(run["kind"] == "container" and run["plan"]["policy"]["text"] == plan["policy"]["text"] and run["plan"]["provider"]["identity"]["image"] == plan["provider"]["identity"]["image"] and
       not run["plan"]["limits"]["keep"] and "toolbelt" not in run["plan"], "attach: planned, pinned and recorded as a run in a container", run["plan"]["policy"])
    ok("attached" in w.messages(head(w.work("mind"))), "attach: its commit is saved", w.messages(head(w.work("mind"))))
    ok(not w.objects(), "attach: its container is removed", w.objects())
    for what, end in (("its terminal is closed", lambda t: t.hang_up()), ("its host is killed", lambda t: os.kill(t.process.pid, signal.SIGKILL))):
        t = open_attach(w)
        try:
            ok(t.until(b"TTY True", 90), "attach: again", t.shown)
            end(t)
            gone = wait_for(lambda: not w.objects(), 60)
            ok(gone, "attach: removed, also when %s" % what, w.objects())
        finally:
            t.close()
    w.reset()
    w.oc("work", "finish", "mind")


def real_agent(w):
    """Claude Code itself, which reaches nobody: that it runs in there, keeps its session in the Work's home, and asks a person."""
    policy = {"image": os.environ["OC_IMAGE_CLAUDE"], "network": {"allow": ["gateway.invalid"]}}
    w.reset(w.box("real", policy, executor="claude-code", command=None, secret_names=["token"], config={
        "secret_env": {"token": "CLAUDE_CODE_OAUTH_TOKEN"}, "env": {"ANTHROPIC_BASE_URL": "https://gateway.invalid", "CLAUDE_CODE_MAX_RETRIES": "0"}}))
    p = w.oc("run", "web/real", "--work", "real", "--input", json.dumps({"prompt": "say hello"}), env={"MY_TOKEN": "canary-of-a-token"}, cwd=w.home, timeout=300)
    home = w.home_of("real")
    kept = [f for d, _, files in os.walk(home + "/projects") for f in files if f.endswith(".jsonl")]
    ok(p.returncode == 1 and len(kept) == 1 and os.path.exists(home + "/.claude.json") and "sandbox" not in p.stderr, "real: a turn: Claude Code runs, and says that it reached nobody", (p.returncode, kept, p.stderr[-900:]))
    t = open_attach(w, "real")
    try:
        ok(t.until(b"trust", 90), "real: attach: it first asks whether to trust the folder", t.shown[-900:])
        time.sleep(2)
        t.type(b"\r")
        ok(t.wait(60) == 1 and t.as_before(), "real: attach: Enter picks to leave", (t.process.returncode, t.shown[-500:]))
    finally:
        t.close()
    t = open_attach(w, "real")
    try:
        t.until(b"trust", 90)
        time.sleep(2)
        t.type(b"\x1b[B")
        time.sleep(1)
        t.type(b"\r")
        ok(t.until(b"Bypass", 60), "real: attach: then to confirm that it asks nothing", t.shown[-900:])
        time.sleep(2)
        t.type(b"\x1b[B")
        time.sleep(1)
        t.type(b"\r")
        ok(t.until(b"say hello", 60), "real: attach: then the session is there, with the turn that it had", t.shown[-900:])
        time.sleep(2)
        t.type(b"/exit")
        time.sleep(1)
        t.type(b"\r")
        ok(t.wait(60) == 0 and t.as_before(), "real: attach: left by /exit", (t.process.returncode, t.shown[-500:]))
    finally:
        t.close()
    w.reset()
    w.oc("work", "finish", "real")


def only_there(w):
    """Never on this machine, whatever the records say otherwise."""
    w.turn("true", "boxed", "boxed")
    p = w.oc("work", "attach", "boxed")
    ok(p.returncode == 125 and "attach_sandboxed" in p.stderr, "attach: control: refused for a process sandbox", p.stderr)
    w.oc("work", "finish", "boxed")


def doctor(w):
    p = w.oc("doctor", "--json", cwd=w.home, timeout=300)
    j = json.loads(p.stdout)
    boxes = [s for s in j["sandboxes"] if s["kind"] == "container"]
    ok(p.returncode == 0 and j["ok"] and len(boxes) == 1 and boxes[0]["context"] == "default" and boxes[0]["image"] == TOOLS and
       set(boxes[0]["bindings"]) == {"web/box", "web/seeded", "web/mounted", "web/mind", "web/belted"} and len(boxes[0]["checks"]) >= 4,
       "doctor: the context and image that bindings use, once", (p.returncode, p.stdout[-1500:]))
    ok([s["name"] for s in j["sandboxes"]] == ["srt", "docker"], "doctor: and srt, which another binding uses")
    p = w.oc("doctor", cwd=w.home, timeout=300)
    ok(p.returncode == 0 and "container: docker" in p.stdout and TOOLS in p.stdout and "All is well" in p.stdout, "doctor: as text", p.stdout)
    p = w.oc("doctor", "--json", "--binding", "web/mind", cwd=w.home, env={"MY_TOKEN": "canary-of-a-token"}, timeout=300)
    j = json.loads(p.stdout)
    ok(p.returncode == 0 and j["binding"] == {"binding": "web/mind", "kind": "container", "ok": True}, "doctor: a binding, by a run of it", (j.get("binding"), p.stderr))
    # An engine that isn't reached without a grant: the message names the grant.
    w.reset(pass_env=())
    p = w.oc("doctor", cwd=w.home, timeout=300)
    ok(p.returncode == 1 and "FAIL" in p.stdout and "web/box" in p.stdout, "doctor: an engine that can't be reached", p.stdout)
    p = w.turn("true", "red", "box")
    ok(p.returncode == 125 and "sandbox_unavailable" in p.stderr and not w.objects(), "doctor: nothing runs then", p.stderr)
    w.reset()
    # Red by a check: runs are refused by the verdict, and green again after another.
    p = w.oc("doctor", cwd=w.home, env={"OPEN_CONDUIT_GATEWAY_IMAGE": "sha256:" + "0" * 64}, timeout=300)
    ok(p.returncode == 1 and "FAIL" in p.stdout and "gateway" in p.stdout, "doctor: no gateway image", p.stdout)
    p = w.turn("true", "red", "box", env={"OPEN_CONDUIT_GATEWAY_IMAGE": "sha256:" + "0" * 64})
    ok(p.returncode == 125 and "sandbox_unavailable" in p.stderr, "doctor: red: the bindings concerned run nothing", p.stderr)
    p = w.turn("true", "red", "boxed")
    ok(p.returncode == 0, "doctor: control: a binding that needs no container runs", p.stderr)
    p = w.oc("doctor", cwd=w.home, timeout=300)
    ok(p.returncode == 0, "doctor: green again", p.stdout)
    w.oc("work", "finish", "red")
    desktop(w)


def desktop(w):
    """An engine that calls itself Docker Desktop."""
    socket = w.root + "/desktop.sock"
    meddler = subprocess.Popen(["/usr/bin/python3", os.path.join(HERE, "..", "engine", "meddler.py"), socket, ENGINE.split("://")[1],
                                'reply GET ^/info$ /OperatingSystem="Docker Desktop"'], stdout=subprocess.PIPE, text=True)
    try:
        meddler.stdout.readline()
        p = w.oc("doctor", cwd=w.home, env={"DOCKER_HOST": "unix://" + socket}, timeout=300)
        ok("Docker Desktop is untested" in p.stdout and p.stdout.count("Docker Desktop is untested") == 1, "doctor: says that Docker Desktop is untested", p.stdout)
        p = w.oc("doctor", cwd=w.home, timeout=300)
        ok("Docker Desktop" not in p.stdout, "doctor: control: and of no other engine", p.stdout)
    finally:
        meddler.kill()
        meddler.wait()


def asked(w):
    # {workspace} as a mount has to be there: it is asked of a Work.
    w.turn("true", "two", "mounted")
    p = w.oc("explain", "web/mounted", "--work", "two", "--write", w.shared + "/x", "--read", "{workspace}/sub/file", "--json", cwd=w.home)
    j = json.loads(p.stdout) if p.stdout else {}
    ok(p.returncode == 0 and [a["rule"] for a in j["answers"]] == ["write[1]", "read[0]"], "explain: what a container is granted, by which rule", (p.stdout, p.stderr))
    p = w.oc("explain", "web/mounted", "--work", "two", "--read=~/.bashrc", "--write", "{workspace}/sub/file", "--host", "example.org", "--json", cwd=w.home)
    ok(p.returncode == 1 and not any(a["allowed"] for a in json.loads(p.stdout)["answers"]), "explain: nothing else is there", p.stdout)
    p = w.oc("config", "check", "--explain", cwd=w.home)
    # The one error is of a binding that reaches into the state.
    ok(p.stdout.count(": error: ") == 1 and all(x in p.stdout for x in ("in a container (docker)", TOOLS, "context     default", "0.5 cpus, 256 MiB of memory, 64 processes", w.seed)), "config check --explain: image, context, limits, home", p.stdout)


PARTS = (one_command, a_work, secrets, toolbelt, attach, real_agent, only_there, asked, doctor)


def main():
    wanted = sys.argv[1:]
    w = Boxes()
    try:
        for part in PARTS:
            if not wanted or part.__name__ in wanted:
                began = time.monotonic()
                part(w)
                print("# %s: %d s" % (part.__name__, time.monotonic() - began), flush=True)
        every_run(w, "containers")
        left = w.objects()
        ok(not left, "nothing of it is left in the engine", [o["Name"] for o in left])
    finally:
        w.close()
    finish()


main()

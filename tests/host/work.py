# SPDX-License-Identifier: Apache-2.0
"""Works and runs of bindings, by the command line, with real git, and under the real srt where that is what matters: turns
of a Work, busy ones, detached ones, throw-away clones, refusals, and SIGKILL of the host between any two steps.

After each kill the next command puts things right: no commit is lost, no Work is stuck, the checkout is sound."""
import glob, hashlib, json, os, re, shutil, signal, sqlite3, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "isolation"))
from world import BUILD, SRT, World, finish, ok, put  # noqa: E402

ROOT = os.path.join(HERE, "..", "..")
AUTHOR = {"name": "Agent", "email": "agent@example.org"}
# What a test wants done is the input's, so one binding is enough; a real one would never run its input.
EVAL = ["/bin/sh", "-c", "set -e; eval \"$OPEN_CONDUIT_INPUT_DO\""]
COMMIT = "echo %s >> log; git add log; git commit -qm %s"


class Works(World):
    def __init__(self):
        super().__init__(clone=False)
        self.checkout = self.home + "/web"
        self.make_checkout(self.checkout)
        self.configure()
        self.env["GIT_CONFIG_NOSYSTEM"] = "1"

    def make_checkout(self, path):
        os.makedirs(path)
        self.git("init", "-q", "-b", "main", at=path)
        self.git("config", "user.name", "Op", at=path)
        self.git("config", "user.email", "op@example.org", at=path)
        put(path + "/file", "one\n", 0o644)
        os.makedirs(path + "/sub")
        put(path + "/sub/file", "two\n", 0o644)
        self.git("add", ".", at=path)
        self.git("commit", "-qm", "one", at=path)

    def git(self, *args, at=None, check=True):
        p = subprocess.run(["git", *args], cwd=at or self.checkout, capture_output=True, text=True,
                           env={"PATH": "/usr/bin:/bin", "HOME": self.home})
        if check and p.returncode:
            raise RuntimeError("git %s: %s" % (args, p.stderr))
        return p.stdout.strip()

    def binding(self, name, command=EVAL, sandbox=None, branch=None, checkout=None, **more):
        config = {"workspace_mode": "clone", "author": AUTHOR}
        if command:
            config["command"] = command
        if branch:
            config["branch"] = branch
        config.update(more.pop("config", {}))
        b = {"name": name, "executor": "shell", "requires": {"workspace": True}, "operations": [], "secret_names": [],
             "config": config, "resource": {"provider": "git", "config": {"checkout": checkout or self.checkout, "mode": "clone"}}}
        if sandbox:
            b["sandbox"] = {"provider": "srt", "config": sandbox}
        b.update(more)  # executor, requires, secret_names
        return b

    def configure(self, *more, checkout=None):
        policy = {"write": ["{workspace}"], "network": {"allow": []}}
        bindings = [self.binding("job", branch="agent/{name}", checkout=checkout), self.binding("plain", checkout=checkout),
                    self.binding("boxed", sandbox=policy),
                    self.binding("reaching", sandbox={"write": ["{workspace}", self.state], "network": {"allow": []}}),
                    self.binding("onmain", branch="main"), self.binding("agent", executor="claude-code", command=None, config={"playbook": "work-issue"}),
                    self.binding("secret", sandbox=policy, secret_names=["token", "file-token"],
                                 config={"secret_env": {"token": "TOKEN", "file-token": "FILE_TOKEN"}, "env": {"PLAIN": "given"}})]
        put(self.root + "/token", "canary-of-a-file\n")
        config = {"version": 1, "settings": {}, "connections": [], "scopes": [
            {"id": "web", "name": "web", "secret_refs": {"token": "env:MY_TOKEN", "file-token": "file:" + self.root + "/token"}, "authorization": {"connections": [], "operations": [], "read_scopes": []},
             "extensions": [], "routes": [], "bindings": bindings + list(more)}]}
        put(self.config + "/config.json", json.dumps(config))

    def turn(self, do, key=None, binding="job", flags=(), env=None, json_=False, **members):
        members = {"name": key or "own", "do": do, **members}
        args = ["run", "web/" + binding, "--input", json.dumps(members), *flags]
        if key:
            args += ["--work", key]
        if json_:
            args.append("--json")
        return self.oc(*args, env=env)

    def work(self, key):
        p = self.oc("work", "show", key, "--json")
        return json.loads(p.stdout)["work"] if p.returncode == 0 else {"stderr": p.stderr, "state": "(none)"}

    def run_record(self, run):
        return json.loads(self.oc("runs", "get", run, "--json").stdout)["run"]

    def ref(self, name):
        return self.git("rev-parse", "-q", "--verify", name, check=False)

    def messages(self, ref):
        return self.git("log", "--format=%s", ref, check=False).splitlines()

    def sound(self, what):
        p = subprocess.run(["git", "fsck", "--strict", "--full"], cwd=self.checkout, capture_output=True, text=True,
                           env={"PATH": "/usr/bin:/bin", "HOME": self.home})
        return ok(p.returncode == 0 and not self.git("status", "--porcelain"), what + ": the checkout is sound and clean", p.stderr)

    def left(self):
        base = self.state + "/works"
        return os.listdir(base) if os.path.isdir(base) else []


def head(work):
    return "refs/open-conduit/%s/head" % work["id"]


def life(w, binding, key):
    """Two turns, the record, and the end."""
    first = w.turn(COMMIT % ("a", "a") + "; cat $OPEN_CONDUIT_INPUT; echo \" $OPEN_CONDUIT_WORK $OPEN_CONDUIT_INPUT_N\"", key,
                   binding, n=[1, 2])
    name = "%s: " % binding
    ok(first.returncode == 0, name + "the first turn", first.stderr)
    line = first.stdout.strip().splitlines()[-1] if first.stdout.strip() else ""
    ok(line.endswith(" %s [1,2]" % key) and json.loads(line.rsplit("} ", 1)[0] + "}")["n"] == [1, 2],
       name + "the input is in a file and in variables", first.stdout)
    work = w.work(key)
    ok(w.messages(head(work)) == ["a", "one"], name + "its commit is in the checkout", w.messages(head(work)))
    branch = "agent/" + key if binding == "job" else "open-conduit/" + work["id"]
    ok(work["branch"] == branch and not w.ref("refs/heads/" + branch), name + "under the Work's ref, the branch has not moved", work)
    second = w.turn("test $(cat log) = a; " + COMMIT % ("b", "b"), key, binding, json_=True)
    facts = json.loads(second.stdout) if second.stdout else {}
    ok(second.returncode == 0 and facts["work"]["key"] == key and facts["save"]["saved"][0]["ref"] == head(work),
       name + "the second turn goes on where the first was", second.stdout + second.stderr)
    record = w.run_record(facts["run"])
    ok(record["work"] == work["id"] and record["binding"] == "web/" + binding and record["save"]["tip"] == w.ref(head(work)),
       name + "the run's record tells binding, Work and what was saved", record.get("save"))
    plan = record["plan"]
    ok(plan["clone"]["root"]["ino"] == os.stat(work["workspace"]).st_ino and plan["command"]["files"][0]["name"] == "input.json",
       name + "the plan names the clone and holds the input")
    shown = w.oc("runs", "get", facts["run"]).stdout
    ok("commits saved" in shown and head(work) in shown, name + "runs get shows the commits", shown[:600])
    author = w.git("log", "-1", "--format=%an <%ae>", head(work))
    ok(author == "Agent <agent@example.org>", name + "the author is the config's", author)
    status = w.turn("exit 3", key, binding)
    ok(status.returncode == 3, name + "the command's status passes", status.returncode)
    put(work["workspace"] + "/scratch", "not committed\n", 0o644)
    tip = w.ref(head(work))
    end = w.oc("work", "finish", key)
    ok(end.returncode == 0 and w.ref("refs/heads/" + branch) == tip, name + "finish moves the branch", end.stderr)
    leftover = "refs/open-conduit/%s/leftover" % work["id"]
    ok(w.git("show", leftover + ":scratch", check=False) == "not committed" and leftover in end.stderr,
       name + "what was not committed is at leftover, and said so", end.stderr)
    ok(not os.path.exists(work["workspace"]) and work["id"] not in w.left() and w.work(key)["state"] == "finished",
       name + "the workspace is gone", w.left())
    w.sound(name + "afterwards")


def refusals(w):
    before = len(w.left())
    for what, p, words in (
            ("a placeholder that nothing fills", w.oc("run", "web/job", "--input", "{}"), "{name}"),
            ("a branch that can't be", w.turn("true", "k", name="a b..c"), "can't be"),
            ("a branch like an option", w.oc("run", "web/job", "--input", '{"name": "../x"}'), "can't be"),
            ("an input that is no JSON", w.oc("run", "web/job", "--input", "{"), "no JSON"),
            ("an input that says a thing twice", w.oc("run", "web/job", "--input", '{"a":1,"a":2}'), "duplicate"),
            ("an input that is no object", w.oc("run", "web/job", "--input", "[1]"), "no object"),
            ("two members with one variable", w.oc("run", "web/plain", "--input", '{"a-b":1,"a_b":2}'), "same variable"),
            ("a playbook that nothing fills", w.oc("run", "web/agent"), "{number}"),
            ("a misspelt binding", w.oc("run", "web/jbo"), "web/job"),
            ("a key that can't be", w.turn("true", "a b", binding="plain"), "key"),
            ("a key like an option", w.oc("run", "web/plain", "--work=-x"), "key"),
            ("a policy that reaches into the state", w.turn("true", binding="reaching"), "sandbox_denied")):
        ok(p.returncode == 125 and words in p.stderr, "refused: " + what, (p.returncode, p.stderr))
    w.configure(w.binding("belted", requires={"toolbelt": "mcp", "workspace": True}))
    p = w.turn("true", binding="plain")
    ok(p.returncode == 125 and "requires.toolbelt" in p.stderr, "refused: a config with one error runs nothing", p.stderr)
    w.configure()
    gone = w.turn("true; no-such-program-here", binding="plain")
    ok(gone.returncode == 127, "a command that isn't found inside passes its status", gone.returncode)
    ok(len(w.left()) == before, "nothing stays of what was refused", w.left())


def secrets(w):
    do = "test $PLAIN = given; printf %s:%s $TOKEN $FILE_TOKEN | sha256sum; exit 0"
    want = hashlib.sha256(b"canary-of-env:canary-of-a-file").hexdigest()
    p = w.turn(do, "sec", "secret", env={"MY_TOKEN": "canary-of-env"})
    ok(p.returncode == 0 and p.stdout.split()[0] == want, "secrets reach the command, and config.env", p.stdout + p.stderr)
    found = subprocess.run(["grep", "-rlaE", "canary-of-(env|a-file)", w.state], capture_output=True, text=True).stdout
    ok(not found, "no secret is on a disk of ours", found)
    p = w.turn(do, "sec", "secret")
    ok(p.returncode == 125 and "secret_missing" in p.stderr and "MY_TOKEN" in p.stderr, "a secret without a value is refused", p.stderr)
    put(w.root + "/token", "canary-of-a-file", 0o644)
    p = w.turn(do, "sec", "secret", env={"MY_TOKEN": "x"})
    ok(p.returncode == 125 and "chmod 600" in p.stderr, "a secret that others can read is refused", p.stderr)
    p = w.turn("echo canary-of-env", "sec", "plain")
    found = subprocess.run(["grep", "-rlaE", "canary-of-env", w.state], capture_output=True, text=True).stdout
    ok(p.returncode == 0 and found, "control: what a command prints is found there")
    p = w.oc("work", "attach", "web/plain/sec")
    ok(p.returncode == 125 and "no session" in p.stderr and "work exec --terminal sec -- sh" in p.stderr, "work attach: a command has no session", p.stderr)
    ok(w.oc("work", "finish", "web/secret/sec").returncode == 0 and w.oc("work", "finish", "sec").returncode == 0,
       "two Works of one key are told apart by their bindings")


def busy(w):
    sleeper = subprocess.Popen([BUILD + "/host/open-conduit", "run", "web/plain", "--work", "busy", "--input",
                                json.dumps({"do": "touch started; while ! test -e go; do sleep .1; done; " + COMMIT % ("x", "x")})],
                               env=w.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: os.path.exists(w.work("busy").get("workspace", "") + "/started"), 60)
    work = w.work("busy")
    no = w.turn("true", "busy", "plain", flags=["--no-wait"])
    ok(no.returncode == 125 and "work_busy" in no.stderr, "busy: --no-wait is refused", no.stderr)
    end = w.oc("work", "finish", "busy")
    ok(end.returncode == 1 and "work_busy" in end.stderr and os.path.isdir(work["workspace"]), "busy: it can't be finished", end.stderr)
    waiting = [subprocess.Popen([BUILD + "/host/open-conduit", "run", "web/plain", "--work", "busy", "--input",
                                 json.dumps({"do": COMMIT % (c, c)})], env=w.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for c in "yz"]
    time.sleep(2)
    ok(all(p.poll() is None for p in waiting), "busy: others wait")
    put(work["workspace"] + "/go")
    said = [p.communicate(timeout=120)[1] for p in waiting]
    ok(sleeper.wait(60) == 0 and [p.returncode for p in waiting] == [0, 0], "busy: and run when it is free", said)
    ok(all("waiting" in s for s in said), "busy: and say so", said)
    ok(sorted(w.messages(head(work))) == ["one", "x", "y", "z"], "busy: three runs, three commits", w.messages(head(work)))
    ok(w.oc("work", "finish", "busy").returncode == 0, "busy: then it is finished")


def wait_for(what, seconds):
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.1)
    return what()


def interrupted(w):
    """What was committed before ^C is saved like anything else."""
    argv = [BUILD + "/host/open-conduit", "run", "web/plain", "--work", "int", "--input",
            json.dumps({"do": COMMIT % ("i", "i") + "; touch started; sleep 100", "long": "x" * 70000})]
    p = subprocess.Popen(argv, env=w.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: os.path.exists(w.work("int").get("workspace", "") + "/started"), 60)
    p.send_signal(signal.SIGINT)
    said = p.communicate(timeout=60)[1]
    work = w.work("int")
    ok(p.returncode == 128 + signal.SIGINT and w.messages(head(work)) == ["i", "one"], "interrupted: its commits are saved", (p.returncode, said))
    ok('"long" can\'t be a variable' in said, "a member that is too long for a variable is said to be in the file", said)
    ok(w.oc("work", "finish", "int").returncode == 0, "interrupted: then it is finished")


def detached(w):
    p = w.turn("cat; sleep 1; " + COMMIT % ("d", "d"), "det", "plain", flags=["--detach"])
    run = p.stdout.strip()
    ok(p.returncode == 0 and re.fullmatch("[a-z2-7]{12}", run), "detach: the run's id, and back at once", p.stdout + p.stderr)
    ok(wait_for(lambda: w.run_record(run)["state"] == "exited", 60), "detach: it ends by itself, its input is empty")
    ok(w.run_record(run)["save"] is None, "detach: control: nobody saved it yet")
    shown = w.oc("work", "list")
    ok(shown.returncode == 0 and w.run_record(run)["save"]["tip"] == w.ref(head(w.work("det"))), "detach: work list saves it", shown.stderr)
    p = w.turn("sleep 100", "det", "plain", flags=["--detach", "--json"])
    run = json.loads(p.stdout)["run"]
    ok(w.oc("runs", "stop", run).returncode == 0 and w.run_record(run)["exit"]["state"] == "stopped", "detach: it can be stopped")
    ok(w.oc("work", "finish", "det").returncode == 0, "detach: then it is finished")
    p = w.turn("echo own >> log; git add log; git commit -qm own", binding="job", flags=["--detach"], name="det-own")
    ok(wait_for(lambda: w.run_record(p.stdout.strip())["state"] == "exited", 60) and w.oc("work", "list").returncode == 0 and
       w.messages("refs/heads/agent/det-own") == ["own", "one"] and not w.left(), "detach: a Work of its own is finished later", w.left())


def own(w):
    p = w.turn(COMMIT % ("o", "o") + "; echo rest > rest", binding="job", name="mine", json_=True)
    facts = json.loads(p.stdout)
    ok(p.returncode == 0 and facts["save"]["outcome"] == "moved" and w.messages("refs/heads/agent/mine") == ["o", "one"],
       "own: the branch moves when the run ends", p.stdout)
    ok(w.git("show", "refs/open-conduit/%s/leftover:rest" % facts["work"]["id"], check=False) == "rest", "own: leftovers are kept", facts)
    ok(not w.left(), "own: no workspace stays", w.left())
    p = w.turn(COMMIT % ("p", "p") + "; exit 9", binding="job", name="failing")
    ok(p.returncode == 9 and w.messages("refs/heads/agent/failing") == ["p", "one"], "own: also of a command that fails", p.stderr)
    p = w.turn(COMMIT % ("m", "m"), binding="onmain")
    ok(p.returncode == 0 and "merge refs/open-conduit/" in p.stderr and w.messages("main") == ["one"],
       "own: a branch that is checked out is not moved, and what to paste is said", p.stderr)
    line = re.search(r"git -C .*", p.stderr).group(0) if "git -C" in p.stderr else "false"
    subprocess.run(line, shell=True, env={"PATH": "/usr/bin:/bin", "HOME": w.home}, capture_output=True)
    ok(w.messages("main") == ["m", "one"], "own: and it works", line)
    w.git("reset", "-q", "--hard", "HEAD~1")


def clones(w):
    put(w.checkout + "/dirty", "mine\n", 0o644)
    args = ["exec", "--clone", "--", "/bin/sh", "-c"]
    p = w.oc(*args, "pwd; test ! -e ../dirty; test -e file; echo x > new; git add new; git commit -qm cloned; rm ../file", cwd=w.checkout + "/sub")
    ok(p.returncode == 0 and p.stdout.strip().endswith("/workspace/sub"), "clone: in the same place of a clone", p.stdout + p.stderr)
    branch = re.search(r"branch +(open-conduit/\S+)", p.stderr)
    ok(branch and w.messages(branch.group(1)) == ["cloned", "one"], "clone: its commits are on a branch", p.stderr)
    ok(not w.left() and os.path.exists(w.checkout + "/file") and w.git("branch", "--show-current") == "main",
       "clone: nothing stays, and the checkout is as it was", w.left())
    os.unlink(w.checkout + "/dirty")
    p = w.oc("exec", "--clone", "--write", w.state, "--", "true", cwd=w.checkout)
    ok(p.returncode == 125 and "sandbox_denied" in p.stderr and not w.left(), "clone: a refused policy leaves none", p.stderr)
    p = w.oc("exec", "--clone", "--unsandboxed", "--", "true", cwd=w.checkout)
    ok(p.returncode == 0 and not w.left(), "clone: unsandboxed too", p.stderr)
    w.sound("clone")


def protected(w):
    """Another Work is another's: by path, by the current directory, and by a clone that was swapped."""
    ok(w.turn(COMMIT % ("1", "1"), "one", "boxed").returncode == 0 and w.turn(COMMIT % ("2", "2"), "two", "boxed").returncode == 0, "two Works")
    one, two = w.work("one"), w.work("two")
    p = w.turn("cat %s/log || echo denied; ls %s || echo denied; cat log" % (two["workspace"], os.path.dirname(one["workspace"])), "one", "boxed")
    ok(p.stdout.split() == ["denied", "workspace", "1"], "protected: neither another Work nor the rest of its own is visible", p.stdout + p.stderr)
    p = w.oc("exec", "--", "true", cwd=two["workspace"])
    ok(p.returncode == 125 and "sandbox_denied" in p.stderr, "protected: no run in it without its Work", p.stderr)
    p = w.turn("echo config > .git/config; echo x > .git/hooks/post-commit; true", "one", "boxed")
    ok("Read-only" in p.stderr or "denied" in p.stderr, "protected: .git/config and hooks are read-only", p.stderr)
    os.rename(one["workspace"] + "/.git", w.home + "/git-before")
    shutil.copytree(w.home + "/git-before", one["workspace"] + "/.git", symlinks=True)
    for binding in ("boxed",):
        p = w.turn("true", "one", binding)
        ok(p.returncode == 125 and "sandbox_workspace" in p.stderr, "protected: a .git that was swapped is not run in", p.stderr)
    p = w.oc("work", "exec", "one", "--", "true")
    ok(p.returncode == 125 and "sandbox_workspace" in p.stderr, "protected: by no unsandboxed command either", p.stderr)
    shutil.rmtree(one["workspace"] + "/.git")
    os.rename(w.home + "/git-before", one["workspace"] + "/.git")
    p = w.turn("true", "one", "boxed")
    ok(p.returncode == 0, "protected: control: the one that was made is", p.stderr)
    os.rename(two["workspace"], two["workspace"] + ".real")
    shutil.copytree(two["workspace"] + ".real", two["workspace"], symlinks=True)
    p = w.turn("true", "two", "boxed")
    ok(p.returncode == 125 and "sandbox_workspace" in p.stderr, "protected: a swapped workspace is not run in", p.stderr)
    shutil.rmtree(two["workspace"])
    os.rename(two["workspace"] + ".real", two["workspace"])
    p = w.oc("work", "exec", "one", "--", "sh", "-c", "pwd; cat log")
    ok(p.returncode == 0 and p.stdout.split() == [one["workspace"], "1"] and "not confined" in p.stderr, "work exec: in the workspace, and said what it is", p.stderr)
    ok(w.run_record(w.work("one")["runs"][0]["id"])["kind"] == "none", "work exec: the record says unsandboxed")
    p = w.oc("work", "attach", "one")
    ok(p.returncode == 125 and "attach_sandboxed" in p.stderr, "work attach: refused for a Work that ran in a process sandbox", p.stderr)
    with sqlite3.connect(w.state + "/state.db") as db:
        db.execute("UPDATE runs SET kind = 'container' WHERE id = ?", (w.work("two")["runs"][0]["id"],))
    p = w.oc("work", "exec", "two", "--", "true")
    ok(p.returncode == 125 and "attach_sandboxed" in p.stderr, "work exec: refused for a Work that ran in a container", p.stderr)
    for key in ("one", "two"):
        p = w.oc("work", "finish", key)
        ok(p.returncode == 0, "protected: %s is finished" % key, p.stderr)


def conflicts(w):
    other = w.home + "/other"
    w.make_checkout(other)
    ok(w.turn(COMMIT % ("a", "a"), "moved", "plain").returncode == 0, "conflict: a Work of one checkout")
    w.configure(checkout=other)
    p = w.turn("true", "moved", "plain")
    ok(p.returncode == 125 and "workspace_conflict" in p.stderr and "work finish" in p.stderr, "conflict: the config names another now", p.stderr)
    w.configure()
    work = w.work("moved")
    p = w.turn(COMMIT % ("b", "b") + "; mv %s %s.away" % (w.checkout, w.checkout), "moved", "plain")
    ok(p.returncode == 125 and "not saved" in p.stderr, "conflict: with no checkout the run says that it is not saved", p.stderr)
    end = w.oc("work", "finish", "moved")
    ok(end.returncode == 1 and os.path.isdir(work["workspace"]), "conflict: and can't be finished", end.stderr)
    os.rename(w.checkout + ".away", w.checkout)
    w.oc("work", "list")
    ok(w.messages(head(work)) == ["b", "a", "one"], "conflict: once it is back the next command saves", w.messages(head(work)))
    p = w.oc("work", "finish", "moved", "--keep", "--json")
    facts = json.loads(p.stdout) if p.stdout else {}
    ok(p.returncode == 0 and facts["finished"] is False and facts["save"]["outcome"] == "moved" and os.path.isdir(work["workspace"]),
       "finish --keep: saved, and the workspace stays", p.stdout + p.stderr)
    ok(w.turn(COMMIT % ("c", "c"), "moved", "plain").returncode == 0, "finish --keep: the Work goes on")
    p = w.oc("work", "finish", "moved")
    ok(p.returncode == 0 and w.messages("refs/heads/" + work["branch"]) == ["c", "b", "a", "one"], "finish --keep: and ends", p.stderr)
    ok(w.oc("work", "finish", "moved").returncode == 1, "finish: twice is said")
    w.turn(COMMIT % ("g", "g"), "gone", "plain")
    gone = w.work("gone")
    shutil.rmtree(gone["workspace"])
    p = w.turn("true", "gone", "plain")
    ok(p.returncode == 125 and "sandbox_workspace" in p.stderr, "gone: a removed workspace is said", p.stderr)
    p = w.oc("work", "finish", "gone")
    ok("gone" in p.stderr and w.messages(head(gone)) == ["g", "one"], "gone: what was saved before stays", p.stderr)
    w.sound("conflicts")


def tree(path):
    found = {}
    for base, _, files in os.walk(path):
        for f in files:
            with open(os.path.join(base, f), "rb") as file:
                found[os.path.join(base, f)] = hashlib.sha256(file.read()).hexdigest()
    return found


def decoy(w):
    """The host started from a hook of another repository: nothing of that is touched, and the Work is where it should be."""
    other, ran = w.home + "/decoy", w.home + "/decoy-ran"
    w.make_checkout(other)
    script = put(w.home + "/decoy.sh", "#!/bin/sh\ntouch %s\n" % ran, 0o700)
    env = {"GIT_DIR": other + "/.git", "GIT_WORK_TREE": other, "GIT_INDEX_FILE": other + "/.git/index",
           "GIT_OBJECT_DIRECTORY": other + "/.git/objects", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor",
           "GIT_CONFIG_VALUE_0": script, "GIT_SSH_COMMAND": script, "GIT_ASKPASS": script, "GIT_EXEC_PATH": w.home,
           "GIT_EXTERNAL_DIFF": script, "BASH_ENV": script, "ENV": script, "NODE_OPTIONS": "--require " + script}
    control = subprocess.run(["git", "rev-parse", "--git-dir"], cwd=w.checkout, env={"PATH": "/usr/bin:/bin", "GIT_DIR": env["GIT_DIR"]},
                             capture_output=True, text=True).stdout.strip()
    ok(control == env["GIT_DIR"], "decoy: control: it does lead git elsewhere", control)
    before = tree(other)
    p = w.turn(COMMIT % ("d", "d"), "decoy", "plain", env=env)
    work = w.work("decoy")
    q = w.oc("work", "finish", "decoy", env=env)
    ok(p.returncode == 0 and q.returncode == 0 and w.messages("refs/heads/" + work["branch"]) == ["d", "one"],
       "decoy: made, run, saved and removed all the same", p.stderr + q.stderr)
    ok(tree(other) == before and not os.path.exists(ran), "decoy: and it is as it was")


def branches(w):
    """What comes from an issue is a name, or refused; never an option or another place."""
    touched = w.home + "/touched"
    before = set(w.git("for-each-ref", "--format=%(refname)").splitlines())
    for name in ("1/../../x", "--upload-pack=touch " + touched, "-x", "@{u}", "a..b", "HEAD", "n" * 300, "a\nb", "a\u202eb", "x.lock", "~x", "a b", ""):
        p = w.turn(COMMIT % ("n", "n"), binding="job", name=name)
        new = set(w.git("for-each-ref", "--format=%(refname)", "refs/heads").splitlines()) - before
        fine = new == {"refs/heads/agent/" + name} if p.returncode == 0 else p.returncode == 125 and not new
        ok(fine and not os.path.exists(touched), "branch of %r: %s" % (name[:30], "as it is" if p.returncode == 0 else "refused"), p.stderr)
        before |= new
    w.sound("branches")


def lost(w):
    """What can't be saved keeps the workspace, and is named."""
    for key in ("lost", None):
        p = w.turn(COMMIT % ("a", "a") + "; echo x > closed; chmod 0 closed", key, "plain", json_=not key)
        work = w.work(key or json.loads(p.stdout)["work"]["id"])
        end = w.oc("work", "finish", work["id"]) if key else p
        ok(end.returncode == (1 if key else 0) and "closed" in end.stderr and "stays" in end.stderr, "lost: it is named: %s" % key, end.stderr)
        before = w.work(work["id"])
        time.sleep(1.1)
        w.oc("work", "list")
        after = w.work(work["id"])
        ok(os.path.isdir(work["workspace"]) and after["state"] == "open" and after["saved"] == before["saved"],
           "lost: the workspace stays, and no later command tries again by itself: %s" % key, after)
        os.chmod(work["workspace"] + "/closed", 0o600)
        end = w.oc("work", "finish", work["id"])
        ok(end.returncode == 0 and not w.left(), "lost: once it can be saved the Work is finished: %s" % key, end.stderr)
        ok(w.git("show", "refs/open-conduit/%s/leftover:closed" % work["id"], check=False) == "x", "lost: and it is saved: %s" % key)


POINTS = sorted({p for f in glob.glob(ROOT + "/lib/**/*.c", recursive=True) for p in re.findall(r'oc_fault\("(work:[^"]+)"\)', open(f).read())})
# Of the provider of workspaces, which the host asks for each.
PROVIDERS = ["provider:%s%s" % (m, when) for m in ("create", "save", "remove") for when in ("", "-done")]
HOSTS = ["host:planned", "host:pinned", "host:held", "host:running", "host:cleaned", "host:finished"]


def kill_at(w, point):
    """True when the point was reached."""
    last = "k-" + re.sub("[^a-z]+", "-", point)
    env = {"OPEN_CONDUIT_FAULT": point}
    p = w.turn(COMMIT % ("k", "k"), last, "plain", env=env)
    first = p.returncode
    if first == 0:
        p = w.oc("work", "finish", last, env=env)
    # The guard has its points too: then its host is told that the run was lost.
    hit = -signal.SIGKILL in (first, p.returncode) or first == 125 or (point in PROVIDERS and "provider git failed" in p.stderr)
    ran = first == 0 or os.path.exists(w.work(last).get("workspace", "") + "/log")
    again = p
    if w.work(last)["state"] != "finished":
        again = w.turn("test ! -e log || grep -q k log; " + COMMIT % ("l", "l"), last, "plain")
    work = w.work(last)
    if work["state"] != "finished":
        end = w.oc("work", "finish", last)
        ok(again.returncode == 0 and end.returncode == 0, "killed at %s: the next command goes on" % point, again.stderr + end.stderr)
    found = w.messages("refs/heads/" + work["branch"])
    ok(found[-1:] == ["one"] and (not ran or "k" in found), "killed at %s: no commit is lost" % point, (found, ran))
    ok(work["id"] not in w.left(), "killed at %s: nothing stays" % point, w.left())
    return hit


def kills(these):
    w, hit = Works(), set()
    try:
        for point in these:
            if kill_at(w, point):
                hit.add(point)
        w.sound("killed at " + these[0] + " and others")
    finally:
        w.close()
    return hit


def killed(_):
    """One SIGKILL at each point of a Work's life; then the same again, without.  Most of the time somebody waits."""
    every = POINTS + HOSTS + PROVIDERS
    ok(len(POINTS) >= 8, "there are points to be killed at", POINTS)
    with ThreadPoolExecutor(5) as pool:
        hit = set().union(*pool.map(kills, [every[i::5] for i in range(5)]))
    ok(not set(every) - hit, "each point was reached", set(every) - hit)


def killed_own(w):
    for point in ["work:created", "work:recorded", "host:running", "host:finished", "work:saved", "work:save-recorded", "work:removed"]:
        name = "o-" + point.replace(":", "-")
        p = w.turn(COMMIT % ("k", "k"), binding="job", name=name, env={"OPEN_CONDUIT_FAULT": point})
        ok(p.returncode == -signal.SIGKILL, "own, killed at %s" % point, (p.returncode, p.stderr))
        # One that never ran is left alone for a while: somebody could be about to run in it.
        ran = point not in ("work:created", "work:recorded")
        if point == "host:running":
            wait_for(lambda: all(r["state"] in ("exited", "run_lost", "failed") for r in json.loads(w.oc("runs", "list", "--json").stdout)["runs"]), 60)
        if not ran:
            with sqlite3.connect(w.state + "/state.db") as db:
                db.execute("UPDATE works SET created_ms = 0 WHERE state <> 'finished'")
        said = w.oc("work", "list")
        ok(not w.left() and (not ran or "k" in w.messages("refs/heads/agent/" + name) or point == "host:running"),
           "own, killed at %s: the next command finishes it" % point, (said.stdout + said.stderr, w.left()))


def part(name):
    """Each in a world of its own: what one leaves is no other's."""
    w = Works()
    try:
        if name == "life":
            life(w, "job", "acme/web#1")
        elif name == "boxed":
            life(w, "boxed", "issue-1")
        else:
            globals()[name](w)
    finally:
        w.close()


def main():
    every = ["killed", "protected", "boxed", "life", "refusals", "own", "secrets", "busy", "interrupted", "detached", "clones", "conflicts", "lost", "decoy", "branches",
             "killed_own"]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(part, sys.argv[1:] or every))
    finish()


if __name__ == "__main__":
    main()

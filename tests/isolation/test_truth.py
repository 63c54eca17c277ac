# SPDX-License-Identifier: Apache-2.0
"""The truth table under the real srt, by the provider's own settings, without guard and guest: what srt alone makes of
them.  (With guard and guest the battery tries the same from inside.)  Then what the table has no words for: what the
host does to denied names while a run lives, links, unix sockets, the read-only parts of a clone."""
import json, os, shutil, subprocess, sys, threading, time
from provider import Provider, launch, make_live
from world import BUILD, HERE, SRT, World, finish, ok, put, skip

RUN = "abcdefgh1"
BASH = "#!/bin/bash\n"


class Bench:
    """One home, one run, one plan."""

    def __init__(self):
        self.w = World(clone=False)
        self.home, self.ws = self.w.root + "/h", self.w.root + "/ws"
        self.state = self.home + "/.local/state/oc"
        self.live = self.state + "/live/" + RUN
        os.makedirs(self.home, 0o700, exist_ok=True)
        os.makedirs(self.ws, 0o700, exist_ok=True)
        put(self.state + "/state.db", "state")
        make_live(self.live)
        self.guest = put(self.w.root + "/guest", BASH + "exec bash -c \"$OC_DO\"\n", 0o755)

    def real(self, path):
        return path.replace("{workspace}", self.ws).replace("~", self.home, 1)

    def resolve(self, policy, *more, ask=()):
        p = subprocess.run([BUILD + "/tests/isolation/resolve", json.dumps(policy), self.home, self.ws, self.live + "/run",
                            self.state, *more], input="".join("%s %s\n" % a for a in ask), capture_output=True, text=True)
        if p.returncode:
            return {"refused": json.loads(p.stderr)}, []
        lines = p.stdout.splitlines()
        return json.loads(lines[0]), [line == "true" for line in lines[1:]]

    def plan(self, resolved, **env):
        provider = Provider(BUILD + "/libexec/providers/open-conduit-provider-srt",
                            {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.home, "OPEN_CONDUIT_SRT": SRT, **env})
        answer = provider.call("plan", {"run": RUN, "resolved": resolved, "guest": self.guest, "live": self.live})
        provider.close()
        return answer

    def do(self, plan, script, during=None):
        return launch(plan, {"OC_DO": script}, during)

    def close(self):
        shutil.rmtree(self.w.root, ignore_errors=True)


def quote(path):
    return "'" + path.replace("'", "'\\''") + "'"


def table():
    rows = json.load(open(os.path.join(HERE, "../unit/vectors/truth_table.json")))["rows"]
    for row in rows:
        b = Bench()
        try:
            one_row(b, row)
        finally:
            b.close()


def one_row(b, row):
    for step in row["setup"]:
        if "file" in step:
            put(b.real(step["file"]), b.real(step["file"]))
        else:
            os.makedirs(os.path.dirname(b.real(step["link"])), exist_ok=True)
            os.symlink(b.real(step["to"]), b.real(step["link"]))
    asked = [(q["op"], b.real(q["path"])) for q in row["questions"]]
    resolved, said = b.resolve(row["policy"], ask=[(op, os.path.realpath(path)) for op, path in asked])
    plan = b.plan(resolved) if "refused" not in resolved else resolved
    if "refused" in plan:
        ok(False, row["name"], plan["refused"])
        return
    script = "".join(("{ cat %s || echo none; } 2>/dev/null; echo\n" if op == "read" else "{ echo mark-%d- >>%%s; } 2>/dev/null; echo w\n" % i)
                     % quote(path) for i, (op, path) in enumerate(asked))
    status, out, err = b.do(plan, script)
    lines = [line for line in out.split("\n") if line]
    ok(status == 0 and len(lines) == len(asked), row["name"] + ": runs", (status, out, err))
    for i, (q, (op, path), line, mine) in enumerate(zip(row["questions"], asked, lines, said)):
        got = line.startswith(os.path.realpath(path)) if op == "read" else "mark-%d-" % i in open(path).read()
        through_link = op == "write" and os.path.realpath(path) != path
        ok(mine == q["allowed"], "%s: %s %s, as explained" % (row["name"], op, q["path"]), mine)
        if through_link and q["allowed"] and not got:
            print("note - %s: writing through the link %s is not possible under srt, at its target it is" % (row["name"], q["path"]))
            continue
        ok(got == q["allowed"], "%s: %s %s is %s" % (row["name"], op, q["path"], "allowed" if q["allowed"] else "denied"), line)
    ok(not os.listdir(b.live + "/cwd") and not os.listdir(b.live + "/t") and not os.listdir(b.live + "/home"),
       row["name"] + ": nothing is left", os.listdir(b.live + "/cwd") + os.listdir(b.live + "/t"))


def host_changes():
    """Denied files that are written anew, and denied names that appear, while a run lives."""
    b = Bench()
    put(b.home + "/.netrc", "first")
    put(b.home + "/vault/own", "seen")
    put(b.home + "/vault/key", "first")
    resolved, _ = b.resolve({"write": ["{workspace}"], "read": {"deny": ["~/vault/key", "~/later/creds"]}})
    plan = b.plan(resolved)
    go, done = b.ws + "/go", b.ws + "/done"

    def during(p):
        deadline = time.time() + 30
        while not os.path.exists(done) and time.time() < deadline and p.poll() is None:
            time.sleep(0.02)
        for name in (b.home + "/.netrc", b.home + "/vault/key", b.home + "/later/creds", b.home + "/.git-credentials"):
            put(name + ".new", "second")
            os.rename(name + ".new", name)
        put(b.home + "/plain", "second")
        put(go)

    names = [b.home + n for n in ("/.netrc", "/vault/key", "/later/creds", "/.git-credentials", "/vault/own")]
    script = ": >%s; while [ ! -e %s ]; do read -t 0.05 <> <(:); done; " % (quote(done), quote(go))
    script += "; ".join("echo \"$(cat %s 2>/dev/null)\"" % quote(n) for n in names)
    status, out, err = b.do(plan, script, during)
    got = out.split("\n")[:5]
    ok(status == 0 and got[:4] == [""] * 4, "denied names written anew or for the first time on the host stay unreadable", (got, err))
    ok(got[4:5] == ["seen"], "control: what lies beside a denied file is readable", (got, err))
    b.close()


def links():
    b = Bench()
    put(b.home + "/.ssh/key", "secret")
    put(b.home + "/.config/gh/hosts.yml", "secret")
    put(b.home + "/open/f", "seen")
    for name, to in (("to", ".ssh"), ("above", ".config"), ("home", "."), ("file", ".ssh/key"), ("fine", "open"), ("root", "/")):
        os.symlink(to if to == "/" else b.home + "/" + to, b.home + "/" + name)
    plan = b.plan(b.resolve({"write": ["{workspace}"]})[0])
    paths = ("/to/key", "/above/gh/hosts.yml", "/home/.ssh/key", "/file", "/root" + b.home + "/.ssh/key", "/fine/f")
    # As the guest does before anything runs: the links that the plan names, made again in the tmpfs.
    again = "".join("ln -s %s %s; " % (quote(l["target"]), quote(l["path"])) for l in plan["guest"]["links"])
    _, out, err = b.do(plan, again + "; ".join("echo \"$(cat %s 2>/dev/null)\"" % quote(b.home + p) for p in paths))
    got = out.split("\n")[:6]
    ok(got[:5] == [""] * 5, "links into and above what is denied lead nowhere", (got, err))
    ok(got[5:6] == ["seen"], "control: another link in the home directory works", (got, err))
    b.close()


def sockets():
    """"unix_sockets": "all": the sockets of /tmp and of a directory that is hidden are gone; a lifted one is there."""
    import socket
    b = Bench()
    shut, lifted = b.home + "/shut", b.home + "/lifted"
    listeners = []
    for directory in (shut, lifted):
        os.makedirs(directory)
        s = socket.socket(socket.AF_UNIX)
        s.bind(directory + "/s")
        s.listen(8)
        listeners.append(s)
    guest = put(b.w.root + "/connect.py", "import socket,sys\nfor p in sys.argv[1:]:\n s=socket.socket(socket.AF_UNIX)\n try:\n  s.connect(p); print('connected')\n except OSError as e: print(e.errno)\n")
    connect = "python3 %s %s %s" % (quote(guest), quote(shut + "/s"), quote(lifted + "/s"))
    tmp = "/tmp/oc-test-%d" % os.getpid()
    put(tmp)
    for mode in ("none", "all"):
        policy = {"write": ["{workspace}"], "unix_sockets": mode}
        if mode == "all":
            policy["sockets"] = [lifted + "/s"]
        else:
            del policy["unix_sockets"]
        resolved, _ = b.resolve(policy)
        if "refused" in resolved:
            ok(False, "sockets " + mode, resolved)
            continue
        plan = b.plan(resolved)
        status, out, err = b.do(plan, connect + "; grep ^Seccomp: /proc/self/status; [ -e %s ] && echo tmp; echo x >%s/f; ls -A /tmp /run | tr '\\n' ' '" % (tmp, b.ws))
        lines = out.split("\n")
        if mode == "none":
            ok("Seccomp:\t2" in lines and "connected" not in lines, "without \"all\" srt's filter is on, and no socket connects", (out, err))
            ok("tmp" in lines, "control: /tmp is the host's without \"all\"", out)
        else:
            ok("Seccomp:\t0" in lines and plan["guest"]["nest"] and plan["guest"]["unix"], "with \"all\" there is no filter, and the guest nests", (out, err))
            ok(lines[:2] == ["2", "connected"], "with \"all\" a hidden socket is not there, and a lifted one connects", (out, err))
            ok("tmp" not in lines, "with \"all\" the host's /tmp is hidden", out)
    os.unlink(tmp)
    b.close()


def clone():
    b = Bench()
    git = lambda *a: subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.test", *a], cwd=b.ws, check=True,
                                    stdout=subprocess.PIPE, env={"PATH": "/usr/bin:/bin", "HOME": b.w.root})
    git("init", "-q", "-b", "main")
    put(b.ws + "/f")
    git("add", "f")
    git("commit", "-q", "-m", "one")
    for name, text in (("objects/info/alternates", ""), ("config.worktree", ""), ("commondir", "../.git\n")):
        put(b.ws + "/.git/" + name, text)
    resolved, _ = b.resolve({"write": ["{workspace}"]}, "clone")
    if "refused" in resolved:
        ok(False, "a clone is resolved", resolved)
        return
    plan = b.plan(resolved)
    tries = ["echo x >>.git/config", "echo x >.git/hooks/post-commit", "mv .git moved", "mv .git/config x", "rm -f .git/commondir",
             "rm -rf .git/hooks", "ln -f f .git/info/exclude", "echo x >>.git/objects/info/alternates", "mv .git/objects x"]
    script = "cd %s; export HOME=$TMPDIR GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@e GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@e; " % quote(b.ws)
    script += "; ".join("{ %s; } 2>/dev/null && echo 'done %s'" % (t, t) for t in tries)
    script += "; echo y >f; git add -A && git commit -qm two && git status --porcelain && git log --oneline | wc -l"
    status, out, err = b.do(plan, script)
    ok("done" not in out, "config, hooks, info and .git itself can't be changed or moved", (out, err))
    ok(status == 0 and out.strip().endswith("2"), "control: git add -A and commit work inside", (status, out, err))
    ok(not git("status", "--porcelain").stdout, "the workspace is clean afterwards")
    b.close()


def network():
    """Which entries of the policy's grammar srt takes: ours that it would refuse are refused before."""
    b = Bench()
    vectors = json.load(open(os.path.join(HERE, "../unit/vectors/allowlist_vectors.json")))
    entries = [v["entry"] for v in vectors["entries"] if v["want"] is not None] + ["intranet", "127.0.0.1:5432", "[::1]:8080"]
    accepted = []
    for entry in entries:
        resolved, _ = b.resolve({"network": {"allow": [entry]}})
        plan = b.plan(resolved) if "refused" not in resolved else resolved
        if entry == "intranet":
            ok(plan.get("refused", {}).get("reason") == "sandbox_config", "a name without a dot is refused: " + entry, plan)
        elif ok("refused" not in plan, "srt is given " + entry, plan.get("refused")):
            accepted += json.loads(plan["launch"]["files"][0]["text"])["network"]["allowedDomains"]
            last = plan
    settings = json.loads(last["launch"]["files"][0]["text"])
    settings["network"]["allowedDomains"] = accepted
    last["launch"]["files"][0]["text"] = json.dumps(settings)
    status, out, err = b.do(last, "echo in")
    ok(status == 0 and out == "in\n", "srt takes all of them: %s" % " ".join(accepted), err)
    settings["network"]["allowedDomains"] = ["intranet"]
    last["launch"]["files"][0]["text"] = json.dumps(settings)
    status, out, err = b.do(last, "echo in")
    ok(status == 1 and "in" not in out, "control: it would not take a name without a dot", (status, out, err))
    b.close()


def refusals():
    b = Bench()
    put(b.ws + "/f")
    resolved, _ = b.resolve({"write": ["{workspace}"], "read": {"deny": ["{workspace}/absent.env"]}})
    plan = b.plan(resolved) if "refused" not in resolved else resolved
    ok(plan.get("refused", {}).get("reason") in ("sandbox_config", "sandbox_denied") and plan["refused"]["fix"], "an absent denied file in a write grant is refused, with a fix", plan)
    put(b.ws + "/d/f")
    for deny in ([b.ws + "/d"], [b.ws + "/d/f"]):
        notes = b.plan(b.resolve({"write": ["{workspace}"], "read": {"deny": deny}})[0])["notes"]
        ok(any(n.startswith(deny[0] + " is denied within") and "is lost" in n for n in notes) == deny[0].endswith("/d"),
           "a denied directory in a write grant is noted as one where writes are lost, a file is not", notes)
    for i in range(2100):
        put(b.home + "/many/%d" % i, "")
    resolved, _ = b.resolve({"write": ["{workspace}"], "read": {"deny": ["~/many/7"]}})
    plan = b.plan(resolved)
    ok(plan.get("refused", {}).get("reason") == "sandbox_config" and "2000" in plan["refused"]["message"], "more than 2,000 entries are refused, with the number", plan)
    resolved, _ = b.resolve({"write": ["{workspace}"], "read": {"deny": ["~/many"]}})
    begin = time.monotonic()
    plan = b.plan(resolved)
    ok("refused" not in plan, "control: the directory itself can be denied", plan)
    b.close()


if __name__ == "__main__":
    if not SRT:
        skip("the truth table under srt", "OC_SRT names no prefix with srt in it")
        sys.exit(0)
    parts = {"table": table, "host_changes": host_changes, "links": links, "sockets": sockets, "clone": clone, "network": network, "refusals": refusals}
    for name in sys.argv[1:] or parts:
        parts[name]()
    finish()

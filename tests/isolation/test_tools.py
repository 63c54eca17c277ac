#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everyday tools do in a sandbox what they do outside, with and without "unix_sockets": "all".  A tool that is not
installed is skipped; one that fails outside too shows nothing and fails the test."""
import os, shutil, subprocess

from world import World, finish, ok, put, skip

# name, the tool that must be there, a shell script that ends with 0 when it worked; "all" where it needs AF_UNIX,
# "clone" where it writes to the repository, which exec leaves read-only
TOOLS = [
    ("sh", "sh", "x=$(printf %s-%s a b) && [ \"$x\" = a-b ]"),
    ("bash with a here document and a pipe", "bash", "bash -c 'cat <<X | tr a-z A-Z\nhere\nX' | grep -qx HERE"),
    ("coreutils", "cp", "mkdir -p d/e && echo x > d/e/f && cp -a d d2 && mv d2/e d2/g && chmod 600 d2/g/f && ln -s f d2/g/l && rm -r d d2"),
    ("mktemp", "mktemp", "f=$(mktemp) && echo x > \"$f\" && rm \"$f\""),
    ("find and xargs", "find", "touch a1 a2 && find . -maxdepth 1 -type f -name 'a?' -print0 | xargs -0 rm && ! [ -e a1 ]"),
    ("sed -i", "sed", "echo one > s && sed -i s/one/two/ s && grep -qx two s && rm s"),
    ("awk", "awk", "[ \"$(printf '1\\n2\\n' | awk '{s+=$1} END {print s}')\" = 3 ]"),
    ("grep -r", "grep", "grep -rq one file"),
    ("sort with a temporary file", "sort", "seq 50000 | sort -S 200k -R | sort -n -S 200k | tail -n 1 | grep -qx 50000"),
    ("tar and gzip", "tar", "tar czf t.tgz file && mkdir u && tar xzf t.tgz -C u && cmp file u/file && rm -r u t.tgz"),
    ("diff and patch", "patch", "cp file p && echo two >> p && (diff -u file p > p.diff; true) && cp file q && patch -s q p.diff && cmp p q && rm p q p.diff"),
    ("git status", "git", "git status --porcelain"),
    ("git add", "git", "echo new > added && git add added && git status --porcelain | grep -q '^A  added'", "clone"),
    ("git commit", "git", "git -c user.name=t -c user.email=t@example.test commit -q -m added && [ \"$(git log --oneline | wc -l)\" -ge 2 ]", "clone"),
    ("git branch, checkout, merge", "git", "git checkout -q -b side && echo s > side && git add side && git -c user.name=t -c user.email=t@e.test commit -q -m s && "
     "git checkout -q main && git -c user.name=t -c user.email=t@e.test merge -q --no-ff -m m side && git branch -q -d side", "clone"),
    ("git stash and rebase", "git", "echo d >> file && git -c user.name=t -c user.email=t@e.test stash -q && git -c user.name=t -c user.email=t@e.test rebase -q HEAD~1 && "
     "git -c user.name=t -c user.email=t@e.test stash pop -q && git checkout -q file", "clone"),
    ("git clone of the workspace", "git", "git clone -q . copy && rm -rf copy"),
    ("git fsck", "git", "git fsck --no-dangling"),
    ("git gc", "git", "git gc -q", "clone"),
    ("git log, diff and show", "git", "git log --oneline | grep -q one && git diff --quiet HEAD -- file && git show --stat | grep -q file"),
    ("node", "node", "node -e 'require(\"fs\").writeFileSync(\"n\", \"x\")' && rm n"),
    ("node with a child process and a worker", "node", "node -e 'const c = require(\"child_process\"); if (c.execSync(\"echo hi\") != \"hi\\n\") process.exit(1); "
     "const {Worker} = require(\"worker_threads\"); new Worker(\"process.exit(0)\", {eval: true}).on(\"exit\", e => process.exit(e))'"),
    ("npm --version", "npm", "npm --version"),
    ("python3", "python3", "python3 -c 'import json, tempfile; f = tempfile.NamedTemporaryFile(); f.write(b\"x\")'"),
    ("python3 with multiprocessing", "python3", "python3 -c '\nimport multiprocessing as m\nwith m.Pool(2) as p: assert p.map(abs, [-1, -2]) == [1, 2]'"),
    ("python3 with threads and a local server", "python3", "python3 -c '\nimport http.server, threading, urllib.request\n"
     "s = http.server.HTTPServer((\"127.0.0.1\", 0), http.server.SimpleHTTPRequestHandler)\nthreading.Thread(target=s.serve_forever, daemon=True).start()\n"
     "o = urllib.request.build_opener(urllib.request.ProxyHandler({}))\nassert b\"one\" in o.open(\"http://127.0.0.1:%d/file\" % s.server_port).read()'"),
    ("python3 -m venv", "python3", "python3 -c 'import ensurepip' 2>/dev/null || exit 0; python3 -m venv --without-pip v && v/bin/python -c 'import sys; assert sys.prefix.endswith(\"/v\")' && rm -r v"),
    ("sqlite by python3", "python3", "python3 -c 'import sqlite3; c = sqlite3.connect(\"x.db\"); c.execute(\"pragma journal_mode=wal\"); c.execute(\"create table t(a)\"); c.commit()' && rm x.db*"),
    ("perl", "perl", "perl -e 'open(my $f, \">\", \"pl\") or die; print $f 1; close $f; unlink \"pl\"'"),
    ("gcc", "gcc", "printf 'int main(void) { return 7; }' > c.c && gcc -o c.out c.c && { ./c.out; [ $? = 7 ]; } && rm c.c c.out"),
    ("gdb's ptrace of a child", "strace", "strace -f -o tr true && rm tr"),
    ("make -j", "make", "printf 'all: a b\\na b:\\n\\ttouch $@\\n' > M && make -s -j2 -f M && rm a b M"),
    ("cmake", "cmake", "cmake --version"),
    ("curl to a local server", "curl", "curl --version"),
    ("ps and kill", "ps", "sleep 100 & ps -o pid= -p $! && kill $! && ! wait $!"),
    ("flock and timeout", "flock", "flock lockfile timeout 5 true && rm lockfile"),
    ("script with a terminal", "script", "script -qec 'tty' /dev/null | grep -q pts"),
    ("tmux", "tmux", "tmux -S \"$TMPDIR/t.sock\" -f /dev/null new-session -d -s x 'sleep 5' && tmux -S \"$TMPDIR/t.sock\" ls | grep -q ^x && tmux -S \"$TMPDIR/t.sock\" kill-server", "all"),
    ("ssh-agent", "ssh-agent", "eval $(ssh-agent -a \"$TMPDIR/a.sock\") && { ssh-add -l || [ $? = 1 ]; } && ssh-agent -k", "all"),
    ("python3 with a unix socket of its own", "python3", "python3 -c '\nimport os, socket\np = os.environ[\"TMPDIR\"] + \"/s\"\na = socket.socket(socket.AF_UNIX); a.bind(p); a.listen()\n"
     "b = socket.socket(socket.AF_UNIX); b.connect(p)'", "all"),
]
MARK = "\001 "


def script(tools):
    """One run does them all: the tools are under test here, not the start."""
    return "\n".join("( set -e; %s\n) >out.%d 2>&1 </dev/null; echo '%s'%d $?" % (t[2], i, MARK, i) for i, t in enumerate(tools))


def results(text):
    return {int(l.split()[1]): int(l.split()[2]) for l in text.splitlines() if l.startswith(MARK)}


def said(w, i):
    path = w.ws + "/out.%d" % i
    return open(path, errors="replace").read()[-600:] if os.path.exists(path) else ""


def run(mode, how):
    w = World()
    there = [t for t in TOOLS if shutil.which(t[1], path=w.env["PATH"])]
    tools = [t for t in there if len(t) == 3 or (mode if t[3] == "all" else how) in (t[3], "outside")]
    title = "unix_sockets %s, %s" % (mode, how)
    for t in TOOLS:
        if t not in there and mode == "all" and how == "outside":
            skip(t[0], t[1] + " is not installed")
    policy = w.policy(**({"unix_sockets": "all"} if mode == "all" else {}))
    if how == "outside":
        tmp = w.root + "/tmp"
        os.makedirs(tmp)
        p = subprocess.run(["/bin/sh", "-c", script(tools)], cwd=w.ws, env={**w.env, "TMPDIR": tmp}, capture_output=True, text=True, timeout=300)
        text, more = p.stdout, p.stderr
    elif how == "exec":
        p = w.oc("exec", "--policy", policy, "--", "/bin/sh", "-c", script(tools), timeout=300)
        text, more = p.stdout, p.stderr
    else:
        _, record = w.steps(policy, "never", "true", ["/bin/sh", "-c", script(tools)], timeout=300)
        text, more = w.printed, str(record)
    got = results(text)
    ok(len(got) == len(tools), "%s: every tool was tried" % title, "%d of %d; %s" % (len(got), len(tools), more))
    for i, t in enumerate(tools):
        if i in got:
            ok(got[i] == 0, "%s: %s works" % (title, t[0]), "status %d: %s" % (got[i], said(w, i)))
    w.close()


def main():
    run("all", "outside")  # the control: a tool that is broken here would show nothing inside
    for mode, how in (("none", "exec"), ("none", "clone"), ("all", "clone")):
        run(mode, how)
    finish()


main()

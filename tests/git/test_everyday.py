# SPDX-License-Identifier: Apache-2.0
"""What people and agents type every day, in a workspace inside a run under the real srt, against a real server over HTTP.
Where a command can't do what it says, as the repository's configuration is read-only, it says so in git's own words."""
import http.server, os, subprocess, threading

from gitworld import BUILD, GitWorld, finish, ok, skip

SRT = os.environ.get("OC_SRT", "")
world = GitWorld()
git = world.git

# name, script, expected status, what it prints of it (or None)
COMMANDS = [
    ("status", "git status --porcelain", 0, ""),
    ("log", "git log --oneline -3", 0, None),
    ("diff", "echo more >>one && git diff --stat", 0, "one"),
    ("add, commit", "git add -A && git commit -q -m more", 0, None),
    ("commit --amend", "git commit -q --amend -m better", 0, None),
    ("commit -a", "echo x >>one && git commit -q -am x", 0, None),
    ("show, blame, grep", "git show --stat HEAD && git blame one && git grep -n x", 0, "x"),
    ("mv, rm", "git mv one uno && git rm -q --cached dir/two && git reset -q --hard", 0, None),
    ("branch, switch", "git branch topic && git switch -q topic && git switch -q -", 0, None),
    ("checkout -b", "git checkout -q -b side && echo s >side && git add side && git commit -q -m side && git checkout -q -", 0, None),
    ("merge", "git merge -q --no-ff -m merged side", 0, None),
    ("cherry-pick, revert", "git revert --no-edit -m 1 HEAD && git cherry-pick side", 0, None),
    ("rebase", "git checkout -q topic && echo t >topic && git add topic && git commit -q -m topic && git rebase -q - && git checkout -q -", 0, None),
    ("branch -d", "git branch -q -D topic side", 0, None),
    ("stash", "echo stashed >>one && git stash -q && git stash pop -q && git checkout -q -- one", 0, None),
    ("stash -u", "echo new >new && git stash -q -u && git stash drop -q", 0, None),
    ("tag, describe", "git tag -a -m v9 v9 && git describe", 0, "v9"),
    ("reflog, rev-parse", "git reflog -3 && git rev-parse --show-toplevel --git-common-dir --abbrev-ref HEAD", 0, "open-conduit/"),
    ("fetch", "git fetch -q origin && git fetch -q --all --prune --tags", 0, None),
    ("pull", "git pull -q --rebase origin main", 0, None),
    ("push", "git push -q", 0, None),
    ("push -u", "git push -u origin HEAD", 0, "config"),
    ("push of a tag", "git push -q origin v9", 0, None),
    ("pull of one's own branch", "git pull -q --ff-only", 0, None),
    ("gc, repack, prune, fsck", "git gc -q --prune=now && git repack -q -a -d && git prune && git fsck --strict --no-dangling", 0, None),
    ("commit with rerere and automatic gc", "git -c rerere.enabled=true -c gc.auto=1 commit -q --allow-empty -m rerere && sleep 1", 0, None),
    ("clean, restore", "echo y >junk && echo z >>one && git clean -fdq && git restore one && git status --porcelain", 0, ""),
    ("format-patch, am", "echo p >patched && git add patched && git commit -q -m patched && git format-patch -q -1 -o .p HEAD && git reset -q --hard HEAD~1 && git am -q .p/* && rm -r .p", 0, None),
    ("archive, bundle", "git archive HEAD | tar -t >/dev/null && git bundle create -q .b HEAD && git bundle verify -q .b && rm .b", 0, None),
    ("bisect", "git bisect start HEAD HEAD~3 && git bisect run true && git bisect reset", 0, None),
    ("notes", "git notes add -m note && git notes show", 0, "note"),
    ("submodule update --init", "git submodule update --init --recursive", 0, None),
    ("clone of the workspace", "git clone -q . .again && git -C .again log --oneline -1 && rm -rf .again", 0, None),
    ("ls-remote", "git ls-remote -q --heads origin", 0, "refs/heads/open-conduit/"),
    ("worktree", "git worktree add -q -b wt .wt && git -C .wt status --porcelain && git worktree remove .wt", 0, None),
    ("branch -u", "git branch -u origin/main", 0, "could not write config file"),
    # What has to fail, and how.
    ("config", "git config user.name x", None, "config"),
    ("remote add", "git remote add other https://x.example/y", None, "config"),
    ("a hook", "echo '#!/bin/sh' >.git/hooks/pre-commit", None, "hooks"),
    ("alternates", "echo /x >.git/objects/info/alternates", None, "alternates"),
    ("moving .git", "mv .git .away", None, ".git"),
    ("push to where it must not", "git push -q http://127.0.0.1:1/x HEAD", None, None),
    ("status at the end", "git status --porcelain", 0, ""),
]


class Server(http.server.ThreadingHTTPServer):
    """git http-backend, the way a web server runs it."""

    daemon_threads = True

    def __init__(self, root, env):
        self.root, self.env, self.asked = root, env, []
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            out = b""
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                out += self.rfile.read(size)
                self.rfile.readline()
                if not size:
                    return out
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def handle_one(self):
        path, _, query = self.path.partition("?")
        self.server.asked.append(self.path)
        env = {**self.server.env, "GIT_PROJECT_ROOT": self.server.root, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
               "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""), "REMOTE_USER": "x", "REMOTE_ADDR": "127.0.0.1",
               "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        p = subprocess.run(["git", "http-backend"], input=self.body(), capture_output=True, env=env)
        head, _, body = p.stdout.partition(b"\r\n\r\n")
        fields = [line.split(": ", 1) for line in head.decode().split("\r\n") if line]
        status = next((v for k, v in fields if k == "Status"), "200 OK")
        self.send_response(int(status.split()[0]))
        for key, value in fields:
            if key != "Status":
                self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = handle_one


def script():
    """Each command with its status and what it printed, between marks."""
    parts = ["export GIT_EDITOR=true GIT_PAGER=cat GIT_TERMINAL_PROMPT=0"]
    for i, (_, command, _, _) in enumerate(COMMANDS):
        parts.append("echo '@@ %d'; ( %s ) 2>&1; status=$?; echo; echo \"@= $status\"" % (i, command))
    return "\n".join(parts)


def run(checkout, port):
    base = SRT + "/node_modules"
    node = next((base + "/" + d + "/bin" for d in sorted(os.listdir(base)) if d.startswith("node-linux-")), "")
    env = {"PATH": ":".join((base + "/.bin", node, "/usr/local/bin:/usr/bin:/bin")), "HOME": world.home, "LANG": "C.UTF-8",
           "OPEN_CONDUIT_LIBEXEC": BUILD + "/libexec"}
    return subprocess.run([BUILD + "/host/open-conduit", "exec", "--clone", "--allow", "127.0.0.1:%d" % port, "--", "/bin/sh", "-c", script()],
                          cwd=checkout, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)


def main():
    if not os.path.isdir(SRT + "/node_modules"):
        skip("everything", "OC_SRT names no srt")
        finish()
    served = world.root + "/served"
    os.mkdir(served)
    git(world.root, "clone", "-q", "--bare", world.checkout("seed", origin=None), served + "/web.git")
    git(served + "/web.git", "config", "http.receivepack", "true")
    server = Server(served, world.env)
    checkout = world.root + "/checkout"
    git(world.root, "clone", "-q", "http://127.0.0.1:%d/web.git" % server.server_address[1], checkout)
    p = run(checkout, server.server_address[1])
    said = {}
    if not ok(p.returncode == 0, "the run", (p.returncode, p.stdout[-300:], p.stderr[-800:])):
        finish()
    for part in p.stdout.split("@@ ")[1:]:
        number, _, rest = part.partition("\n")
        text, _, status = rest.rpartition("\n@= ")
        said[int(number)] = (status.strip().splitlines()[0] if status.strip() else "?", text)
    for i, (name, _, want, prints) in enumerate(COMMANDS):
        status, text = said.get(i, ("none", ""))
        good = (status == str(want) if want is not None else status not in ("0", "none")) and \
            (prints is None or (prints in text if prints else not text.strip()))
        ok(good, "git, every day: %s%s" % (name, "" if want is not None else " is refused, in words"), (status, text, p.stderr[-600:] if status == "none" else ""))
    tip = git(served + "/web.git", "for-each-ref", "--format=%(refname)", "refs/heads")
    print("note - %d commands; the server has %s" % (len(COMMANDS), tip.split()))
    ok(len(server.asked) > 10, "control: the server was asked", server.asked)
    saved = git(checkout, "for-each-ref", "--format=%(refname)")
    print("note - the checkout has %s" % saved.split())
    p = git(checkout, "fsck", "--strict", "--no-dangling", check=False)
    ok(p.returncode == 0 and git(checkout, "status", "--porcelain") == "", "the checkout is sound, and its files as they were", p.stderr)
    server.shutdown()
    world.close()
    finish()


main()

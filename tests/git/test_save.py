# SPDX-License-Identifier: Apache-2.0
"""Saving a workspace: what an honest agent leaves, in every state that git can be left in."""
import os, random, shutil, subprocess, sys, time, traceback

from gitworld import Refused, finish, ok, skip
from saveworld import OURS, SaveWorld

w = SaveWorld()


def refused(name, wanted, **over):
    try:
        answer = w.save(**over)
    except Refused as r:
        return ok(r.reason == wanted[0] and wanted[1] in (r.message or "") and r.fix, name, (r.reason, r.message, r.fix))
    return ok(False, name, answer)


def life():
    """A Work of three runs, from nothing to its branch."""
    w.start()
    r = w.save()
    ok(r["outcome"] == "unchanged" and r["saved"] == [] and r["tip"] == w.base and not any(k.startswith("refs/open-conduit") for k in w.refs()), "nothing was done: nothing is changed", r)
    before = w.git(w.co, "status", "--porcelain")
    one = w.commit(w.ws, "new", "new\n")
    r = w.save()
    ok(r["outcome"] == "kept" and w.ref(OURS + "head") == one and w.ref("refs/heads/agent/1") is None, "after a run it is under its own name, and the branch is left alone", r)
    ok(r["saved"] == [{"ref": OURS + "head", "commit": one}], "the reply names what was saved", r)
    packs = [f for f in os.listdir(w.co + "/.git/objects/pack") if f.endswith(".pack")]
    ok(len(packs) == 1, "as one pack", packs)
    p = w.git(w.co, "verify-pack", "-v", ".git/objects/pack/" + packs[0])
    ok(sum(len(l.split()) > 3 and len(l.split()[0]) == 40 for l in p.splitlines()) == 3, "of exactly the three objects that are new", p)
    ok(w.save()["outcome"] == "kept" and len([f for f in os.listdir(w.co + "/.git/objects/pack") if f.endswith(".pack")]) == 1, "saved again: no second pack", w.last)
    two = w.commit(w.ws, "dir/more", "more\n")
    r = w.save(final=True)
    ok(r["outcome"] == "moved" and w.ref("refs/heads/agent/1") == two and w.ref(OURS + "head") == two, "at the end it is on the branch", r)
    ok(r["lost"] == [] and r["leftover"] == [], "and nothing is left", r)
    ok(w.git(w.co, "status", "--porcelain") == before and w.git(w.co, "rev-parse", "HEAD") == w.base, "the checkout's files and HEAD are as they were")
    ok(w.git(w.co, "log", "-g", "--format=%gs", OURS + "head").splitlines() == ["save: from the workspace"] * 2, "the reflog tells of both saves")
    ok("save: created" in w.git(w.co, "log", "-g", "--format=%gs", "refs/heads/agent/1"), "and of the branch")
    w.sound("a life")
    ok(not os.path.exists(os.path.dirname(w.ws) + "/quarantine/take.pack"), "the quarantine is empty again")
    modes = {oct(os.stat(w.co + "/.git/objects/pack/" + f).st_mode & 0o777) for f in os.listdir(w.co + "/.git/objects/pack")}
    ok(modes == {"0o444"}, "packs have the mode of git's own", modes)
    w.done()


def manifest(repo):
    """Every blob that the operator could lose: files that are not ignored, the index, all that references and reflogs lead to."""
    ids = w.objects(repo, "--reflog")
    for line in w.git(repo, "ls-files", "-s").splitlines():
        if not line.startswith("160000"):
            ids.add(line.split()[1])
    files = os.fsdecode(w.git(repo, "ls-files", "-z", "-o", "-c", "--exclude-standard", input=b"")).split("\0")
    for f in filter(None, files):
        if os.path.isfile(repo + "/" + f) and not os.path.islink(repo + "/" + f):
            ids.add(w.git(repo, "hash-object", "--no-filters", "--", f))
    return ids


def everything():
    """Branches, tags, a detached HEAD, stashes, an amended commit, staged and unstaged changes."""
    w.start(pack=True)
    w.commit(w.ws, "new", "new\n")
    w.git(w.ws, "checkout", "-q", "-b", "side")
    side = w.commit(w.ws, "side", "side\n")
    w.git(w.ws, "tag", "-a", "-m", "x", "vx")
    w.git(w.ws, "checkout", "-q", "--detach")
    detached = w.commit(w.ws, "detached", "detached\n")
    for i in range(3):
        w.write(w.ws + "/one", "stash %d\n" % i)
        w.git(w.ws, "stash")
    w.git(w.ws, "stash", "drop", "-q", "stash@{1}")
    w.git(w.ws, "checkout", "-q", "agent/1")
    w.commit(w.ws, "gone", "amended away\n")
    w.git(w.ws, "rm", "-q", "gone")
    w.git(w.ws, "commit", "-q", "--amend", "--allow-empty", "-m", "amended")
    w.write(w.ws + "/one", "staged\n")
    w.git(w.ws, "add", "one")
    w.write(w.ws + "/one", "in the file\n")
    w.write(w.ws + "/untracked", "untracked\n")
    w.write(w.ws + "/.gitignore", "*.o\n")
    w.write(w.ws + "/x.o", "ignored\n")
    os.symlink("/etc/passwd", w.ws + "/link")
    w.write(w.ws + "/program", "#!/bin/sh\n", 0o755)
    w.write(w.ws.encode() + b"/\xff\xfe name\n", b"odd name\n")
    ids = manifest(w.ws)
    r = w.save(final=True)
    ok(r["lost"] == [] and r["outcome"] == "moved", "everything is saved", r)
    missing = ids - w.objects()
    ok(not missing, "every object of the manifest is reachable in the checkout", missing)
    ok(w.ref(OURS + "branches/side") == side and detached in w.objects() and w.ref(OURS + "tags/vx") and w.ref(OURS + "stash"), "each under its name", w.refs())
    ok({l["what"] for l in r["leftover"]} == {"refs/stash", "worktree", "index", "reflogs"}, "leftovers by kind", r["leftover"])
    ok(w.git(w.co, "show", OURS + "leftover:one") == "in the file" and w.git(w.co, "show", OURS + "index:one") == "staged", "the file, and what was staged")
    ok(w.git(w.co, "cat-file", "-p", OURS + "leftover:link") == "/etc/passwd", "a link is a link")
    modes = w.git(w.co, "ls-tree", OURS + "leftover", "link", "program", "untracked")
    ok([l.split()[0] for l in modes.splitlines()] == ["120000", "100755", "100644"], "modes", modes)
    ok(w.git(w.co, "rev-parse", OURS + "leftover^") == r["tip"], "on top of the tip")
    ok("x.o" not in w.git(w.co, "ls-tree", "-r", OURS + "leftover"), "what is ignored is not saved")
    w.sound("everything")
    refs = w.refs()
    again = w.save(final=True)
    ok(w.refs() == refs and {l["ref"] for l in again["leftover"]} == {l["ref"] for l in r["leftover"]}, "a second time changes nothing and says the same", again)
    # The control: without the reference that keeps them there are objects that nothing leads to.
    w.git(w.co, "update-ref", "-d", OURS + "reflog")
    w.git(w.co, "update-ref", "-d", OURS + "index")
    ok(ids - w.objects(), "control: without two of the references something is missing")
    w.done()


def conflict(kind):
    w.start()
    w.commit(w.ws, "one", "ours\n")
    w.git(w.ws, "checkout", "-q", "-b", "side", w.base)
    w.commit(w.ws, "one", "theirs\n")
    w.commit(w.ws, "second", "second\n")
    if kind == "rebase":
        w.write(w.ws + "/two-untracked", "autostash leaves me\n")
        w.write(w.ws + "/dir/two", "autostashed\n")
        p = w.git(w.ws, "rebase", "--autostash", "agent/1", check=False)
    else:
        w.git(w.ws, "checkout", "-q", "agent/1")
        p = w.git(w.ws, kind, "side~1" if kind == "cherry-pick" else "side", check=False)
    ok(p.returncode != 0, kind + ": stopped by a conflict", p)
    w.write(w.ws + "/one", "half resolved\n")
    ids = manifest(w.ws)
    if kind == "rebase":
        ids |= w.objects(w.ws, open(w.ws + "/.git/rebase-merge/autostash").read().strip())
    r = w.save(final=True)
    missing = ids - w.objects()
    ok(not missing and r["lost"] == [], kind + ": all sides and the half resolved file are reachable", (missing, r))
    ok("half resolved" in w.git(w.co, "show", OURS + "leftover:one"), kind + ": the file")
    w.sound(kind)
    w.done()


def worktrees():
    w.start()
    w.git(w.ws, "worktree", "add", "-q", "--detach", "beside")
    other = w.ws + "/beside"
    made = w.commit(other, "inside", "inside\n")
    w.write(other + "/one", "staged beside\n")
    w.git(other, "add", "one")
    staged = w.git(other, "hash-object", "one")
    w.write(other + "/one", "in the file beside\n")
    r = w.save(final=True)
    ok(r["lost"] == [] and made in w.objects() and staged in w.objects(), "a worktree that the agent made: its commit and what is staged in it", r)
    ok("in the file beside" in w.git(w.co, "show", OURS + "leftover:beside/one"), "and its files")
    w.sound("worktree")
    w.done()
    w.start()
    w.git(w.ws, "init", "-q", "nested")
    w.commit(w.ws + "/nested", "x", "nested\n")
    r = w.save(final=True)
    ok("nested/.git" in w.lost() and "nested" in w.git(w.co, "show", OURS + "leftover:nested/x"), "a repository of its own: the files are saved, its history is named as lost", r)
    ok(".git" not in w.git(w.co, "ls-tree", "-r", "--name-only", OURS + "leftover").replace(".gitignore", ""), "and nothing of its .git")
    w.sound("nested")
    w.done()


def same_as_git_add(seed):
    """The leftover is the tree that git add -A makes, whatever is ignored: random patterns over random files."""
    rnd = random.Random(seed)
    names = ["a", "b", "ab", "a.o", "b.o", "x", "build", "Build", "doc", "a b", "a*b", "é", "[a]", "!x", "#x", "a\\b", "x~"]
    parts = ["a", "b", "*", "*.o", "?", "build", "doc", "[ab]", "[!a]", "[a-c]*", "**", "x", "!x", "\\!x", "\\#x", "a b", "a\\*b", "é", "[[:alpha:]]", "a**b", "[]a]", "*~"]
    w.start()
    for _ in range(60):
        path = w.ws + "/" + "/".join(rnd.choice(names) for _ in range(rnd.randint(1, 4)))
        try:
            w.write(path, str(rnd.random()))
        except OSError:
            pass
    tracked = [f for f in w.git(w.ws, "ls-files", "-z", "-o").split("\0") if f]
    for f in rnd.sample(tracked, min(6, len(tracked))):
        w.git(w.ws, "add", "-f", "--", f)
    w.git(w.ws, "commit", "-q", "-m", "some")
    folders = [""] + [d for d, _, _ in os.walk(w.ws) if "/.git" not in d]
    for folder in rnd.sample(folders, min(4, len(folders))):
        lines = ["/".join(rnd.choice(parts) for _ in range(rnd.randint(1, 3))) for _ in range(rnd.randint(1, 5))]
        lines = [rnd.choice(["", "", "!", "/"]) + l + rnd.choice(["", "", "/", " ", "\\ "]) for l in lines]
        w.write((folder or w.ws) + "/.gitignore", "\n".join(lines) + rnd.choice(["", "\n", "\r\n"]))
    w.save(final=True)
    w.git(w.ws, "add", "-A")
    wanted = w.git(w.ws, "write-tree")
    got = w.ref(OURS + "leftover^{tree}") or w.ref(OURS + "head^{tree}")
    if wanted != got:
        show = lambda repo, id: set(w.git(repo, "ls-tree", "-r", "--name-only", id).splitlines())
        return show(w.ws, wanted) ^ show(w.co, got), [open(f + "/.gitignore").read() for f in folders if os.path.exists((f or w.ws) + "/.gitignore")]
    w.done()
    return None


def ignored():
    wrong = [(seed, bad) for seed in range(12) for bad in [same_as_git_add(seed)] if bad]
    ok(not wrong, "the leftover is the tree that git add -A makes: 12 random sets of files and patterns", wrong[:2])


def odd_files():
    w.start()
    os.mkfifo(w.ws + "/fifo")
    w.write(w.ws + "/closed", "secret\n", 0)
    with open(w.ws + "/huge", "wb") as f:
        f.truncate(600 << 20)
    os.mkdir(w.ws + "/sub")
    w.write(w.ws + "/sub/.GIT/config", "x")
    w.write(w.ws + "/sub/git~1", "x")
    os.mkdir(w.ws + "/empty")
    deep = w.ws
    for i in range(700):
        deep += "/d"
        os.mkdir(deep)
    w.write(deep + "/x", "deep")
    w.write(w.ws + "/good", "good\n")
    start = time.time()
    r = w.save(final=True)
    ok(r["outcome"] == "unchanged" and w.git(w.co, "show", OURS + "leftover:good") == "good", "what can be saved is", r)
    for what in ("closed", "huge", "sub/.GIT", "sub/git~1", "d/d/d"):
        ok(what in w.lost(), "named as lost: " + what, w.lost())
    ok(any("fifo" in n for n in r["notes"]) and "fifo" not in w.lost(), "a FIFO is worth a note", r["notes"])
    ok(time.time() - start < 60, "and all that in time", time.time() - start)
    w.sound("odd files")
    w.done()


def sparse():
    w.start()
    w.git(w.ws, "-c", "core.sparseCheckout=true", "sparse-checkout", "set", "nowhere", check=False)
    w.git(w.ws, "update-index", "--skip-worktree", "dir/two", check=False)
    if os.path.exists(w.ws + "/dir/two"):
        os.unlink(w.ws + "/dir/two")
    r = w.save(final=True)
    ok(r["leftover"] == [] and r["lost"] == [], "a sparse checkout: what is not there was not deleted", r)
    w.done()
    for version in ("2", "3", "4"):
        w.start()
        for i in range(20):
            w.write(w.ws + "/many/file-%d" % i, "%d\n" % i)
        w.git(w.ws, "add", "-A")
        if version == "3":
            w.write(w.ws + "/intended", "x")
            w.git(w.ws, "add", "-N", "intended")
        w.git(w.ws, "update-index", "--index-version", version)
        for i in range(20):
            w.write(w.ws + "/many/file-%d" % i, "changed\n")
        ids = {l.split()[1] for l in w.git(w.ws, "ls-files", "-s", "many").splitlines()}
        r = w.save(final=True)
        ok(ids <= w.objects() and r["lost"] == [], "an index of version " + version, r)
        w.sound("index version " + version)
        w.done()
    w.start()
    w.git(w.ws, "update-index", "--split-index")
    w.write(w.ws + "/one", "staged in the split half\n")
    w.git(w.ws, "add", "one")
    id = w.git(w.ws, "hash-object", "one")
    w.write(w.ws + "/one", "not staged\n")
    r = w.save(final=True)
    ok(id in w.objects() and r["lost"] == [], "a split index", r)
    w.done()


def branch_of_the_checkout():
    w.start()
    tip = w.commit(w.ws, "new", "new\n")
    w.git(w.co, "branch", "agent/1", w.base)
    ok(w.save(final=True)["outcome"] == "moved" and w.ref("refs/heads/agent/1") == tip, "a branch that is there is fast-forwarded", w.last)
    ahead = w.git(w.co, "commit-tree", "-p", tip, "-m", "human", tip + "^{tree}")
    w.git(w.co, "update-ref", "refs/heads/agent/1", ahead)
    ok(w.save(final=True)["outcome"] == "moved" and w.ref("refs/heads/agent/1") == ahead, "one that has our commits and more stays", w.last)
    human = w.git(w.co, "commit-tree", "-p", w.base, "-m", "human", w.base + "^{tree}")
    w.git(w.co, "update-ref", "refs/heads/agent/1", human)
    w.git(w.co, "pack-refs", "--all")
    ok(w.save(final=True)["outcome"] == "diverged" and w.ref("refs/heads/agent/1") == human and w.ref(OURS + "head") == tip, "moved on both sides: theirs stays, ours is kept", w.last)
    ok(any("agent/1" in n for n in w.last["notes"]), "and the reply says so", w.last["notes"])
    w.sound("branch")
    w.done()

    for how in ("checkout", "worktree", "rebase", "bisect", "unborn"):
        w.start()
        tip = w.commit(w.ws, "new", "new\n")
        if how == "unborn":
            w.git(w.co, "symbolic-ref", "HEAD", "refs/heads/agent/1")
        else:
            w.git(w.co, "branch", "agent/1", w.base)
        if how == "checkout":
            w.git(w.co, "checkout", "-q", "agent/1")
        elif how != "unborn":
            w.git(w.co, "worktree", "add", "-q", w.co + "-tree", "agent/1")
        if how == "rebase":
            w.git(w.co + "-tree", "-c", "sequence.editor=sed -i s/pick/edit/", "rebase", "-q", "-i", "HEAD~1", check=False)
        elif how == "bisect":
            w.git(w.co + "-tree", "bisect", "start", "HEAD", "HEAD~1", check=False)
        if how in ("rebase", "bisect"):
            w.git(w.co + "-tree", "checkout", "-q", "--detach", "HEAD", check=False)
            head = open(w.co + "/.git/worktrees/" + os.listdir(w.co + "/.git/worktrees")[0] + "/HEAD").read()
            ok("ref:" not in head, how + ": HEAD is no longer on the branch", head)
        before = w.ref("refs/heads/agent/1")
        r = w.save(final=True)
        ok(r["outcome"] == "checked_out" and w.ref("refs/heads/agent/1") == before and w.ref(OURS + "head") == tip, "in use (%s): not moved" % how, r)
        shutil.rmtree(w.co + "-tree", ignore_errors=True)
        w.git(w.co, "worktree", "prune")
        w.git(w.co, "checkout", "-q", "main")
        ok(w.save(final=True)["outcome"] == "moved", "control: no longer in use (%s), it is" % how, w.last)
        w.done()


def clashes():
    for packed in (False, True):
        w.start()
        w.commit(w.ws, "new", "new\n")
        w.git(w.co, "branch", "agent")
        if packed:
            w.git(w.co, "pack-refs", "--all")
        r = w.save(final=True)
        ok(r["outcome"] == "kept" and w.ref(OURS + "head") == r["tip"] and w.ref("refs/heads/agent") == w.base and r["notes"], "a branch \"agent\" is in the way" + (", packed" if packed else ""), r)
        w.sound("clash")
        w.done()
    w.start()
    w.commit(w.ws, "new", "new\n")
    w.git(w.co, "branch", "other2")
    w.git(w.co, "symbolic-ref", "refs/heads/agent/1", "refs/heads/other2")
    r = w.save(final=True)
    ok(r["outcome"] == "kept" and w.ref("refs/heads/other2") == w.base, "a symbolic branch is not followed", r)
    w.done()
    # Between two saves a name of ours becomes a folder.
    w.start()
    w.git(w.ws, "checkout", "-q", "-b", "topic")
    a = w.commit(w.ws, "a", "a\n")
    w.save()
    w.git(w.ws, "branch", "-m", "topic", "topic/sub")
    b = w.commit(w.ws, "b", "b\n")
    r = w.save()
    ok({a, b} <= w.objects() and w.ref(OURS + "branches/topic") == a, "a name that was saved as another's folder", (r, w.refs()))
    w.git(w.ws, "checkout", "-q", "agent/1")
    w.git(w.ws, "branch", "-D", "-q", "topic/sub")
    w.save()
    ok({a, b} <= w.objects(), "what is deleted in the workspace stays saved")
    w.sound("folders")
    w.done()


def rewritten():
    w.start()
    first = w.commit(w.ws, "new", "first\n")
    w.save()
    w.git(w.ws, "commit", "-q", "--amend", "-m", "second")
    r = w.save()
    ok(w.ref(OURS + "head") == r["tip"] != first and first in w.objects(), "an amended commit: the earlier one stays reachable", r)
    w.git(w.ws, "reset", "-q", "--hard", w.base)
    r = w.save()
    ok(r["outcome"] == "unchanged" and first in w.objects() and w.ref(OURS + "head") == w.base, "reset to where it began", r)
    w.git(w.ws, "checkout", "-q", "--detach")
    apart = w.commit(w.ws, "apart", "apart\n")
    r = w.save()
    ok(r["outcome"] == "unchanged" and w.ref(OURS + "detached") == apart, "HEAD is on no branch: saved beside the branch", r)
    w.git(w.ws, "branch", "-D", "-q", "agent/1")
    lone = w.commit(w.ws, "lone", "lone\n")
    r = w.save(final=True)
    ok(r["outcome"] == "kept" and w.ref(OURS + "head") == lone and w.ref("refs/heads/agent/1") is None, "the branch is gone: where HEAD is, is saved, no branch is made", r)
    w.done()


def locks():
    w.start()
    tip = w.commit(w.ws, "new", "new\n")
    w.save()
    for lock in ("refs/heads/agent/1.lock", "index.lock", "HEAD.lock"):
        path = w.write(w.co + "/.git/" + lock, "")
        start = time.time()
        refused("held: " + lock, ("workspace_conflict", "lock"), final=True)
        ok(4 < time.time() - start < 30 and os.path.exists(path) and w.ref("refs/heads/agent/1") is None and tip in w.objects(), "waited for, and left alone: " + lock, time.time() - start)
        os.unlink(path)
    path = w.write(w.co + "/.git/refs/heads/agent/1.lock", "")
    waiting = subprocess.Popen(["sh", "-c", "sleep 1; rm \"$0\"", path])
    ok(w.save(final=True)["outcome"] == "moved", "one that goes in time is no hindrance", w.last)
    waiting.wait()
    w.sound("locks")
    w.done()


def environment():
    """Variables of a hook, or of a shell that points git elsewhere."""
    w.start()
    decoy = w.checkout("decoy%d" % w.number)
    before = subprocess.run(["sh", "-c", "find . -type f | sort | xargs sha1sum"], cwd=decoy, capture_output=True).stdout
    tip = w.commit(w.ws, "new", "new\n")
    env = {"GIT_DIR": decoy + "/.git", "GIT_WORK_TREE": decoy, "GIT_INDEX_FILE": decoy + "/.git/index", "GIT_OBJECT_DIRECTORY": decoy + "/.git/objects",
           "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": w.program, "GIT_SSH_COMMAND": w.program,
           "GIT_EXEC_PATH": w.root, "GIT_ASKPASS": w.program, "GIT_COMMON_DIR": decoy + "/.git", "GIT_NAMESPACE": "x"}
    ok(w.save(final=True, env=env)["outcome"] == "moved" and w.ref("refs/heads/agent/1") == tip, "git's variables are not looked at", w.last)
    ok(subprocess.run(["sh", "-c", "find . -type f | sort | xargs sha1sum"], cwd=decoy, capture_output=True).stdout == before, "the decoy is as it was")
    w.sound("environment")
    w.done()


def layouts():
    """A linked worktree as the checkout, a bare one, one that borrows objects, a shallow one."""
    w.start()
    w.git(w.co, "worktree", "add", "-q", "-b", "mine", w.co + "-linked")
    w.co, tip = w.co + "-linked", w.commit(w.ws, "new", "new\n")
    ok(w.save(final=True)["outcome"] == "moved" and w.ref("refs/heads/agent/1") == tip, "the checkout is a linked worktree", w.last)
    w.sound("linked")
    w.done()
    w.start()
    w.git(w.root, "clone", "-q", "--bare", w.co, w.co + ".git")
    w.co = w.co + ".git"
    tip = w.commit(w.ws, "new", "new\n")
    w.git(w.co, "symbolic-ref", "HEAD", "refs/heads/agent/1")
    ok(w.save(final=True)["outcome"] == "moved" and w.ref("refs/heads/agent/1") == tip, "the checkout is bare: its HEAD is not checked out", w.last)
    w.sound("bare")
    w.done()
    w.start()
    w.git(w.root, "clone", "-q", "-s", w.co, w.co + "-borrows")
    w.co = w.co + "-borrows"
    tip = w.commit(w.ws, "new", "new\n")
    ok(w.save(final=True)["outcome"] == "moved" and not os.path.exists(w.co + "/.git/objects/pack/x"), "the checkout borrows its objects", w.last)
    w.sound("borrowing")
    w.done()
    w.start()
    w.commit(w.co, "later", "later\n")
    w.git(w.root, "clone", "-q", "--depth", "1", "file://" + w.co, w.co + "-shallow")
    w.co = w.co + "-shallow"
    head = w.git(w.co, "rev-parse", "HEAD")
    w.git(w.ws, "fetch", "-q", w.co[:-len("-shallow")], "main")
    w.git(w.ws, "reset", "-q", "--hard", head)
    tip = w.commit(w.ws, "new", "new\n")
    ok(w.save(final=True, baseline=head)["outcome"] == "moved" and w.ref("refs/heads/agent/1") == tip, "a shallow checkout gets what is built on what it has", w.last)
    ok(len(w.git(w.co, "rev-list", "agent/1").splitlines()) == 2, "and stays shallow")
    w.sound("shallow")
    w.done()


def pruned():
    """What a gc left behind of an earlier state may not be whole: presence alone is not taken for it."""
    w.start()
    tip = w.commit(w.ws, "kept/file", "content that is pruned\n")
    w.save()
    blob = w.git(w.ws, "rev-parse", "HEAD:kept/file")
    w.git(w.co, "update-ref", "-d", OURS + "head")
    pack = [f for f in os.listdir(w.co + "/.git/objects/pack") if f.endswith(".pack")][0]
    os.rename(w.co + "/.git/objects/pack/" + pack, w.root + "/out.pack")
    os.unlink(w.co + "/.git/objects/pack/" + pack[:-4] + "idx")
    with open(w.root + "/out.pack", "rb") as f:
        w.git(w.co, "unpack-objects", "-q", input=f.read())
    os.unlink(w.co + "/.git/objects/%s/%s" % (blob[:2], blob[2:]))
    ok(w.git(w.co, "cat-file", "-t", tip) == "commit" and w.git(w.co, "cat-file", "-e", blob, check=False).returncode, "control: the commit is there, its file is not")
    ok(w.save(final=True)["outcome"] == "moved" and w.git(w.co, "cat-file", "-p", blob) == "content that is pruned", "what was missing is taken again", w.last)
    w.sound("pruned")
    w.done()


def many():
    w.start()
    tips = []
    for i in range(700):
        commit = w.raw_commit(w.git(w.ws, "rev-parse", "HEAD^{tree}") if not i else tree, [w.base], tail=b"\n%d\n" % i)
        tree = tree if i else w.git(w.ws, "rev-parse", "HEAD^{tree}")
        tips.append(commit)
    w.write(w.ws + "/.git/packed-refs", "".join("%s refs/heads/b%04d\n" % (t, i) for i, t in enumerate(tips)))
    w.set("refs/heads/agent/1", tips[0])
    r = w.save(final=True)
    ok(set(tips) <= w.objects() and w.ref(OURS + "more") and len(w.refs()) < 520 and r["lost"] == [], "of 700 branches 500 get a name, and none is lost", len(w.refs()))
    w.sound("many")
    w.done()


FAULTS = ["save:taken", "save:pack-written", "save:pack-named", "save:installed", "save:locked", "save:ref", "save:refs"]


def killed():
    w.start()
    w.commit(w.ws, "new", "new\n")
    w.git(w.ws, "checkout", "-q", "-b", "side")
    w.commit(w.ws, "side", "side\n")
    w.write(w.ws + "/untracked", "u\n")
    fresh = w.co + "-fresh"
    shutil.copytree(w.co, fresh, symlinks=True)
    w.save(final=True)
    wanted, tree = w.refs(), w.co
    w.co = fresh
    for point in FAULTS:
        shutil.rmtree(w.co)
        shutil.copytree(tree, w.co, symlinks=True)
        for name in [n for n in w.refs() if n.startswith(OURS) or n == "refs/heads/agent/1"]:
            w.git(w.co, "update-ref", "-d", name)
        for f in os.listdir(w.co + "/.git/objects/pack"):
            os.chmod(w.co + "/.git/objects/pack/" + f, 0o600)
            os.unlink(w.co + "/.git/objects/pack/" + f)
        try:
            answer = w.save(final=True, env={"OPEN_CONDUIT_FAULT": point})
        except Refused as r:
            answer = r
        killed = answer is None or isinstance(answer, Refused) and "signal 9" in (answer.message or "")
        if not killed and isinstance(answer, dict):
            skip("killed at " + point, "the build has no kill points (-Dfaults=true)")
            continue
        ok(killed, "killed at " + point, answer)
        p = w.git(w.co, "fsck", "--strict", "--full", check=False)
        ok(p.returncode == 0, "  the checkout is sound", p.stderr)
        again = w.save(final=True)
        ok(again["outcome"] == "moved" and w.refs() == wanted, "  and again is as if nothing had happened", (again, w.refs(), wanted))
        left = [f for d, _, fs in os.walk(w.co + "/.git") for f in fs if f.endswith(".lock") or f.startswith("tmp_")]
        ok(not left, "  nothing is left lying about", left)
        w.sound("  after " + point)
    shutil.rmtree(tree)
    w.done()


def parameters():
    w.start()
    for name, over in (("work", {"work": "../x"}), ("work", {"work": "a/b"}), ("branch", {"branch": "-x"}), ("branch", {"branch": "a..b"}),
                       ("branch", {"branch": "x.lock"}), ("baseline", {"baseline": "HEAD"}), ("dir", {"dir": w.ws + "/../workspace"}),
                       ("quarantine", {"quarantine": w.root + "/nowhere/q"}), ("checkout", {"checkout": w.root + "/nowhere"})):
        try:
            answer = w.save(**over)
        except Refused as r:
            answer = None
            ok(bool(r.reason and r.message), "refused: %s %s" % (name, list(over.values())[0].replace(w.root, "")), r)
        if answer is not None:
            ok(False, "refused: %s" % over, answer)
    os.rename(w.ws + "/.git", w.ws + "/.g2")
    shutil.copytree(w.ws + "/.g2", w.ws + "/.git", symlinks=True)
    refused("another .git in its place", ("workspace_conflict", "not the one"))
    shutil.rmtree(w.ws + "/.git")
    os.symlink(".g2", w.ws + "/.git")
    refused("a link in its place", ("workspace_conflict", "not the one"))
    os.unlink(w.ws + "/.git")
    w.write(w.ws + "/.git", "gitdir: .g2\n")
    refused("a file in its place", ("workspace_conflict", "not the one"))
    os.unlink(w.ws + "/.git")
    os.rename(w.ws + "/.g2", w.ws + "/.git")
    ok(w.save()["outcome"] == "unchanged", "control: with the one that was made it is saved", w.last)
    os.rename(w.ws, w.ws + "-away")
    shutil.copytree(w.ws + "-away", w.ws, symlinks=True)
    refused("another workspace in its place", ("workspace_conflict", "not the folder"))
    w.done()


TESTS = [life, everything, lambda: conflict("merge"), lambda: conflict("rebase"), lambda: conflict("cherry-pick"), worktrees, ignored, odd_files, sparse,
         branch_of_the_checkout, clashes, rewritten, locks, environment, layouts, pruned, many, killed, parameters]
if __name__ == "__main__":
    only = sys.argv[1:]
    for test in TESTS:
        if not only or test.__name__ in only:
            try:
                test()
            except Exception as error:
                ok(False, test.__name__, traceback.format_exc())
    w.close()
    finish()

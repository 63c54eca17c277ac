# SPDX-License-Identifier: Apache-2.0
"""Making a workspace: what is in it and what is not, from where, under which names, and what becomes of it when it fails."""
import json, os, shutil, stat, subprocess, sys, time

from gitworld import GitWorld, Provider, Refused, skip
from making import git, listing, made, ok, refused, run, sound, tree_of, world


def everything(root):
    """All bytes an agent could read: files, and objects as they are."""
    found = b""
    for folder, _, files in os.walk(os.fsencode(root)):
        for name in files:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                found += name + b"\n" + open(path, "rb").read() + b"\n"
    p = subprocess.run(["git", "cat-file", "--batch-all-objects", "--batch", "--unordered"], cwd=root, env=world.env, capture_output=True)
    assert p.returncode == 0, p.stderr
    return found + p.stdout


def plain():
    checkout = world.checkout()
    git(checkout, "tag", "-a", "-m", "of a tag", "v2", "v1")
    git(checkout, "tag", "-a", "-m", "of a file", "blob", "HEAD:one")
    git(checkout, "tag", "tree", "HEAD^{tree}")
    answer = made("an ordinary checkout", checkout)
    dir = world.dir
    ok(answer["origin"] == "https://git.example.test/acme/web.git" and answer["notes"] == [] and answer["branch"] == "agent/1", "its answer", answer)
    ok(git(dir, "config", "--local", "--list").splitlines() == [
        "core.repositoryformatversion=0", "core.filemode=true", "core.bare=false", "core.logallrefupdates=true",
        "repack.updateserverinfo=false", "remote.origin.url=https://git.example.test/acme/web.git", "remote.origin.fetch=+refs/heads/*:refs/remotes/origin/*",
        "branch.agent/1.remote=origin", "branch.agent/1.merge=refs/heads/agent/1", "user.name=Owner", "user.email=owner@example.test"],
       "its configuration, and no more", git(dir, "config", "--local", "--list"))
    refs = git(dir, "for-each-ref", "--format=%(refname) %(*objectname)").splitlines()
    ok([r.split()[0] for r in refs] == ["refs/heads/agent/1", "refs/remotes/origin/main", "refs/remotes/origin/other", "refs/tags/blob",
                                        "refs/tags/light", "refs/tags/tree", "refs/tags/v1", "refs/tags/v2"], "its references", refs)
    ok(git(checkout, "show-ref", "-d", "--tags") == git(dir, "show-ref", "-d", "--tags"), "tags, and what they lead to")
    ok(tree_of(dir) == tree_of(checkout) and open(dir + "/dir/two").read() == "two\n", "its files")
    ok(stat.S_IMODE(os.stat(dir + "/one").st_mode) == 0o644 and stat.S_IMODE(os.stat(dir + "/dir").st_mode) == 0o755, "their modes")
    # The index is git's own: nothing is read again, nothing changes.
    ok(git(dir, "diff-files", "--name-only") == "" and git(dir, "ls-files", "-v") == "H dir/two\nH one", "its index")
    answer = world.create(checkout, author={"name": 'A "B" \\ C <x>\n', "email": "b@example.test"})
    ok(git(world.dir, "config", "user.name") == 'A "B" \\ C x' and git(world.dir, "config", "user.email") == "b@example.test", "another author")


def origins():
    """The branches of the remote as the checkout saw them, its own where the remote has none."""
    upstream = world.root + "/upstream.git"
    git(world.root, "clone", "-q", "--bare", world.checkout("seed", origin=None), upstream)
    checkout = world.root + "/cloned"
    git(world.root, "clone", "-q", upstream, checkout)
    world.commit(checkout, "ahead", "ahead\n")
    git(checkout, "branch", "mine")
    git(checkout, "update-ref", "refs/remotes/elsewhere/x", "HEAD")
    git(checkout, "update-ref", "refs/pull/1/head", "HEAD")
    git(checkout, "branch", "other2/main")
    git(checkout, "update-ref", "refs/remotes/origin/other2", "HEAD~1")
    answer = made("a clone of something", checkout)
    refs = dict(reversed(line.split()) for line in git(world.dir, "show-ref").splitlines())
    ok(refs["refs/remotes/origin/main"] == git(checkout, "rev-parse", "origin/main") and refs["refs/remotes/origin/mine"] == answer["baseline"]
       and refs["refs/remotes/origin/other2"] == git(checkout, "rev-parse", "HEAD~1") and
       not any("elsewhere" in r or "pull" in r or "other2/main" in r for r in refs), "its branches", refs)
    ok(git(world.dir, "symbolic-ref", "refs/remotes/origin/HEAD") == "refs/remotes/origin/main", "the remote's HEAD")
    ok(answer["origin"] == upstream, "an origin that is a path", answer)
    dir = world.dir
    world.commit(dir, "work", "work\n")
    p = git(dir, "push", check=False)
    ok(p.returncode == 0 and git(upstream, "rev-parse", "agent/1") == git(dir, "rev-parse", "HEAD"), "git push, without a word more", p.stderr)
    git(upstream, "update-ref", "refs/heads/agent/1", git(upstream, "commit-tree", "-p", "agent/1", "-m", "theirs", "agent/1^{tree}"))
    ok(git(dir, "pull", "-q", "--ff-only") == "" and git(dir, "log", "-1", "--format=%s") == "theirs", "git pull")
    git(dir, "gc", "-q", "--prune=now")
    ok(git(dir, "fsck", "--strict") == "", "git gc")
    git(checkout, "remote", "rename", "origin", "upstream")
    answer = made("one remote of another name", checkout)
    ok(answer["origin"] == upstream and any('"upstream"' in n for n in answer["notes"]) and
       git(world.dir, "rev-parse", "origin/main") == git(checkout, "rev-parse", "upstream/main"), "it is the origin", answer)
    git(checkout, "remote", "remove", "upstream")
    answer = made("no remote", checkout)
    ok(answer["origin"] is None and "remote" not in git(world.dir, "config", "--local", "--list") and answer["notes"], "there is none then", answer)


CANARY = "c4n4ry-%s-9f8e"


def canaries():
    """What lies in a checkout and is not of its history doesn't come along: by file, and by pack."""
    checkout = world.checkout("private")
    world.write(checkout + "/.gitignore", ".env\n")
    git(checkout, "add", ".gitignore")
    world.commit(checkout, "public", CANARY % "public")
    world.write(checkout + "/.env", CANARY % "ignored")
    world.write(checkout + "/notes.txt", CANARY % "untracked")
    world.write(checkout + "/secret", CANARY % "stashed")
    git(checkout, "add", "secret")
    git(checkout, "stash", "-q")
    world.commit(checkout, "dropped", CANARY % "dropped", CANARY % "message")
    git(checkout, "reset", "-q", "--hard", "HEAD~1")
    world.write(checkout + "/staged", CANARY % "staged")
    git(checkout, "add", "staged")
    git(checkout, "notes", "add", "-m", CANARY % "noted")
    git(checkout, "update-ref", "refs/open-conduit/w/head", git(checkout, "commit-tree", "-m", CANARY % "work", "HEAD^{tree}"))
    git(checkout, "update-ref", "refs/remotes/fork/x", git(checkout, "commit-tree", "-m", CANARY % "fork", "HEAD^{tree}"))
    git(checkout, "update-ref", "refs/original/x", git(checkout, "commit-tree", "-m", CANARY % "original", "HEAD^{tree}"))
    world.write(checkout + "/.git/info/exclude", CANARY % "exclude")
    world.write(checkout + "/.git/FETCH_HEAD", CANARY % "fetched")
    world.write(checkout + "/.git/hooks/" + CANARY % "hook", "x", 0o755)
    hidden = ["ignored", "untracked", "stashed", "dropped", "message", "staged", "noted", "work", "fork", "original", "exclude", "fetched", "hook"]

    def look(title):
        made(title, checkout)
        text = everything(world.dir)
        found = [h for h in hidden if (CANARY % h).encode() in text]
        ok(found == [] and (CANARY % "public").encode() in text, title + ": nothing of it comes along", found)
        whole = everything(checkout)
        missed = [h for h in hidden if (CANARY % h).encode() not in whole]
        ok(missed == [], title + ": control: all of it is in the checkout", missed)

    look("private things, objects as files")
    git(checkout, "repack", "-q", "-a", "-d", "-k", "--window=50", "--depth=50")
    look("private things, packed")
    git(checkout, "prune-packed")
    packs = [p for p in os.listdir(world.dir + "/.git/objects/pack") if p.endswith(".pack")]
    ok(len(packs) == 1, "and packed they stay", packs)
    git(world.dir, "verify-pack", world.dir + "/.git/objects/pack/" + packs[0])


def deltas():
    """A pack that holds more than is wanted: differences to what is left out."""
    checkout = world.root + "/deltas"
    git(world.root, "init", "-q", checkout)
    lines = ["line %d of a file that is long enough for a difference\n" % i for i in range(400)]
    for i in range(60):
        lines[i * 5] = "changed in %d\n" % i
        world.commit(checkout, "grows", "".join(lines) + "x" * i)
    world.commit(checkout, "grows", "".join(lines) + CANARY % "base")
    git(checkout, "branch", "secret-tip")
    git(checkout, "reset", "-q", "--hard", "HEAD~1")
    git(checkout, "update-ref", "refs/keep/secret-tip", "secret-tip")
    git(checkout, "branch", "-q", "-D", "secret-tip")
    for args in (["-f"], ["-f", "--window=100", "--depth=100"]):
        git(checkout, "repack", "-q", "-a", "-d", *args)
        made("differences %s" % args, checkout)
        ok((CANARY % "base").encode() not in everything(world.dir) and (CANARY % "base").encode() in everything(checkout), "without the tip that they are made from")
        ok(git(world.dir, "log", "--format=%H %T") == git(checkout, "log", "--format=%H %T"), "with the whole history")
    git(checkout, "config", "pack.indexVersion", "1")
    git(checkout, "repack", "-q", "-a", "-d", "-f")
    refusal = refused("an index of version 1", "sandbox_workspace", checkout, "version", "repack -a -d")
    git(checkout, "config", "--unset", "pack.indexVersion")
    git(checkout, "repack", "-q", "-a", "-d", "-f")
    # By name of the base instead of its distance; several packs; what else lies there.
    git(checkout, "config", "repack.useDeltaBaseOffset", "false")
    git(checkout, "repack", "-q", "-a", "-d", "-f")
    made("bases by name", checkout)
    ok((CANARY % "base").encode() not in everything(world.dir), "without that tip, too")
    for i in range(3):
        world.commit(checkout, "more%d" % i, "more\n")
        git(checkout, "repack", "-q", "-d")
    git(checkout, "multi-pack-index", "write", "--bitmap", check=False)
    git(checkout, "commit-graph", "write", "--reachable")
    world.write(checkout + "/.git/objects/pack/junk.tmp", "x")
    world.write(checkout + "/.git/objects/pack/pack-lonely.pack", "x")
    os.mkdir(checkout + "/.git/objects/zz")
    made("many packs, their indexes, a graph, litter", checkout)
    ok(not any(n.endswith((".bitmap", ".midx")) or "multi" in n or "junk" in n for n in os.listdir(world.dir + "/.git/objects/pack")) and
       os.listdir(world.dir + "/.git/objects/info") == ["alternates"], "only packs come along")


def secrets():
    token = "t0k3n-5ecret"
    checkout = world.checkout("token", origin=None)
    for key, value in {"remote.origin.url": "short:acme/web", "url.https://x-access-token:%s@github.example/.insteadOf" % token: "short:",
                       "http.https://github.example/.extraheader": "AUTHORIZATION: basic " + token, "remote.origin.pushurl": "https://%s@x.example/y" % token,
                       "remote.second.url": "https://u:%s@y.example/z" % token, "branch.main.description": token, "credential.helper": "store --file=" + token,
                       "alias.x": "!echo " + token}.items():
        git(checkout, "config", "--add", key, value)
    answer = made("tokens in the configuration", checkout)
    ok(answer["origin"] == "https://github.example/acme/web" and token not in json.dumps(answer) and any("credentials" in n for n in answer["notes"]),
       "the origin without them, and said", answer)
    found = [n for n in (os.fsencode(world.dir),) if token.encode() in everything(world.dir)]
    ok(not found and token.encode() in everything(checkout), "no file of the workspace has one; control: the checkout's have")
    git(checkout, "config", "remote.origin.url", "https://user%%3A%s%%40host.example/x" % token)
    answer = world.create(checkout)
    ok(answer["origin"] is None and token not in json.dumps(answer) and token.encode() not in everything(world.dir), "a URL that can't be told: no origin", answer)


def nothing_runs():
    """Programs that the checkout's configuration and files name, and the environment's."""
    checkout = world.checkout("armed")
    fired = world.root + "/fired"
    program = world.write(world.root + "/program", "#!/bin/sh\necho \"$0 $*\" >>%s\ncat\n" % fired, 0o755)
    world.write(checkout + "/.gitattributes", "* filter=x diff=x text=auto ident\n*.crlf eol=crlf\n*.u16 working-tree-encoding=UTF-16\n")
    world.write(checkout + "/a.crlf", "one\ntwo\n$Id$\n")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "attributes")
    for key in ("filter.x.smudge", "filter.x.clean", "filter.x.process", "core.fsmonitor", "core.sshCommand", "core.editor", "core.pager", "core.askPass",
                "gpg.program", "diff.external", "diff.x.textconv", "diff.x.command", "merge.x.driver", "uploadpack.packObjectsHook", "credential.helper"):
        git(checkout, "config", key, program if key != "credential.helper" else "!" + program)
    git(checkout, "config", "filter.x.required", "true")
    git(checkout, "config", "core.hooksPath", world.root + "/hooks")
    for hook in ("post-checkout", "reference-transaction", "pre-commit", "post-index-change", "fsmonitor-watchman"):
        world.write(world.root + "/hooks/" + hook, open(program).read(), 0o755)
        world.write(checkout + "/.git/hooks/" + hook, open(program).read(), 0o755)
    decoy = world.checkout("decoy")
    before = listing(decoy)
    env = {"GIT_DIR": decoy + "/.git", "GIT_WORK_TREE": decoy, "GIT_INDEX_FILE": decoy + "/.git/index", "GIT_OBJECT_DIRECTORY": decoy + "/.git/objects",
           "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": program, "GIT_SSH_COMMAND": program, "GIT_EXEC_PATH": world.root,
           "GIT_ASKPASS": program, "GIT_CONFIG_PARAMETERS": "'core.fsmonitor'='%s'" % program, "GIT_TEMPLATE_DIR": world.root + "/hooks",
           "GIT_ALTERNATE_OBJECT_DIRECTORIES": decoy + "/.git/objects", "GIT_CEILING_DIRECTORIES": "/"}
    answer = world.create(checkout, env=env)
    ok(answer and not os.path.exists(fired), "no program runs", open(fired).read() if os.path.exists(fired) else "")
    ok(listing(decoy) == before and git(world.dir, "log", "--format=%s", "-1") == "attributes", "GIT_* of the environment leads nowhere")
    ok(open(world.dir + "/a.crlf", "rb").read() == b"one\ntwo\n$Id$\n", "files are as they are in the commit, byte for byte")
    git(checkout, "checkout", "-q", "HEAD~1", check=False)
    git(checkout, "status", check=False)
    ok(os.path.exists(fired), "control: in the checkout they run")
    os.unlink(fired)
    sound("with these attributes it is clean", checkout, world.dir)


def contents():
    """What a commit can hold."""
    checkout = world.root + "/contents"
    git(world.root, "init", "-q", checkout)
    raw = os.fsencode(checkout)
    for name in (b"plain", b" space ", b"new\nline", b"\xff\xfe not UTF-8", b"-option", b"quote\"'`$(x)", b"back\\slash", b"tab\t", b"deep/" + b"d/" * 60 + b"x",
                 "größe".encode(), b".gitignore", b".hidden", b"a" * 255):
        os.makedirs(os.path.dirname(raw + b"/" + name), exist_ok=True)
        with open(raw + b"/" + name, "wb") as file:
            file.write(b"content of " + name)
    os.chmod(raw + b"/plain", 0o755)
    os.symlink("/etc/passwd", checkout + "/absolute")
    os.symlink("../../../outside", checkout + "/dangling")
    os.symlink("deep", checkout + "/to-a-folder")
    world.write(checkout + "/empty", "")
    world.write(checkout + "/binary", bytes(range(256)) * 5000)
    git(checkout, "add", "-A", "-f")
    git(checkout, "commit", "-q", "-m", "all")
    made("names, modes, links, bytes", checkout)
    here = {k[len(raw):]: (v[0] & 0o170111, v[3]) for k, v in listing(checkout).items() if not k.startswith(raw + b"/.git/") and not stat.S_ISDIR(v[0])}
    dir = os.fsencode(world.dir)
    there = {k[len(dir):]: (v[0] & 0o170111, v[3]) for k, v in listing(world.dir).items() if not k.startswith(dir + b"/.git/") and not stat.S_ISDIR(v[0])}
    ok(here == there and len(here) == 18, "each as it is in the checkout", set(here.items()) ^ set(there.items()))


def tree(checkout, entries):
    data = b"".join(b"%s %s\0" % (mode, name) + bytes.fromhex(oid) for mode, name, oid in entries)
    return git(checkout, "hash-object", "-w", "-t", "tree", "--literally", "--stdin", input=data, check=False).stdout.decode().strip()


def hostile():
    """Trees that git would not make."""
    checkout = world.checkout("hostile")
    blob = git(checkout, "rev-parse", "HEAD:one")
    sub = git(checkout, "rev-parse", "HEAD:dir")
    link = git(checkout, "hash-object", "-w", "--stdin", input="../../../escaped")
    trees = {
        "a .git folder": [(b"40000", b".git", sub)], "a .git file": [(b"100644", b".git", blob)], "a .GIT folder": [(b"40000", b".GIT", sub)],
        ".git as NTFS has it": [(b"40000", b"git~1", sub)], "a .git with a point": [(b"40000", b".git.", sub)], "a folder ..": [(b"40000", b"..", sub)],
        "a file .": [(b"100644", b".", blob)], "a name with a slash": [(b"100644", b"../escaped/x", blob)], "an absolute name": [(b"100644", b"/tmp/escaped", blob)],
        "no name": [(b"100644", b"", blob)], "a link and a folder of one name": [(b"120000", b"x", link), (b"40000", b"x", sub)],
        "a .git as HFS+ has it": [(b"40000", b".g\xe2\x80\x8cit", sub)],
    }
    for title, entries in trees.items():
        commit = git(checkout, "commit-tree", "-m", title, tree(checkout, entries))
        work = world.work()
        before = listing(world.root)
        refusal, answer = None, None
        try:
            answer = world.create(checkout, dir=work + "/workspace", base=commit)
        except Refused as r:
            refusal = r
        escaped = [k for k in listing(world.root) if k not in before and not k.startswith(os.fsencode(work))]
        hooks = os.path.isdir(work + "/workspace/.git/hooks") and os.listdir(work + "/workspace/.git/hooks")
        ok(not escaped and not hooks and not os.path.exists("/tmp/escaped") and (refusal is None or refusal.reason in ("sandbox_workspace", "workspace_conflict")),
           "a tree with %s: %s" % (title, "refused" if refusal else "made, nothing outside"), (escaped, hooks, answer, refusal))
        ok((refusal is not None) or title in ("a link and a folder of one name", "a .git as HFS+ has it", ".git as NTFS has it", "a .git with a point"),
           "a tree with %s never becomes a working tree" % title, answer)


def who():
    checkout = world.checkout("who")
    world.write(world.home + "/.gitconfig-work", "[user]\n\temail = at-work@example.test\n")
    world.write(world.home + "/.gitconfig", "[user]\n\tname = Owner\n\temail = owner@example.test\n[includeIf \"gitdir:%s/\"]\n\tpath = ~/.gitconfig-work\n" % checkout)
    world.create(checkout)
    ok(git(world.dir, "config", "--local", "user.email") == "at-work@example.test", "a conditional include is followed")
    git(checkout, "config", "user.name", "Local")
    world.create(checkout)
    ok(git(world.dir, "config", "--local", "user.name") == "Local", "the checkout's own comes first")
    git(checkout, "config", "--unset", "user.name")
    world.write(world.home + "/.gitconfig", "[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n")
    refusal = refused("nobody commits", "sandbox_workspace", checkout, "user.name", "config user.name")
    answer = world.create(checkout, author={"name": "Given", "email": "g@example.test"})
    ok(answer and git(world.dir, "config", "--local", "user.name") == "Given", "unless one is given")
    world.write(world.home + "/.gitconfig", "[user]\n\tname = Owner\n\temail = owner@example.test\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n")


def bases():
    checkout = world.checkout("bases")
    first = git(checkout, "rev-parse", "HEAD~1")
    git(checkout, "update-ref", "refs/remotes/origin/topic", first)
    for base in ("other", "refs/heads/other", "heads/other", "light", "refs/tags/light", first, "origin/topic"):
        answer = made("base %s" % base[:20], checkout, base=base)
        ok(answer and answer["baseline"] == first, "base %s: its commit" % base[:20])
    answer = made("base: an annotated tag", checkout, base="v1")
    ok(answer and answer["baseline"] == git(checkout, "rev-parse", "HEAD"), "is its commit")
    made("base HEAD", checkout, base="HEAD")
    for base in ("none", "HEAD~1", "@{u}", "main^{tree}", "--all", "", "a..b", "0" * 40, first[:12], "refs/heads/../heads/main", "/etc/passwd", "x" * 5000,
                 git(checkout, "rev-parse", "HEAD:one"), git(checkout, "rev-parse", "HEAD^{tree}")):
        refused("base %r" % base[:20], "sandbox_workspace", checkout, base=base)


def branches():
    checkout = world.checkout("branches")
    for good in ("agent/issue-7", "x", "größe/ß", "a.b", "a@b", "deep/" * 10 + "x", "fix-#12", "main"):
        made("the branch %s" % good, checkout, branch=good)
    ok(any("checked out" in n for n in world.create(checkout, branch="main")["notes"]), "of one that is checked out it is said")
    for bad in ("", "-x", "--upload-pack=touch /tmp/p", "a..b", "@{u}", "@", "HEAD", "a b", "a\nb", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b", "/a", "a/", "a//b", ".a", "a/.b",
                "a.lock", "a/b.lock/c", "a.", "x" * 300, "1/../../x", "a\x7fb", "a‮b", "a​b", "a;b", "a$(b)", "a`b`", "a'b", 'a"b', "a|b", "a&b", "a<b>"):
        refused("the branch %r" % bad[:30], "sandbox_workspace", checkout, branch=bad)
    git(checkout, "branch", "agent")
    git(checkout, "branch", "team/one/two")
    refused("a folder that is a branch", "sandbox_workspace", checkout, "agent", "branch -m agent agent-old", branch="agent/issue-1")
    refused("a branch that is a folder", "sandbox_workspace", checkout, "team/one", branch="team/one")
    git(checkout, "pack-refs", "--all")
    refused("the same, packed", "sandbox_workspace", checkout, "agent", branch="agent/issue-1")
    git(checkout, "config", "core.ignoreCase", "true")
    git(checkout, "branch", "Agent2")
    refused("a twin where case is ignored", "sandbox_workspace", checkout, "Agent2", branch="aGENT2")
    git(checkout, "config", "core.ignoreCase", "false")
    made("a twin where it isn't", checkout, branch="aGENT2")
    made("a branch that is there, and behind", checkout, branch="other")
    git(checkout, "checkout", "-q", "other")
    world.commit(checkout, "diverged", "x\n")
    git(checkout, "checkout", "-q", "main")
    refusal = refused("a branch that is there, with commits of its own", "workspace_conflict", checkout, "other", "refs/heads/other", branch="other")
    answer = made("begun with it", checkout, branch="other", base="refs/heads/other")
    ok(answer and answer["baseline"] == git(checkout, "rev-parse", "other"), "its commits")


def places():
    checkout = world.checkout("places")
    work = world.work()
    world.write(work + "/workspace/kept", "x")
    refused("a workspace that is there", "workspace_conflict", checkout, "there already", dir=work + "/workspace")
    ok(os.path.exists(work + "/workspace/kept"), "is left as it is")
    shutil.rmtree(work + "/workspace")
    os.symlink(world.root, work + "/workspace")
    refused("a link in its place", "workspace_conflict", checkout, "there already", dir=work + "/workspace")
    os.unlink(work + "/workspace")
    os.makedirs(work + "/workspace.new/.git/objects/x")
    os.chmod(work + "/workspace.new/.git/objects", 0)
    made("what an interrupted create left", checkout, dir=work + "/workspace")
    refusal = world.refused(checkout, dir=world.root + "/works/none/workspace")
    ok(refusal and refusal.reason == "workspace_conflict" and not os.path.exists(world.root + "/works/none"), "no directory of the Work", refusal)
    made("a workspace to be a checkout", checkout)
    refused("another Work's workspace as a checkout", "sandbox_workspace", world.dir, "never opened")
    other = "/dev/shm"
    if os.path.isdir(other) and os.access(other, os.W_OK) and os.stat(other).st_dev != os.stat(world.root).st_dev:
        far = GitWorld(other)
        shutil.copytree(checkout, far.root + "/checkout", symlinks=True)
        made("a checkout on another file system", far.root + "/checkout")
        work = far.work()
        answer = world.create(checkout, dir=work + "/workspace")
        sound("a workspace on another file system", checkout, work + "/workspace", None, answer)
        far.close()
    else:
        skip("another file system", "/dev/shm is none")


def no_space():
    """A full disk: refused, nothing left, and later it works."""
    checkout = world.checkout("no-space")
    world.commit(checkout, "large", os.urandom(3 << 20))
    work = world.work()
    for size in (100 << 10, 4 << 20, 6 << 20):
        argv = ["bwrap", "--dev-bind", "/", "/", "--size", str(size), "--tmpfs", work, "--chmod", "0700", work, "--", sys.executable, "-c",
                "import sys; sys.path.insert(0, %r); import gitworld, json, os\n"
                "p = gitworld.Provider(%r)\n"
                "try: print(json.dumps(p.ask('create', checkout=%r, dir=%r, branch='b', base=None, author=None)))\n"
                "except gitworld.Refused as r: print('refused', r.reason, '|', r.message, '|', r.fix)\n"
                "print(os.listdir(%r))" % (os.path.dirname(os.path.abspath(__file__)), world.env, checkout, work + "/workspace", work)]
        p = subprocess.run(argv, capture_output=True, text=True, env={**world.env, "OC_BUILD": os.environ["OC_BUILD"]})
        if p.returncode:
            skip("a disk of %d KiB" % (size >> 10), "bwrap makes no small file system here: " + p.stderr[:200])
            continue
        lines = p.stdout.strip().splitlines()
        ok(lines[0].startswith(("refused workspace_conflict", "refused sandbox_workspace")) and lines[1] == "[]" and "space" in lines[0],
           "a disk of %d KiB: refused, nothing left" % (size >> 10), p.stdout)
    made("control: with space", checkout, dir=work + "/workspace")


def killed():
    checkout = world.checkout("killed")
    git(checkout, "repack", "-q", "-a", "-d")
    for point in ("begun", "layout", "objects", "files", "built", "renamed"):
        work = world.work()
        dir = work + "/workspace"
        try:
            answer = world.create(checkout, dir=dir, env={"OPEN_CONDUIT_FAULT": "git:" + point})
            died = answer is None
        except Refused as refusal:  # it was its step
            died = refusal.reason == "provider_failed" and "signal 9" in refusal.message
        there = os.path.exists(dir)
        ok(died and there == (point == "renamed"), "killed at %s" % point, os.listdir(work))
        if there:
            sound("killed at %s: it is whole" % point, checkout, dir)
            st = os.stat(dir)
            ok(world.ask("remove", dir=dir, root={"dev": st.st_dev, "ino": st.st_ino}) == {}, "killed at %s: removed, as a host does" % point)
        made("killed at %s: again" % point, checkout, dir=dir)


def many():
    checkout = world.checkout("many")
    head = git(checkout, "rev-parse", "HEAD")
    git(checkout, "pack-refs", "--all")
    with open(checkout + "/.git/packed-refs", "a") as file:  # not sorted, and git reads it so when nothing says that it is
        file.writelines("%s refs/heads/team/%d/x\n%s refs/tags/t%d\n" % (head, i, head, i) for i in range(10000))
    packed = open(checkout + "/.git/packed-refs").read().splitlines()
    world.write(checkout + "/.git/packed-refs", "\n".join(line for line in packed if line[0] not in "#^") + "\n")
    began = time.monotonic()
    world.create(checkout)
    print("note - with 20,000 references it took %.1f s" % (time.monotonic() - began))
    made("20,000 references", checkout)
    ok(len(git(world.dir, "show-ref").splitlines()) > 20000, "all of them")
    chain = "".join("commit refs/heads/long\ncommitter a <a@b> %d +0000\ndata 1\nx\nM 100644 inline f%d\ndata 2\n%d\n" % (i + 1, i % 50, i % 10) for i in range(1000))
    git(checkout, "fast-import", "--quiet", "--force", input=chain)
    made("1,000 commits", checkout, base="long", branch="b")


def bad_parameters():
    provider = Provider(world.env)
    good = {"checkout": "/x", "dir": "/x/y", "branch": "b", "base": None, "author": None}
    for name, value in (("checkout", None), ("checkout", 1), ("dir", "relative"), ("dir", "/"), ("base", 1), ("author", "x"), ("author", {"name": "x"}), ("more", 1)):
        try:
            provider.ask("create", **{**good, name: value})
            ok(False, "%s=%r" % (name, value))
        except Refused as refusal:
            ok(refusal.reason == "provider_failed", "%s=%r is refused" % (name, value), refusal)
    ok(provider.end() == 0, "and it goes on to the end")


run([plain, origins, canaries, deltas, secrets, nothing_runs, contents, hostile, who, bases, branches, places, no_space, killed, many, bad_parameters])

# SPDX-License-Identifier: Apache-2.0
"""Every kind of checkout: cloned whole, or refused by name with the command that mends it, which is then run."""
import os, shutil

from making import git, made, ok, paste, refused, run, world


def kinds():
    origin = world.checkout("origin", origin=None)
    checkout = world.root + "/main"
    git(world.root, "clone", "-q", origin, checkout)

    git(checkout, "worktree", "add", "-q", "-b", "linked", world.root + "/linked")
    world.commit(world.root + "/linked", "in-linked", "x\n")
    answer = made("a linked worktree", world.root + "/linked")
    ok(answer and answer["baseline"] == git(world.root + "/linked", "rev-parse", "HEAD"), "its own HEAD")
    answer = made("the checkout that has one", checkout)
    ok(answer and answer["baseline"] == git(checkout, "rev-parse", "HEAD"), "that one's HEAD")
    shutil.move(world.root + "/linked", world.root + "/moved")
    shutil.move(checkout, checkout + "-moved")
    refused("a linked worktree whose repository is gone", "sandbox_workspace", world.root + "/moved", "leads nowhere", "worktree repair")
    shutil.move(checkout + "-moved", checkout)

    bare = world.root + "/bare.git"
    git(world.root, "clone", "-q", "--bare", origin, bare)
    made("a bare repository", bare)
    separate = world.root + "/separate"
    git(world.root, "clone", "-q", "--separate-git-dir", world.root + "/separate-dir", origin, separate)
    made("a separate git directory", separate)
    os.rename(separate + "/.git", separate + "/.git-file")
    os.symlink(world.root + "/separate-dir", separate + "/.git")
    made("a .git that is a link", separate)
    os.symlink(checkout, world.root + "/a-link")
    made("a checkout by a link", world.root + "/a-link", look=checkout)

    refusal = refused("a folder in a checkout", "sandbox_workspace", checkout + "/dir", "not the top", checkout)
    refused("no repository", "sandbox_workspace", world.home, "not a git repository")
    refused("nothing there", "sandbox_workspace", world.root + "/nothing", "not there")
    refused("a file", "sandbox_workspace", checkout + "/one", "no directory")
    refused("a relative path", "sandbox_workspace", "checkout", "absolute")

    odd = world.root + "/odd name\nand 'more'"
    git(world.root, "clone", "-q", origin, odd)
    made("a path with a space, a line end and quotes", odd)
    work = world.work() + "/s p\na'ce"
    os.mkdir(work, 0o700)
    made("a workspace of such a path", checkout, dir=work + "/workspace")

    git(checkout, "checkout", "-q", "--detach")
    world.commit(checkout, "detached", "x\n")
    answer = made("a detached HEAD", checkout)
    ok(answer and answer["baseline"] == git(checkout, "rev-parse", "HEAD"), "its commit")
    git(checkout, "checkout", "-q", "main")

    empty = world.root + "/empty"
    git(world.root, "init", "-q", empty)
    refusal = refused("an empty repository", "sandbox_workspace", empty, "no commit", "commit --allow-empty")
    ok(refusal and paste(refusal).returncode == 0 and made("as its fix mends it", empty), "the fix does")
    git(checkout, "checkout", "-q", "--orphan", "unborn")
    refused("an unborn HEAD", "sandbox_workspace", checkout, "refs/heads/unborn", "commit")
    made("an unborn HEAD, but a base", checkout, base="main")
    git(checkout, "checkout", "-q", "-f", "main")

    git(checkout, "config", "extensions.worktreeConfig", "true")
    git(checkout, "sparse-checkout", "set", "dir")
    git(checkout, "config", "--worktree", "core.hooksPath", "/nowhere")
    made("a sparse checkout, with a configuration of the worktree", checkout)
    ok(os.path.exists(world.dir + "/one") and "hookspath" not in git(world.dir, "config", "--list"), "the workspace has all files, and nothing of that")
    git(checkout, "sparse-checkout", "disable")

    world.write(checkout + "/.git/info/grafts", git(checkout, "rev-parse", "HEAD~1") + "\n")
    git(checkout, "replace", "HEAD", "HEAD~1")
    answer = made("replaced and grafted history", checkout)
    ok(answer and git(world.dir, "for-each-ref", "refs/replace") == "" and open(world.dir + "/dir/two").read() == "two\n", "as it really is")
    git(checkout, "replace", "-d", git(checkout, "rev-parse", "HEAD"))
    os.unlink(checkout + "/.git/info/grafts")


def borrowing():
    lender = world.checkout("lender")
    borrower = world.root + "/borrower"
    git(world.root, "clone", "-q", "--shared", lender, borrower)
    world.commit(borrower, "own", "own\n")
    second = world.root + "/second"
    git(world.root, "clone", "-q", "--shared", borrower, second)
    world.write(second + "/.git/objects/info/alternates", "# a comment\n\n\"%s\"\n../../../lender/.git/objects\n" % (borrower + "/.git/objects"))
    answer = made("a checkout that borrows objects from one that borrows", second)
    shutil.move(lender, lender + "-away")
    shutil.move(borrower, borrower + "-away")
    ok(answer and git(world.dir, "fsck", "--strict") == "" and git(world.dir, "log", "--format=%s") == "own\ndir/two\none", "the workspace doesn't")
    refused("a lender that is gone", "sandbox_workspace", second, "borrows objects", "repack -a -d")
    shutil.move(lender + "-away", lender)
    shutil.move(borrower + "-away", borrower)
    world.write(lender + "/.git/objects/info/alternates", second + "/.git/objects\n")
    made("lenders in a circle", second)


def modules():
    inner = world.checkout("inner")
    outer = world.checkout("outer")
    git(outer, "submodule", "-q", "add", inner, "sub")
    git(outer, "commit", "-q", "-m", "submodule")
    answer = made("a checkout with a submodule", outer)
    ok(answer and os.listdir(world.dir + "/sub") == [] and any("submodules" in n for n in answer["notes"]), "an empty directory, and said", answer)
    answer = made("a submodule", outer + "/sub", look=outer)
    ok(answer and git(world.dir, "log", "--format=%s") == "dir/two\none", "has its own history")
    git(outer, "worktree", "add", "-q", world.root + "/outer-linked")
    made("a linked worktree of one with a submodule", world.root + "/outer-linked")
    lfs = world.checkout("lfs")
    world.commit(lfs, ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 12345\n" % ("ab" * 32)
    world.commit(lfs, "large.bin", pointer)
    git(lfs, "config", "filter.lfs.smudge", "false")
    git(lfs, "config", "filter.lfs.required", "true")
    answer = made("LFS", lfs)
    ok(answer and open(world.dir + "/large.bin").read() == pointer and any("LFS" in n for n in answer["notes"]), "pointers, and said", answer)


def incomplete():
    origin = world.checkout("full", origin=None)
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(origin, "config", "uploadpack.allowAnySHA1InWant", "true")
    for i in range(5):
        world.commit(origin, "f%d" % i, "f%d\n" % i)
    git(origin, "checkout", "-q", "other")
    for i in range(3):
        world.commit(origin, "on-other%d" % i, "x\n")
    git(origin, "checkout", "-q", "main")

    shallow = world.root + "/shallow"
    git(world.root, "clone", "-q", "--depth", "2", "--no-single-branch", "file://" + origin, shallow)
    refusal = refused("a shallow clone", "sandbox_workspace", shallow, "shallow", "fetch --unshallow")
    ok(refusal and paste(refusal).returncode == 0 and made("as its fix mends it", shallow), "the fix does", refusal and paste(refusal).stderr)
    some = world.root + "/some-shallow"
    git(world.root, "clone", "-q", "--single-branch", "file://" + origin, some)
    git(some, "fetch", "-q", "--depth", "1", "origin", "other:refs/remotes/origin/other")
    # Git then thinks all of it shallow where histories meet; what is needed is all there.
    answer = made("shallow, but not where the branch is", some)
    ok(answer and "refs/remotes/origin/other" not in git(world.dir, "show-ref") and any("left out" in n for n in answer["notes"]), "that one is left out, and said", answer)

    partial = world.root + "/partial"
    git(world.root, "clone", "-q", "--filter=blob:none", "--no-checkout", "file://" + origin, partial)
    refusal = refused("a partial clone", "sandbox_workspace", partial, "partial clone", "--refetch")
    done = paste(refusal) if refusal else None
    ok(done and done.returncode == 0 and made("as its fix mends it", partial), "the fix does", done and done.stderr)

    broken = world.checkout("broken")
    two = git(broken, "rev-parse", "HEAD:dir/two")
    other = open("%s/.git/objects/%s/%s" % (broken, two[:2], two[2:]), "rb").read()
    damages = {"cut off": lambda data: data[:len(data) // 2], "cut off at its end": lambda data: data[:-1], "empty": lambda data: b"",
               "junk": lambda data: b"x" * len(data), "another object": lambda data: other, "changed": lambda data: data[:12] + bytes([data[12] ^ 1]) + data[13:]}
    for what in ("HEAD:one", "HEAD^{tree}", "HEAD:dir", "HEAD~1"):
        oid = git(broken, "rev-parse", what)
        path = "%s/.git/objects/%s/%s" % (broken, oid[:2], oid[2:])
        os.rename(path, path + ".away")
        refused("missing: " + what, "sandbox_workspace", broken, (oid, "missing"), "fsck")
        for name, damage in damages.items():
            world.write(path, damage(open(path + ".away", "rb").read()))
            refused("%s: %s" % (name, what), "sandbox_workspace", broken)
            os.unlink(path)
        os.rename(path + ".away", path)
    made("control: mended", broken)
    git(broken, "repack", "-q", "-a", "-d")
    pack = [broken + "/.git/objects/pack/" + n for n in os.listdir(broken + "/.git/objects/pack") if n.endswith(".pack")][0]
    good = open(pack, "rb").read()
    for name, bad in {"cut off": good[:-30], "of another count": good[:8] + b"\0\0\0\1" + good[12:], "no pack": b"JUNK" + good[4:],
                      "changed": good[:200] + bytes(b ^ 0x55 for b in good[200:400]) + good[400:]}.items():
        os.unlink(pack)
        world.write(pack, bad)
        refused("a pack that is %s" % name, "sandbox_workspace", broken)
    os.unlink(pack)
    refused("a pack that is gone", "sandbox_workspace", broken)
    index = pack[:-5] + ".idx"
    world.write(pack, good)
    whole = open(index, "rb").read()
    for name, bad in {"cut off": whole[:700], "empty": b"", "lying": whole[:1032] + bytes(100) + whole[1132:]}.items():
        os.unlink(index)
        world.write(index, bad)
        refused("an index that is %s" % name, "sandbox_workspace", broken)
    os.unlink(index)
    world.write(index, whole)
    made("control: mended again", broken)
    # Of what is not the base's own, a damaged branch is left out and all else comes.
    git(broken, "checkout", "-q", "-b", "bad")
    lost = world.commit(broken, "lost", "lost\n")
    git(broken, "checkout", "-q", "main")
    git(broken, "tag", "bad-tag", "bad")
    os.unlink("%s/.git/objects/%s/%s" % (broken, lost[:2], lost[2:]))
    world.write(broken + "/.git/refs/heads/nonsense", "nonsense\n")
    answer = made("a damaged branch beside", broken)
    ok(answer and "bad" not in git(world.dir, "show-ref") and any("refs/heads/bad" in n and "refs/tags/bad-tag" in n for n in answer["notes"])
       and any("nonsense" in n for n in answer["notes"]), "is left out, and said", answer)


def formats():
    sha256 = world.root + "/sha256"
    git(world.root, "init", "-q", "--object-format=sha256", sha256)
    world.commit(sha256, "one", "one\n")
    refused("SHA-256 objects", "sandbox_workspace", sha256, "sha256", "SHA-1")
    checkout = world.checkout("formats")
    git(checkout, "config", "core.repositoryFormatVersion", "1")
    made("format version 1", checkout)
    for name, value, says, fix in (("refStorage", "reftable", "reftable", "refs migrate --ref-format=files"), ("compatObjectFormat", "sha256", "compatobjectformat", "git clone"),
                                   ("unheardOf", "1", "unheardof", "git clone"), ("objectFormat", "sha256", "sha256", "SHA-1")):
        git(checkout, "config", "--file", ".git/config", "extensions." + name, value)
        refused("the extension %s=%s" % (name, value), "sandbox_workspace", checkout, says, fix)
        git(world.root, "config", "--file", checkout + "/.git/config", "--unset", "extensions." + name)
    for name in ("preciousObjects", "relativeWorktrees"):
        git(world.root, "config", "--file", checkout + "/.git/config", "extensions." + name, "true")
        made("the extension " + name, checkout)
        git(world.root, "config", "--file", checkout + "/.git/config", "--unset", "extensions." + name)
    git(world.root, "config", "--file", checkout + "/.git/config", "core.repositoryFormatVersion", "7")
    refused("a version of the future", "sandbox_workspace", checkout, "version")
    git(world.root, "config", "--file", checkout + "/.git/config", "core.repositoryFormatVersion", "0")
    world.write(checkout + "/.git/config", open(checkout + "/.git/config").read() + "[broken\n")
    refused("a broken configuration", "sandbox_workspace", checkout, "configuration", "config --list")


run([kinds, borrowing, modules, incomplete, formats])

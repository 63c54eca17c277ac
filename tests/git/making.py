# SPDX-License-Identifier: Apache-2.0
"""Workspaces made and refused, judged by real git: what the tests of create share."""
import hashlib, os, stat, subprocess, sys, time, traceback

from gitworld import GitWorld, Refused, finish, ok

world = GitWorld()
git = world.git


def listing(root):
    """Every name below root with its kind, mode, size, times and content."""
    out = {}
    for folder, dirs, files in os.walk(os.fsencode(root)):
        for name in dirs + files:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            what = os.readlink(path) if stat.S_ISLNK(st.st_mode) else b""
            if stat.S_ISREG(st.st_mode) and st.st_mode & 0o400:
                what = hashlib.sha256(open(path, "rb").read()).digest()
            out[path] = (st.st_mode, st.st_size if not stat.S_ISDIR(st.st_mode) else 0, st.st_mtime_ns, what)
    return out


def tree_of(repo, commit="HEAD"):
    return git(repo, "ls-tree", "-r", "-z", commit)


def sound(title, checkout, dir, before=None, answer=None, strict=True):
    """What holds of every workspace."""
    problems = []
    p = git(dir, "fsck", "--full", *(["--strict"] if strict else []), check=False)
    # "dangling" would be an object that nothing wants: there is none in a fresh clone.
    if p.returncode or p.stdout.strip() or "error" in p.stderr:
        problems.append("fsck: " + p.stdout + p.stderr)
    status = git(dir, "status", "--porcelain", "--ignored", check=False)
    if status.returncode or status.stdout:
        problems.append("status: " + status.stdout + status.stderr)
    for folder, dirs, files in os.walk(os.fsencode(dir)):
        for name in files:
            st = os.lstat(os.path.join(folder, name))
            if st.st_nlink != 1:
                problems.append("links: %r" % name)
    shape = {"commondir": "../.git\n", "config.worktree": "", "objects/info/alternates": "", "info/exclude": ""}
    for name, text in shape.items():
        path = dir + "/.git/" + name
        if not stat.S_ISREG(os.lstat(path).st_mode) or open(path).read() != text:
            problems.append(name)
    if os.listdir(dir + "/.git/hooks") != [] or os.listdir(dir + "/.git/info") != ["exclude"]:
        problems.append("hooks or info")
    if before is not None and listing(checkout) != before:
        after = listing(checkout)
        problems.append("the checkout changed: %s" % [k for k in set(after) | set(before) if after.get(k) != before.get(k)])
    if answer:
        if git(dir, "rev-parse", "HEAD") != answer["baseline"]:
            problems.append("baseline")
        st, gst = os.stat(dir), os.stat(dir + "/.git")
        if answer["root"] != {"dev": st.st_dev, "ino": st.st_ino} or answer["git"] != {"dev": gst.st_dev, "ino": gst.st_ino}:
            problems.append("numbers")
        if git(dir, "symbolic-ref", "HEAD") != "refs/heads/" + answer["branch"]:
            problems.append("branch")
    left = sorted(os.listdir(os.path.dirname(dir)))
    if left != ["workspace"]:
        problems.append("left beside it: %s" % left)
    return ok(not problems, title, problems)


def made(title, checkout, strict=True, look=None, **more):
    """A workspace from this checkout, sound, the checkout as it was; the answer, or None."""
    before = listing(look or checkout)
    try:
        answer = world.create(checkout, **more)
    except Refused as refusal:
        ok(False, title, "%s; fix: %s" % (refusal, refusal.fix))
        return None
    if answer is None:
        ok(False, title, world.log)
        return None
    if not sound(title, look or checkout, world.dir, before, answer, strict):
        return None
    return answer


def refused(title, reason, checkout, says=(), fix=(), **more):
    refusal = world.refused(checkout, **more)
    works = os.path.dirname(world.dir)
    good = refusal and refusal.reason == reason and refusal.subject and refusal.message and refusal.fix and \
        all(word in refusal.message for word in ([says] if isinstance(says, str) else says)) and \
        all(word in refusal.fix for word in ([fix] if isinstance(fix, str) else fix)) and os.listdir(works) in ([], ["workspace"])
    ok(good, title, refusal and (refusal, refusal.subject, refusal.fix, os.listdir(works)))
    return refusal


def paste(refusal):
    """The fix as a person pastes it."""
    return subprocess.run(["sh", "-c", refusal.fix], env=world.env, capture_output=True, text=True, cwd=world.root)


def run(tests):
    """All of them, or those that are named; the others still tell something when one breaks."""
    for test in tests:
        if len(sys.argv) > 1 and test.__name__ not in sys.argv[1:]:
            continue
        began = time.monotonic()
        try:
            test()
        except Exception as error:
            traceback.print_exc()
            ok(False, "%s: runs to its end" % test.__name__, repr(error))
        print("note - %s: %.1f s" % (test.__name__, time.monotonic() - began), flush=True)
    world.close()
    finish()

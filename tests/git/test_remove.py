# SPDX-License-Identifier: Apache-2.0
"""Removing a workspace: what an agent can leave behind, by any name, mode, depth and link."""
import os, subprocess, time

from gitworld import GitWorld, Provider, Refused, finish, ok

world = GitWorld()


def numbers(path):
    st = os.lstat(path)
    return {"dev": st.st_dev, "ino": st.st_ino}


def fresh(name="workspace"):
    work = world.work()
    os.mkdir(work + "/" + name)
    return work, work + "/" + name


def gone(title, work, dir, root=None):
    root = root or numbers(dir)
    try:
        answer = world.ask("remove", dir=dir, root=root)
    except Refused as refusal:
        return ok(False, title, refusal)
    return ok(answer == {} and not os.path.lexists(dir) and os.listdir(work) == [], title, os.listdir(work))


def plain():
    work, dir = fresh()
    for i in range(2000):
        world.write("%s/d%d/f%d" % (dir, i % 7, i), "x")
    root = numbers(dir)
    gone("a tree", work, dir)
    gone("again, when it is gone", work, dir, root)
    ok(world.ask("remove", dir=world.root + "/nowhere/workspace", root=root) == {}, "a Work's directory that isn't there")
    os.mkdir(work + "/workspace.new")
    gone("what an interrupted create left", work, dir, root)


def links():
    work, dir = fresh()
    outside = world.root + "/outside"
    world.write(outside + "/victim", "victim")
    os.symlink(outside, dir + "/link")
    os.symlink("/", dir + "/root")
    os.symlink(outside + "/victim", dir + "/file")
    os.link(outside + "/victim", dir + "/hard")
    os.mkfifo(dir + "/fifo")
    import socket
    s = socket.socket(socket.AF_UNIX)
    s.bind(dir + "/socket")
    s.close()
    gone("links, a FIFO, a socket", work, dir)
    ok(open(outside + "/victim").read() == "victim", "what the links lead to is there still")
    work, dir = fresh()
    root = numbers(dir)
    os.rmdir(dir)
    os.symlink(outside, dir)
    try:
        world.ask("remove", dir=dir, root=root)
        ok(False, "a link in the workspace's place is refused")
    except Refused as refusal:
        ok(refusal.reason == "workspace_conflict" and os.path.exists(outside + "/victim"), "a link in the workspace's place is refused", refusal)


def others():
    work, dir = fresh()
    world.write(dir + "/kept", "x")
    root = numbers(dir)
    for change in ({"ino": root["ino"] + 1}, {"dev": root["dev"] + 1}):
        try:
            world.ask("remove", dir=dir, root={**root, **change})
            ok(False, "other numbers are refused")
        except Refused as refusal:
            ok(refusal.reason == "workspace_conflict" and refusal.subject == dir and refusal.fix and os.path.exists(dir + "/kept"),
               "other numbers are refused: %s" % list(change), refusal)
    for bad in ("relative", "/", dir + "/../workspace", dir + "//x", work + "/workspace.new", dir + "/"):
        try:
            world.ask("remove", dir=bad, root=root)
            ok(False, "%r is no path of a workspace" % bad)
        except Refused as refusal:
            ok(refusal.reason == "provider_failed", "%r is no path of a workspace" % bad, refusal)
    for bad in ({}, {"dir": dir}, {"dir": dir, "root": root, "more": 1}, {"dir": dir, "root": {"dev": 1}}, {"dir": 1, "root": root},
                {"dir": dir, "root": {"dev": "1", "ino": "2"}}):
        try:
            world.ask("remove", **bad)
            ok(False, "parameters %r are refused" % bad)
        except Refused as refusal:
            ok(refusal.reason == "provider_failed" and os.path.exists(dir + "/kept"), "parameters %s are refused" % sorted(bad), refusal)
    os.chmod(work, 0o777)
    try:
        world.ask("remove", dir=dir, root=root)
        ok(False, "a Work's directory that others can change is refused")
    except Refused as refusal:
        ok(refusal.reason == "workspace_conflict" and "chmod" in refusal.fix, "a Work's directory that others can change is refused", refusal)
    os.chmod(work, 0o700)
    gone("control: the right ones", work, dir)


def closed():
    work, dir = fresh()
    for mode in (0o000, 0o100, 0o200, 0o400, 0o500, 0o600):
        world.write("%s/m%o/deep/er/f" % (dir, mode), "x")
        os.chmod("%s/m%o/deep/er" % (dir, mode), mode)
        os.chmod("%s/m%o" % (dir, mode), mode)
    os.chmod(dir, 0)
    gone("directories that are closed", work, dir)


def deep():
    for levels in (10000, 200):
        work, dir = fresh()
        fd = os.open(dir, os.O_RDONLY)
        for i in range(levels):
            os.mkdir("d" * 20, dir_fd=fd)
            if i % 100 == 0:
                os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
            below = os.open("d" * 20, os.O_RDONLY, dir_fd=fd)
            if i % 97 == 0:
                os.fchmod(fd, 0)
            os.close(fd)
            fd = below
        os.close(fd)
        gone("%d levels, some closed" % levels, work, dir)
    work, dir = fresh()
    os.mkdir(dir + "/.open-conduit-removed-0")
    os.makedirs(dir + "/" + "/".join(["x"] * 300))
    gone("deep, with our own name taken", work, dir)


def wide():
    work, dir = fresh()
    for i in range(60000):
        os.close(os.open("%s/%d" % (dir, i), os.O_CREAT | os.O_WRONLY))
    os.mkdir(dir + "/" + os.fsdecode(b"not \xff UTF-8\n"))
    provider = Provider(world.env)
    provider.ask("remove", dir=dir, root=numbers(dir))
    peak = max(int(line.split()[1]) for line in open("/proc/%d/status" % provider.p.pid) if line.startswith("VmHWM"))
    provider.end()
    ok(not os.path.exists(dir) and peak < 64 << 10, "60,000 names in little memory", peak)


def names():
    work, dir = fresh()
    for name in (b"-rf", b"a\nb", b"\xff\xfe", b"*", b" ", b"..x", b"%s%n"):
        os.mkdir(os.fsencode(dir) + b"/" + name)
    gone("odd names", work, dir)
    work, dir = fresh("space and\nnewline")
    gone("an odd name of its own", work, dir)


def busy():
    """Something that goes on writing: it ends, and says so or has won."""
    work, dir = fresh()
    p = subprocess.Popen(["sh", "-c", 'while :; do mkdir -p "$0/a/b" && : >"$0/a/b/$$"; done 2>/dev/null', dir])
    time.sleep(0.2)
    try:
        answer, refusal = world.ask("remove", dir=dir, root=numbers(dir)), None
    except Refused as r:
        answer, refusal = None, r
    p.kill()
    p.wait()
    ok(answer == {} or (refusal and refusal.reason == "workspace_conflict"), "a writer at work: an end, in bounded time", refusal)


def killed():
    work, dir = fresh()
    world.write(dir + "/a/b", "x")
    root = numbers(dir)
    provider = Provider({**world.env, "OPEN_CONDUIT_FAULT": "git:removed"})
    try:
        answer = provider.ask("remove", dir=dir, root=root)
        ok(False, "killed in the middle: says so", answer)
    except Refused as refusal:
        ok(refusal.reason == "provider_failed" and "signal 9" in refusal.message, "killed in the middle: says so", refusal)
    provider.end()
    gone("killed in the middle: again", work, dir, root)


def main():
    hello = Provider(world.env)
    ok(hello.hello["kind"] == "workspace" and "remove" in hello.hello["methods"], "it is a provider of workspaces", hello.hello)
    hello.end()
    for test in (plain, links, others, closed, deep, wide, names, busy, killed):
        began = time.monotonic()
        test()
        print("note - %s: %.1f s" % (test.__name__, time.monotonic() - began))
    world.close()
    finish()


main()

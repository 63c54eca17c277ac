# SPDX-License-Identifier: Apache-2.0
"""How long a workspace takes: 50,000 files of 200 MB together, against `git clone --no-hardlinks` of the same checkout, both
until the disk has it.  Usage: bench_git.py [FILES [ROUNDS]].  A best time over 1.1 of git's is
MISSED, and one over twice that fails."""
import os, shutil, subprocess, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "git"))
from gitworld import GitWorld, Provider  # noqa: E402
from versus_git import choose_place, compare, fill, sync  # noqa: E402


def timed(world, make):
    """make() in a folder of its own, which goes again."""
    to = world.work() + "/workspace"
    began = time.monotonic()
    make(to)
    took = time.monotonic() - began
    shutil.rmtree(os.path.dirname(to))
    sync(world.root)
    return took


def versus(world, repo, what, rounds):
    provider = Provider(world.env)

    def by_git(to):
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", repo, to], check=True, env=world.env)
        sync(to)

    def by_us(to):
        provider.ask("create", checkout=repo, dir=to, branch="agent/bench", base=None, author=None)

    good = compare("create, " + what, rounds, lambda: timed(world, by_git), lambda: timed(world, by_us))
    provider.end()
    return good


def main():
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 50000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    choose_place()
    world = GitWorld()
    repo = world.root + "/large"
    world.git(world.root, "init", "-q", repo)
    # Else git packs the loose objects by itself, in the background of what is measured.
    world.git(repo, "config", "gc.auto", "0")
    fill(world, repo, files)
    for i in range(50):
        world.commit(repo, "d%02d/e00/f%d.c" % (i, i), "changed %d\n" % i)
    world.git(repo, "remote", "add", "origin", "https://git.example.test/acme/large.git")
    good = versus(world, repo, "%d files, loose objects" % files, rounds)
    world.git(repo, "repack", "-q", "-a", "-d")
    good = versus(world, repo, "%d files, one pack" % files, rounds) and good
    # What is dropped but in the pack: it holds more than is wanted, the usual case of an old checkout.
    world.commit(repo, "dropped", "dropped\n")
    world.git(repo, "repack", "-q", "-a", "-d")
    world.git(repo, "reset", "-q", "--hard", "HEAD~1")
    good = versus(world, repo, "%d files, a pack that holds more" % files, rounds) and good
    world.close()
    return 0 if good else 1


sys.exit(main())

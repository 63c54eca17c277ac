# SPDX-License-Identifier: Apache-2.0
"""How long it takes to save what a run did: 50,000 new files of 200 MB together, loose and packed, and one new commit on top of
as many old files; against `git fetch` into the same checkout, both until the disk has it.
Usage: bench_save.py [FILES [ROUNDS]].  A best time over 1.1 of git's is
MISSED, and one over twice that fails."""
import os, shutil, subprocess, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "git"))
from gitworld import Provider  # noqa: E402
from saveworld import SaveWorld  # noqa: E402
from versus_git import choose_place, compare, fill, sync  # noqa: E402


def timed(world, save):
    """save() into a copy of the checkout, which goes again."""
    repo = world.root + "/into"
    shutil.copytree(world.co, repo, symlinks=True)
    sync(repo)
    began = time.monotonic()
    save(repo)
    sync(repo)
    took = time.monotonic() - began
    shutil.rmtree(repo)
    return took


def versus(world, what, rounds):
    provider = Provider(world.env)

    def by_git(repo):
        subprocess.run(["git", "fetch", "-q", world.ws, "agent/1:agent/1"], check=True, env=world.env, cwd=repo)

    def by_us(repo):
        answer = provider.ask("save", checkout=repo, dir=world.ws, root=world.made["root"], git=world.made["git"], work="w1",
                              branch="agent/1", quarantine=os.path.dirname(world.ws) + "/quarantine", baseline=world.base, final=False)
        if answer["outcome"] != "kept":
            raise RuntimeError(answer)

    good = compare("save, " + what, rounds, lambda: timed(world, by_git), lambda: timed(world, by_us))
    provider.end()
    return good


def main():
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 50000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    choose_place()
    world = SaveWorld()
    world.start()
    fill(world, world.ws, files)
    good = versus(world, "%d new files, loose" % files, rounds)
    world.git(world.ws, "repack", "-q", "-a", "-d")
    good = versus(world, "%d new files, packed" % files, rounds) and good
    world.git(world.co, "fetch", "-q", world.ws, "agent/1:refs/heads/before")
    world.commit(world.ws, "d00/e00/f0.c", "changed\n")
    good = versus(world, "one commit on %d files" % files, rounds) and good
    world.git(world.ws, "repack", "-q", "-a", "-d")
    good = versus(world, "one commit on %d files, packed anew" % files, rounds) and good
    world.close()
    return 0 if good else 1


sys.exit(main())

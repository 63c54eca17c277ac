# SPDX-License-Identifier: Apache-2.0
"""How long it takes to save what a run did: 50,000 new files of 200 MB together, loose and packed, and one new commit on top of
as many old files; against `git fetch` into the same checkout, both until the disk has it.
Usage: bench_save.py [FILES [ROUNDS]].  A median over 1.1 of git's is
MISSED, and one over twice that fails."""
import os, random, shutil, statistics, subprocess, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "git"))
from gitworld import Provider  # noqa: E402
from saveworld import SaveWorld  # noqa: E402

LIMIT = 1.1
FAILS = 2 * LIMIT  # what noise does not explain: a disk takes 3 s or 5 for the same files


def fill(world, repo, files):
    """Compressible as source code is, no two alike."""
    rng = random.Random(7)
    words = [("%x" % rng.getrandbits(40)).encode() for _ in range(4000)]
    for i in range(files):
        path = "%s/d%02d/e%02d/f%d.c" % (repo, i % 50, i // 50 % 20, i)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(b" ".join(rng.choices(words, k=380)))
    world.git(repo, "add", "-A")
    world.git(repo, "-c", "gc.auto=0", "commit", "-q", "-m", "all")


def sync(path):
    subprocess.run(["sync", "-f", path], check=True)


def by_git(world, repo):
    began = time.monotonic()
    subprocess.run(["git", "fetch", "-q", world.ws, "agent/1:agent/1"], check=True, env=world.env, cwd=repo)
    sync(repo)
    return time.monotonic() - began


def by_us(world, provider, repo):
    began = time.monotonic()
    answer = provider.ask("save", checkout=repo, dir=world.ws, root=world.made["root"], git=world.made["git"], work="w1", branch="agent/1",
                          quarantine=os.path.dirname(world.ws) + "/quarantine", baseline=world.base, final=False)
    sync(repo)
    took = time.monotonic() - began
    if answer["outcome"] != "kept":
        raise RuntimeError(answer)
    return took


def compare(world, what, rounds):
    provider = Provider(world.env)
    times = {"git": [], "ours": []}
    for i in range(rounds):
        for who in (("git", "ours"), ("ours", "git"))[i % 2]:
            repo = world.root + "/into"
            shutil.copytree(world.co, repo, symlinks=True)
            sync(repo)
            times[who].append(by_git(world, repo) if who == "git" else by_us(world, provider, repo))
            shutil.rmtree(repo)
    provider.end()
    git, ours = statistics.median(times["git"]), statistics.median(times["ours"])
    good = ours <= FAILS * git
    print("%s - save, %s: %.2f s, git fetch and sync %.2f s, ratio %.2f (at most %.1f%s)" %
          ("ok" if good else "not ok", what, ours, git, ours / git, LIMIT, "" if ours <= LIMIT * git else ": MISSED"), flush=True)
    print("note - all: %s" % {k: ["%.2f" % t for t in v] for k, v in times.items()})
    return good


def main():
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 50000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    world = SaveWorld()
    world.start()
    fill(world, world.ws, files)
    good = compare(world, "%d new files, loose" % files, rounds)
    world.git(world.ws, "repack", "-q", "-a", "-d")
    good = compare(world, "%d new files, packed" % files, rounds) and good
    world.git(world.co, "fetch", "-q", world.ws, "agent/1:refs/heads/before")
    world.commit(world.ws, "d00/e00/f0.c", "changed\n")
    good = compare(world, "one commit on %d files" % files, rounds) and good
    world.git(world.ws, "repack", "-q", "-a", "-d")
    good = compare(world, "one commit on %d files, packed anew" % files, rounds) and good
    world.close()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()

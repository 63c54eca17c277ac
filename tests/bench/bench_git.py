# SPDX-License-Identifier: Apache-2.0
"""How long a workspace takes: 50,000 files of 200 MB together, against `git clone --no-hardlinks` of the same checkout, both
until the disk has it.  Usage: bench_git.py [FILES [ROUNDS]].  A median over 1.1 of git's is
MISSED, and one over twice that fails."""
import os, random, shutil, statistics, subprocess, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "git"))
from gitworld import GitWorld, Provider  # noqa: E402

LIMIT = 1.1
FAILS = 2 * LIMIT  # what noise does not explain: a disk takes 3 s or 5 for the same files


def fill(world, repo, files):
    """Compressible as source code is, no two alike; some history."""
    rng = random.Random(7)
    words = [("%x" % rng.getrandbits(40)).encode() for _ in range(4000)]
    world.git(world.root, "init", "-q", repo)
    for i in range(files):
        text = b" ".join(rng.choices(words, k=380))
        path = "%s/d%02d/e%02d/f%d.c" % (repo, i % 50, i // 50 % 20, i)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text)
    world.git(repo, "add", "-A")
    world.git(repo, "commit", "-q", "-m", "all")
    for i in range(50):
        world.commit(repo, "d%02d/e00/f%d.c" % (i, i), "changed %d\n" % i)
    world.git(repo, "remote", "add", "origin", "https://git.example.test/acme/large.git")


def sync(path):
    fd = os.open(path, os.O_RDONLY)
    subprocess.run(["sync", "-f", path], check=True)
    os.close(fd)


def by_git(world, repo, to):
    began = time.monotonic()
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", repo, to], check=True, env=world.env)
    sync(to)
    return time.monotonic() - began


def by_us(world, provider, repo, to):
    began = time.monotonic()
    provider.ask("create", checkout=repo, dir=to, branch="agent/bench", base=None, author=None)
    return time.monotonic() - began


def compare(world, repo, what, rounds):
    provider = Provider(world.env)
    times = {"git": [], "ours": []}
    for i in range(rounds):
        for who in (("git", "ours"), ("ours", "git"))[i % 2]:
            to = world.work() + "/workspace"
            times[who].append(by_git(world, repo, to) if who == "git" else by_us(world, provider, repo, to))
            shutil.rmtree(os.path.dirname(to))
            sync(world.root)
    provider.end()
    git, ours = statistics.median(times["git"]), statistics.median(times["ours"])
    good = ours <= FAILS * git
    print("%s - create, %s: %.2f s, git clone --no-hardlinks and sync %.2f s, ratio %.2f (at most %.1f%s)" %
          ("ok" if good else "not ok", what, ours, git, ours / git, LIMIT, "" if ours <= LIMIT * git else ": MISSED"), flush=True)
    print("note - all: %s" % {k: ["%.2f" % t for t in v] for k, v in times.items()})
    return good


def main():
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 50000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    world = GitWorld()
    repo = world.root + "/large"
    fill(world, repo, files)
    good = compare(world, repo, "%d files, loose objects" % files, rounds)
    world.git(repo, "repack", "-q", "-a", "-d")
    good = compare(world, repo, "%d files, one pack" % files, rounds) and good
    # What is dropped but in the pack: it holds more than is wanted, the usual case of an old checkout.
    world.commit(repo, "dropped", "dropped\n")
    world.git(repo, "repack", "-q", "-a", "-d")
    world.git(repo, "reset", "-q", "--hard", "HEAD~1")
    good = compare(world, repo, "%d files, a pack that holds more" % files, rounds) and good
    world.close()
    return 0 if good else 1


sys.exit(main())

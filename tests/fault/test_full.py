#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A disk that is full from each amount of space on, from none to enough: whichever write is the first to fail, what is told is
true, and when there is room again recovery settles the run, a further attempt works, and so does the next run.

test_full.py [box]: with runs in containers, in OC_TEST_FULL, a file system that the engine sees too."""
import os, shutil, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faults import SOAK, ok
from test_kill import STATUS, Case
from world import World, finish, skip

INSIDE = "OC_TEST_FULL"
ENTER = ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount"]
STEP, ENOUGH = 4096 if SOAK else 24576, 1 << 20


def enter():
    """A file system of our own to fill, in a mount namespace; what is tested has no capability there."""
    p = subprocess.run([*ENTER, "true"], capture_output=True, text=True)
    if p.returncode != 0:
        skip("a full disk", "this machine lets an ordinary user mount nothing: " + p.stderr.strip())
        return 0
    place = tempfile.mkdtemp(prefix="oc-full-", dir=os.path.expanduser("~"))
    script = 'mount -t tmpfs -o size=16m,mode=0700 none "$1" && exec setpriv --ambient-caps=-all --inh-caps=-all "$2" "$3"'
    try:
        return subprocess.run([*ENTER, "sh", "-c", script, "sh", place, sys.executable, os.path.abspath(__file__)],
                              env={**os.environ, INSIDE: place, "OC_TEST_TMP": place}).returncode
    finally:
        shutil.rmtree(place, ignore_errors=True)


def fill(place, leave):
    with open(place + "/fill", "wb") as f:
        st = os.statvfs(place)
        os.posix_fallocate(f.fileno(), 0, max(st.f_bavail * st.f_bsize - leave, 1))


def boxes(elsewhere):
    """A world of containers, and what makes a case of it."""
    from boxes import Box, Boxes

    class Elsewhere(Box):
        def flags(self):
            return super().flags() + ["--write", os.path.dirname(elsewhere)]
    w = Boxes()
    ok(w.begin(), "with room it works")
    return w, lambda name: Elsewhere(w, name, mark=elsewhere)


def processes(elsewhere):
    w = World(clone=False)
    first = w.oc("exec", "--unsandboxed", "--", "/bin/true")
    ok(first.returncode == 0, "with room it works", first.stderr)
    return w, lambda name: Case("none", w, name, mark=elsewhere)


def main():
    if INSIDE not in os.environ:
        sys.exit(enter())
    place, box = os.environ[INSIDE], sys.argv[1:] == ["box"]
    outside = tempfile.mkdtemp(prefix="oc-ran-", dir=os.path.dirname(place))
    elsewhere = outside + "/ran"  # what it did is told by another file system
    w, make = (boxes if box else processes)(elsewhere)
    told, worked, leave = set(), 0, 0
    while worked < 3 and leave < ENOUGH:
        c = make("%d KiB are free" % (leave // 1024))
        fill(place, leave)
        p = c.exec()
        os.unlink(place + "/fill")
        worked = worked + 1 if p.returncode == STATUS else 0
        c.ok(p.returncode in (STATUS, 125), "told", (p.returncode, p.stderr))
        c.ok(p.returncode == STATUS or p.stderr.strip(), "with a reason", p.stderr)
        c.ok(p.returncode != STATUS or c.ran() == 1, "a status only of what ran")
        told |= {p.returncode}
        c.settle()
        leave += STEP * (4 if box else 1)
    ok(told == {STATUS, 125}, "both were seen: too little room, and enough", told)
    shutil.rmtree(outside)
    w.close()
    finish()


main()

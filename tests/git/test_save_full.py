# SPDX-License-Identifier: Apache-2.0
"""Saving onto a full disk: the checkout's, then the quarantine's.  Usage: test_save_full.py PLACE, a small file system."""
import os, shutil, sys

from gitworld import Refused, finish, ok
from saveworld import OURS, SaveWorld

place = sys.argv[1]
w = SaveWorld()


def full(name, where, free):
    try:
        answer = w.save(final=True, **({"quarantine": place + "/work/quarantine"} if where == "quarantine" else {}))
    except Refused as r:
        return ok(r.reason == "workspace_conflict" and "space" in (r.message or "").lower() and r.fix, name + ": refused, with the reason and a fix", (r.reason, r.message, r.fix))
    return ok(False, name + ": refused", answer)


def fill(leave):
    """Leaves so many bytes free."""
    st = os.statvfs(place)
    with open(place + "/filler", "wb") as f:
        try:
            f.write(b"x" * max(0, st.f_bavail * st.f_frsize - leave))
        except OSError:
            pass


w.start()
away = w.co
w.co = place + "/checkout"
shutil.copytree(away, w.co, symlinks=True)
tip = w.commit(w.ws, "big", os.urandom(6 << 20).hex())
refs = w.refs()
for leave in (0, 1 << 20, 5 << 20):
    fill(leave)
    full("the checkout's disk has %d MiB" % (leave >> 20), "checkout", leave)
    left = [f for d, _, fs in os.walk(w.co + "/.git") for f in fs if f.startswith("tmp_") or f.endswith(".lock")]
    ok(w.refs() == refs and not left, "  no reference is changed, nothing is left", left)
    w.sound("  full")
    os.unlink(place + "/filler")
ok(w.save(final=True)["outcome"] == "moved" and w.ref("refs/heads/agent/1") == tip, "control: with room it is saved", w.last)
w.sound("with room")
shutil.rmtree(w.co)

w.co = away
os.makedirs(place + "/work", 0o700)
fill(1 << 20)
full("the quarantine's disk", "quarantine", 0)
ok(w.refs() == refs, "  no reference is changed")
os.unlink(place + "/filler")
ok(w.save(final=True, quarantine=place + "/work/quarantine")["outcome"] == "moved" and w.ref(OURS + "head") == tip, "control: with room it is saved", w.last)
w.sound("quarantine")
shutil.rmtree(place + "/work")
w.close()
finish()

# SPDX-License-Identifier: Apache-2.0
"""The lines that a test in Python prints, and its exit status: as tap.sh for those in shell."""
import sys

counts = {"ok": 0, "not ok": 0, "skip": 0}


def ok(condition, name, detail=""):
    word = "ok" if condition else "not ok"
    counts[word] += 1
    print("%s - %s%s" % (word, name, "" if condition or detail == "" else ": " + str(detail).replace("\n", " | ")[:1500]), flush=True)
    return condition


def skip(name, reason):
    counts["skip"] += 1
    print("skip - %s: %s" % (name, reason), flush=True)


def finish():
    sys.exit(1 if counts["not ok"] or not counts["ok"] else 0)

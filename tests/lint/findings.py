# SPDX-License-Identifier: Apache-2.0
"""findings.py TOOL KNOWN LOG: what an analyser reported, less what was looked at and is not so.

KNOWN has lines "TOOL FILE FUNCTION KIND REASON…": findings of that kind in that function ("-": outside of any) are wrong,
because….  By function, since a line number is out of date with every edit and a whole file would hide too much.  A line
of KNOWN whose function is gone is a finding itself; one that excuses nothing any more is said."""
import collections
import os
import re
import sys


def function_of(path, line):
    """The function whose body or head has that line, by the layout that clang-format keeps."""
    with open(path, encoding="utf-8", errors="replace") as file:
        rows = file.read().split("\n")
    for at in range(min(line, len(rows)) - 1, -1, -1):
        if rows[at].startswith("}") and at != line - 1:
            break
        match = re.match(r"[A-Za-z_][^=;]*?(\w+)\(", rows[at])
        if match and not rows[at].endswith(":"):
            return match[1]
    return "-"


def found_in(log):
    found = collections.defaultdict(dict)
    with open(log, encoding="utf-8", errors="replace") as file:
        for row in file:
            row = re.sub("\x1b\\[[0-9;]*[mK]", "", row.rstrip())
            match = re.match(r"(\S+?\.[ch]):(\d+):(\d+): (?:warning|error): (.*) \[(\S+)\]$", row)
            if match:
                full = os.path.realpath(os.path.join(os.path.dirname(log), match[1]))
                path = os.path.relpath(full, os.path.realpath("."))
                kind = re.sub(r",?-warnings-as-errors|^-W(error=)?", "", match[5])
                function = function_of(full, int(match[2])) if os.path.exists(full) else "-"
                text = "%s:%s:%s: %s [%s]" % (path, match[2], match[3], match[4], kind)
                found[(path, function, kind)][(match[2], match[3])] = text
            elif re.search(r"(fatal error|^error:|: error: |^FAILED)", row):
                found[("", "-", "error")][row] = row
    return found


def known_in(known_file, tool):
    known, bad = set(), 0
    with open(known_file, encoding="utf-8") as file:
        for row in file:
            words = row.split(None, 4)
            if not words or row.startswith("#") or words[0] != tool:
                continue
            known.add(tuple(words[1:4]))
            try:
                with open(words[1], encoding="utf-8") as source:
                    there = words[2] == "-" or re.search(r"\b%s\(" % re.escape(words[2]), source.read())
            except FileNotFoundError:
                there = False
            if not there or len(words) < 5:
                bad = 1
                print("%s: out of date, or without a reason: %s" % (known_file, row.rstrip()))
    return known, bad


def main():
    tool, known_file, log = sys.argv[1:4]
    found = found_in(log)
    known, bad = known_in(known_file, tool)
    for key in sorted(set(found) - known):
        bad = 1
        print("%s, %s(), %s:" % key)
        for text in found[key].values():
            print("  " + text)
    for key in sorted(known - set(found)):
        print("note - known to %s, and not reported any more: %s %s %s" % ((tool,) + key))
    return bad


sys.exit(main())

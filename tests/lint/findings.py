# SPDX-License-Identifier: Apache-2.0
"""findings.py TOOL KNOWN LOG: what an analyser reported, less what was looked at and is not so.

KNOWN has lines "TOOL FILE KIND COUNT REASON…": that many findings of that kind in that file are wrong, because….
More is a finding; fewer means that a line of KNOWN is out of date, which is one too.  A line number would be out of
date with every edit; a count is not, and a new finding can't hide behind an old one without changing it."""
import collections
import os
import re
import sys

tool, known_file, log = sys.argv[1:4]
found = collections.defaultdict(dict)
with open(log, encoding="utf-8", errors="replace") as file:
    for row in file:
        match = re.match(r"(\S+?\.[ch]):(\d+):(\d+): (?:warning|error): (.*) \[(\S+)\]$", row.rstrip())
        if match:
            path = os.path.relpath(os.path.realpath(os.path.join(os.path.dirname(log), match[1])), os.path.realpath("."))
            kind = re.sub(r",?-warnings-as-errors|^-W(error=)?", "", match[5])
            found[(path, kind)][(match[2], match[3])] = "%s:%s:%s: %s [%s]" % (path, match[2], match[3], match[4], kind)
        elif re.search(r"(fatal error|^error:|: error: )", row):
            found[("", "error")][row] = row.rstrip()
known = {}
with open(known_file, encoding="utf-8") as file:
    for row in file:
        words = row.split(None, 4)
        if words and not row.startswith("#") and words[0] == tool:
            known[(words[1], words[2])] = int(words[3])
bad = 0
for key in sorted(set(found) | set(known)):
    lines, expected = found.get(key, {}), known.get(key, 0)
    if len(lines) != expected:
        bad = 1
        print("%s %s: %d findings, %d known" % (key[0], key[1], len(lines), expected))
        for text in lines.values():
            print("  " + text)
sys.exit(bad)

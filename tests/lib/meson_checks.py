# SPDX-License-Identifier: Apache-2.0
"""meson_checks.py TESTLOG: meson's record of a test run as the lines that tests/run.sh counts.

A program of the Check framework says how many checks it ran; each of those is a line, since "one program passed" says
little about what was tested.  Any other test is one line.  Exits non-zero when something failed or nothing was run."""
import json
import os
import re
import sys


def lines_of(test):
    name, result = test["name"], test["result"]
    text = test.get("stdout", "") + test.get("stderr", "")
    if result == "SKIP":
        reasons = [line for line in text.splitlines() if line.strip()]
        return ["skip - %s: %s" % (name, reasons[-1].strip() if reasons else "no reason was given")]
    counts = re.findall(r"^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)$", text, re.M)
    checks = sum(int(c) for c, _, _ in counts)
    bad = sum(int(f) + int(e) for _, f, e in counts)
    if result not in ("OK", "EXPECTEDFAIL"):
        bad = max(bad, 1)
    tap = re.findall(r"^(ok|not ok) \d+ - (.*)$", text, re.M)
    if tap and not counts:
        out = ["%s - %s: %s" % (verdict, name, what) for verdict, what in tap]
        return out if not bad or any(v == "not ok" for v, _ in tap) else out + ["not ok - %s (%s)" % (name, result)]
    if not counts:
        return ["%s - %s (%s)" % ("not ok" if bad else "ok", name, result)]
    skipped = ["skip - %s: %s" % (name, reason) for reason in re.findall(r"^# skipped: (.*)$", text, re.M)]
    good = max(checks - bad - len(skipped), 0)
    out = skipped + ["ok - %s, check %d of %d" % (name, n + 1, checks) for n in range(good)]
    return out + ["not ok - %s (%s)" % (name, result)] * bad


def main():
    if not os.path.exists(sys.argv[1]):
        print("not ok - meson ran no test: there is no %s" % sys.argv[1])
        return 1
    with open(sys.argv[1], encoding="utf-8") as log:
        tests = [json.loads(line) for line in log if line.strip()]
    lines = [line for test in tests for line in lines_of(test)]
    for test in tests:
        if test["result"] not in ("OK", "EXPECTEDFAIL", "SKIP"):
            said = test.get("stdout", "")[-6000:] + test.get("stderr", "")[-6000:]
            print("\n".join("| " + line for line in ["---- " + test["name"]] + said.splitlines()))
    print("\n".join(lines))
    return 0 if lines and not any(line.startswith("not ok") for line in lines) else 1


sys.exit(main())

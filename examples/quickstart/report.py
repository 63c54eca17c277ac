# SPDX-License-Identifier: Apache-2.0
"""report.py FOLDER HOME BEFORE AFTER BOLD GREEN RED PLAIN: what quickstart.sh found, for a person.

FOLDER holds control.txt and confined.txt (the attempts outside and inside) and run.json (the record, as
`open-conduit runs get --json` gives it).  BEFORE and AFTER say how often what is outside was reached.  Fails unless
every attempt could be done outside, was refused inside, and nothing of it arrived."""
import json
import os
import sys

folder, home, before, after, bold, green, red, plain = sys.argv[1:9]
good = True
SHOWN = 3
TITLES = {
    "P1": "no route to the outside", "P2": "no route to metadata, bridges, the LAN", "P3": "nothing arrives at this machine's ports",
    "P4": "no name resolves", "P5": "the proxy refuses what is not allowed", "P6": "state and config can't be read",
    "P7": "credentials can't be read, what is granted can", "P8": "only what is granted can be written",
    "P9": "the repository's .git is read-only", "P10": "no engine, bus or agent answers", "P11": "descriptors and environment",
    "P12": "rights and limits", "P13": "the channel is this run's", "P14": "the folders are the planned ones",
    "P15": "namespaces and filters", "P16": "no other process can be reached",
}


def complain(text):
    global good
    good = False
    print("   %s%s%s" % (red, text, plain))


def attempts(name):
    # What the host says of a run's commits is among what the attempts print.
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if line.count("\t") == 2]
    return {row[0]: (row[1], row[2]) for row in rows}


def show_attempts():
    control, confined = attempts("control.txt"), attempts("confined.txt")
    print("   %-36s %-24s %s" % ("", "without a sandbox", "confined"))
    for name, (outcome, how) in control.items():
        inside, why = confined.get(name, ("missing", "no answer"))
        right = outcome == "done" and inside == "refused"
        mark = "%s%s%s" % (green if right else red, "refused" if inside == "refused" else inside.upper(), plain)
        print("   %-36s %-24s %s: %s" % (name, how if outcome == "done" else "REFUSED: " + how, mark, why))
        if outcome != "done":
            complain("could not be done outside either, so the refusal shows nothing: " + name)
        if inside != "refused":
            complain("expected to be refused: " + name)
    if len(control) != 8:
        complain("%d attempts were made, not eight" % len(control))
    ours = "control" if before == after else None
    print("   what is outside was reached (port, socket, signals): before %s, after %s" % (before, after))
    with open(os.path.join(home, ".bashrc"), encoding="utf-8") as file:
        planted = "planted" in file.read()
    if not ours or planted:
        complain("something of the confined run arrived outside")


def listed(title, rows):
    rows = list(rows)
    print("   %-10s %s" % (title, rows[0] if rows else "nothing"))
    for row in rows[1:]:
        print("   %-10s %s" % ("", row))


def short(text):
    return text.replace(home, "~")


def show_policy(run):
    resolved = run["plan"]["resolved"]
    print("\n%s6. What was granted%s" % (bold, plain))
    listed("write", ("%s  (%s)" % (short(w["path"]), w.get("rule", "")) for w in resolved.get("write", [])))
    listed("network", (n["entry"] for n in resolved.get("network", [])))
    listed("sockets", [resolved["unix_sockets"]] if resolved.get("unix_sockets") != "none" else [])
    print("\n%s7. What was refused%s" % (bold, plain))
    denied = [r for r in resolved.get("read", []) if not r["allow"]]
    there = [r for r in denied if r.get("exists")]
    listed("reading", ("%s  (%s)" % (short(r["path"]), r.get("rule", "")) for r in there))
    print("   %-10s and %d more places where credentials would be, if they were there" % ("", len(denied) - len(there)))
    listed("at all", ("%s  (%s)" % (short(p["path"]), p.get("what", "")) for p in resolved.get("protected", []) if p.get("exists")))
    listed("changing", ("%s  (%s)" % (short(p["path"]), p.get("what", "")) for p in resolved.get("readonly", [])))


def show_probes(run):
    probes = run.get("probes") or []
    print("\n%s8. What the probes measured, inside, before the command was started%s" % (bold, plain))
    for name in sorted({p["id"] for p in probes}, key=lambda i: int(i[1:]) if i[1:].isdigit() else 0):
        of_it = [p for p in probes if p["id"] == name]
        failed = [p for p in of_it if not p.get("ok")]
        mark = red + "FAILED" + plain if failed else green + "held" + plain
        took = sum(p.get("ns", 0) for p in of_it) / 1e6
        print("   %-4s %s  %-46s %2d measured in %7.2f ms" % (name, mark, TITLES.get(name, ""), len(of_it), took))
        for p in (failed + [p for p in of_it if p.get("ok")])[:SHOWN]:
            print("              %s" % short(p.get("detail") or ""))
        if len(of_it) > SHOWN:
            print("              and %d more" % (len(of_it) - SHOWN))
        if failed:
            complain("a probe failed and the command ran all the same")
    if not probes:
        complain("the record has no probes")
    print("   policy     %s" % json.dumps(run["plan"]["policy"].get("normal", run["plan"]["policy"])))
    print("   digest     %s" % run.get("digest"))


show_attempts()
with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
    record = json.load(file)["run"]
show_policy(record)
show_probes(record)
sys.exit(0 if good else 1)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An engine of our own that is killed by SIGKILL at steps of a container run's set-up, life and end, and started again.

OC_TEST_CONTROL is a folder with two fifos: "kill" or "start" is written to `ask`, and when it is done `answer` has a line."""
import os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from boxes import Box, Boxes, ask, read_json  # noqa: E402
from faults import SOAK, get, listed, ok, start, wait_for  # noqa: E402
from test_container import LIVE, STEPS, At, again, name_of, unknown  # noqa: E402
from test_kill import STATUS  # noqa: E402
from world import finish  # noqa: E402

CONTROL = os.environ["OC_TEST_CONTROL"]


def engine(what):
    with open(CONTROL + "/ask", "w") as f:
        f.write(what + "\n")
    with open(CONTROL + "/answer") as f:
        return f.read() == "0\n"


def answers():
    try:
        return ask("GET", "/info")[0] == 200
    except OSError:
        return False


def crash_live(w):
    c = Box(w, "SIGKILL of the engine in a live run")
    run = start(w, "box", LIVE)
    c.ok(wait_for(c.ran, 60), "it ran")
    c.note_sessions()
    c.ok(engine("kill") and not answers(), "control: the engine is gone")
    row = get(w, run)
    c.ok(row["state"] == "unknown" and row["error"]["reason"] == "sandbox_unavailable" and c.guards(), "the run goes on without it, and is adopted by nobody", row["error"])
    c.ok(engine("start"), "control: it is started again, and stops what it had")
    c.ok(wait_for(lambda: read_json("%s/runs/%s/exit.json" % (w.state, run)) and not c.guards(), 120), "the run ends")
    record = read_json("%s/runs/%s/exit.json" % (w.state, run)) or {}
    c.ok(record.get("state") == "run_lost", "not called exited", record)
    listed(w)
    c.nothing_left()
    after = get(w, run)
    c.ok(after["state"] == "run_lost" and after["error"].get("fix"), "lost, with reason and fix", after["error"])
    again(c, w, run)


def crash_and_end(w):
    """The run ends while there is no engine."""
    c = Box(w, "SIGKILL of the engine, and then the run's end")
    run = start(w, "box", LIVE)
    c.ok(wait_for(c.ran, 60), "it ran")
    c.ok(engine("kill"), "control: the engine is gone")
    open(w.ws + "/go", "w").close()
    c.ok(wait_for(lambda: read_json("%s/runs/%s/exit.json" % (w.state, run)) and not c.guards(), 180), "the guard ends")
    os.unlink(w.ws + "/go")
    unknown(c, w, run)
    c.ok(engine("start") and w.objects(), "control: it is back, and something is left")
    listed(w)
    c.nothing_left()
    after = get(w, run)
    c.ok(after["state"] == "exited" and after["status"] == STATUS, "exited, with its status", after["state"])
    ok(c.fine, "%s: %s" % (c.name, "settled" if c.fine else "FAILED"))


def crash_at(w, step, side):
    c = Box(w, "SIGKILL of the engine %s %s" % ("before" if side == "request" else "after", name_of(step)))
    at = At(step, side, lambda path: engine("kill"))
    w.between.watch = at
    p = c.exec()
    w.between.watch = None
    c.ok(at.hit, "control: the engine was killed", at.hit)
    c.ok(p.returncode == (STATUS if step[0] == "DELETE" else 125) and "sandbox_unavailable" in p.stderr and "fix" in p.stderr, "told, with reason and fix",
         (p.returncode, p.stderr))
    c.ok(engine("start"), "control: it is started again")
    c.settle()


def main():
    w = Boxes()
    steps = [(s, side) for s in STEPS if s != ("DELETE", "/networks/ID", 1) for side in ("request", "reply")]
    chosen = steps if SOAK else [(STEPS[1], "reply"), (STEPS[3], "request"), (STEPS[7], "reply"), (STEPS[8], "request"), (STEPS[10], "request")]
    try:
        if w.begin():
            for job in [crash_live, crash_and_end] + [lambda w, s=s, side=side: crash_at(w, s, side) for s, side in chosen]:
                job(w)
                w.between.watch = None
                if not answers():
                    engine("start")
    finally:
        w.close()
    finish()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Messages into turns that the daemon hosts: taken while they run, by the next daemon too; nothing lost, nothing twice; and
none waits for a daemon that doesn't come."""
import os, signal, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]
from hostedworld import Hosted, wait_for  # noqa: E402
from tap import finish, ok  # noqa: E402

CLAUDE = os.environ.get("OC_CLAUDE", "")


def begun(w, key, n=1):
    w.hold()
    run = w.turn(key)
    wait_for(lambda: len(w.taken()) >= n and w.status().get("adopted"), 60)
    return run


def over(w, run):
    return wait_for(lambda: w.notes(run, "agent"), 60)


def taken_while_it_runs():
    w = Hosted()
    w.serve()
    run = begun(w, "a")
    said = w.send("a", "look at this too")
    ok(said.get("state") == "delivered" and said.get("run") == run or wait_for(lambda: len(w.taken()) == 2, 10), "running: it is given, and said to be", said)
    ok(wait_for(lambda: w.taken()[1:] == ["look at this too"], 20), "running: the agent has it in the same process", w.taken())
    ok(len({pid for pid, _ in w.lines("taken")}) == 1, "running: control: there was one process", w.lines("taken"))
    big = "x" * 60000
    w.send("a", big)
    ok(wait_for(lambda: w.taken()[2:] == [big], 20), "running: one of 60 KB is whole", [len(t) for t in w.taken()])
    ok(not w.lines("ends"), "running: its input is open", w.said())
    w.hold(False)
    ok(over(w, run) and w.notes(run, "agent")[-1]["data"]["outcome"] == "done", "done: its input is closed then, it ends and is judged", w.record(run)["events"][-3:])
    ok(w.ended([run], 20) and w.state_of(run) == "exited", "done: the run is over")
    late = w.send("a", "too late")
    ok(late.get("state") == "waiting", "over: control: a message waits for the next turn", late)
    run = begun(w, "a", 4)
    ok("too late" in w.taken()[3], "next turn: it goes in with it", w.taken()[3:])
    rss, _ = w.memory()
    ok(rss < 40000, "the daemon stays small", rss)
    w.close()


def next_daemon():
    """Killed at each point between a message's record and its writing: the next one gives what wasn't, and the agent has it once."""
    for point in ("agent:given", "agent:written", "agent:closing", None):
        w = Hosted()
        w.serve(env={"OPEN_CONDUIT_FAULT": point} if point else None)
        run = begun(w, "a")
        if point == "agent:closing":
            w.hold(False)
        else:
            w.send("a", "first")
        if point:
            ok(wait_for(lambda: w.daemon.poll() is not None, 30), "%s: control: the daemon dies there" % point)
        w.kill()
        w.serve()
        if point == "agent:closing":
            ok(over(w, run) and w.notes(run, "agent")[-1]["data"]["outcome"] == "done", "%s: the next one closes its input" % point, w.said()[-500:])
        else:
            wait_for(lambda: w.status().get("adopted"), 60)
            w.send("a", "second")
            ok(wait_for(lambda: w.taken()[1:] == ["first", "second"], 30), "%s: both are there, each once" % (point or "killed"), w.taken())
            w.hold(False)
            ok(over(w, run), "%s: it ends, and is judged" % (point or "killed"), w.said()[-500:])
        ok(w.taken().count("first") == (point != "agent:closing"), "%s: nothing was taken twice" % (point or "killed"), w.taken())
        w.close()


def no_daemon():
    w = Hosted()
    w.serve()
    run = begun(w, "a")
    w.kill(signal.SIGTERM)
    ok(w.send("a", "nobody there").get("state") == "waiting", "stopped: a message waits")
    ok(wait_for(lambda: w.notes(run, "input-closed"), 5), "stopped: the daemon that ends closes what it spoke with")
    w.hold(False)
    ok(wait_for(lambda: w.lines("ends"), 20), "stopped: the agent ends with its turn")
    w.serve()
    ok(over(w, run) and w.notes(run, "agent")[-1]["data"]["outcome"] == "done", "stopped: the next daemon judges it", w.said()[-500:])
    run = begun(w, "b", 2)
    w.kill()
    w.hold(False)
    time.sleep(1)
    ok(len(w.lines("ends")) == 1, "killed: control: without a host its input stays open")
    w.oc("work", "list")
    w.oc("work", "settle")
    ok(wait_for(lambda: len(w.lines("ends")) == 2, 20), "killed: the next command that settles lets it end", w.lines("ends"))
    w.close()


def without():
    w = Hosted()
    w.hold()
    run = w.turn("a")
    ok(wait_for(lambda: w.taken(), 30) and not w.notes(run, "hosted"), "no daemon: a detached run's input is closed at once")
    ok(w.send("a", "x").get("state") == "waiting", "no daemon: it takes no messages")
    w.close()


def real():
    if not CLAUDE:
        return
    w = Hosted(real=True)
    w.serve()
    w.stub.set({"tool": "Bash", "input": {"command": "while [ -e %s/hold ]; do sleep 0.2; done" % w.play, "description": "x"}}, {"text": "one"}, {"text": "two"})
    w.hold()
    run = w.turn("r", binding="none")
    wait_for(lambda: len(w.stub.requests) >= 1 and w.status().get("adopted"), 60)
    time.sleep(1)
    w.send("r", "a word from the operator")
    w.kill()
    w.serve()
    wait_for(lambda: w.status().get("adopted"), 60)
    w.hold(False)
    ok(over(w, run) and w.notes(run, "agent")[-1]["data"]["outcome"] == "done", "Claude Code: a message across two daemons: done", w.said()[-800:])
    texts = [str(r["messages"]) for r in w.stub.requests]
    ok(texts and texts[-1].count("a word from the operator") == 1, "Claude Code: it has it once", [t[-300:] for t in texts])
    w.close()


for test in (taken_while_it_runs, next_daemon, no_daemon, without, real):
    if not sys.argv[1:] or test.__name__ in sys.argv[1:]:
        test()
finish()

# SPDX-License-Identifier: Apache-2.0
"""Routes: an issue of GitHub's becomes a Work, once; what is said on it reaches its agent, once, as active_policy says; over
daemons that are killed at each point; and while GitHub is away the daemon answers."""
import os, sys, time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]
from routeworld import Routed, wait_for  # noqa: E402
from tap import finish, ok  # noqa: E402


def begun(w, texts=1):
    return wait_for(lambda: len(w.taken()) >= texts, 60)


def begins():
    w = Routed()
    w.hold()
    w.fake.issue(12, "Fix the door", "It squeaks.", labels=["agent"])
    w.fake.comment(12, "Since Monday.")
    w.fake.issue(13, "Paint it", "Blue.", assignees=["my-app[bot]"])
    w.fake.issue(14, "Not ours", "x", labels=["other"], assignees=["alice"])
    w.fake.issue(15, "Closed", "x", labels=["agent"], state="closed")
    w.fake.issue(16, "A pull request", "x", labels=["agent"], pull=True)
    w.serve("--jobs", "4")
    ok(begun(w, 2), "begins: the labelled and the assigned issue have a turn each", w.said()[-1500:])
    texts = "\n".join(w.taken())
    ok("issue #12" in texts and "It squeaks." in texts and "alice wrote: Since Monday." in texts, "begins: the agent is told the issue and what was said", texts[:800])
    ok("Paint it" in texts, "begins: the assigned one too")
    ok(w.work("issue-12").get("branch") == "agent/issue-12", "begins: its branch is the issue's", w.work("issue-12"))
    w.polled(3)
    ok(len(w.runs()) == 1 and len(w.runs("issue-13")) == 1, "begins: one turn each, however often it is asked", w.runs())
    ok(all("runs" in w.work(k) and not w.work(k)["runs"] for k in ("issue-14", "issue-15", "issue-16")), "begins: control: neither others', nor a closed one, nor a pull request")
    w.fake.answers.clear()
    w.polled(3)
    lists = [status for path, status in w.fake.answers if "/issues" in path]
    ok(lists and set(lists) == {304}, "unchanged: each list is a 304", w.fake.answers[-12:])
    ok(len(w.fake.alive()) <= 1, "unchanged: no token is left behind", len(w.fake.alive()))
    made = [t for t in w.fake.tokens.values()]
    ok(all(t["permissions"] == {"issues": "read", "metadata": "read"} and t["repos"] == ["acme/web"] for t in made), "each token is for the one repository, to read issues", made[:1])
    status = w.route()
    ok(status.get("route") == "web/issues" and status.get("repository") == "acme/web" and status.get("polled") and status.get("error") is None, "status: the route is shown", status)
    ok("web/issues: issues of acme/web for web/agent" in w.oc("serve", "--status").stdout, "status: and for people")
    w.close()


def injects():
    w = Routed()
    w.hold()
    w.fake.issue(12, labels=["agent"])
    w.serve()
    begun(w)
    wait_for(lambda: w.status().get("adopted"), 30)
    w.polled(1)
    first = w.fake.comment(12, "Please hurry; $(touch /tmp/x) `id`")
    w.fake.comment(12, "I am the bot", author="my-app[bot]")
    ok(begun(w, 2), "inject: a comment reaches the turn that runs", w.said()[-1500:])
    text = w.taken()[-1]
    ok(text.startswith("alice wrote: Please hurry; $(touch /tmp/x) `id` (https://github.com/acme/web/issues/12#issuecomment-"), "inject: who wrote it, what, and where", text)
    w.fake.edit(first, "Please hurry!")
    w.polled(3)
    ok(len(w.taken()) == 2, "inject: neither the bot's own nor an edit comes", w.taken())
    ok(len(w.runs()) == 1, "inject: no turn more was made")
    w.fake.comment(12, "hello")
    begun(w, 3)
    w.polled(3)
    run = w.runs()[0]["id"]
    w.hold(False)
    wait_for(lambda: w.notes(run, "agent"), 30)
    ok(w.notes(run, "agent")[-1]["data"]["outcome"] == "done", "inject: the turn is done")
    w.polled(3)
    ok(len(w.runs()) == 1, "inject: what was delivered makes no turn", w.runs())
    w.hold()
    w.fake.comment(12, "One thing more")
    ok(begun(w, 4) and "alice wrote: One thing more" in w.taken()[3], "idle: a comment makes a turn, which has it", w.taken()[3:])
    ok(wait_for(lambda: len(w.runs()) == 2, 10), "idle: one turn", w.runs())
    w.fake.change(12, state="closed")
    w.hold(False)
    wait_for(lambda: len(w.lines("ends")) == 2, 30)
    w.polled(2)
    w.fake.comment(12, "Thanks")
    w.polled(3)
    ok(len(w.runs()) == 2 and len(w.taken()) == 4, "closed: nothing new is started", w.taken()[4:])
    w.close()


def queues():
    w = Routed("queue")
    w.hold()
    w.fake.issue(12, labels=["agent"])
    w.serve()
    begun(w)
    wait_for(lambda: w.status().get("adopted"), 30)
    w.polled(1)
    w.fake.comment(12, "Later please")
    wait_for(lambda: w.queue(), 30)
    w.polled(3)
    ok(len(w.taken()) == 1 and len(w.queue()) == 1, "queue: never into the turn that runs; one waits", (w.taken()[1:], w.queue()))
    w.hold(False)
    ok(begun(w, 2) and "alice wrote: Later please" in w.taken()[1], "queue: the next turn has it", w.taken()[1:])
    w.polled(3)
    ok(len(w.runs()) == 2 and len(w.taken()) == 2, "queue: once", w.runs())
    w.close()


def killed(policy, point):
    """The daemon dies at the point; the next one goes on."""
    w = Routed(policy)
    w.fake.issue(12, labels=["agent"])
    w.fake.comment(12, "the first word")
    late = point not in ("serve:work", "serve:routed")
    if late:
        w.serve()
        begun(w)
        wait_for(lambda: len(w.lines("ends")) == 1, 30)
        w.polled(1)
        w.kill()
        w.fake.comment(12, "the second word")
        w.fake.comment(12, "the third word")
    w.serve(env={"OPEN_CONDUIT_FAULT": point})
    ok(wait_for(lambda: w.daemon.poll() is not None, 60), "%s, %s: control: the daemon dies there" % (policy, point), w.said()[-500:])
    w.kill()
    if not late:
        w.fake.comment(12, "the second word")
        w.fake.comment(12, "the third word")
    w.serve()
    words = ["the first word", "the second word", "the third word"]
    there = wait_for(lambda: all(word in "\n".join(w.taken()) for word in words), 60)
    w.polled(3)
    counts = {word: "\n".join(w.taken()).count(word) for word in words}
    ok(there and set(counts.values()) == {1}, "%s, %s: nothing is lost, nothing comes twice" % (policy, point), (counts, w.said()[-1500:]))
    ok(sum("issue #12" in t for t in w.taken()) == len(w.runs()) <= 3, "%s, %s: a Work, and no turn too many" % (policy, point), w.runs())
    w.close()


def kills():
    points = [("inject", p) for p in ("serve:polled", "serve:work", "serve:routed", "serve:comment", "serve:sent")] + [("queue", p) for p in ("serve:aside", "serve:pending")]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda p: killed(*p), points))


def away():
    w = Routed()
    w.fake.faults.append({"times": 10 ** 6, "delay": 3, "path": "/issues"})
    w.serve()
    end, asked = time.monotonic() + 4, 0
    while time.monotonic() < end:
        asked += w.status().get("pid") == w.daemon.pid
    ok(asked > 10, "slow: the daemon answers meanwhile", asked)
    w.fake.faults[:] = [{"times": 1, "path": "/issues", "status": 403, "body": {"message": "API rate limit exceeded"}, "headers": {"Retry-After": "300"}}]
    ok(wait_for(lambda: (w.route().get("error") or {}).get("reason") == "rate_limited", 60), "limited: it says so", w.route())
    before = len(w.fake.requests())
    time.sleep(2)
    ok(len(w.fake.requests()) == before, "limited: and is not asked before its time", w.fake.requests()[before:])
    said = w.said()
    ok(said.count("nothing is heard of its repository") == 1, "limited: said once", said[-800:])
    w.kill()
    w.fake.faults[:] = [{"times": 10 ** 6, "status": 404, "body": {"message": "Not Found"}, "path": "/installation"}]
    w.serve()
    ok(wait_for(lambda: (w.route().get("error") or {}).get("reason") == "github_denied", 60), "refused: status says it, with a fix", w.route())
    ok("fix" in w.oc("serve", "--status").stdout, "refused: for people too")
    w.fake.faults[:] = []
    w.hold()
    w.fake.issue(12, labels=["agent"])
    ok(begun(w), "again: when it is there, the route goes on", w.said()[-800:])
    ok(w.route().get("error") is None, "again: and nothing is wrong any more")
    w.close()


def changes():
    w = Routed()
    w.serve()
    w.polled(1)
    w.write(handler="nothing")
    ok(wait_for(lambda: "no route is followed while the config has an error" in w.said(), 30), "config: with an error no route is followed, which is said")
    time.sleep(1)
    before = w.polls()
    time.sleep(1.5)
    ok(w.polls() == before and w.said().count("no route is followed") == 1, "config: once", w.said())
    w.write()
    ok(w.polled(1), "config: it is read anew")
    w.fake.issue(12, labels=["agent"])
    begun(w)
    wait_for(lambda: w.lines("ends"), 30)
    w.polled(2)
    w.oc("work", "finish", "issue-12", cwd=w.home)
    w.fake.change(12, title="again")
    w.polled(4)
    ok(len(w.taken()) == 1, "finished: its operator's word stands", w.taken()[1:])
    w.close()


for test in (begins, injects, queues, kills, away, changes):
    if not sys.argv[1:] or test.__name__ in sys.argv[1:]:
        test()
finish()

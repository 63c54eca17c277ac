#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What makes a container run impossible is refused through the product, with reason and fix, before anything is made in the
engine; and twenty runs at once (sixty in a soak) end as they should, and leave nothing."""
import glob, hashlib, json, os, re, shutil, signal, subprocess, sys, threading, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from boxes import ENGINE, Boxes, ask, put  # noqa: E402
from faults import SOAK, follow, get, listed, ok, wait_for  # noqa: E402
from world import BUILD, HERE, finish  # noqa: E402

MANY = 60 if SOAK else 20
MAKES = re.compile(r"^(POST|PUT|DELETE) ")


class Asked:
    """What an engine was asked, by whom a test has in front of it."""

    def __init__(self, w):
        self.w, self.lines = w, []

    def __enter__(self):
        self.w.between.watch = lambda side, method, path, whole: self.lines.append("%s %s" % (method, path)) if side == "request" else None
        return self

    def __exit__(self, *_):
        self.w.between.watch = None

    def made(self):
        return [line for line in self.lines if MAKES.search(line)]


def refused(w, what, words, image=None, env=None, args=(), made=None):
    with Asked(w) as asked:
        p = w.oc("exec", "--json", "--container", image or w.image, *args, "--", "touch", "ran", env=env, timeout=300)
    error = (json.loads(p.stdout).get("error") if p.stdout.startswith("{") else None) or {}
    text = json.dumps(error)
    ok(p.returncode == 125 and error.get("reason") == "sandbox_unavailable" and error.get("subject") and error.get("fix") and all(x in text for x in words),
       what + ": refused, with reason, subject and fix", (p.returncode, p.stdout, p.stderr))
    ok(not (asked.made() if made is None else made()) and not os.path.exists(w.ws + "/ran"), what + ": before anything is made", asked.lines)
    return error


def control(w):
    with Asked(w) as asked:
        p = w.oc("exec", "--container", w.image, "--", "touch", "ran")
    ok(p.returncode == 0 and os.path.exists(w.ws + "/ran") and asked.made(), "control: else it runs, and things are made", (p.stderr, asked.lines))
    os.unlink(w.ws + "/ran")


def too_old(w):
    socket, log = w.home + "/old.sock", w.root + "/log"
    old = subprocess.Popen([sys.executable, os.path.join(HERE, "..", "engine", "old_engine.py"), socket, log], stdout=subprocess.PIPE, text=True)
    try:
        old.stdout.readline()

        def lines():
            with open(log) as f:
                return f.read().splitlines()
        refused(w, "an engine older than 28", ["27.5.1", "28"], env={"DOCKER_HOST": "unix://" + socket}, made=lambda: [x for x in lines() if MAKES.search(x)])
        ok(lines(), "an engine older than 28: control: it was asked", lines())
    finally:
        old.kill()
        old.wait()


def context(w, socket):
    """A context of the CLI's, in its files."""
    name = "boxed"
    digest = hashlib.sha256(name.encode()).hexdigest()
    put(w.home + "/.docker/contexts/meta/%s/meta.json" % digest,
        json.dumps({"Name": name, "Metadata": {}, "Endpoints": {"docker": {"Host": "unix://" + socket, "SkipTLSVerify": False}}}))
    return name


def context_gone(w):
    """Planned and pinned, and then the context's socket leads nowhere, or the context is no more."""
    socket = w.home + "/c.sock"
    name = context(w, socket)
    os.link(w.between.path, socket)
    env = {k: v for k, v in w.env.items() if k != "DOCKER_HOST"}
    args = [BUILD + "/host/open-conduit", "exec", "--context", name, "--container", w.image, "--", "sh", "-c", "echo run >> ran"]

    def run(**more):
        return subprocess.run(args, cwd=w.ws, env={**env, **more}, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
    p = run()
    ok(p.returncode == 0, "a context: control: a run by it", p.stderr)
    os.unlink(w.ws + "/ran")
    before = set(os.listdir(w.state + "/runs"))
    p = run(OPEN_CONDUIT_FAULT="host:pinned")
    new = set(os.listdir(w.state + "/runs")) - before
    ok(p.returncode == -signal.SIGKILL and len(new) == 1, "a context: a run that is pinned and not launched", p.stderr)
    run_id = new.pop()
    os.unlink(socket)
    with Asked(w) as asked:
        p = follow(w, "retry", w.state, run_id)
    record = json.loads(p.stderr.splitlines()[-1]) if p.stderr else {}
    error = record.get("error") or {}
    ok(record.get("state") == "unavailable" and error.get("reason") == "sandbox_unavailable" and socket in json.dumps(error) and error.get("fix"),
       "a context whose engine is gone between plan and launch: refused", p.stderr)
    ok(not asked.made() and not os.path.exists(w.ws + "/ran"), "and nothing is made", asked.lines)
    listed(w)
    os.link(w.between.path, socket)
    shutil.rmtree(w.home + "/.docker")
    p = run()
    ok(p.returncode == 125 and name in p.stderr and "sandbox_unavailable" in p.stderr, "a context that is no more: no run is planned by it", p.stderr)
    p = follow(w, "retry", w.state, run_id)
    ok(p.returncode == 0 and get(w, run_id)["state"] == "exited" and os.path.exists(w.ws + "/ran"), "what is pinned goes by what is pinned", (p.stderr, get(w, run_id)))
    os.unlink(w.ws + "/ran")
    ok(not w.objects(), "nothing is left in the engine", w.objects())


def refusals(w):
    control(w)
    too_old(w)
    refused(w, "no gateway image", ["gateway"], env={"OPEN_CONDUIT_GATEWAY_IMAGE": ""})
    refused(w, "a gateway image that isn't here", ["gateway"], env={"OPEN_CONDUIT_GATEWAY_IMAGE": "sha256:" + "0" * 64})
    refused(w, "an image that isn't here", ["docker --context default pull", "0000"], image=w.image[:-4] + "0000")
    refused(w, "an image of another platform", ["arm64"], image=os.environ["OC_IMAGE_OTHER"])
    refused(w, "a context that isn't there", ["nowhere"], args=("--context", "nowhere"), env={"DOCKER_HOST": ""})
    control(w)
    context_gone(w)


def many(w):
    env = {**w.env, "DOCKER_HOST": ENGINE}  # some hundreds of connections: not by way of the test
    p = w.oc("exec", "--container", w.image, "--", "true", env=env, timeout=300)
    ok(p.returncode == 0, "the engine by itself is checked once, before them", p.stderr)
    begun, mine = time.time(), time.monotonic()
    script = "echo $0 $(date +%s); touch begun.$0; until [ -e go ]; do sleep 3; done"
    runs = [subprocess.Popen([BUILD + "/host/open-conduit", "exec", "-v", "--container", w.image, "--", "sh", "-c", script, str(i)], cwd=w.ws, env=env, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for i in range(MANY)]
    most, over, subnets, seen = [0], threading.Event(), {"network": set(), "egress": set()}, set()

    def look():
        while not over.wait(0.5):
            there = w.objects()
            most[0] = max(most[0], len([o for o in there if o[2] == "container"]))
            for _, id_, role in there:
                shown = ask("GET", "/networks/" + id_)[1] if role in subnets and id_ not in seen else {}
                seen.add(id_)
                subnets.get(role, set()).update(c["Subnet"] for c in (shown.get("IPAM") or {}).get("Config") or [] if ":" not in c["Subnet"])
    t = threading.Thread(target=look)
    t.start()

    def begun_all():
        return len(glob.glob(w.ws + "/begun.*")) == MANY or any(p.poll() is not None for p in runs)
    ok(wait_for(begun_all, 900, 1) and len(glob.glob(w.ws + "/begun.*")) == MANY, "%d runs are there at the same time, after %d s" % (MANY, time.monotonic() - mine),
       glob.glob(w.ws + "/begun.*"))
    put(w.ws + "/go", "")
    ended = [p.communicate(timeout=900) for p in runs]
    over.set()
    t.join()
    bad = [(p.returncode, out, err) for i, (p, (out, err)) in enumerate(zip(runs, ended)) if p.returncode or not re.match("%d [0-9]+\n$" % i, out)]
    last = max([int(out.split()[1]) - begun for out, _ in ended if len(out.split()) == 2] or [-1])
    ok(not bad, "%d runs at once: each ends as it should, in %d s, the last begun after %d s" % (MANY, time.monotonic() - mine, last), bad)
    waited = sum("started, waiting" in err for _, err in ended)
    ok(MANY / 2 <= waited < MANY, "most of them had to wait their turn, and said so", waited)
    halves = {role: {int(subnet.split(".")[2]) >= 128 for subnet in all_} for role, all_ in subnets.items()}
    ok(halves == {"network": {True}, "egress": {False}}, "a run's network is never where this machine had an address on a way out", subnets)
    ok(most[0] == MANY, "control: the engine had as many at a time", most)
    ok(wait_for(lambda: not w.objects(), 10) and not os.listdir(w.state + "/live"), "nothing is left of them", (w.objects(), os.listdir(w.state + "/live")))


def main():
    w = Boxes()
    try:
        if w.begin():
            refusals(w)
            many(w)
    finally:
        w.close()
    finish()


if __name__ == "__main__":
    main()

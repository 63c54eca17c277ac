# SPDX-License-Identifier: Apache-2.0
"""Calls of a run's toolbelt through client, guest, guard and host: none is lost, none is answered twice, and none is acted on
twice, whenever the host is killed."""
import collections, json, os, random, shutil, signal, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
sys.path.insert(1, os.path.join(HERE, "..", "fault"))
from tap import finish, ok  # noqa: E402
from faults import points  # noqa: E402

HOST = os.environ["OC_BUILD"] + "/tests/protocol/belt_host"
CALLS = 5000
KILLS = 6
MEANT = {  # where the host dies: what the agent is told, and how often the effect was there
    None: ("t0", 1),
    "call:taken": ("outcome_unknown", 0),
    "call:answer": ("outcome_unknown", 1),
    "call:recorded": ("t0", 1),
}


class World:
    def __init__(self):
        if os.geteuid() == 0:
            sys.exit("these tests run as an ordinary user")
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="c", dir=os.path.expanduser("~")))
        self.effects = self.root + "/effects"
        self.ws = self.root + "/ws"
        os.mkdir(self.ws)
        self.env = {**os.environ, "HOME": self.root, "BELT_EFFECTS": self.effects,
                    "OPEN_CONDUIT_LIBEXEC": os.environ["OC_BUILD"] + "/libexec"}

    def host(self, *args, fault=None):
        env = {**self.env, "OPEN_CONDUIT_FAULT": fault} if fault else self.env
        return subprocess.Popen([HOST, args[0], self.root + "/state", *args[1:]], cwd=self.ws, env=env, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def start(self, kind, *args, fault=None):
        return self.host("start", kind, "--", "/usr/bin/python3", HERE + "/mcp/calls.py", *args, fault=fault)

    def done(self):
        """How often the effect of each call was there."""
        if not os.path.exists(self.effects):
            return collections.Counter()
        with open(self.effects) as f:
            return collections.Counter(f.read().split())

    def said(self):
        """What the agent was told of each call."""
        if not os.path.exists(self.ws + "/said"):
            return []
        with open(self.ws + "/said") as f:
            return [json.loads(line) for line in f]

    def close(self):
        subprocess.run(["chmod", "-R", "u+rwX", self.root], stderr=subprocess.DEVNULL)
        shutil.rmtree(self.root, ignore_errors=True)


def run_of(host):
    line = host.stderr.readline()
    assert line.startswith("run "), line + host.stderr.read()
    return line.split()[1]


def whole(host, timeout=180):
    out, err = host.communicate(timeout=timeout)
    return host.returncode, out, err


def rate(kind):
    w = World()
    status, out, err = whole(w.start(kind, "rate", str(CALLS), "32"))
    got = json.loads(out) if status == 0 else {}
    ok(got.get("answered") == CALLS and got["twice"] == 0 and got["wrong"] == 0,
       "%s: %d calls, each answered once, with its own answer" % (kind, CALLS), (status, out, err))
    if got:
        print("note - %s: %d calls a second" % (kind, CALLS / got["seconds"]))
    w.close()


def killed_at(kind, point):
    w = World()
    means, times = MEANT[point]
    first = w.start(kind, "append", "1", fault=point)
    run = run_of(first)
    status, _, err = whole(first)
    if point:
        ok(status == -signal.SIGKILL and not w.said(), "%s: %s: the host is killed there" % (kind, point), (status, w.said(), err))
        status, _, err = whole(w.host("open", run))
    said = w.said()
    ok(status == 0 and len(said) == 1 and said[0]["said"].startswith(means) and said[0]["ok"] == (means == "t0"),
       "%s: %s: the agent is told %s" % (kind, point or "control: nobody is killed", means), (status, said, err))
    ok(w.done() == (collections.Counter(t0=times) if times else collections.Counter()),
       "%s: %s: its effect was there %d times" % (kind, point or "control: nobody is killed", times), w.done())
    w.close()


def control():
    w = World()
    w.env["BELT_TWICE"] = "1"
    status, _, err = whole(w.start("none", "append", "1"))
    ok(status == 0 and w.done() == collections.Counter(t0=2), "control: an effect that is there twice is seen", (w.done(), err))
    w.close()


def killed_anywhere(kind):
    """Its host is killed at any moment, again and again, and another goes on."""
    w, rng = World(), random.Random(7)
    host = w.start(kind, "append", "0")
    run = run_of(host)
    while not w.done() and host.poll() is None:
        time.sleep(0.01)
    for _ in range(KILLS):
        time.sleep(rng.uniform(0.01, 0.4))
        host.kill()
        status, _, err = whole(host)
        if not ok(status == -signal.SIGKILL, "%s: a host is there to be killed" % kind, (status, err)):
            return w.close()
        host = w.host("open", run)
    open(w.ws + "/enough", "w").close()
    status, _, err = whole(host)
    said, done = w.said(), w.done()
    fine = {s["text"] for s in said if s["ok"] and s["said"] == s["text"]}
    unknown = {s["text"] for s in said if not s["ok"] and s["said"].startswith("outcome_unknown")}
    ok(status == 0 and len(fine) > KILLS, "%s: the run goes on through %d killed hosts" % (kind, KILLS), (status, len(fine), err))
    ok(len(said) == len({s["text"] for s in said}) == len(fine) + len(unknown), "%s: each call has one answer" % kind,
       [s for s in said if s["text"] not in fine | unknown][:3])
    ok(all(done[t] == 1 for t in fine), "%s: what was answered was done once" % kind, {t: done[t] for t in fine if done[t] != 1})
    ok(all(k == 1 for k in done.values()), "%s: nothing was done twice" % kind, {t: k for t, k in done.items() if k > 1})
    ok(len(unknown) <= KILLS, "%s: no more outcomes are unknown than hosts were killed" % kind, unknown)
    print("note - %s: %d hosts killed, %d outcomes unknown of %d calls" % (kind, KILLS, len(unknown), len(said)))
    w.close()


def flooded(kind):
    """The guard keeps nothing for a client that doesn't read."""
    w, most = World(), 0
    host = w.start(kind, "flood", "4")
    run = run_of(host)
    while host.poll() is None:
        try:
            with open(w.root + "/state/runs/" + run + "/guard.json") as f:
                pid = json.load(f)["pid"]
            with open("/proc/%d/status" % pid) as f:
                most = max([most] + [int(line.split()[1]) for line in f if line.startswith("VmHWM:")])
        except (OSError, ValueError):
            pass
        time.sleep(0.1)
    status, out, err = whole(host)
    got = json.loads(out) if status == 0 else {}
    ok(got.get("sent", 0) > 1 << 20 and got["closed"] + got["answered"] > 1,
       "%s: a client that never reads is closed, and another one answered beside it" % kind, (status, out, err))
    ok(0 < most < 40000, "%s: the guard stays small meanwhile" % kind, "%d kB" % most)
    print("note - %s: %s, the guard has had %d kB" % (kind, got, most))
    w.close()


def several_clients():
    w = World()
    client = "/usr/bin/python3 %s/mcp/calls.py rate 300 12 &" % HERE
    status, out, err = whole(w.host("start", "none", "--", "/bin/sh", "-c", client * 4 + " wait"))
    got = [json.loads(line) for line in out.splitlines()]
    ok(status == 0 and [(s["answered"], s["twice"], s["wrong"]) for s in got] == [(300, 0, 0)] * 4,
       "four clients at once get their own answers", (status, out, err))
    w.close()


for kind in ("none", "sandbox"):
    rate(kind)
ok(set(points("call:")) == {p for p in MEANT if p}, "each named point of a call is tried", points("call:"))
for point in MEANT:
    killed_at("none", point)
control()
killed_at("sandbox", "call:answer")
killed_at("sandbox", "call:recorded")
for kind in ("none", "sandbox"):
    killed_anywhere(kind)
    flooded(kind)
several_clients()
finish()

# SPDX-License-Identifier: Apache-2.0
"""The docker provider's check against a real engine: fine where all is, and each of its parts fails where what it looks for is not
so.  What is changed is changed between provider and engine; nothing is left, also of a check that was killed."""
import hashlib, json, os, signal, socket, subprocess, sys, threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../engine")
import meddler
from dockerworld import BUILD, HOST, PROVIDER, Engine, World, eventually
from provider import Provider
from tap import finish, ok

SMALL = os.environ["OC_IMAGE_SMALL"]
GUEST = BUILD + "/libexec/open-conduit-guest"
ENGINES = os.path.dirname(os.path.abspath(meddler.__file__))
IDS = ["user", "engine", "machine", "mapping", "image", "gateway", "objects", "run", "owner", "network"]
ISOLATED = "com.docker.network.bridge.gateway_mode_ipv4"


class Between:
    """A meddler in this process, with rules that may look at what they change."""

    def __init__(self, at, rules):
        self.at, self.said = at, []
        meddler.say = self.said.append
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(at)
        self.listener.listen(64)
        self.rules = rules
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=meddler.serve, args=(sock, HOST[len("unix://"):], self.rules), daemon=True).start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        os.unlink(self.at)


class Lie(meddler.Rule):
    """A rule for the runs' own networks alone: those that are internal."""

    def apply(self, body):
        return super().apply(body) if json.loads(body).get("Internal") else body


def parameters(w, context="default", image=SMALL, guest=GUEST):
    return {"state_dir": w.state, "live_dir": w.state + "/live", "guest": guest, "context": context, "image": image}


def check(w, env=None, **over):
    """The checks by id, in their order."""
    provider = Provider(PROVIDER, w.environment(**(env or {})))
    try:
        reply = provider.call("check", parameters(w, **over))
        return {c["id"]: c for c in reply["checks"]} if "checks" in reply else reply
    finally:
        provider.close()


def through(w, rules, **over):
    between = Between(w.root + "/between", rules)
    try:
        return check(w, {"DOCKER_HOST": "unix://" + between.at}, **over), between.said
    finally:
        between.close()


def instance(w):
    return hashlib.sha256(w.state.encode()).hexdigest()[:16]


def nothing_left(w, engine):
    return not engine.labelled("instance", instance(w)) and not os.listdir(w.state + "/live")


def fails(checks, which, *words):
    """Exactly this one does; it says these words, and has a fix.  What needs it was not done."""
    c = checks.get(which, {"ok": True})
    text = "%s | %s" % (c.get("detail"), c.get("fix"))
    return [i for i in checks if not checks[i]["ok"]] == [which] and all(word in text for word in words) and bool(c["fix"])


def good(w, engine):
    checks = check(w)
    ok(list(checks) == IDS and all(c["ok"] and c["fix"] is None for c in checks.values()), "control: all is fine, and all is looked at",
       checks)
    ok(nothing_left(w, engine), "nothing is left of a check")
    checks, said = through(w, [])
    ok(list(checks) == IDS and all(c["ok"] for c in checks.values()) and any(s.endswith("/start") for s in said),
       "control: so it is through what lets all pass", checks)


def bad_parameters(w):
    digest = SMALL.split("@")[1]
    for what, env, over, which, words in (
            ("a context that isn't there", {}, {"context": "nonesuch"}, "engine", ("nonesuch", "docker context ls")),
            ("a socket that isn't there", {"DOCKER_HOST": "unix://" + w.root + "/none"}, {}, "engine", ("is not there", "systemctl")),
            ("an engine elsewhere", {"DOCKER_HOST": "ssh://elsewhere"}, {}, "engine", ("leads off this machine",)),
            ("an image by its tag", {}, {"image": "busybox:1"}, "image", ("by digest",)),
            ("an image that isn't there", {}, {"image": "none.example/x@" + digest}, "image", ("docker --context default pull none.example/x@" + digest,)),
            ("an image for another platform", {}, {"image": os.environ["OC_IMAGE_OTHER"]}, "image", ("linux/arm64", "linux/amd64")),
            ("no gateway image", {"OPEN_CONDUIT_GATEWAY_IMAGE": None}, {}, "gateway", ("OPEN_CONDUIT_GATEWAY_IMAGE", "gateway-image")),
            ("a gateway image by its name", {"OPEN_CONDUIT_GATEWAY_IMAGE": "gateway:1"}, {}, "gateway", ("gateway:1",)),
            ("a gateway image that isn't there", {"OPEN_CONDUIT_GATEWAY_IMAGE": digest[:-8] + "00000000"}, {}, "gateway", ("missing",)),
            ("no guest", {}, {"guest": w.root + "/none"}, "run", ("none",)),
            ("a gateway image that is none", {"OPEN_CONDUIT_GATEWAY_IMAGE": SMALL}, {}, "run", ())):
        checks = check(w, env, **over)
        ok(fails(checks, which, *words), "%s: %s fails" % (what, which), checks)


def old_engine(w):
    at, log = w.root + "/old", w.root + "/old.log"
    engine = subprocess.Popen([sys.executable, ENGINES + "/old_engine.py", at, log], stdout=subprocess.PIPE, text=True)
    engine.stdout.readline()
    checks = check(w, {"DOCKER_HOST": "unix://" + at})
    engine.terminate()
    engine.wait()
    ok(fails(checks, "engine", "27.5.1", "28 or later"), "an engine that is too old fails", checks)
    with open(log) as f:
        ok(all(line.startswith("GET ") for line in f), "nothing was made in it")


def meddled(w, engine):
    info = "reply GET ^/info$ "
    for what, rule, which, words in (
            ("another kernel", '/KernelVersion="6.1.0"', "machine", ("6.1.0",)),
            ("another system", '/OSType="windows"', "machine", ("windows",)),
            ("a rootless engine", '/SecurityOptions/-="name=rootless"', "mapping", ("is rootless",)),
            ("users that are mapped", '/SecurityOptions/-="name=userns"', "mapping", ("userns-remap",)),
            ("no filter of system calls", "/SecurityOptions=[]", "mapping", ("filters no system calls",))):
        checks, said = through(w, [meddler.Rule(info + rule)])
        ok(fails(checks, which, *words) and not any(s.startswith("POST") for s in said), "%s: %s fails, and nothing is made" % (what, which),
           (checks, said))
    checks, _ = through(w, [meddler.Rule(info + '/OperatingSystem="Docker Desktop"')])
    ok(all(c["ok"] for c in checks.values()) and "untested" in checks["engine"]["detail"], "Docker Desktop is only noted", checks)
    checks, _ = through(w, [meddler.Rule('request POST ^/containers/create$ /HostConfig/ReadonlyRootfs=false')])
    ok(fails(checks, "run", "ReadonlyRootfs"), "an engine that makes something else: run fails", checks)
    ok(nothing_left(w, engine), "nothing is left of any of them")


def not_isolated(w, engine):
    """An engine that ignores what isolates a network, and says that it doesn't: seen by trying."""
    checks, said = through(w, [Lie("request POST ^/networks/create$ /Options/%s=\"nat\"" % ISOLATED),
                               Lie("reply GET ^/networks/[0-9a-f]+$ /Options/%s=\"isolated\"" % ISOLATED)])
    ok(fails(checks, "network", "leads out past its gateway", "subnet:"), "a network that is not isolated: network fails", (checks, said))
    ok(nothing_left(w, engine), "nothing is left of it")


def killed(w, engine):
    """In the middle of its run, and the launch command with it: nobody is there to remove anything."""
    provider = Provider(PROVIDER, w.environment())
    provider.socket.sendall(json.dumps({"jsonrpc": "2.0", "id": 7, "method": "check", "params": parameters(w)}).encode() + b"\n")
    ok(eventually(lambda: len(engine.labelled("instance", instance(w))) >= 4), "control: there is something to be left")
    with open("/proc/%d/task/%d/children" % (provider.process.pid, provider.process.pid)) as f:
        children = [int(pid) for pid in f.read().split()]
    for pid in children + [provider.process.pid]:
        os.kill(pid, signal.SIGKILL)
    provider.close()
    ok(children and os.listdir(w.state + "/live") and engine.labelled("instance", instance(w)), "control: it was left")
    checks = check(w)
    ok(all(c["ok"] for c in checks.values()) and list(checks) == IDS, "the next check is fine", checks)
    ok(nothing_left(w, engine), "and has removed what the killed one left")


def main():
    engine, w = Engine(), World()
    os.makedirs(w.state + "/live", 0o700, exist_ok=True)
    try:
        good(w, engine)
        bad_parameters(w)
        old_engine(w)
        meddled(w, engine)
        not_isolated(w, engine)
        killed(w, engine)
    finally:
        w.close()
    finish()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A live container run against its pin: another engine at the same context, another configuration of what it has there, a provider
that was replaced, an engine that is away or silent, somebody else's container with its name.  Each is told with reason, subject and
fix, nothing is ended that is not provably the run's, it is adopted as soon as all is as it was; and it can be stopped all the while."""
import json, os, shutil, subprocess, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from boxes import LABEL, Box, Boxes, alive, ask  # noqa: E402
from faults import follow, get, guard_of, listed, ok, read_json, start, wait_for  # noqa: E402
from test_container import LIVE, At  # noqa: E402
from test_kill import STATUS, tree  # noqa: E402
from world import BUILD, finish  # noqa: E402

PROVIDER = "/providers/open-conduit-provider-docker"


class Live:
    """A run, and what is asked of it."""

    def __init__(self, w, name):
        self.w, self.name, self.c = w, name, Box(w, name)
        self.run = start(w, "box", LIVE)
        self.c.ok(wait_for(self.c.ran, 60), "it ran")
        self.id = w.of_role(self.run, "container")
        self.network = w.of_role(self.run, "network")
        self.same("control: before")

    def state(self):
        p, _ = listed(self.w)
        self.c.ok(p.returncode == 0, "runs list works", p.stderr)
        return get(self.w, self.run)

    def same(self, when):
        """As pinned: shown as running, and adopted."""
        run = self.state()
        self.c.ok(run["state"] == "running" and not run["error"], when + ": it is running", (run["state"], run["error"]))
        host = subprocess.Popen([BUILD + "/tests/fault/follow", "hold", self.w.state, self.run], env=self.w.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = host.stdout.readline().strip()
        host.kill()
        _, err = host.communicate()
        self.c.ok(line == "running", when + ": it is adopted", (line, err))

    def differs(self, when, reason, subject, *words):
        run = self.state()
        error = run["error"] or {}
        text = self.w.oc("runs", "get", self.run).stdout
        flat = " ".join(text.split())
        self.c.ok(run["state"] == "unknown" and error.get("reason") == reason and error.get("subject") == subject and error.get("fix") and
                  all(x in error.get("message", "") for x in words), when + ": unknown, with reason, subject, words and fix", (run["state"], error))
        self.c.ok(reason in flat and subject in flat and " ".join(error.get("fix", "?").split()) in flat, when + ": runs get prints them", text[:700])
        p = follow(self.w, "adopt", self.w.state, self.run)
        told = json.loads(p.stderr) if p.stderr.startswith("{") else {}
        self.c.ok(p.returncode == 1 and told.get("reason") == reason and told.get("fix"), when + ": not adopted", p.stderr)
        self.c.ok(self.there() and self.c.guards(), when + ": nothing of it was ended")
        return error.get("fix") or ""

    def there(self):
        status, shown = ask("GET", "/containers/%s/json" % self.id)
        return status == 200 and shown["State"]["Running"]

    def end(self):
        p = self.w.oc("runs", "stop", "--grace", "1s", self.run)
        self.c.ok(p.returncode == 0 and get(self.w, self.run)["exit"]["state"] == "stopped", "runs stop ends it", (p.stderr, get(self.w, self.run)["state"]))
        self.finish("stopped")

    def finish(self, how):
        self.c.nothing_left()
        ok(self.c.fine, "%s: %s" % (self.name, how if self.c.fine else "FAILED"))


def paste(w, fix):
    """As a person would, in a shell, with the docker command there."""
    path = os.path.dirname(os.environ["OC_DOCKER"]) + ":" + w.env["PATH"]
    return subprocess.run(["sh", "-c", fix], env={**w.env, "PATH": path}, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)


def answers(w):
    """The engine, or what it says of the run's things, is another one's."""
    live = Live(w, "an engine's answers that differ from the pin")
    engine = ask("GET", "/info")[1]["ID"]
    w.between.change('reply GET ^/info$ /ID="another"')
    fix = live.differs("another engine", "pin_mismatch", "default", "another", engine)
    p = paste(w, fix)
    live.c.ok(engine in fix and p.stdout == "another\n", "another engine: the fix shows which one is there", (fix, p.stdout, p.stderr))
    mounts = ask("GET", "/containers/%s/json" % live.id)[1]["HostConfig"]["Mounts"]
    kept = next(i for i, m in enumerate(mounts) if m.get("ReadOnly"))
    for rule, subject, word in (("containers/%s/json$ /Image=\"sha256:0\"" % live.id, "Image", "sha256:0"),
                                ("containers/%s/json$ /Config/Labels/%srun=\"another\"" % (live.id, LABEL), "Config.Labels.%srun" % LABEL, "another"),
                                ("containers/%s/json$ /HostConfig/Privileged=true" % live.id, "HostConfig.Privileged", "true"),
                                ("containers/%s/json$ /HostConfig/Mounts/%d/ReadOnly=false" % (live.id, kept), "", "false"),
                                ("containers/%s/json$ /Config/User=\"0:0\"" % w.of_role(live.run, "gateway"), "Config.User", "0:0"),
                                ("networks/%s$ /Internal=false" % live.network, "Internal", "false")):
        w.between.change("reply GET ^/" + rule)
        run = live.state()
        error = run["error"] or {}
        live.c.ok(run["state"] == "unknown" and error.get("reason") == "pin_mismatch" and (error.get("subject") == subject or not subject) and
                  word in error.get("message", "") and "docker -H" in error.get("fix", ""), rule + ": told", (run["state"], error))
    w.between.change()
    live.same("as it was")
    live.end()


def changed(w):
    """By others, in the engine itself."""
    live = Live(w, "what others changed in the engine")
    before = ask("GET", "/containers/%s/json" % live.id)[1]["HostConfig"]
    status, said = ask("POST", "/containers/%s/update" % live.id, {"PidsLimit": 4321})
    live.c.ok(status == 200, "control: a limit is raised", said)
    live.differs("a limit", "pin_mismatch", "HostConfig.PidsLimit", "4321", str(before["PidsLimit"] or "nothing"))
    ask("POST", "/containers/%s/update" % live.id, {"PidsLimit": before["PidsLimit"]})
    live.same("the limit as it was")
    stranger = ask("POST", "/containers/create", {"Image": w.image, "Cmd": ["/bin/sleep", "300"]})[1]["Id"]
    try:
        ask("POST", "/containers/%s/start" % stranger)
        status, said = ask("POST", "/networks/%s/connect" % live.network, {"Container": stranger})
        live.c.ok(status == 200, "control: somebody is on its network", said)
        fix = live.differs("somebody on its network", "pin_mismatch", "Containers", "not of the run")
        live.c.ok(ask("GET", "/containers/%s/json" % stranger)[1]["State"]["Running"], "theirs runs on")
        p = paste(w, fix)
        live.c.ok(p.returncode == 0, "the fix can be pasted", (fix, p.stderr))
        live.same("after the fix")
        status, said = ask("POST", "/networks/bridge/connect", {"Container": live.id})
        live.c.ok(status == 200, "control: it is on another network", said)
        live.differs("another network", "pin_mismatch", "NetworkSettings.Networks.bridge", "nothing")
    finally:
        ask("DELETE", "/containers/%s?force=1&v=1" % stranger)
    live.end()


def way_out(w):
    """The fix of what can't be undone by name: its container goes, and its guard ends the rest."""
    live = Live(w, "the fix of a changed container")
    ask("POST", "/containers/%s/update" % live.id, {"PidsLimit": 4321})
    p = paste(w, live.differs("a limit", "pin_mismatch", "HostConfig.PidsLimit"))
    live.c.ok(p.returncode == 0, "it can be pasted", p.stderr)
    live.c.ok(wait_for(lambda: not live.c.guards(), 60), "the guard ends the run")
    live.c.ok(live.state()["state"] == "run_lost", "lost", get(w, live.run)["state"])
    live.finish("lost")


def provider(w):
    """Its program was replaced: it is neither asked nor does it remove anything."""
    place = w.home + "/libexec"
    shutil.copytree(BUILD + "/libexec", place)
    os.symlink(BUILD + "/lib", w.home + "/lib")  # where the provider looks for it
    was, w.env["OPEN_CONDUIT_LIBEXEC"] = w.env["OPEN_CONDUIT_LIBEXEC"], place
    try:
        live = Live(w, "a provider that was replaced")
        os.rename(place + PROVIDER, place + "/was")
        shutil.copy(place + "/was", place + PROVIDER)
        with open(place + PROVIDER, "ab") as f:
            f.write(b"\n")
        live.differs("replaced", "pin_mismatch", place + PROVIDER, "sha256:")
        guard = guard_of(w, live.run)
        for pid in [guard] + tree(guard):
            os.kill(pid, 9)
        wait_for(lambda: not alive(guard), 5)
        run = live.state()
        live.c.ok(run["state"] == "unknown" and run["error"]["reason"] == "pin_mismatch" and run["error"]["subject"] == place + PROVIDER,
                  "replaced, and its guard killed: told which", run["error"])
        live.c.ok(w.objects(), "control: it did not remove what is there")
        p = follow(w, "retry", w.state, live.run)
        live.c.ok(p.returncode == 1 and "pin_mismatch" in p.stderr, "not tried again", p.stderr)
        os.rename(place + "/was", place + PROVIDER)
        live.c.ok(live.state()["state"] == "run_lost", "the pinned one again: lost", get(w, live.run)["state"])
        live.finish("lost")
    finally:
        w.env["OPEN_CONDUIT_LIBEXEC"] = was


def away(w):
    live = Live(w, "an engine that is away from a live run")
    w.between.down()
    live.differs("away", "sandbox_unavailable", w.between.path, "not there")
    p = follow(w, "retry", w.state, live.run)
    live.c.ok(p.returncode == 1, "no retry", p.stderr)
    w.between.up()
    live.same("when it is back")
    # Silent: what is asked is not answered.
    second = start(w, "box", LIVE)
    w.between.speaks.clear()
    began = time.monotonic()
    p, _ = listed(w)
    took = time.monotonic() - began
    run, other = get(w, live.run), get(w, second)
    live.c.ok(took < 40 and run["state"] == other["state"] == "unknown" and run["error"]["reason"] == "sandbox_unavailable",
              "silent: unknown, in bounded time", (took, run["state"], other["state"], run["error"]))
    w.between.speaks.set()
    live.same("when it answers")
    p = w.oc("runs", "stop", "--grace", "1s", second)
    live.c.ok(p.returncode == 0, "the other too", p.stderr)
    live.end()


def stop_away(w):
    """A run whose engine is away is stopped by its guard; what is left there goes when it is back."""
    live = Live(w, "runs stop while the engine is away")
    w.between.down()
    p = w.oc("runs", "stop", "--grace", "1s", live.run, timeout=240)
    record = read_json("%s/runs/%s/exit.json" % (w.state, live.run)) or {}
    live.c.ok(record.get("state") == "stopped" and not live.c.guards(), "it is ended", (p.stderr, record))
    live.c.ok(p.returncode == 1 and w.between.path in p.stderr, "and what is left is told", p.stderr)
    w.between.up()
    live.state()
    live.c.ok(get(w, live.run)["state"] == "exited", "settled when it is back", get(w, live.run)["state"])
    live.finish("stopped")


def namesake(w):
    """Somebody else's container has the very name that the run asked for."""
    c, made = Box(w, "somebody else's container with the run's own name"), []

    def make(path):
        name = w.between.whole.split("name=")[1].split("&")[0]
        made.append(ask("POST", "/containers/create?name=" + name, {"Image": w.image, "Cmd": ["/bin/sleep", "300"]})[1]["Id"])
        ask("POST", "/containers/%s/start" % made[0])
        return c.kill("all")
    at = At(("POST", "/containers/create", 1), "request", make)
    w.between.watch = at
    try:
        c.exec()
        w.between.watch = None
        c.ok(at.hit and made, "control: it is there, and the run's guard is not", at.hit)
        c.settle()
        status, shown = ask("GET", "/containers/%s/json" % made[0])
        c.ok(status == 200 and shown["State"]["Running"] and shown["Name"].startswith("/oc-"), "theirs runs on", status)
    finally:
        w.between.watch = None
        for id_ in made:
            ask("DELETE", "/containers/%s?force=1&v=1" % id_)
    ok(c.fine, "%s: %s" % (c.name, "untouched" if c.fine else "FAILED"))


def main():
    w, jobs = Boxes(), [answers, changed, way_out, provider, away, stop_away, namesake]
    try:
        for job in [j for j in jobs if not sys.argv[1:] or j.__name__ in sys.argv[1:]] if w.begin() else []:
            job(w)
    finally:
        w.close()
    finish()


if __name__ == "__main__":
    main()

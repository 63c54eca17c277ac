# SPDX-License-Identifier: Apache-2.0
"""The launch command of a container's run against a real engine, with a real gateway and a stand-in for the guest: what is made,
that it is what was planned, and that nothing is left whatever happens."""
import fcntl, json, os, signal, socket, struct, sys, threading, time

from dockerworld import DIGEST, Engine, Launch, World, cleanup, eventually
from tap import finish, ok

SMALL, TOOLS = os.environ["OC_IMAGE_SMALL"], os.environ["OC_IMAGE_TOOLS"]
engine = Engine()


def spec_of(plan):
    return json.loads(plan["launch"]["files"][0]["text"])


def left(plan):
    """Ids in the engine that are the run's, or the instance's where this was its only run."""
    spec = spec_of(plan)
    return sorted(set(engine.labelled("run", spec["run"]) + engine.labelled("instance", spec["instance"])))


def planned(w, image=SMALL, **over):
    run = w.run()
    plan = w.plan(run, image, **over)
    if "launch" not in plan:
        raise SystemExit("a plan was refused: %s" % plan)
    return run, plan


def record(plan):
    with open(spec_of(plan)["log"]) as f:
        return [json.loads(line) for line in f]


def container(plan):
    run = spec_of(plan)["run"]
    return {c["Labels"]["io.openconduit.role"]: c["Id"] for c in engine.ask(
        "GET", "/containers/json?all=1&filters={%%22label%%22:[%%22io.openconduit.run=%s%%22]}" % run)[1]}


def whole_run(w):
    run, plan = planned(w)
    start = time.monotonic()
    l = Launch(plan)
    hello = l.hello()
    ok(hello == "hello 1 %d %d" % (os.getuid(), os.getgid()), "the guest is pid 1 with the operator's uid and gid, and has the guard's socket",
       hello or l.text())
    met = time.monotonic()
    ws = w.ws
    ok(l.say("put %s/made" % ws) == "ok" and os.path.exists(ws + "/made"), "the workspace may be written, at its own path")
    ok(l.say("put %s/.git/made" % ws) == "ok", "control: so may .git")
    for name in ("config", "hooks/x", "info/x"):
        ok(l.say("put %s/.git/%s" % (ws, name)) == "EROFS", ".git/%s may not" % name)
    ok(l.cat(w.root + "/read/file") == "read me\n" and l.say("put %s/read/x" % w.root) == "EROFS", "what is granted for reading is read-only")
    ok(l.cat(w.root + "/secret") == "" and l.say("put %s/x" % w.root) != "ok", "what lies beside the grants isn't there")
    ok(l.say("put /x") == "EROFS" and l.say("put /tmp/x") == "ok", "the root is read-only, /tmp is not")
    ok("noexec" not in [m for m in l.cat("/proc/self/mounts").splitlines() if " /tmp " in m][0], "/tmp may hold programs")
    ok(":%d:%d:" % (os.getuid(), os.getgid()) in l.cat("/etc/passwd"), "the operator has a name in it")
    status = l.cat("/proc/self/status")
    ok("CapEff:\t0000000000000000" in status and "CapBnd:\t0000000000000000" in status and "NoNewPrivs:\t1" in status and "Seccomp:\t2" in status,
       "no capability, no new ones, the engine's filter", status)
    l.lines.write(b"env\n")
    env = dict(line.split("=", 1) for line in iter(lambda: l.lines.readline().decode().rstrip("\n"), ""))
    address = env["HTTP_PROXY"][len("http://"):].split(":")[0]
    ok(env["https_proxy"] == env["HTTP_PROXY"] == "http://%s:3128" % address and "PATH" not in env, "its variables are the proxy's, and none of the image's", env)
    denied = l.say("proxy %s 3128" % address)
    ok(" 403 " in denied, "the gateway refuses what isn't listed", denied)
    ok(len(left(plan)) == 4, "control: two containers and a network are there, and the way out", left(plan))
    l.lines.write(b"exit 7\n")
    status = l.wait()
    ok(status == 0 and l.text() == "", "the end of the container is the end of the launch command", (status, l.text()))
    ok(left(plan) == [], "nothing is left in the engine", left(plan))
    lines = record(plan)
    ok([e["host"] for e in lines if e["event"] == "deny"] == ["nowhere.example"] and lines[-1]["event"] == "summary" and lines[-1]["deny"] == 1,
       "what the gateway decided is recorded", lines)
    ok(os.stat(spec_of(plan)["log"]).st_mode & 0o777 == 0o600, "for this user alone")
    ok(cleanup(plan)[0] == 0 and not os.path.exists(w.state + "/live/" + run + "/objects"), "cleanup finds nothing to do")
    print("note - from start to the guest %.0f ms, from there to nothing left %.0f ms" % ((met - start) * 1000, (time.monotonic() - met) * 1000))
    l.close()


def volumes(w):
    before = len(engine.ask("GET", "/volumes")[1]["Volumes"] or [])
    run, plan = planned(w, os.environ["OC_IMAGE_VOLUME"])
    l = Launch(plan)
    l.hello()
    ok(l.say("put /data/x") == "EROFS" and l.say("put /var/lib/x/x") == "EROFS", "an image's volumes are covered, read-only")
    ok(len(engine.ask("GET", "/volumes")[1]["Volumes"] or []) == before, "no volume was made for them")
    l.lines.write(b"exit 0\n")
    ok(l.wait() == 0 and left(plan) == [], "and nothing is left", l.text())
    l.close()


def images(w):
    for name, variable in (("an image with variables of every kind", "ENV"), ("one with labels", "LABEL"), ("one with a user, an entry point and a folder", "ENTRY"),
                           ("one with a health check", "HEALTH"), ("one whose user has the operator's number for a name", "NAMED"), ("one that runs as root", "ROOT")):
        run, plan = planned(w, os.environ["OC_IMAGE_" + variable])
        l = Launch(plan)
        hello = l.hello()
        ok(hello == "hello 1 %d %d" % (os.getuid(), os.getgid()), name + " starts as planned", hello or l.text())
        if variable == "ENV" and hello:
            l.lines.write(b"env\n")
            env = dict(line.split("=", 1) for line in iter(lambda: l.lines.readline().decode().rstrip("\n"), ""))
            ok(not {"LD_PRELOAD", "BASH_ENV", "MARK", "NODE_OPTIONS"} & set(env) and "192.0.2.1" not in str(env), "none of its variables is there", env)
            ok(plan["env"].get("MARK") == "of the image" and "HTTP_PROXY" not in plan["env"] and "no_proxy" not in plan["env"],
               "the plan has them for the agent, but not the proxy's", plan["env"])
        l.channel.shutdown(socket.SHUT_RDWR)
        ok(l.wait() == 0 and left(plan) == [], "it ends with its channel")
        l.close()


def memory(w):
    run, plan = planned(w, limits={"nano_cpus": 500000000, "memory": 64 << 20, "pids": 16})
    l = Launch(plan)
    l.hello()
    said = l.say("eat")
    ok(said == "signal 9", "what eats more than the limit is ended", said)
    l.lines.write(b"exit 0\n")
    ok(l.wait() == 0 and "limits.memory" in l.text(), "and the launch command says which limit it was", l.text())
    l.close()


def sharing(w):
    _, one = planned(w)
    _, two = planned(w)
    first, second = Launch(one), Launch(two)
    ok(first.hello() and second.hello(), "two runs are there at once", first.text() + second.text())
    egress = [n for n in engine.ask("GET", "/networks")[1] if n["Name"] == "oc-%s-egress" % spec_of(one)["instance"]]
    ok(len(egress) == 1, "with one way out", egress)
    first.lines.write(b"exit 0\n")
    ok(first.wait() == 0 and [n for n in engine.ask("GET", "/networks")[1] if n["Id"] == egress[0]["Id"]], "which stays for the second", first.text())
    second.lines.write(b"exit 0\n")
    ok(second.wait() == 0 and left(two) == [], "and goes with it", second.text())
    first.close()
    second.close()


def ended(w):
    """SIGTERM at any moment of its life."""
    clean = True
    for delay in (0.02, 0.1, 0.3, 0.6, 1.0, 1.6, 2.5, None):
        run, plan = planned(w)
        l = Launch(plan)
        if delay is None:
            l.hello()
        else:
            time.sleep(delay)
        l.process.send_signal(signal.SIGTERM)
        status = l.wait()
        clean = ok(status in (0, -signal.SIGTERM) and left(plan) == [], "SIGTERM %s: it ends, and nothing is left" % (
            "with the guest there" if delay is None else "after %.2f s" % delay), (status, l.text(), left(plan))) and clean
        l.close()


def guard_gone(w):
    run, plan = planned(w)
    l = Launch(plan)
    time.sleep(0.5)
    l.lines.close()
    l.channel.close()
    ok(l.process.wait(120) == 0 and left(plan) == [], "a guard that is gone before its socket was handed over: nothing is left", l.text())


def killed(w):
    """SIGKILL leaves what cleanup finds."""
    some = 0
    for delay in (0.1, 0.3, 0.6, 0.9, 1.2, 1.6, 2.5, "made", None):
        run, plan = planned(w)
        l = Launch(plan)
        if delay is None:
            l.hello()
        elif delay == "made":
            eventually(lambda: left(plan))
        else:
            time.sleep(delay)
        l.process.kill()
        l.process.wait()
        some += bool(left(plan))
        status, text = cleanup(plan)
        ok(status == 0 and left(plan) == [], "SIGKILL %s: cleanup leaves nothing" % ({None: "with the guest there", "made": "with something there"}.get(delay) or "after %.2f s" % delay),
           (status, text, left(plan)))
        ok(cleanup(plan)[0] == 0, "and does no harm when it is done again")
        l.close()
    ok(some >= 2, "control: something was left before", some)


def again(w):
    run, plan = planned(w)
    l = Launch(plan)
    l.hello()
    l.process.kill()
    l.process.wait()
    second = Launch(plan)
    ok(second.wait() == 1 and second.refused().get("reason") == "container_running", "a further attempt is refused while something is left of the last", second.text())
    ok(cleanup(plan)[0] == 0, "control: cleanup")
    third = Launch(plan)
    ok(third.hello() != "", "and then made", third.text())
    third.lines.write(b"exit 0\n")
    ok(third.wait() == 0 and left(plan) == [], "with nothing left", third.text())
    for x in (l, second, third):
        x.close()


def gateway_gone(w):
    run, plan = planned(w)
    l = Launch(plan)
    l.hello()
    engine.ask("POST", "/containers/%s/kill" % container(plan)["gateway"])
    status = l.wait()
    ok(status == 1 and l.refused().get("subject") == "gateway", "without its gateway a run is ended, and that is said", (status, l.text()))
    ok(left(plan) == [], "with nothing left", left(plan))
    l.close()


def foreign(w):
    """Named like ours, labelled like ours."""
    run, plan = planned(w)
    l = Launch(plan)
    l.hello()
    l.process.kill()
    l.process.wait()
    spec = spec_of(plan)
    labels = {"io.openconduit." + k: v for k, v in (("instance", spec["instance"]), ("run", run), ("role", "container"))}
    status, made = engine.ask("POST", "/containers/create?name=oc-foreign-" + run, {"Image": spec["container"]["Image"], "Labels": labels, "Cmd": ["/bin/true"]})
    ok(status == 201, "control: a stranger with our labels is there", made)
    ok(cleanup(plan)[0] == 0 and left(plan) == [made["Id"]], "cleanup removes ours and not the stranger", left(plan))
    with open(w.state + "/live/" + run + "/objects", "w") as f:
        f.write("intend container oc-foreign-%s-other\n" % run)
    engine.ask("POST", "/containers/%s/rename?name=oc-foreign-%s-other" % (made["Id"], run))
    labels["io.openconduit.run"] = "somebodyelse"
    engine.ask("DELETE", "/containers/" + made["Id"])
    status, made = engine.ask("POST", "/containers/create?name=oc-foreign-%s-other" % run, {"Image": spec["container"]["Image"], "Labels": labels, "Cmd": ["/bin/true"]})
    ok(cleanup(plan)[0] == 0 and engine.ask("GET", "/containers/%s/json" % made["Id"])[0] == 200, "nor one with a name that was intended, and another's labels")
    ok(engine.ask("DELETE", "/containers/" + made["Id"])[0] == 204, "control: it was there")
    l.close()


def changed(w):
    """What isn't as it was planned."""
    run, plan = planned(w)
    os.rename(w.root + "/read", w.root + "/moved")
    os.symlink(w.root, w.root + "/read")
    l = Launch(plan)
    status = l.wait()
    ok(status == 1 and l.refused().get("reason") == "sandbox_denied" and left(plan) == [], "a grant that became a link: nothing is made", (status, l.text()))
    l.close()
    os.unlink(w.root + "/read")
    os.rename(w.root + "/moved", w.root + "/read")
    spec = spec_of(plan)
    l = Launch(plan, digest=None)
    ok(l.wait() == 1 and left(plan) == [], "without the digest of its plan it starts nothing", l.text())
    l.close()
    for what, change, status in (("an engine that is another one", {"engine": "another"}, 3), ("an engine that isn't there", {"endpoint": dict(spec["endpoint"], host="unix:///nonexistent/docker.sock")}, 3)):
        text = json.dumps(dict(spec, **change))
        l = Launch(plan, spec=text)
        ok(l.wait() == 1 and l.refused().get("reason") == "sandbox_unavailable", what + " is refused", l.text())
        l.close()
        with open(w.state + "/live/" + run + "/objects", "w") as f:
            f.write("made container 0123456789\n")
        l = Launch(plan, spec=text, command="cleanup")
        ok(l.wait() == status, "and cleanup says that it couldn't ask", l.text())
        l.close()
        os.unlink(w.state + "/live/" + run + "/objects")
    l = Launch(plan, spec=json.dumps(dict(spec, unheard=1)))
    ok(l.wait() == 1 and l.refused().get("reason") == "provider_failed", "a plan with a member too many is refused", l.text())
    l.close()


def stranger(w):
    """Another process of the operator's at the channel's socket."""
    run, plan = planned(w)
    l = Launch(plan)
    path = w.state + "/live/" + run + "/channel/sock"
    eventually(lambda: os.path.exists(path), 60)
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(120)
    s.connect(path)
    data, fds, _, _ = socket.recv_fds(s, 1, 1)
    ok(data == b"" and not fds, "a stranger gets nothing", (data, fds))
    ok(l.hello().startswith("hello 1 "), "and the guest its channel", l.text())
    l.lines.write(b"exit 0\n")
    ok(l.wait() == 0, "control: to the end", l.text())
    s.close()
    l.close()


def refusals(w):
    def refused(what, reason, word, image=SMALL, env=None, **over):
        plan = w.plan(w.run(), image, env=env, **over)
        error = plan.get("data") or plan.get("error") or plan
        text = json.dumps(plan)
        ok("launch" not in plan and reason in text and word in text and '"fix"' in text, what, text)

    ok("launch" in w.plan(w.run(), SMALL), "control: a plan that nothing is wrong with")
    cpus = engine.ask("GET", "/info")[1]["NCPU"]
    refused("more cpus than there are", "sandbox_unavailable", "has %d" % cpus, limits={"nano_cpus": (cpus + 1) * 10**9, "memory": 0, "pids": 9})
    at = os.environ["OC_DOCKER_HOST"][len("unix://"):]
    write = w.resolved(w.run(), SMALL)["write"]
    refused("a grant that holds the engine's socket", "sandbox_denied", os.path.dirname(at), write=write + [w.entry(os.path.dirname(at), "write[1]")])
    refused("a range that is none of ours to take", "sandbox_unavailable", "OPEN_CONDUIT_DOCKER_RANGE", env={"OPEN_CONDUIT_DOCKER_RANGE": "8.8.0.0/16"})


PLACES, TICKETS = (0, 256), (1 << 32, 0)
OFD_GETLK, OFD_SETLK = 36, 37


def lock(fd, command, kind, span):
    """The kind of lock that there is, or that was taken, on bytes of an engine's file."""
    return struct.unpack("hhqqi4x", fcntl.fcntl(fd, command, struct.pack("hhqqi4x", kind, os.SEEK_SET, *span, 0)))[0]


def ticks(pid):
    with open("/proc/%d/stat" % pid) as f:
        return sum(int(x) for x in f.read().rsplit(")", 1)[1].split()[11:13])


def queued(w):
    """Every place at the engine is taken by others."""
    _, plan = planned(w)
    fd = os.open(spec_of(plan)["lock"], os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    lock(fd, OFD_SETLK, fcntl.F_WRLCK, PLACES)

    def waits():
        return lock(fd, OFD_GETLK, fcntl.F_WRLCK, TICKETS) != fcntl.F_UNLCK

    def waiting():
        l = Launch(plan)
        there = eventually(waits)
        before = ticks(l.process.pid)
        time.sleep(2)
        ok(there and waits() and l.process.poll() is None and left(plan) == [], "no place at the engine is free: it waits, and nothing is made", (l.text(), left(plan)))
        used = ticks(l.process.pid) - before
        ok(used <= 0.1 * os.sysconf("SC_CLK_TCK"), "and it takes next to no time of a processor", used)
        return l
    for what, end in (("SIGTERM", lambda l: l.process.send_signal(signal.SIGTERM)), ("its guard's end", lambda l: (l.lines.close(), l.channel.close()))):
        l = waiting()
        start = time.monotonic()
        end(l)
        ok(l.wait() == 0 and time.monotonic() - start < 3 and not waits() and left(plan) == [], "%s ends it while it waits, at once" % what, (l.text(), left(plan)))
        l.close()
    l = waiting()
    l.process.kill()
    l.process.wait()
    ok(not waits() and cleanup(plan)[0] == 0, "one that is killed waits no longer", l.text())
    l.close()
    l = waiting()
    lock(fd, OFD_SETLK, fcntl.F_UNLCK, PLACES)
    ok(l.hello() != "" and not waits(), "control: its turn comes, and it is made", l.text())
    lock(fd, OFD_SETLK, fcntl.F_WRLCK, PLACES)
    l.lines.write(b"exit 0\n")
    ok(l.wait() == 0 and left(plan) == [], "its end waits for no place that isn't free in time: nothing is left", (l.text(), left(plan)))
    l.close()
    os.close(fd)


tests = (whole_run, volumes, images, memory, sharing, ended, guard_gone, killed, again, queued, gateway_gone, foreign, changed, stranger, refusals)


def main():
    names = sys.argv[1:]
    for test in tests:
        if names and test.__name__ not in names:
            continue
        w = World()
        try:
            test(w)
        finally:
            w.close()
    finish()


if __name__ == "__main__":
    main()

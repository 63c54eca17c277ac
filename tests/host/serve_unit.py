# SPDX-License-Identifier: Apache-2.0
"""The daemon as a unit of a real user manager of systemd, with a run under srt; and, for root to try, one that others speak to.

  serve_unit.py manager          the unit started, stopped under its run, killed, started again
  serve_unit.py others DIRECTORY a daemon: DIRECTORY/where has its socket and token, until there is DIRECTORY/done"""
import json, os, re, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "isolation")]
from serveworld import BUILD, COMMIT, PROGRAM, Served, finish, head, ok, put, wait_for  # noqa: E402

UNIT = "open-conduit.service"


class Managed(Served):
    def __init__(self):
        super().__init__()
        self.env["XDG_RUNTIME_DIR"] = self.root + "/rt"
        os.mkdir(self.root + "/rt", 0o700)
        with open(BUILD + "/host/" + UNIT) as f:
            # As it is installed, but for the program's place.
            put(self.home + "/.config/systemd/user/" + UNIT, re.sub(r"(?m)^ExecStart=\S+", "ExecStart=" + PROGRAM, f.read()), 0o644)
        self.manager = subprocess.Popen(["/lib/systemd/systemd", "--user", "--log-target=console", "--log-level=notice"], env=self.env, cwd=self.home,
                                        stdin=subprocess.DEVNULL, stdout=open(self.log, "ab"), stderr=subprocess.STDOUT)

    def ctl(self, *args):
        return subprocess.run(["systemctl", "--user", *args], env=self.env, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)

    def of(self, name):
        return self.ctl("show", UNIT, "-p", name, "--value").stdout.strip()

    def close(self):
        self.ctl("stop", UNIT)
        self.ctl("exit")
        try:
            self.manager.wait(20)
        except subprocess.TimeoutExpired:
            self.manager.kill()
            self.manager.wait()
        super().close()


def manager(w):
    if not ok(wait_for(lambda: w.ctl("is-system-running").stdout.strip() in ("running", "degraded"), 30), "a user manager of systemd is there", w.said()):
        return
    w.ctl("set-environment", *["%s=%s" % (k, w.env[k]) for k in ("PATH", "OPEN_CONDUIT_LIBEXEC", "GIT_CONFIG_NOSYSTEM")])
    p = w.ctl("start", UNIT)
    ok(p.returncode == 0 and w.of("ActiveState") == "active" and w.of("StatusText") == "running", "unit: started, when the daemon says that it is ready", p.stderr + w.said())
    ok(w.status().get("pid") == int(w.of("MainPID")) and w.of("NRestarts") == "0", "unit: and can be asked", w.status())
    _, run = w.submit("while [ ! -e go ]; do sleep 0.1; done; " + COMMIT % ("a", "a"), "k", "boxed")
    ok(wait_for(lambda: w.state_of(run) == "running", 60), "unit: a run under srt", w.oc("runs", "get", run).stdout + w.said())
    p = w.ctl("stop", UNIT)
    ok(p.returncode == 0 and w.of("ActiveState") == "inactive" and w.of("Result") == "success", "unit: stopped", p.stderr)
    time.sleep(1)
    ok(w.state_of(run) == "running", "unit: the run goes on without it", w.state_of(run))
    w.ctl("start", UNIT)
    ok(wait_for(lambda: w.status().get("adopted") == 1, 30), "unit: started again it adopts the run", w.status())
    before = int(w.of("MainPID"))
    os.kill(before, 9)
    ok(wait_for(lambda: w.of("NRestarts") == "1" and w.status().get("adopted") == 1, 30) and int(w.of("MainPID")) != before,
       "unit: killed, the manager starts another, which adopts it", (w.of("NRestarts"), w.status()))
    with open("/proc/%s/limits" % w.of("MainPID")) as f:
        raised = re.search(r"open files\s+(\d+)\s+(\d+)", f.read()).groups()
    ok(raised[0] == raised[1] and int(raised[0]) > 1024, "unit: descriptors for many runs", raised)
    put(w.work("k")["workspace"] + "/go", "")
    ok(w.ended([run]) and w.state_of(run) == "exited", "unit: it ends well", w.state_of(run))
    ok(wait_for(lambda: "a" in w.messages(head(w.work("k"))), 30), "unit: its commit is saved", w.said())
    p = w.oc("serve", "--drain")
    ok(p.returncode == 0 and wait_for(lambda: w.of("ActiveState") == "inactive", 10), "unit: drained it ends, and isn't started anew", p.stderr + w.of("ActiveState"))


def others(w, directory):
    w.serve()
    put(directory + "/where.new", json.dumps({"socket": w.sock, "token": w.token(), "state": w.state}), 0o644)
    os.rename(directory + "/where.new", directory + "/where")
    wait_for(lambda: os.path.exists(directory + "/done"), 120)
    ok(w.status().get("pid") == w.daemon.pid, "others: control: its own user is answered all the same", w.status())


def main():
    w = Managed() if sys.argv[1] == "manager" else Served()
    try:
        globals()[sys.argv[1]](w, *sys.argv[2:])
    finally:
        w.close()
    finish()


main()

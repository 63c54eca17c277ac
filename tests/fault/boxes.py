# SPDX-License-Identifier: Apache-2.0
"""A world whose runs are containers of a real engine, reached through a socket that a test watches, and what of it is there."""
import json, os, signal, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "docker")]
from between import Between  # noqa: E402
from dockerworld import Engine  # noqa: E402
from faults import BUILD, SOAK, alive, ok, read_json, wait_for  # noqa: E402
from test_kill import Case, children, names  # noqa: E402
from world import World, put  # noqa: E402

ENGINE, IMAGE, GATEWAY = os.environ["OC_DOCKER_HOST"], os.environ["OC_IMAGE_SMALL"], os.environ["OPEN_CONDUIT_GATEWAY_IMAGE"]
LABEL = "io.openconduit."
LAUNCH = "open-conduit-pr"  # as /proc cuts its name


def ask(method, path, body=None):
    return Engine(ENGINE[len("unix://"):]).ask(method, path, body)


class Boxes(World):
    image = IMAGE

    def __init__(self):
        super().__init__(clone=False)
        put(self.config + "/config.json", json.dumps({"version": 1, "settings": {"extensions": {"docker": {"pass_env": ["DOCKER_HOST"]}}},
                                                      "connections": [], "scopes": []}))
        self.between = Between(self.home + "/e.sock", ENGINE[len("unix://"):])
        self.env.update({"DOCKER_HOST": "unix://" + self.between.path, "OPEN_CONDUIT_GATEWAY_IMAGE": GATEWAY})
        self.instance, self.strangers = None, []

    def begin(self):
        """The provider's check is done, and the name is known by which things of this world are found."""
        p = self.oc("exec", "--container", self.image, "--", "true", timeout=300)
        if not ok(p.returncode == 0, "a container run works", p.stderr):
            return False
        run = json.loads(self.oc("runs", "list", "--json").stdout)["runs"][0]["id"]
        plan = json.loads(self.oc("runs", "get", run, "--json").stdout)["run"]["plan"]
        self.instance = json.loads(plan["launch"]["files"][0]["text"])["instance"]
        return True

    def objects(self, what="instance", value=None):
        """What the engine has of this world, or of a run: (kind, id), without what the test put there."""
        e = Engine(ENGINE[len("unix://"):])
        filters = "filters=" + json.dumps({"label": ["%s%s=%s" % (LABEL, what, value or self.instance)]}).replace(" ", "").replace('"', "%22")
        all_ = [(kind, o["Id"], (o.get("Labels") or {}).get(LABEL + "role")) for kind, path in (("containers", "/containers/json?all=1&"), ("networks", "/networks?"))
                for o in e.ask("GET", path + filters)[1]]
        return [o for o in all_ if o[1] not in self.strangers]

    def of_role(self, run, role):
        return next((id_ for _, id_, r in self.objects("run", run) if r == role), None)

    def remove_objects(self):
        for kind, id_, _ in self.objects():
            ask("DELETE", "/%s/%s%s" % (kind, id_, "?force=1&v=1" if kind == "containers" else ""))

    def close(self):
        if self.instance:
            self.remove_objects()
        self.between.down()
        super().close()


class Box(Case):
    """A case of killing whose run is a container."""

    def __init__(self, w, name, **more):
        super().__init__("box", w, name, **more)
        self.host = None

    def flags(self):
        return ["--container", self.w.image]

    def exec(self, env=None):
        args = [BUILD + "/host/open-conduit", "exec", *self.flags(), "--", "/bin/sh", "-c", self.script() % self.mark]
        self.host = subprocess.Popen(args, cwd=self.w.ws, env={**self.w.env, **(env or {})}, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, err = self.host.communicate(timeout=300)
        return subprocess.CompletedProcess(args, self.host.returncode, out, err)

    def recovery_points(self):
        """One by turns: what was asked for and never made is waited for each time."""
        all_ = super().recovery_points()
        return all_ if SOAK else [all_[len(self.name) % len(all_)]]

    def script(self):
        return "echo run >> %s; echo out; exit 7"

    def launch(self):
        return [p for g in self.guards() for p in names(children(g)).get(LAUNCH, [])]

    def victims(self, target):
        host = [self.host.pid] if self.host and self.host.poll() is None else []
        provider = names(children(self.host.pid)).get(LAUNCH, []) if host else []
        return {"host": host, "provider": provider, "guard": self.guards(), "launch": self.launch(), "all": self.launch() + self.guards() + host}[target]

    def cleanups(self, run):
        """The provider as a command of its own that removes what a run left."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as command, open("/proc/%s/environ" % pid, "rb") as env:
                    if command.read().endswith(b"-docker\0cleanup\0") and b"OPEN_CONDUIT_RUN=%s\0" % run.encode() in env.read():
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def kill(self, target):
        return self.kill_all(self.victims(target))

    def kill_all(self, found):
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return bool(found)

    def nothing_left(self):
        super().nothing_left()
        # A cleanup whose parent was killed ends a moment later.
        if not self.ok(wait_for(lambda: not self.w.objects(), 10), "nothing is left in the engine", self.w.objects()):
            self.w.remove_objects()  # the next case is another matter


__all__ = ["ask", "alive", "Box", "Boxes", "LABEL", "put", "read_json"]

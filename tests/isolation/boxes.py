# SPDX-License-Identifier: Apache-2.0
"""The world of the battery where each run is in a container of the real engine (OC_DOCKER_HOST, OC_DOCKER, OC_IMAGE_NAME,
OPEN_CONDUIT_GATEWAY_IMAGE), and the containers beside it that nothing confines: the controls."""
import hashlib, json, os, socket, subprocess, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import Services, World, put  # noqa: E402

ENGINE, DOCKER, TOOLS = os.environ["OC_DOCKER_HOST"], os.environ["OC_DOCKER"], os.environ["OC_IMAGE_TOOLS"]
NOTHING_FORBIDS = ("--privileged", "--network", "host", "--pid", "host", "--ipc", "host", "-v", "/tmp:/tmp", "-v", "%s:%s" % ((os.path.dirname(ENGINE[7:]),) * 2))
WAIT = 180


class Boxes(World):
    kind = ("--container",)
    provider = "docker"
    scripts = ("battery.py", "box_battery.py")

    def __init__(self, clone=True):
        super().__init__(clone)
        self.image = TOOLS
        self.env["OPEN_CONDUIT_GATEWAY_IMAGE"] = os.environ["OPEN_CONDUIT_GATEWAY_IMAGE"]
        put(self.config + "/config.json", '{"version":1,"settings":{"extensions":{"docker":{"pass_env":["topsecret"]}}},"connections":[],"scopes":[]}')
        meta = {"Name": "battery", "Metadata": {}, "Endpoints": {"docker": {"Host": ENGINE, "SkipTLSVerify": False}}}
        put("%s/.docker/contexts/meta/%s/meta.json" % (self.home, hashlib.sha256(b"battery").hexdigest()), json.dumps(meta))
        self.name = "oc-battery-%d" % os.getpid()
        self.made = []

    def command(self, *args):
        if args[0] == "exec" and "--unsandboxed" not in args:
            args = ("exec", "--container", self.image, *args[1:])
        return super().command(*args)

    def base(self):
        return {"provider": {"context": "battery"}, "image": self.image, "write": ["{workspace}"], "network": {"allow": []}}

    def wider(self):
        return {**self.base(), "read": [self.denied]}

    def docker(self, *args, timeout=WAIT, **more):
        return subprocess.run([DOCKER, *args], env={"PATH": "/usr/bin:/bin", "HOME": self.root, "DOCKER_HOST": ENGINE}, capture_output=True, text=True,
                              timeout=timeout, stdin=subprocess.DEVNULL, **more)

    def inspect(self, *names):
        p = self.docker("inspect", *names)
        return json.loads(p.stdout) if p.returncode == 0 else []

    def plain(self, *command, flags=(), image=None):
        """A container as an engine makes them, without a network unless one is named."""
        return self.docker("run", "--rm", *(() if "--network" in flags else ("--network", "none")), *flags, image or TOOLS, *command)

    def network(self):
        """An ordinary one, IPv4 and IPv6, with a container of a name on it: (its own addresses of the host, the name)."""
        six = "fd00:c:ba77:%x::" % (os.getpid() & 0xFFFF)
        self.docker("network", "create", "--ipv6", "--subnet", six + "/64", "--gateway", six + "1", self.name)
        self.made.append(("network", "rm", self.name))
        alias = "inner.%s.example" % self.name
        self.docker("run", "-d", "--name", self.name + "-named", "--network", self.name, "--network-alias", alias, TOOLS, "sleep", "1000")
        self.made.insert(0, ("rm", "-f", self.name + "-named"))
        config = self.inspect(self.name)[0]["IPAM"]["Config"]
        return [c["Gateway"].split("/")[0] for c in config if "Gateway" in c], alias

    def running(self):
        """Of this world's runs, by role: those of the last first."""
        found = {}
        for name in self.docker("ps", "-q", "--no-trunc", "--filter", "label=io.openconduit.role").stdout.split():
            for o in self.inspect(name):
                if self.root in json.dumps(o["HostConfig"].get("Mounts")):
                    found.setdefault(o["Config"]["Labels"]["io.openconduit.role"], []).append(o)
        return found

    def left(self):
        """What the engine has of this world: its containers by their mounts; and no folder of a run is there."""
        names = self.docker("ps", "-aq", "--no-trunc", "--filter", "label=io.openconduit.role").stdout.split()
        return [o["Name"] for o in self.inspect(*names) if self.root in json.dumps(o["HostConfig"].get("Mounts"))] if names else []

    def last(self):
        run = json.loads(self.oc("runs", "list", "--json").stdout)["runs"][0]["id"]
        return run, json.loads(self.oc("runs", "get", run, "--json").stdout)["run"]

    def decided(self, run):
        """What the run's gateway recorded."""
        with open("%s/runs/%s/network" % (self.state, run)) as f:
            return [json.loads(line) for line in f]

    def start(self, *args):
        """A run that goes on; its first line has come."""
        q = subprocess.Popen(self.command("exec", *args), env=self.env, cwd=self.ws, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        return q, q.stdout.readline()

    def close(self):
        for args in self.made:
            self.docker(*args)
        super().close()


class Listeners(Services):
    """With more of them on every address."""

    def __init__(self, world):
        super().__init__(world)
        self.port6_any = self.listen(socket.AF_INET6, ("::", 0))
        self.http_any_ok = self.listen(socket.AF_INET, ("0.0.0.0", 0), self.answer_http("allowed"))
        self.udp_any = self.listen_udp(socket.AF_INET6, ("::", 0))


def wait_for(what, seconds=WAIT):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True

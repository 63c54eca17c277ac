# SPDX-License-Identifier: Apache-2.0
"""A world whose bindings run in containers of the real engine (OC_DOCKER_HOST, OC_IMAGE_TOOLS), and what of it is in there."""
import json, os, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "isolation")]
from work import EVAL, Works  # noqa: E402
from world import put  # noqa: E402

ENGINE, DOCKER, TOOLS = os.environ["OC_DOCKER_HOST"], os.environ["OC_DOCKER"], os.environ["OC_IMAGE_TOOLS"]
AGENT = os.path.join(HERE, "box_agent.py")


class Boxes(Works):
    def __init__(self):
        super().__init__()
        self.env.update({"DOCKER_HOST": ENGINE, "OPEN_CONDUIT_GATEWAY_IMAGE": os.environ["OPEN_CONDUIT_GATEWAY_IMAGE"]})
        self.seed, self.shared = self.home + "/seed", self.home + "/shared"
        os.makedirs(self.seed + "/plugins")
        os.makedirs(self.shared)
        put(self.seed + "/settings.json", "{}", 0o600)
        put(self.seed + "/plugins/tool", "#!/bin/sh\necho tool\n", 0o755)
        put(self.seed + "/plugins/.credentials.json", "canary-of-a-login")
        put(self.shared + "/notes", "notes\n", 0o644)
        with open(AGENT) as f:
            put(self.home + "/bin/claude", f.read(), 0o755)
        self.reset()

    def box(self, name, policy=None, **more):
        b = self.binding(name, **more)
        b["container"] = {"provider": "docker", "config": {"image": TOOLS, "write": ["{workspace}"], "network": {"allow": []}, **(policy or {})}}
        return b

    def agent(self, name, policy=None, **more):
        """Its claude is a stand-in, mounted, since an image of its own would be no more than that."""
        return self.box(name, {"read": [self.home + "/bin"], "network": {"allow": ["gateway.invalid"]}, **(policy or {})}, executor="claude-code", command=None,
                        secret_names=["token"], config={"secret_env": {"token": "ANTHROPIC_API_KEY"}, "home_seed": self.seed, "env": {
                            "PATH": self.home + "/bin:/usr/bin:/bin", "ANTHROPIC_BASE_URL": "https://gateway.invalid"}}, **more)

    def reset(self, *more, pass_env=("DOCKER_HOST",)):
        self.configure(self.box("box", secret_names=["token"], config={"secret_env": {"token": "TOKEN"}}), self.box("seeded", config={"home_seed": self.seed}),
                       self.box("mounted", {"write": ["{workspace}", self.shared], "read": ["{workspace}/sub"], "limits": {"cpus": 0.5, "memory": "256m", "pids": 64}}),
                       self.agent("mind"), self.agent("belted", operations=["run.policy"], requires={"toolbelt": "mcp", "workspace": True}), *more)
        path = self.config + "/config.json"
        config = json.load(open(path))
        config["scopes"][0]["authorization"]["operations"] = ["run.policy"]
        config["settings"] = {"extensions": {"docker": {"pass_env": list(pass_env)}}}
        put(path, json.dumps(config))

    def rebind(self, name, change):
        """One binding of the config otherwise."""
        path = self.config + "/config.json"
        config = json.load(open(path))
        change(next(b for b in config["scopes"][0]["bindings"] if b["name"] == name))
        put(path, json.dumps(config))

    def turn(self, do, key=None, binding="box", flags=(), env=None, json_=False, **members):
        return super().turn(do, key, binding, flags, {"MY_TOKEN": "canary-of-a-token", **(env or {})}, json_, **members)

    def docker(self, *args):
        return subprocess.run([DOCKER, *args], env={"PATH": "/usr/bin:/bin", "HOME": self.home, "DOCKER_HOST": ENGINE}, capture_output=True, text=True, timeout=60)

    def objects(self):
        """What the engine has of this world: its containers by a mount of ours, all networks of runs."""
        found = []
        for name in self.docker("ps", "-aq", "--no-trunc").stdout.split():
            text = self.docker("inspect", name).stdout
            if self.root in text:
                found.append(json.loads(text)[0])
        return found

    def home_of(self, key):
        return os.path.dirname(self.work(key)["workspace"]) + "/home"


__all__ = ["Boxes", "DOCKER", "ENGINE", "EVAL", "TOOLS"]

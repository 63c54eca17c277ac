# SPDX-License-Identifier: Apache-2.0
"""Somebody between the launch command and the engine changes one field: nothing starts, and nothing is left."""
import json, os, subprocess, sys

from dockerworld import HOST, Engine, Launch, World
from tap import finish, ok

MEDDLER = os.path.dirname(os.path.abspath(__file__)) + "/../engine/meddler.py"
CREATE, NETWORK, INSPECT = "request POST ^/containers/create$ ", "request POST ^/networks/create$ ", "reply GET ^/containers/[0-9a-f]+/json$ "
RULES = (
    ("the root may be written", CREATE + "/HostConfig/ReadonlyRootfs=false", "HostConfig.ReadonlyRootfs"),
    ("capabilities are kept", CREATE + "/HostConfig/CapDrop=[]", "HostConfig.CapDrop"),
    ("a capability is added", CREATE + '/HostConfig/CapAdd=["NET_ADMIN"]', "HostConfig.CapAdd"),
    ("it is privileged", CREATE + "/HostConfig/Privileged=true", "HostConfig"),
    ("new privileges may be had", CREATE + "/HostConfig/SecurityOpt=[]", "HostConfig.SecurityOpt"),
    ("no filter of system calls", CREATE + '/HostConfig/SecurityOpt/-="seccomp=unconfined"', "HostConfig.SecurityOpt"),
    ("no limit of processes", CREATE + "-/HostConfig/PidsLimit", "HostConfig.PidsLimit"),
    ("it runs as root", CREATE + '/User="0:0"', "Config.User"),
    ("another file is mounted", CREATE + '/HostConfig/Mounts/0/Source="/etc/hostname"', ""),
    ("one more mount", CREATE + '/HostConfig/Mounts/-={"Type":"bind","Source":"/etc","Target":"/host"}', "HostConfig.Mounts"),
    ("one more mount, in the old form", CREATE + '/HostConfig/Binds=["/etc:/host"]', "HostConfig.Binds"),
    ("one more variable", CREATE + '/Env/-="LD_PRELOAD=/tmp/x.so"', "Config.Env"),
    ("the host's IPC", CREATE + '/HostConfig/IpcMode="host"', "HostConfig.IpcMode"),
    ("the host's processes", CREATE + '/HostConfig/PidMode="host"', "HostConfig.PidMode"),
    ("another run's label", CREATE + '/Labels/io.openconduit.run="another"', "Config.Labels"),
    ("another entry point", CREATE + '/Entrypoint/0="/bin/sh"', "Path"),
    ("its network is Docker's own", CREATE + '/HostConfig/NetworkMode="bridge"', "HostConfig.NetworkMode"),
    ("the host has an address on its network", NETWORK + '/Options/com.docker.network.bridge.gateway_mode_ipv4="nat"', "Options"),
    ("its network has no IPv6 of its own", NETWORK + "/EnableIPv6=false", ""),
    ("a runtime that shows only in the answer", INSPECT + '/HostConfig/Runtime="other"', "HostConfig.Runtime"),
    ("a member that nobody knows", INSPECT + '/HostConfig/Escape="yes"', "HostConfig.Escape"),
    ("a warning about a limit", 'reply POST ^/containers/create$ /Warnings=["limits are not supported, discarded"]', "engine"),
    ("another engine", 'reply GET ^/info$ /ID="another"', "engine"),
)


class Meddler:
    def __init__(self, at, *rules):
        self.at = at
        self.process = subprocess.Popen([sys.executable, MEDDLER, at, HOST[len("unix://"):], *rules], stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def close(self):
        self.process.terminate()
        said = self.process.stdout.read()
        self.process.wait()
        os.unlink(self.at)
        return said.splitlines()


def through(w, engine, rules):
    """The launch command behind a meddler: its status, refusal, what was asked, and what is left."""
    run = w.run()
    plan = w.plan(run, os.environ["OC_IMAGE_SMALL"], limits={"nano_cpus": 500000000, "memory": 128 << 20, "pids": 32})
    spec = json.loads(plan["launch"]["files"][0]["text"])
    meddler = Meddler(w.root + "/meddler", *rules)
    l = Launch(plan, spec=json.dumps(dict(spec, endpoint=dict(spec["endpoint"], host="unix://" + meddler.at))))
    hello = l.hello()
    if hello:
        l.lines.write(b"exit 0\n")
    status, refusal, text = l.wait(), l.refused(), l.text()
    l.close()
    left = set(engine.labelled("run", run) + engine.labelled("instance", spec["instance"]))
    return hello, status, refusal, meddler.close(), left, text


def main():
    engine, w = Engine(), World()
    try:
        hello, status, _, asked, left, text = through(w, engine, [])
        ok(hello and status == 0 and not left and any(a.endswith("/start") for a in asked), "control: through a meddler that lets all pass a run starts", text)
        for what, rule, subject in RULES:
            hello, status, refusal, asked, left, text = through(w, engine, [rule])
            ok(not hello and status == 1 and refusal.get("reason") == "sandbox_unavailable" and refusal.get("subject", "").startswith(subject) and
               not any(a.endswith("/start") for a in asked), "nothing starts where " + what, (hello, status, text, asked))
            ok(any(a.startswith("changed ") for a in asked) and not left, "control: the field was changed; nothing is left", (asked, left))
    finally:
        w.close()
    finish()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""A daemon, and turns of an agent that it speaks with: a stand-in for Claude Code that works as long as a file is there, takes
what is said meanwhile between two steps, each mark once, and ends when its input does; and the real one."""
import json, os, signal, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]
import claudeworld  # noqa: E402
from claudeworld import Claude, put, wait_for  # noqa: E402, F401
from serveworld import Served  # noqa: E402

AGENT = r'''#!/usr/bin/python3
import json, os, select, sys, time
root, seen, text, ended, busy = os.environ["PLAY"], set(), b"", False, False
out = os.fdopen(1, "wb", 0)

def say(**what):
    out.write((json.dumps(what) + "\n").encode())

def take(line):
    global busy
    got = json.loads(line)
    with open(root + "/written", "a") as f:
        f.write(json.dumps([got["uuid"], got["message"]["content"]]) + "\n")
    if got["uuid"] in seen:
        return
    seen.add(got["uuid"])
    with open(root + "/taken", "a") as f:
        f.write(json.dumps([os.getpid(), got["message"]["content"]]) + "\n")
    if not busy:
        say(type="system", subtype="init", session_id=os.environ["OPEN_CONDUIT_SESSION"], model="m", mcp_servers=[])
    busy = True
    say(type="user", isReplay=True, uuid=got["uuid"], message={"role": "user", "content": "x"})

while not ended or busy:
    if not ended and select.select([0], [], [], 0.05)[0]:
        piece = os.read(0, 65536)
        ended, text = not piece, text + piece
        while b"\n" in text:
            line, text = text.split(b"\n", 1)
            take(line)
    elif ended:
        time.sleep(0.05)
    if busy and not os.path.exists(root + "/hold"):
        say(type="result", subtype="success", is_error=False, result="ok")
        busy = False
open(root + "/ends", "a").write("%d\n" % os.getpid())
'''


class Hosted(Claude):
    serve, kill, said, status, state_of, ended, queue, memory = (Served.serve, Served.kill, Served.said, Served.status, Served.state_of, Served.ended,
                                                                 Served.queue, Served.memory)
    daemon = None

    def __init__(self, real=False, **more):
        claudeworld.CLAUDE = claudeworld.CLAUDE or "/bin/true"
        super().__init__(**more)
        self.sock, self.log, self.play = self.state + "/serve.sock", self.root + "/serve.log", self.root + "/play"
        os.mkdir(self.play)
        if not real:
            os.unlink(self.home + "/bin/claude")
            put(self.home + "/bin/claude", AGENT, 0o755)
            self.bindings = [self.binding("plain", env={"PLAY": self.play})]
            self.configure()

    def hold(self, on=True):
        if on:
            put(self.play + "/hold", "")
        elif os.path.exists(self.play + "/hold"):
            os.unlink(self.play + "/hold")

    def lines(self, name):
        path = self.play + "/" + name
        return [json.loads(line) for line in open(path)] if os.path.exists(path) else []

    def taken(self):
        return [text for _, text in self.lines("taken")]

    def send(self, key, text):
        p = self.oc("work", "send", key, text, "--json", cwd=self.home)
        return json.loads(p.stdout) if p.returncode == 0 else {"stderr": p.stderr}

    def turn(self, key, prompt="do it", binding="plain"):
        """A turn of the daemon's, begun: its id."""
        p = self.run(binding, key, prompt, "--detach")
        if p.returncode:
            raise RuntimeError(p.stderr + self.said())
        return p.stdout.strip()

    def notes(self, run, kind):
        return [e for e in self.record(run)["events"] if e["type"] == "note:" + kind]

    def close(self):
        self.hold(False)
        if self.daemon:
            self.kill(signal.SIGTERM)
        for run in json.loads(self.oc("runs", "list", "--json").stdout or '{"runs":[]}')["runs"]:
            if run["state"] not in ("exited", "failed", "run_lost"):
                self.oc("runs", "stop", run["id"])
        super().close()

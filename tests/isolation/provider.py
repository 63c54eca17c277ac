# SPDX-License-Identifier: Apache-2.0
"""Speaking to a provider directly, and running what it planned: the launch command with a guest of the test's own."""
import json, os, signal, socket, subprocess


class Provider:
    def __init__(self, path, env):
        ours, theirs = socket.socketpair()
        self.process = subprocess.Popen([path], stdin=theirs, stdout=theirs, env=env, cwd="/")
        theirs.close()
        self.socket, self.lines, self.id = ours, ours.makefile("rb"), 0
        self.about = self.call("initialize", {"protocol": 1, "host": "0.1.0"})

    def call(self, method, params):
        """The result; a refusal is returned as {"refused": {...}}."""
        self.id += 1
        self.socket.sendall(json.dumps({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}).encode() + b"\n")
        answer = json.loads(self.lines.readline())
        return answer["result"] if "result" in answer else {"refused": answer["error"].get("data") or answer["error"]}

    def close(self):
        self.socket.close()
        self.lines.close()
        return self.process.wait(10)


def make_live(live):
    for name in ("run/tmp", "t", "cwd", "home"):
        os.makedirs(live + "/" + name, mode=0o700, exist_ok=True)


def launch(plan, env, during=None, timeout=60):
    """Run a plan's launch command with channel and settings as the guard gives them; (status, stdout, stderr)."""
    launched = plan["launch"]
    settings = os.memfd_create("settings")
    os.write(settings, launched["files"][0]["text"].encode())
    os.lseek(settings, 0, 0)

    def place():
        if settings == 3:
            os.set_inheritable(3, True)
        else:
            os.dup2(settings, 3, inheritable=True)

    p = subprocess.Popen(launched["argv"], env={**launched["env"], **env}, cwd=launched["cwd"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, close_fds=False, start_new_session=True, preexec_fn=place)
    os.close(settings)
    try:
        if during:
            during(p)
        out, err = p.communicate(timeout=timeout)
    finally:
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return p.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def path_rule(path, allow, rule="read"):
    return {"path": path, "allow": allow, "rule": rule, "as": path, "exists": os.path.lexists(path), "dir": os.path.isdir(path)}


def resolved(home, workspace, live, write=(), deny=(), allow=(), protected=(), network=(), sockets=(), hidden=(), all_sockets=False,
             readonly=(), git=None):
    """A resolved policy in HACKING.md's form, as the policy engine would make it of these lists."""
    run = live + "/run"
    return {
        "home": home, "workspace": workspace, "run_dir": run,
        "write": [{"path": p, "rule": "write", "as": p, "dev": 0, "ino": 0, "dir": True} for p in (*write, run)],
        "read": [path_rule(p, False) for p in deny] + [path_rule(p, True) for p in allow],
        "protected": [{"path": p, "what": "state", "exists": os.path.lexists(p), "dir": os.path.isdir(p)} for p in protected],
        "readonly": [{"path": p, "what": "git"} for p in readonly], "git": git,
        "network": [{"entry": e, "host": h, "port": p, "wildcard": w} for e, h, p, w in network],
        "unix_sockets": "all" if all_sockets else "none",
        "sockets": [{"path": p, "rule": "sockets", "as": p} for p in sockets],
        "hidden": [{"path": p, "why": "socket"} for p in hidden], "tools": [],
    }

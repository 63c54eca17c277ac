# SPDX-License-Identifier: Apache-2.0
"""What the tests of killing have in common: the points, what is left of a world, runs and their files."""
import glob, json, os, re, subprocess, sys, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "isolation"))
import world  # noqa: E402
from world import BUILD  # noqa: E402

ROOT = os.path.join(HERE, "..", "..")
FOLLOW = BUILD + "/tests/fault/follow"
SOAK = os.environ.get("OC_TIER") == "soak"
FILES = ("guard.json", "started", "proved", "exit.json")


printing = threading.Lock()


def ok(condition, name, detail=""):
    with printing:
        return world.ok(condition, name, detail)


def points(prefix=""):
    """Read from the source, so that a new one is tried without anyone remembering it."""
    found = set()
    for f in glob.glob(ROOT + "/lib/**/*.c", recursive=True):
        with open(f) as text:
            found |= set(re.findall(r'oc_fault\("([^"]+)"\)', text.read()))
    return sorted(p for p in found if p.startswith(prefix))


def provider_points(*methods):
    """Those of lib/sdk/main.c: a provider that is asked, and one that has done it."""
    return ["provider:" + m + when for m in methods for when in ("", "-done")]


def stat_of(pid):
    with open("/proc/%s/stat" % pid) as f:
        tail = f.read().rsplit(")", 1)[1].split()
    return {"state": tail[0], "ppid": int(tail[1]), "pgrp": int(tail[2]), "session": int(tail[3]), "start": int(tail[19])}


def alive(pid):
    try:
        return stat_of(pid)["state"] not in "ZX"
    except OSError:
        return False


def processes(w, sessions=()):
    """Everything of this world: by its paths, by the mark of its runs, by the sessions its guards had."""
    mine = []
    for p in filter(str.isdigit, os.listdir("/proc")):
        if int(p) == os.getpid():
            continue
        try:
            stat = stat_of(p)
            if stat["state"] in "ZX":
                continue
            text = open("/proc/%s/cmdline" % p, "rb").read()
        except OSError:
            continue
        command = text.replace(b"\0", b" ").decode(errors="replace")[:100]
        try:
            text += open("/proc/%s/environ" % p, "rb").read()
        except OSError:
            pass
        if w.root.encode() + b"/" in text or stat["session"] in sessions:
            mine.append((int(p), command))
    return mine


def of_user():
    """Every process of this user but this one's own."""
    all_, uid = {}, os.getuid()
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = stat_of(p)
            status = open("/proc/%s/status" % p).read()
            command = open("/proc/%s/cmdline" % p, "rb").read().replace(b"\0", b" ").decode(errors="replace")[:100]
        except OSError:
            continue
        if stat["state"] not in "ZX" and re.search(r"^Uid:\s+%d\s" % uid, status, re.M):
            all_[int(p)] = (stat["ppid"], command)
    ours, more = {os.getpid()}, True
    while more:
        new = {p for p, (parent, _) in all_.items() if parent in ours} - ours
        ours, more = ours | new, bool(new)
    return {p: command for p, (_, command) in all_.items() if p not in ours}


def wait_for(what, seconds, step=0.05):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(step)
    return True


def run_dirs(w):
    base = w.state + "/runs"
    return [base + "/" + d for d in sorted(os.listdir(base))] if os.path.isdir(base) else []


def read_json(path):
    try:
        with open(path) as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def guard_of(w, run):
    return (read_json("%s/runs/%s/guard.json" % (w.state, run)) or {}).get("pid", 0)


def get(w, run):
    p = w.oc("runs", "get", run, "--json")
    return json.loads(p.stdout)["run"] if p.returncode == 0 else {"state": "(none)", "stderr": p.stderr}


def listed(w, env=None):
    p = w.oc("runs", "list", "--json", env=env)
    return p, (json.loads(p.stdout)["runs"] if p.returncode == 0 and p.stdout else [])


def follow(w, *args, env=None, timeout=120):
    return subprocess.run([FOLLOW, *args], env={**w.env, **(env or {})}, capture_output=True, text=True, timeout=timeout,
                          stdin=subprocess.DEVNULL)


def start(w, kind, script, timeout=120):
    """A run that goes on without a host: its id."""
    policy = "-" if kind == "none" else json.dumps({"write": ["{workspace}"], "network": {"allow": []}, **({"image": w.image} if kind == "box" else {})})
    p = follow(w, "start", w.state, w.ws, policy, "--", "/bin/sh", "-c", script, timeout=timeout)
    if p.returncode != 0:
        raise RuntimeError("the run did not start: " + p.stderr)
    return p.stdout.strip()

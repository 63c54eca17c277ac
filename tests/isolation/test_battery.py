#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The isolation battery in a process sandbox: every attempt outside (the control), then inside, with
and without "unix_sockets": "all", by exec and in a clone."""
import ctypes, fcntl, json, os, shutil, socket, subprocess

from world import BUILD, HERE, Services, World, finish, ok, put, skip

# What an ordinary user can't do even unconfined, on some kernel or any: a blocked control is printed, and
# the attempt inside must be blocked all the same.
NO_CONTROL = {"vsock", "packet-socket", "raw-socket", "userfaultfd", "io-uring", "chroot-by-user-namespace", "join-a-host-namespace",
              "open-by-handle", "make-a-character-device", "make-a-block-device", "perf-events", "load-bpf", "watch-a-host-mount",
              "route-outside", "route-outside6", "route-metadata", "route-lan", "route-bridge", "route-resolver", "xattr-outside",
              "push-input-into-a-terminal", "push-input-with-high-bits", "udp-host-mapped"}
# What the contract leaves to the agent in a clone: a repository beneath it is the agent's own, made before or during a
# run, and the host runs no git there without limits.
CLONE_MAY = {"make-submodule-hook", "write-submodule-config"}
libc = ctypes.CDLL(None, use_errno=True)


def session_key():
    name = "oc-test-%d" % os.getpid()
    libc.syscall(250, 1, None)
    libc.syscall(248, ctypes.c_char_p(b"user"), ctypes.c_char_p(name.encode()), ctypes.c_char_p(b"topsecret"), 9, -3)
    return name


class Objects:
    """System V and POSIX objects of the host, and a key: nothing that lives in a file system."""

    def __init__(self):
        self.key = 0x0C000000 | (os.getpid() & 0xFFFFFF)
        self.shm = libc.syscall(29, self.key, 4096, 0o1600)
        self.sem = libc.syscall(64, self.key, 1, 0o1600)
        self.msg = libc.syscall(68, self.key, 0o1600)
        libc.shmat.restype = ctypes.c_void_p
        ctypes.memmove(libc.shmat(self.shm, None, 0), b"topsecret", 9)
        self.mq = "oc-test-%d" % os.getpid()
        self.mq_fd = libc.syscall(240, ctypes.c_char_p(self.mq.encode()), os.O_CREAT | os.O_RDWR, 0o600, None)
        self.name = session_key()

    def close(self):
        libc.shmctl(self.shm, 0, None)
        libc.semctl(self.sem, 0, 0)
        libc.msgctl(self.msg, 0, None)
        if self.mq_fd >= 0:
            os.close(self.mq_fd)
            libc.syscall(241, ctypes.c_char_p(self.mq.encode()))


def host_address():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))
            return s.getsockname()[0]
        except OSError:
            return "127.0.0.1"


def facts(w, s, o, fd, dir_fd):
    return {
        "ws": w.ws, "outside": w.outside, "home": w.home, "denied": w.denied, "state": w.state, "config": w.config,
        "victim_ino": os.stat(w.outside + "/victim").st_ino, "fifo": s.fifo,
        "pid": s.victim.pid, "ns_pid": s.victim.pid, "port": s.port, "port6": s.port6, "port_any": s.port_any, "http": s.http,
        "http_ok": s.http_ok, "http_any": s.http_any, "udp": s.udp, "address": host_address(), "unix": s.unix,
        "unix_tmp": s.unix_tmp, "abstract": s.abstract, "shm_key": o.key, "sem_key": o.key, "msg_key": o.key, "mq": o.mq,
        "key": o.name, "fd": fd, "dir_fd": dir_fd,
    }


def parse(text):
    return {l.split("\t")[0]: l.split("\t")[1:] for l in text.splitlines() if l.count("\t") == 2}


def control(w, f, fds):
    p = subprocess.run(["/usr/bin/python3", HERE + "/battery.py", json.dumps(f)], cwd=w.ws, text=True, capture_output=True,
                       stdin=subprocess.DEVNULL, timeout=300, pass_fds=fds, env={"PATH": "/usr/bin:/bin", "HOME": w.home})
    return parse(p.stdout), p.stderr


def inside(w, f, policy, how, fds):
    """What the battery says inside, and the whole text for when it says nothing."""
    scripts = w.put_scripts()
    command = ["/usr/bin/python3", "-B", scripts[-1], json.dumps(f)]
    if how == "clone":
        _, record = w.steps(policy, "never", "true", command, pass_fds=fds, timeout=300)
        text, more = w.printed, json.dumps(record)
    else:
        p = w.oc("exec", "--policy", policy, "--", *command, pass_fds=fds, timeout=300)
        text, more = p.stdout, "status %d %s" % (p.returncode, p.stderr)
    for script in scripts:
        os.unlink(script)
    return parse(text), more + text[-500:]


def witness(w):
    """What must be as it was after the attempts."""
    out = {}
    for place in (w.outside, w.ws + "/.git", w.home + "/.ssh", w.denied, w.config):
        for root, dirs, names in os.walk(place):
            for path in [os.path.join(root, n) for n in dirs + names]:
                st = os.lstat(path)
                out[path] = (st.st_mode, st.st_ino if st.st_size else 0, open(path, "rb").read() if os.path.isfile(path) else None)
    return out


def allowed_works(w, f, policy):
    """The proxy's attempts could all fail for a proxy that is dead: the listener that is allowed must answer."""
    p = w.oc("exec", "--policy", policy, "--", "/usr/bin/python3", "-c", """
import base64, os, socket
url = os.environ["HTTP_PROXY"][len("http://"):]
credentials, _, address = url.rpartition("@")
host, _, port = address.partition(":")
s = socket.create_connection((host, int(port)), 5)
s.settimeout(5)
s.sendall(b"GET http://%s:%d/ HTTP/1.1\\r\\nHost: x\\r\\nProxy-Authorization: Basic " + base64.b64encode(credentials.encode()) + b"\\r\\n\\r\\n")
print(s.recv(4096))
""" % (f.get("target", "127.0.0.1"), f["http_ok"]))
    ok("listener-allowed" in p.stdout, "the control: through the proxy, the listener that is allowed answers", p.stdout + p.stderr)


def battery(w, s, f, outside, mode, how, fds):
    title = "unix_sockets %s, %s" % (mode, how) if mode else "in a container, " + how
    policy = w.policy(network={"allow": ["%s:%d" % (f.get("target", "127.0.0.1"), f["http_ok"])]}, **({"unix_sockets": "all"} if mode == "all" else {}))
    before, datagrams, world = list(s.hits), s.datagrams, witness(w)
    got, text = inside(w, f, policy, how, fds)
    ok(set(got) == set(outside), "%s: every attempt was made inside" % title, "%d of %d; %s; %s" % (len(got), len(outside), text, sorted(set(outside) - set(got))))
    for name, (outcome, detail) in sorted(got.items()):
        if how == "clone" and name in CLONE_MAY:
            skip("%s: %s" % (title, name), "a repository beneath a clone is the agent's own")
            continue
        ok(outcome == "blocked" and not detail.endswith("Error"), "%s: %s is blocked" % (title, name), outcome + " " + detail)
    reached = [h for h in s.hits[len(before):] if not isinstance(h, tuple) or h[1] != f["http_ok"]]
    ok(not reached and s.datagrams == datagrams, "%s: nothing reached a service of the host" % title, reached)
    after = witness(w)
    ok(after == world, "%s: every file outside and in .git is as it was" % title, [p for p in {*after, *world} if after.get(p) != world.get(p)])
    if mode and how == "exec":
        allowed_works(w, f, policy)


def hard_link_there(w, s):
    """A hard link to a file outside, planted before the run: refused before anything starts."""
    os.link(w.outside + "/victim", w.ws + "/planted-hard")
    p = w.oc("exec", "--policy", w.policy(), "--", "/bin/sh", "-c", "echo agent >> planted-hard")
    ok(p.returncode == 125 and "planted-hard" in p.stderr, "a hard link to the outside that was there is refused by name", p.stderr)
    ok(open(w.outside + "/victim").read() == "victim\n", "and nothing was written through it")
    os.unlink(w.ws + "/planted-hard")
    p = w.oc("exec", "--policy", w.policy(), "--", "/bin/true")
    ok(p.returncode == 0, "the control: without it the run starts", p.stderr)


def worktree(w):
    """A worktree's repository lies elsewhere: its hooks and configuration are out of reach, or the run is refused."""
    tree = w.home + "/work/tree"
    w.git("worktree", "add", "-q", tree)
    script = "echo x >> %s/.git/config; echo x > %s/.git/hooks/post-commit; echo x > %s/.git/worktrees/tree/config.worktree; echo x > %s/.git/worktrees/tree/commondir; exit 0" % ((w.ws,) * 4)
    p = w.oc("exec", "--policy", w.policy(), "--", "/bin/sh", "-c", script, cwd=tree)
    planted = [n for n in ("hooks/post-commit", "worktrees/tree/config.worktree") if os.path.exists(w.ws + "/.git/" + n)]
    ok(p.returncode in (0, 125) and not planted and "x\n" not in open(w.ws + "/.git/config").read(),
       "from a worktree its repository can't be written", "%d %s %s" % (p.returncode, p.stderr, planted))
    subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=w.ws, env={"PATH": "/usr/bin:/bin", "HOME": w.root}, check=True)


def search(place, needle):
    found = []
    for root, _, names in os.walk(place):
        for name in names:
            path = os.path.join(root, name)
            if os.path.isfile(path) and not os.path.islink(path) and needle in open(path, "rb").read():
                found.append(path)
    return found


def secrets(w, elsewhere=lambda canary: None):
    """A secret is in the agent's environment, and nowhere else: no other process, no argument, no record, no file."""
    canary = "canary-%d-zebra" % os.getpid()
    script = put(w.ws + "/look.py", r'''
import os
own = os.environ["TOKEN"]
print("have", len(own))
for p in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline"):
        try:
            text = open("/proc/%s/%s" % (p, name), "rb").read()
        except OSError:
            continue
        if own.encode() in text and int(p) != os.getpid():
            print("FOUND in", name, p)
''', 0o644)
    policy = w.policy()
    args = ["exec", "--policy", policy, "--secret", "TOKEN=env:MINE", "--", "/bin/sh", "-c"]
    p = w.oc(*args, "exec /usr/bin/python3 %s; " % script, env={"MINE": canary})
    ok("have %d" % len(canary) in p.stdout and "FOUND" not in p.stdout and p.returncode == 0, "a secret is in the agent's environment, and in no other process inside", p.stdout + p.stderr)
    # While it runs: every process of this user on the host but the host command itself, whose environment it came from.
    q = subprocess.Popen(w.command(*args, "echo up; sleep 1000"), env={**w.env, "MINE": canary}, cwd=w.ws, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    q.stdout.readline()
    found, agent = [], False
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for name in ("environ", "cmdline"):
            try:
                text = open("/proc/%s/%s" % (pid, name), "rb").read()
                line = open("/proc/%s/cmdline" % pid, "rb").read()
            except OSError:
                continue
            if canary.encode() in text and int(pid) != q.pid:
                if line.startswith((b"sleep\x001000", b"/bin/sh\x00-c\x00echo up")):
                    agent = True
                else:
                    found.append((pid, name, line[:80]))
    ok(agent and not found, "on the host the secret is in the agent's processes alone", found)
    elsewhere(canary)
    on_disk = search(w.home + "/.local", canary.encode())
    ok(not on_disk, "while it runs no file of the state holds the secret", on_disk)
    q.terminate()
    q.wait()
    ok(not search(w.home + "/.local", canary.encode()) and not search(w.ws, canary.encode()), "after it ended none does either: records, journal, database, free pages")
    ok(search(w.root, b"topsecret"), "the control: the search finds what is there")


def policy_changed_mid_run(w):
    """The policy's file is rewritten while the run lives: nothing changes, and the record has the old text."""
    policy = w.policy("changing.json")
    before = open(policy).read()
    q = subprocess.Popen(w.command("exec", "--policy", policy, "--", "/bin/sh", "-c",
                                   "echo up; while ! [ -e go ]; do sleep 0.05; done; cat %s/secret; exit 0" % w.denied),
                         env=w.env, cwd=w.ws, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True)
    q.stdout.readline()
    put(policy, json.dumps(w.wider()))
    put(w.ws + "/go", "")
    text = q.communicate(timeout=60)[0]
    run = json.loads(w.oc("runs", "list", "--json").stdout)["runs"][0]["id"]
    record = json.loads(w.oc("runs", "get", run, "--json").stdout)["run"]
    ok("topsecret" not in text and record["policy"] == before, "a policy rewritten while the run lives changes neither the run nor the record", text + record["policy"])
    os.unlink(w.ws + "/go")
    p = w.oc("exec", "--policy", policy, "--", "/bin/cat", w.denied + "/secret")
    ok(p.stdout == "topsecret", "the control: the new text does allow it", p.stdout + p.stderr)


def replaced_between(w):
    """The guest, or the provider, replaced between the pin and the launch."""
    copy = w.root + "/product/libexec"
    shutil.copytree(BUILD + "/libexec", copy)
    os.symlink(BUILD + "/lib", w.root + "/product/lib")  # of the provider, relative to itself
    for victim in ("open-conduit-guest", "providers/open-conduit-provider-" + w.provider):
        hook = "cp {0}/{1} {0}/new && printf x >> {0}/new && mv {0}/new {0}/{1}".format(copy, victim)
        for when in ("never", "pinned", "held"):
            _, record = w.steps(w.policy(), when, hook, ["/bin/sh", "-c", "echo ran > ran"], env={"OPEN_CONDUIT_LIBEXEC": copy})
            ran = os.path.exists(w.ws + "/ran")
            if when == "never":
                ok(ran, "the control: as it was pinned, %s starts a run" % victim, record)
            else:
                error = record.get("error") or record
                ok(not ran and bool(error.get("reason")), "%s replaced once the run was %s: the agent does not start" % (victim, when), record)
            if ran:
                os.unlink(w.ws + "/ran")
            shutil.copy(BUILD + "/libexec/" + victim, copy + "/" + victim)


def plant(w):
    """What the attempts need in the world."""
    os.symlink(w.outside, w.ws + "/planted")
    put(w.outside + "/removable", "")
    subprocess.run(["git", "init", "-q", "--bare", w.ws + "/.git/modules/sub"], check=True, env={"PATH": "/usr/bin:/bin", "HOME": w.root})
    put(w.state + "/live/otherrun0000/run/secret")
    for d in (w.state, w.state + "/live", w.state + "/live/otherrun0000"):
        os.chmod(d, 0o700)
    ok(w.oc("exec", "--unsandboxed", "--", "/bin/true").returncode == 0, "a run of another kind is there to be found")


def open_outside(w):
    # High, and before anything else is open: srt leaves inherited descriptors from 17 on open after a first gap.
    fd = fcntl.fcntl(os.open(w.outside + "/secret", os.O_RDONLY), fcntl.F_DUPFD, 64)
    return fd, fcntl.fcntl(os.open(w.outside, os.O_RDONLY), fcntl.F_DUPFD, 70)


def main():
    w = World()
    fd, dir_fd = open_outside(w)
    s = Services(w)
    o = Objects()
    plant(w)
    f = facts(w, s, o, fd, dir_fd)
    outside, stderr = control(w, f, [fd, dir_fd])
    ok(len(outside) > 110, "the control ran every attempt", "%d %s" % (len(outside), stderr))
    for name in sorted(n for n, (outcome, _) in outside.items() if outcome != "succeeded"):
        if name in NO_CONTROL:
            skip("control of " + name, "an ordinary user can't do this here even unconfined: " + outside[name][1])
        else:
            ok(False, "control of " + name, outside[name][1])
    for mode in ("none", "all"):
        for how in ("exec", "clone"):
            battery(w, s, f, outside, mode, how, [fd, dir_fd])
    hard_link_there(w, s)
    worktree(w)
    secrets(w)
    policy_changed_mid_run(w)
    replaced_between(w)
    o.close()
    s.close()
    w.close()
    finish()


if __name__ == "__main__":
    main()

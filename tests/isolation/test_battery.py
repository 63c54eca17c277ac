#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The isolation battery in a process sandbox: every attempt outside (the control), then inside, with
and without "unix_sockets": "all"."""
import ctypes, json, os, socket, subprocess, sys

from world import BUILD, HERE, Services, World, finish, ok, put, skip

# No control can succeed for an ordinary user on every kernel: a blocked control is printed, and the
# attempt inside must be blocked all the same.
NO_CONTROL = {"vsock", "packet-socket", "userfaultfd", "io-uring", "chroot-by-user-namespace", "join-a-host-namespace",
              "leave-a-setuid-bit", "create-with-a-setuid-bit", "push-input-into-a-terminal", "push-input-with-high-bits"}
# Controls for the world as it is: what only exists with a fixture below.
libc = ctypes.CDLL(None, use_errno=True)


def shared_memory():
    key = 0x0C000000 | (os.getpid() & 0xFFFFFF)
    ident = libc.syscall(29, key, 4096, 0o1600)
    libc.shmat.restype = ctypes.c_void_p
    ctypes.memmove(libc.shmat(ident, None, 0), b"topsecret", 9)
    return key, ident


def message_queue():
    name = "oc-test-%d" % os.getpid()
    fd = libc.syscall(240, ctypes.c_char_p(name.encode()), os.O_CREAT | os.O_RDWR, 0o600, None)
    return name, fd


def session_key():
    name = "oc-test-%d" % os.getpid()
    libc.syscall(250, 1, None)
    key = libc.syscall(248, ctypes.c_char_p(b"user"), ctypes.c_char_p(name.encode()), ctypes.c_char_p(b"topsecret"), 9, -3)
    return name, key


def host_address():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        s.connect(("192.0.2.1", 9))
        return s.getsockname()[0]
    except OSError:
        return "127.0.0.1"
    finally:
        s.close()


def facts(w, s):
    shm_key, shm_id = shared_memory()
    mq, mq_fd = message_queue()
    key, key_id = session_key()
    w.cleanup = lambda: (libc.shmctl(shm_id, 0, None), os.close(mq_fd) if mq_fd >= 0 else None,
                         libc.syscall(241, ctypes.c_char_p(mq.encode())))
    return {
        "ws": w.ws, "outside": w.outside, "home": w.home, "denied": w.denied, "state": w.state, "config": w.config,
        "victim_ino": os.stat(w.outside + "/victim").st_ino, "fifo": s.fifo, "pid": s.victim.pid, "ns_pid": s.victim.pid,
        "port": s.port, "port6": s.port6, "port_any": s.port_any, "http": s.http, "udp": s.udp, "address": host_address(),
        "unix": s.unix, "unix_tmp": s.unix_tmp, "abstract": s.abstract, "shm_key": shm_key, "mq": mq, "key": key,
    }


def parse(text):
    return {l.split("\t")[0]: l.split("\t")[1:] for l in text.splitlines() if l.count("\t") == 2}


def control(w, f, fd):
    p = subprocess.run(["/usr/bin/python3", HERE + "/battery.py", json.dumps(f)], cwd=w.ws, text=True, capture_output=True,
                       timeout=300, pass_fds=[fd], env={"PATH": "/usr/bin:/bin", "HOME": w.home})
    return parse(p.stdout), p.stderr


def inside(w, f, policy):
    script = put(w.ws + "/battery.py", open(HERE + "/battery.py").read(), 0o644)
    p = w.oc("exec", "--policy", policy, "--", "/usr/bin/python3", script, json.dumps(f), pass_fds=[17], timeout=300)
    os.unlink(script)
    return parse(p.stdout), p


def main():
    w = World()
    s = Services(w)
    os.symlink(w.outside, w.ws + "/planted")
    put(w.state + "/live/otherrun0000/run/secret")
    for d in (w.state, w.state + "/live", w.state + "/live/otherrun0000"):
        os.chmod(d, 0o700)
    secret = os.open(w.outside + "/secret", os.O_RDONLY)
    os.dup2(secret, 17)
    os.set_inheritable(17, True)
    w.oc("runs", "list")
    f = facts(w, s)
    outside, stderr = control(w, f, 17)
    ok(len(outside) > 60, "the control ran every attempt", "%d %s" % (len(outside), stderr))
    without = {name for name, (outcome, _) in outside.items() if outcome != "succeeded"}
    for name in sorted(without):
        if name in NO_CONTROL:
            skip("control of " + name, "an ordinary user can't do this here even unconfined: " + outside[name][1])
        else:
            ok(False, "control of " + name, outside[name][1])
    for mode in ("none", "all"):
        before = len(s.hits)
        got, p = inside(w, f, w.policy(**({"unix_sockets": "all"} if mode == "all" else {})))
        ok(set(got) == set(outside), "unix_sockets %s: every attempt was made inside" % mode,
           "%d of %d; status %d; %s" % (len(got), len(outside), p.returncode, p.stderr))
        for name, (outcome, detail) in sorted(got.items()):
            ok(outcome == "blocked", "unix_sockets %s: %s is blocked" % (mode, name), detail)
        ok(len(s.hits) == before, "unix_sockets %s: nothing reached a service of the host" % mode, s.hits[before:])
        ok(open(w.outside + "/victim").read() == "victim\n", "unix_sockets %s: the file outside is as it was" % mode)
    w.cleanup()
    s.close()
    w.close()
    finish()


main()

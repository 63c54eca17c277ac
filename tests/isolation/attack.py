#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An agent that attacks its own guest and guard.  attack.py NAME: does its worst, then ends with status 37.
A line "GOT …" on stdout says that something was gained."""
import ctypes, glob, os, signal, struct, sys, time

libc = ctypes.CDLL(None, use_errno=True)
EXIT_0 = struct.pack("<IB3x", 5, 37) + struct.pack("<BI", 1, 0)
READY = struct.pack("<IB3x", 12, 34) + struct.pack("<QI", 1, 0)


def others():
    return [int(p) for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]


def got(what):
    print("GOT", what, flush=True)


def take_descriptors():
    for pid in others():
        pidfd = libc.syscall(434, pid, 0)
        if pidfd < 0:
            continue
        for fd in range(64):
            stolen = libc.syscall(438, pidfd, fd, 0)
            if stolen >= 0:
                got("descriptor %d of %d" % (fd, pid))
                os.write(stolen, EXIT_0)


def open_descriptors():
    for path in glob.glob("/proc/[0-9]*/fd/*") + glob.glob("/proc/[0-9]*/task/*/fd/*"):
        if int(path.split("/")[2]) == os.getpid():
            continue
        for mode in (os.O_WRONLY, os.O_RDWR):
            try:
                fd = os.open(path, mode | os.O_NONBLOCK)
                got(path)
                os.write(fd, EXIT_0)
            except OSError:
                pass


def trace():
    for pid in others():
        for request in (16, 0x4206):
            if libc.ptrace(request, pid, 0, 0) == 0:
                got("trace of %d" % pid)
        for name in ("mem", "maps", "environ", "stack", "syscall", "auxv"):
            try:
                with open("/proc/%d/%s" % (pid, name), "rb+" if name == "mem" else "rb") as f:
                    if name == "mem" or f.read(1):
                        got("%s of %d" % (name, pid))
            except OSError:
                pass


def signals():
    me = os.getpid()
    for pid in others():
        if pid == me:
            continue
        for s in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
            try:
                os.kill(pid, s)
            except OSError:
                pass
    time.sleep(0.3)


def stop_group():
    # Everything it may signal, itself left out by ignoring what can be ignored.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGCONT):
        try:
            os.kill(-1, s)
        except OSError:
            pass


def frames():
    for fd in range(0, 1024):
        try:
            os.write(fd, READY + EXIT_0)
        except OSError:
            pass


def reopen_output():
    for fd in (0, 1, 2):
        try:
            again = os.open("/proc/self/fd/%d" % fd, os.O_RDWR | os.O_NONBLOCK)
            os.write(again, EXIT_0)
        except OSError:
            pass


def run_directory():
    run = os.environ["OPEN_CONDUIT_RUN_DIR"]
    for name in ("exit.json", "proved", "started", "plan.json", "guard.sock", "lock"):
        with open(run + "/" + name, "w") as f:
            f.write('{"state":"exited","status":0}')
    os.makedirs(run + "/journal")
    os.makedirs(run + "/deep/er", exist_ok=True)
    os.symlink("/", run + "/root")
    os.symlink(os.path.expanduser("~"), run + "/home")
    try:
        os.rename(run + "/tmp", run + "/tmp2")
        os.symlink(os.path.expanduser("~"), run + "/tmp")
    except OSError:
        pass
    os.chmod(run + "/deep/er", 0)
    os.chmod(run + "/deep", 0)
    for up in ("..", "../..", "../../..", "../cwd", "../t", "../home"):
        try:
            with open(run + "/" + up + "/exit.json", "w"):
                got("a file in " + up)
        except OSError:
            pass


def fill_disk():
    for place in (os.environ["OPEN_CONDUIT_RUN_DIR"], os.getcwd()):
        try:
            with open(place + "/full", "wb") as f:
                while True:
                    f.write(b"x" * (1 << 16))
        except OSError:
            pass
        i = 0
        try:
            while i < 200000:
                os.mkdir("%s/%d" % (place, i))
                i += 1
        except OSError:
            pass
    print("x" * 1000000, flush=True)


def memory():
    hold = []
    try:
        while True:
            hold.append(bytearray(1 << 24))
    except MemoryError:
        pass


def flood():
    block = b"f" * 65536
    for _ in range(1600):
        os.write(1, block)


def orphans():
    for i in range(20):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                while True:
                    with open("heartbeat", "a") as f:
                        f.write("x")
                    time.sleep(0.05)
            os._exit(0)
    while os.path.exists("heartbeat") is False:
        time.sleep(0.01)


globals()[sys.argv[1]]()
sys.stdout.flush()
os._exit(37)

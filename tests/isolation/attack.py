#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An agent that attacks its own guest and guard.  attack.py NAME: does its worst, then ends with status 37.
A line "GOT …" on stdout says that something was gained."""
import ctypes, errno, glob, os, signal, struct, sys, time

libc = ctypes.CDLL(None, use_errno=True)
EXIT_0 = struct.pack("<IB3x", 5, 37) + struct.pack("<BI", 1, 0)
READY = struct.pack("<IB3x", 12, 34) + struct.pack("<QI", 1, 0)


def others():
    """Whom to attack: all there are, or, in a control on the host, the one that is there for it."""
    victim = os.environ.get("ATTACK_ONLY")
    return [int(p) for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid() and victim in (None, p)]


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
        if int(path.split("/")[2]) not in others():
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
    """Stop, then kill, everything that can be named."""
    for pid in others():
        for s in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
            try:
                os.kill(pid, s)
                got("signal %d to %d" % (s, pid))
            except OSError:
                pass
    time.sleep(0.3)


def stop_all():
    # kill(-1) says 0 even where every single process was denied, so what counts is who is stopped afterwards.
    for pid in ([] if "ATTACK_ONLY" in os.environ else [-1]) + others():
        try:
            os.kill(pid, signal.SIGSTOP)
        except OSError:
            pass
    time.sleep(0.3)
    for pid in others():
        with open("/proc/%d/stat" % pid) as f:
            if f.read().rpartition(")")[2].split()[0] in "Tt":
                got("a stop of %d" % pid)


def kill_self():
    os.kill(0, signal.SIGKILL)


def stop_self():
    """Stopped with all of its group: only the guard's timeout ends it."""
    os.kill(0, signal.SIGSTOP)


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
    os.symlink(os.path.expanduser("~"), run + "/link-home")
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
    """The workspace first, which stays full when {run} is gone.  Ends with 36 where nothing was ever full."""
    full = 0
    for place in (os.getcwd(), os.environ["OPEN_CONDUIT_RUN_DIR"]):
        try:
            with open(place + "/full", "wb", 0) as f:
                while f.write(b"x" * (1 << 16)):
                    pass
        except OSError as e:
            full += e.errno == errno.ENOSPC
        try:
            for i in range(200000):
                os.mkdir("%s/%d" % (place, i))
        except OSError:
            pass
    print("x" * 1000000, flush=True)
    if not full:
        os._exit(36)


def memory():
    """Until something gives: a limit of its own, or the kernel."""
    with open("/proc/self/oom_score_adj") as f:
        print("oom_score_adj", f.read().strip(), flush=True)
    try:
        with open("/proc/self/oom_score_adj", "w") as f:
            f.write("-1000")
        got("an oom_score_adj of -1000")
    except OSError:
        pass
    hold = []
    try:
        while True:
            hold.append(bytearray(b"m" * (1 << 24)))
    except MemoryError:
        pass


def limits():
    """As much of everything as its own limits let it have."""
    files, children = [], []
    try:
        while len(files) < 100000:
            files.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    for fd in files[3:]:
        os.close(fd)
    try:
        while len(children) < 400:
            pid = os.fork()
            if pid == 0:
                time.sleep(1000)
                os._exit(0)
            children.append(pid)
    except OSError:
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

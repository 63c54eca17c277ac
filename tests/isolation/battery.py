#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The attempts of the isolation battery.  The same file runs outside, where each attempt must
succeed (the control), and inside a sandbox, where each must fail.

    battery.py FACTS      FACTS: JSON made by test_battery.py: paths, ports and pids of the host

Prints one line an attempt: ID <tab> succeeded|blocked <tab> detail.  Every attempt cleans up after
itself where it succeeds, so that the control leaves the fixtures as they were."""
import ctypes, ctypes.util, errno, fcntl, json, os, pty, signal, socket, struct, sys, time

libc = ctypes.CDLL(None, use_errno=True)
F = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
ATTEMPTS = []


def attempt(f):
    ATTEMPTS.append((f.__name__.replace("_", "-"), f))
    return f


def syscall(number, *args):
    r = libc.syscall(number, *args)
    if r < 0:
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e))
    return r


def content(path):
    with open(path, "rb") as f:
        return f.read()


def wrote(path, marker=b"battery"):
    """Append a marker and say whether it is really there; put the old text back."""
    old = content(path) if os.path.exists(path) else None
    with open(path, "ab") as f:
        f.write(marker)
    done = content(path).endswith(marker)
    if old is None:
        os.unlink(path)
    else:
        with open(path, "wb") as f:
            f.write(old)
    return done


# --- files ---------------------------------------------------------------------------------------
@attempt
def write_through_dotdot():
    return wrote(F["ws"] + "/../outside/victim")


@attempt
def write_through_link_planted_before():
    return wrote(F["ws"] + "/planted/victim")


@attempt
def write_through_link_planted_now():
    link = F["ws"] + "/now"
    if not os.path.islink(link):
        os.symlink(F["outside"], link)
    return wrote(link + "/victim")


@attempt
def hard_link_made_inside():
    name = F["ws"] + "/hard"
    os.link(F["outside"] + "/victim", name)
    try:
        return os.stat(name).st_ino == F["victim_ino"]
    finally:
        os.unlink(name)


@attempt
def make_file_outside():
    os.close(os.open(F["outside"] + "/new", os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600))
    os.unlink(F["outside"] + "/new")
    return True


@attempt
def make_directory_outside():
    os.mkdir(F["outside"] + "/newdir")
    os.rmdir(F["outside"] + "/newdir")
    return True


@attempt
def touch_outside():
    os.utime(F["outside"] + "/victim")
    return True


@attempt
def chmod_outside():
    os.chmod(F["outside"] + "/victim", 0o644)
    return True


@attempt
def xattr_outside():
    os.setxattr(F["outside"] + "/victim", "user.battery", b"x")
    os.removexattr(F["outside"] + "/victim", "user.battery")
    return True


@attempt
def write_startup_file():
    return wrote(F["home"] + "/.bashrc")


@attempt
def write_file_that_a_host_tool_would_run():
    return wrote(F["home"] + "/.envrc")


@attempt
def write_git_config():
    return wrote(F["ws"] + "/.git/config", b"\n[core]\n")


@attempt
def make_git_hook():
    return wrote(F["ws"] + "/.git/hooks/post-commit")


@attempt
def make_git_info():
    return wrote(F["ws"] + "/.git/info/attributes")


@attempt
def rename_over_git_config():
    spare = F["ws"] + "/spare"
    with open(spare, "w") as f:
        f.write("")
    old = content(F["ws"] + "/.git/config")
    try:
        os.rename(spare, F["ws"] + "/.git/config")
    except OSError:
        os.unlink(spare)
        raise
    with open(F["ws"] + "/.git/config", "wb") as f:
        f.write(old)
    return True


@attempt
def rename_git_away():
    os.rename(F["ws"] + "/.git", F["ws"] + "/.git-away")
    os.rename(F["ws"] + "/.git-away", F["ws"] + "/.git")
    return True


@attempt
def rename_git_hooks_away():
    os.rename(F["ws"] + "/.git/hooks", F["ws"] + "/.git/hooks-away")
    os.rename(F["ws"] + "/.git/hooks-away", F["ws"] + "/.git/hooks")
    return True


def git_pointer(name, text):
    path = F["ws"] + "/.git/" + name
    old = content(path)
    with open(path, "w") as f:
        f.write(text)
    with open(path, "wb") as f:
        f.write(old)
    return True


@attempt
def write_git_commondir():
    return git_pointer("commondir", F["outside"])


@attempt
def write_git_config_worktree():
    return git_pointer("config.worktree", "[core]\n")


@attempt
def write_git_alternates():
    return git_pointer("objects/info/alternates", F["outside"])


@attempt
def write_through_proc_self_root():
    return wrote("/proc/self/root" + F["outside"] + "/victim")


@attempt
def read_through_host_cwd():
    return content("/proc/%d/cwd/secret" % F["pid"]) == b"topsecret"


@attempt
def read_through_host_root():
    return content("/proc/%d/root%s/secret" % (F["pid"], F["denied"])) == b"topsecret"


@attempt
def read_host_environment():
    return b"BATTERY_CANARY" in content("/proc/%d/environ" % F["pid"])


@attempt
def read_any_environment_with_the_canary():
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            if int(p) != os.getpid() and b"BATTERY_CANARY" in content("/proc/%s/environ" % p):
                return True
        except OSError:
            pass
    return False


@attempt
def read_host_descriptor():
    for fd in os.listdir("/proc/%d/fd" % F["pid"]):
        if os.readlink("/proc/%d/fd/%s" % (F["pid"], fd)).endswith("/secret"):
            return content("/proc/%d/fd/%s" % (F["pid"], fd)) == b"topsecret"
    return False


@attempt
def read_inherited_descriptor():
    return content("/dev/fd/17") == b"topsecret"


@attempt
def read_denied_by_policy():
    return content(F["denied"] + "/secret") == b"topsecret"


@attempt
def read_credential():
    return content(F["home"] + "/.ssh/id_test") == b"topsecret"


@attempt
def read_credential_file():
    return content(F["home"] + "/.netrc") == b"topsecret"


@attempt
def read_operator_agent():
    return content(F["home"] + "/.claude/secret") == b"topsecret"


@attempt
def read_config():
    return content(F["config"] + "/config.json") == b"topsecret"


@attempt
def read_state():
    return len(content(F["state"] + "/state.db")) > 0


@attempt
def list_other_runs():
    return len(os.listdir(F["state"] + "/runs")) > 0


@attempt
def read_another_runs_directory():
    return content(F["state"] + "/live/otherrun0000/run/secret") == b"topsecret"


@attempt
def leave_a_setuid_bit():
    path = F["ws"] + "/setuid"
    with open(path, "w") as f:
        f.write("")
    try:
        os.chmod(path, 0o4755)
        return bool(os.stat(path).st_mode & 0o4000)
    finally:
        os.unlink(path)


@attempt
def create_with_a_setuid_bit():
    path = F["ws"] + "/setuid2"
    fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o4755)
    try:
        return bool(os.fstat(fd).st_mode & 0o4000)
    finally:
        os.close(fd)
        os.unlink(path)


@attempt
def write_into_a_host_fifo():
    os.close(os.open(F["fifo"], os.O_WRONLY | os.O_NONBLOCK))
    return True


# --- network -------------------------------------------------------------------------------------
def tcp(address, port, family=socket.AF_INET):
    with socket.socket(family) as s:
        s.settimeout(2)
        s.connect((address, port))
    return True


@attempt
def tcp_host_loopback():
    return tcp("127.0.0.1", F["port"])


@attempt
def tcp_host_loopback6():
    return tcp("::1", F["port6"], socket.AF_INET6)


@attempt
def tcp_host_mapped():
    return tcp("::ffff:127.0.0.1", F["port"], socket.AF_INET6)


@attempt
def tcp_host_any():
    return tcp("0.0.0.0", F["port"])


@attempt
def tcp_host_address():
    return tcp(F["address"], F["port_any"])


@attempt
def udp_host():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(2)
        s.sendto(b"ping", ("127.0.0.1", F["udp"]))
        return s.recv(16) == b"pong"


@attempt
def unix_socket_by_path():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(F["unix"])
    return True


@attempt
def unix_socket_in_tmp():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(F["unix_tmp"])
    return True


@attempt
def unix_socket_abstract():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect("\0" + F["abstract"])
    return True


def proxy_request(head, ok):
    """With no proxy (the control) the request goes to the host's own listener, which answers 200."""
    url = os.environ.get("HTTP_PROXY")
    if not url:
        with socket.create_connection(("127.0.0.1", F["http"]), 5) as s:
            s.sendall(head.encode())
            return ok in s.recv(4096)
    credentials, _, address = url[len("http://"):].rpartition("@")
    host, _, port = address.partition(":")
    import base64
    auth = "Proxy-Authorization: Basic " + base64.b64encode(credentials.encode()).decode() + "\r\n"
    with socket.create_connection((host, int(port)), 5) as s:
        s.settimeout(5)
        s.sendall(head.replace("\r\n\r\n", "\r\n" + auth + "\r\n", 1).encode("latin-1"))
        return ok in s.recv(4096)


def connect_form(target):
    return proxy_request("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, target), b" 200 ")


@attempt
def proxy_connect_denied_host():
    return connect_form("denied.test:443")


@attempt
def proxy_connect_loopback():
    return connect_form("127.0.0.1:%d" % F["http"])


@attempt
def proxy_connect_loopback_name():
    return connect_form("localhost:%d" % F["http"])


@attempt
def proxy_connect_odd_loopback():
    return any(connect_form(t % F["http"]) for t in ("2130706433:%d", "127.1:%d", "0x7f.0.0.1:%d", "[::1]:%d", "[::ffff:127.0.0.1]:%d"))


@attempt
def proxy_connect_metadata():
    return connect_form("169.254.169.254:80")


@attempt
def proxy_connect_nul():
    return connect_form("denied.test\0.allowed.test:443")


@attempt
def proxy_connect_userinfo():
    return connect_form("allowed.test@127.0.0.1:%d" % F["http"])


@attempt
def proxy_absolute_form():
    return proxy_request("GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n" % F["http"], b" 200 ")


@attempt
def vsock():
    s = socket.socket(40, socket.SOCK_STREAM)
    s.close()
    return True


@attempt
def packet_socket():
    s = socket.socket(17, socket.SOCK_RAW)
    s.close()
    return True


# --- processes -----------------------------------------------------------------------------------
@attempt
def signal_host_process():
    os.kill(F["pid"], 0)
    return True


@attempt
def trace_host_process():
    r = libc.ptrace(16, F["pid"], 0, 0)
    if r == 0:
        libc.ptrace(17, F["pid"], 0, 0)
        return True
    raise OSError(ctypes.get_errno(), "ptrace")


@attempt
def write_host_memory():
    fd = os.open("/proc/%d/mem" % F["pid"], os.O_RDWR)
    os.close(fd)
    return True


@attempt
def new_user_namespace():
    return in_child(lambda: libc.unshare(0x10000000) == 0)


@attempt
def new_user_and_mount_namespace():
    return in_child(lambda: libc.unshare(0x10020000) == 0)


@attempt
def clone3_new_user_namespace():
    # clone3 reads its flags from memory, where no filter can look: it must not be there at all.
    args = struct.pack("11Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
    r = syscall(435, ctypes.c_char_p(args), 88)
    if r == 0:
        os._exit(0)
    os.waitpid(r, 0)
    return True


def in_child(f):
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if f() else 1)
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


@attempt
def join_a_host_namespace():
    fd = os.open("/proc/%d/ns/user" % F["ns_pid"], os.O_RDONLY)
    return in_child(lambda: libc.setns(fd, 0) == 0)


@attempt
def read_the_hosts_session_key():
    key = syscall(250, 10, -3, ctypes.c_char_p(b"user"), ctypes.c_char_p(F["key"].encode()), 0)
    buf = ctypes.create_string_buffer(64)
    n = syscall(250, 11, key, buf, 64)
    return buf.raw[:n] == b"topsecret"


@attempt
def push_input_into_a_terminal():
    # A terminal of its own with this process as its session leader: outside that is allowed.
    def push():
        os.setsid()
        _, slave = pty.openpty()
        fcntl.ioctl(slave, 0x540E, 0)
        fcntl.ioctl(slave, 0x5412, b"x")
        return True
    return in_child(push)


@attempt
def push_input_with_high_bits():
    def push():
        os.setsid()
        _, slave = pty.openpty()
        libc.ioctl(slave, 0x540E, 0)
        return libc.syscall(16, slave, ctypes.c_ulong(0x100005412), ctypes.c_char_p(b"x")) == 0
    return in_child(push)


@attempt
def hosts_shared_memory():
    ident = syscall(29, F["shm_key"], 0, 0o600)
    libc.shmat.restype = ctypes.c_void_p
    at = libc.shmat(ident, None, 0)
    if at in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "shmat")
    return ctypes.string_at(at, 9) == b"topsecret"


@attempt
def hosts_message_queue():
    fd = syscall(240, ctypes.c_char_p(F["mq"].encode()), os.O_RDONLY | os.O_NONBLOCK, 0, None)
    os.close(fd)
    return True


@attempt
def io_uring():
    fd = syscall(425, 1, ctypes.create_string_buffer(256))
    os.close(fd)
    return True


@attempt
def userfaultfd():
    fd = syscall(323, 1)
    os.close(fd)
    return True


@attempt
def chroot_by_user_namespace():
    return in_child(lambda: libc.unshare(0x10000000) == 0 and libc.chroot(b"/tmp") == 0)


def main():
    only = sys.argv[2:]
    for name, f in ATTEMPTS:
        if only and name not in only:
            continue
        try:
            outcome, detail = ("succeeded", "") if f() else ("blocked", "no effect")
        except OSError as e:
            outcome, detail = "blocked", errno.errorcode.get(e.errno, str(e))
        except Exception as e:
            outcome, detail = "blocked", type(e).__name__
        print("%s\t%s\t%s" % (name, outcome, detail), flush=True)


main()

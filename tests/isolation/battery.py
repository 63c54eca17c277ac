#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The attempts of the isolation battery.  The same file runs outside, where each attempt must
succeed (the control), and inside a sandbox, where each must fail.

    battery.py FACTS      FACTS: JSON made by test_battery.py: paths, ports and pids of the host

Prints one line an attempt: ID <tab> succeeded|blocked <tab> detail.  Every attempt cleans up after
itself where it succeeds, so that the control leaves the fixtures as they were."""
import base64, ctypes, errno, fcntl, json, os, pty, signal, socket, struct, sys, time

libc = ctypes.CDLL(None, use_errno=True)
F = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
# Of the two listeners that a proxy is asked for: the host's loopback, or where else they are.
TARGET = F.get("target", "127.0.0.1")
ALLOWED, DENIED = ("%s:%s" % (TARGET, F.get(name)) for name in ("http_ok", "http"))
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
    return content("/dev/fd/%d" % F["fd"]) == b"topsecret"


@attempt
def read_beneath_inherited_directory():
    return content("/proc/self/fd/%d/secret" % F["dir_fd"]) == b"topsecret"


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
    return b"topsecret" in content(F["config"] + "/config.json")


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
def write_through_relative_dotdot():
    os.chdir(F["ws"])
    return wrote("../outside/victim")


@attempt
def truncate_outside():
    old = content(F["outside"] + "/victim")
    os.truncate(F["outside"] + "/victim", 0)
    with open(F["outside"] + "/victim", "wb") as f:
        f.write(old)
    return True


@attempt
def remove_outside():
    os.unlink(F["outside"] + "/removable")
    with open(F["outside"] + "/removable", "w"):
        pass
    return True


@attempt
def rename_outside():
    os.rename(F["outside"] + "/removable", F["outside"] + "/renamed")
    os.rename(F["outside"] + "/renamed", F["outside"] + "/removable")
    return True


@attempt
def move_out_of_the_workspace():
    with open(F["ws"] + "/moving", "w"):
        pass
    try:
        os.rename(F["ws"] + "/moving", F["outside"] + "/moving")
    except OSError:
        os.unlink(F["ws"] + "/moving")
        raise
    os.unlink(F["outside"] + "/moving")
    return True


@attempt
def nameless_file_outside():
    os.close(os.open(F["outside"], os.O_TMPFILE | os.O_WRONLY, 0o600))
    return True


@attempt
def link_a_nameless_file_outside():
    fd = os.open(F["ws"], os.O_TMPFILE | os.O_WRONLY, 0o600)
    try:
        # With a directory descriptor it is linkat() with AT_SYMLINK_FOLLOW, else link(), which does not follow.
        os.link("/proc/self/fd/%d" % fd, F["outside"] + "/linked", src_dir_fd=fd, follow_symlinks=True)
    finally:
        os.close(fd)
    os.unlink(F["outside"] + "/linked")
    return True


@attempt
def open_by_handle():
    # CAP_DAC_READ_SEARCH is needed, which a user namespace's own root has over nothing of the host's.
    handle = struct.pack("Ii", 128, 0) + bytes(128)
    buf = ctypes.create_string_buffer(handle, len(handle))
    mount = ctypes.c_int()
    syscall(303, -100, ctypes.c_char_p((F["outside"] + "/victim").encode()), buf, ctypes.byref(mount), 0)
    root = os.open(F["outside"], os.O_RDONLY)
    fd = syscall(304, root, buf, os.O_RDWR)
    os.close(fd)
    return True


def node(kind, device):
    os.mknod(F["ws"] + "/node", kind | 0o600, device)
    os.unlink(F["ws"] + "/node")
    return True


@attempt
def make_a_whiteout():
    return node(0o020000, 0)


@attempt
def make_a_character_device():
    return node(0o020000, os.makedev(1, 3))


@attempt
def make_a_block_device():
    return node(0o060000, os.makedev(7, 0))


@attempt
def write_submodule_config():
    return wrote(F["ws"] + "/.git/modules/sub/config", b"\n[core]\n")


@attempt
def make_submodule_hook():
    return wrote(F["ws"] + "/.git/modules/sub/hooks/post-checkout")


@attempt
def write_another_runs_directory():
    return wrote(F["state"] + "/live/otherrun0000/run/new")


@attempt
def write_into_state():
    return wrote(F["state"] + "/battery")


@attempt
def write_config():
    return wrote(F["config"] + "/config.json", b"\n")


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


def route(address, port=53):
    """A UDP connect looks up the route and sends nothing."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect((address, port))
    return True


@attempt
def route_outside():
    return route("192.0.2.1") or route("8.8.8.8")


@attempt
def route_outside6():
    return route("2001:db8::1")


@attempt
def route_metadata():
    return route("169.254.169.254", 80)


@attempt
def route_lan():
    return route("10.0.0.1") or route("192.168.1.1")


@attempt
def route_bridge():
    return route("172.17.0.1")


@attempt
def route_resolver():
    with open("/etc/resolv.conf") as f:
        return any(route(l.split()[1]) for l in f if l.startswith("nameserver") and not l.split()[1].startswith("127."))


@attempt
def udp_host_mapped():
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        s.sendto(b"ping", ("::ffff:127.0.0.1", F["udp"]))
        return s.recv(16) == b"pong"


@attempt
def raw_socket():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()
    return True


@attempt
def unix_datagram_abstract():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.connect("\0" + F["abstract"] + "-dgram")
    return True


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


def proxy_request(*parts):
    """Does the listener that no policy allows answer?  With no proxy (the control) the bytes go straight to it."""
    url, auth = os.environ.get("HTTP_PROXY"), ""
    if url:
        credentials, _, address = url[len("http://"):].rpartition("@")
        host, _, port = address.partition(":")
        auth = "Proxy-Authorization: Basic " + base64.b64encode(credentials.encode()).decode() + "\r\n"
    else:
        host, port = TARGET, F["http"]
    got = b""
    with socket.create_connection((host, int(port)), 5) as s:
        for part in parts:
            s.sendall(part.replace("\r\n\r\n", "\r\n" + auth + "\r\n").encode("latin-1"))
            s.settimeout(1.5)
            try:
                while b"listener-denied" not in got:
                    block = s.recv(4096)
                    if not block:
                        break
                    got += block
                    if len(parts) > 1 and b"\r\n\r\n" in got:
                        break
            except OSError:
                pass
    if url and b"407" in got.split(b"\r\n")[0]:
        raise ValueError("the proxy did not know us")
    return b"listener-denied" in got


def connect_form(target, host=None):
    head = "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, host or target)
    return proxy_request(head, "GET / HTTP/1.0\r\n\r\n")


@attempt
def proxy_connect_loopback():
    return connect_form("127.0.0.1:%d" % F["http"])


@attempt
def proxy_connect_loopback_name():
    return connect_form("localhost:%d" % F["http"])


@attempt
def proxy_connect_odd_loopback():
    odd = ("2130706433", "127.1", "0x7f.0.0.1", "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "127.0.0.1.")
    return any(connect_form("%s:%d" % (t, F["http"])) for t in odd)


@attempt
def proxy_connect_host_address():
    return connect_form("%s:%d" % (F["address"], F["http_any"]))


@attempt
def proxy_connect_nul():
    return connect_form(DENIED + "\0.allowed.test:443")


@attempt
def proxy_connect_userinfo():
    return connect_form("%s@%s" % (ALLOWED, DENIED))


@attempt
def proxy_connect_other_host():
    return connect_form(DENIED, ALLOWED)


@attempt
def proxy_absolute_form():
    return proxy_request("GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (DENIED, ALLOWED))


@attempt
def proxy_absolute_form_allowed_other_host():
    return proxy_request("GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (ALLOWED, DENIED))


@attempt
def proxy_absolute_form_userinfo():
    return proxy_request("GET http://%s@%s/ HTTP/1.1\r\nHost: x\r\n\r\n" % (ALLOWED, DENIED))


@attempt
def proxy_absolute_form_encoded():
    return proxy_request("GET http://%s%%40%s/ HTTP/1.1\r\nHost: x\r\n\r\n" % (ALLOWED.replace(":", "%3a"), DENIED))


@attempt
def proxy_origin_form():
    return proxy_request("GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % DENIED)


@attempt
def proxy_keep_alive():
    return proxy_request("GET http://%s/ HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n" % ALLOWED,
                         "GET http://%s/ HTTP/1.1\r\nHost: x\r\n\r\n" % DENIED)


@attempt
def proxy_pipelined():
    return proxy_request("GET http://%s/ HTTP/1.1\r\nHost: x\r\n\r\nGET http://%s/ HTTP/1.1\r\nHost: x\r\n\r\n" % (ALLOWED, DENIED))


@attempt
def proxy_smuggled_body():
    inner = "GET http://%s/ HTTP/1.1\r\nHost: x\r\n\r\n" % DENIED
    return proxy_request("POST http://%s/ HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s"
                         % (ALLOWED, len(inner) + 5, inner))


@attempt
def proxy_upgrade():
    return proxy_request("GET http://%s/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n" % DENIED)


@attempt
def proxy_socks():
    url = os.environ.get("FTP_PROXY")
    if not url:
        return proxy_request("GET / HTTP/1.0\r\n\r\n")
    credentials, _, address = url.partition("://")[2].rpartition("@")
    host, _, port = address.partition(":")
    user, _, password = credentials.partition(":")
    with socket.create_connection((host, int(port)), 5) as s:
        s.settimeout(2)
        s.sendall(b"\5\1\2")
        s.recv(2)
        s.sendall(bytes([1, len(user)]) + user.encode() + bytes([len(password)]) + password.encode())
        s.recv(2)
        s.sendall(b"\5\1\0\1\x7f\0\0\1" + struct.pack(">H", F["http"]))
        s.recv(10)
        s.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return b"listener-denied" in s.recv(4096)


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
    # Seized, not attached: nothing is stopped, and the end of this child lets it go.
    def seize():
        return libc.ptrace(0x4206, F["pid"], 0, 0) == 0
    return in_child(seize)


@attempt
def signal_host_process_by_pidfd():
    fd = syscall(434, F["pid"], 0)
    try:
        syscall(424, fd, 0, None, 0)
    finally:
        os.close(fd)
    return True


@attempt
def take_host_descriptor():
    fd = syscall(434, F["pid"], 0)
    try:
        taken = syscall(438, fd, 0, 0)
    finally:
        os.close(fd)
    try:
        return os.pread(taken, 9, 0) == b"topsecret"
    finally:
        os.close(taken)


@attempt
def read_host_memory():
    with open("/proc/%d/maps" % F["pid"]) as f:
        start = int(f.readline().split("-")[0], 16)
    local = ctypes.create_string_buffer(16)
    ours = struct.pack("PN", ctypes.addressof(local), 16)
    theirs = struct.pack("PN", start, 16)
    return syscall(310, F["pid"], ctypes.c_char_p(ours), 1, ctypes.c_char_p(theirs), 1, ctypes.c_ulong(0)) == 16


@attempt
def limits_of_a_host_process():
    syscall(302, F["pid"], 7, None, ctypes.create_string_buffer(16))
    return True


@attempt
def priority_of_a_host_process():
    os.setpriority(os.PRIO_PROCESS, F["pid"], os.getpriority(os.PRIO_PROCESS, F["pid"]))
    return True


@attempt
def hosts_semaphores():
    syscall(64, F["sem_key"], 0, 0)
    return True


@attempt
def hosts_messages():
    syscall(68, F["msg_key"], 0)
    return True


@attempt
def perf_events():
    attr = ctypes.create_string_buffer(struct.pack("II", 1, 112) + bytes(104), 112)
    fd = syscall(298, attr, F["pid"], -1, -1, 0)
    os.close(fd)
    return True


@attempt
def load_bpf():
    fd = syscall(321, 0, ctypes.create_string_buffer(struct.pack("IIII", 2, 4, 4, 1) + bytes(56), 72), 72)
    os.close(fd)
    return True


@attempt
def watch_a_host_mount():
    os.close(syscall(300, 0, 0))
    return True


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


def unshared(flags):
    return in_child(lambda: libc.unshare(0x10000000 | flags) == 0)


@attempt
def new_network_namespace():
    return unshared(0x40000000)


@attempt
def new_pid_namespace():
    return unshared(0x20000000)


@attempt
def new_ipc_and_uts_namespace():
    return unshared(0x0C000000)


@attempt
def mount_in_a_namespace():
    return in_child(lambda: libc.unshare(0x10020000) == 0 and libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0)


@attempt
def clone_new_user_namespace():
    pid = syscall(56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return True


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


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""What the tests of the gateway share: a network of its own in which any address can be listened at, a name server, the
program as an ordinary user without rights, its control socket.

Run under `unshare -rn` (enter() does that): every address of 20.0.0.0/8 and 2600::/16 is then local without being an
interface's own, so that what looks public to the gateway is a socket of the test.  OC_BUILD is the build folder."""
import os, select, shutil, socket, struct, subprocess, sys, tempfile, threading, time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import finish, ok, skip  # noqa: E402, F401

BUILD = os.environ["OC_BUILD"]
PROGRAM = os.environ.get("OC_TEST_GATEWAY", BUILD + "/providers/docker/gateway/open-conduit-gateway")
RESOLVER = "127.0.0.11"
LISTEN = ("10.213.8.2", 3128)
PUBLIC = "20.0.0.7"
ROUTES = ["20.0.0.0/8", "203.0.114.0/24", "8.8.8.8/32", "140.82.112.0/24", "192.168.1.0/24", "169.254.0.0/16", "100.100.100.200/32"]
ROUTES6 = ["2600::/12"]


def enter():
    """This script again, in a network of its own."""
    if os.environ.get("OC_TEST_INSIDE") == "1":
        run = lambda *words: subprocess.run(["ip", *words], check=True)  # noqa: E731
        run("link", "set", "lo", "up")
        run("link", "add", "run0", "type", "bridge")
        run("addr", "add", LISTEN[0] + "/29", "dev", "run0")
        run("link", "set", "run0", "up")
        for net in ROUTES:
            run("route", "add", "local", net, "dev", "lo")
        for net in ROUTES6:
            run("-6", "route", "add", "local", net, "dev", "lo")
        with open("/proc/sys/net/ipv6/ip_nonlocal_bind", "w") as file:
            file.write("1\n")
        return
    os.environ["OC_TEST_INSIDE"] = "1"
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    os.execvp("unshare", ["unshare", "-rn", sys.executable, *sys.argv])


class NameServer:
    """Answers from a dictionary name -> addresses; counts what it is asked.  `mangle` may change or drop an answer."""

    def __init__(self, names=None, default=None, address=RESOLVER):
        self.names, self.default, self.asked, self.mangle = names or {}, default, [], None
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((address, 53))
        self.tcp = socket.create_server((address, 53))
        for loop in (self.serve_udp, self.serve_tcp):
            threading.Thread(target=loop, daemon=True).start()

    def answer(self, query, tcp=False):
        at, labels = 12, []
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += 1 + query[at]
        question, name = query[12:at + 5], ".".join(labels)
        kind = struct.unpack(">H", query[at + 1:at + 3])[0]
        self.asked.append((name, kind))
        found = self.names.get(name, self.default)
        records = b""
        n = 0
        for address in found or []:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            if kind == (28 if family == socket.AF_INET6 else 1):
                data = socket.inet_pton(family, address)
                records += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 60, len(data)) + data
                n += 1
        flags = 0x8180 if found is not None else 0x8183
        reply = query[:2] + struct.pack(">HHHHH", flags, 1, n, 0, 0) + question + records
        return self.mangle(name, kind, reply, tcp) if self.mangle else reply

    def serve_udp(self):
        while True:
            query, peer = self.udp.recvfrom(4096)
            for reply in [self.answer(query)]:
                for one in reply if isinstance(reply, list) else [reply]:
                    if one:
                        self.udp.sendto(one, peer)

    def serve_tcp(self):
        while True:
            s, _ = self.tcp.accept()
            threading.Thread(target=self.serve_stream, args=(s,), daemon=True).start()

    def serve_stream(self, s):
        with s, s.makefile("rb") as file:
            while True:
                head = file.read(2)
                if len(head) < 2:
                    return
                reply = self.answer(file.read(struct.unpack(">H", head)[0]), tcp=True)
                s.sendall(struct.pack(">H", len(reply)) + reply)


class Gateway:
    """The program with a policy, and what it tells."""

    def __init__(self, allow=(), private=(), never=(), text=None, nofile=None, program=PROGRAM, wait=True):
        self.dir = tempfile.mkdtemp(prefix="g")
        os.chmod(self.dir, 0o777)
        path = self.dir + "/sock"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        os.chmod(path, 0o777)
        listener.listen(1)
        limit = ["prlimit", "--nofile=%d:%d" % (nofile, nofile)] if nofile else []
        self.p = subprocess.Popen(["unshare", "--map-user=1000", "--map-group=1000", *limit, program, path], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        listener.settimeout(20)
        self.control, _ = listener.accept()
        listener.close()
        self.pending, self.events = b"", []
        lines = ["open-conduit-gateway 1", "listen %s %d" % LISTEN, "resolver " + RESOLVER] + ["allow " + a for a in allow] + \
            ["private " + n for n in private] + ["never " + n for n in never] + ["go"]
        self.control.sendall(("".join(line + "\n" for line in lines) if text is None else text).encode())
        if wait:
            self.first = self.read_line(20)
            if text is None and self.first != "ready":
                raise RuntimeError("the gateway says %r" % self.first)

    def read_line(self, timeout):
        deadline = time.monotonic() + timeout
        while b"\n" not in self.pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.control], [], [], left)[0]:
                return None
            try:
                got = self.control.recv(65536)
            except ConnectionError:
                got = b""
            if not got:
                return None
            self.pending += got
        line, self.pending = self.pending.split(b"\n", 1)
        return line.decode()

    def event(self, word, timeout=10):
        """The next event of this word; what came before it is kept in self.events."""
        while True:
            line = self.read_line(timeout)
            if line is None:
                return None
            self.events.append(line)
            if line.split()[0] == word:
                return line.split(" ")

    def pid(self):
        return self.p.pid

    def rss(self):
        with open("/proc/%d/status" % self.p.pid) as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    def end(self):
        self.control.close()
        try:
            status = self.p.wait(10)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()
            status = "does not end"
        self.stderr = self.p.stderr.read().decode()
        self.p.stdout.close()
        self.p.stderr.close()
        shutil.rmtree(self.dir, ignore_errors=True)
        return status


def until(what, timeout=10):
    """what(), once it is true, or at last."""
    deadline = time.monotonic() + timeout
    while not what() and time.monotonic() < deadline:
        time.sleep(0.05)
    return what()


def dial(timeout=20):
    s = socket.create_connection(LISTEN, timeout)
    s.settimeout(timeout)
    return s


def read_all(s):
    out = bytearray()
    try:
        while True:
            got = s.recv(65536)
            if not got:
                break
            out += got
    except ConnectionError:
        pass
    return bytes(out)


def read_head(s):
    """Byte by byte: what follows the head stays in the socket."""
    out = b""
    while not out.endswith(b"\r\n\r\n"):
        got = s.recv(1)
        if not got:
            break
        out += got
    return out


def ask(head):
    """All that comes back for these bytes."""
    with dial() as s:
        s.sendall(head)
        return read_all(s)


def connect(host, port, version="1.1", timeout=20):
    """(socket, head of the answer) of a CONNECT."""
    s = dial(timeout)
    s.sendall(("CONNECT %s:%d HTTP/%s\r\nHost: %s\r\n\r\n" % (host, port, version, host)).encode())
    return s, read_head(s)


class Listener:
    """A server at an address: each connection is handed to `serve` in a thread of its own, and closed after."""

    def __init__(self, address, port, serve, backlog=1024):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.socket = socket.create_server((address, port), family=family, backlog=backlog)
        self.accepted = 0
        self.serve = serve
        threading.Thread(target=self.loop, daemon=True).start()

    def loop(self):
        while True:
            try:
                s, _ = self.socket.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self.one, args=(s,), daemon=True).start()

    def one(self, s):
        with s:
            try:
                self.serve(s)
            except OSError:
                pass

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

# SPDX-License-Identifier: Apache-2.0
"""Many clients, bad ones, and how a gateway begins and ends: 5,000 idle tunnels and their memory, more connections than it has
room for, garbage, a reader of events that sleeps; a policy that is wrong, root, no policy at all."""
import os, random, signal, socket, subprocess, time

from gatewayworld import (LISTEN, PROGRAM, PUBLIC, RESOLVER, Gateway, Listener, NameServer, ask, connect, dial, enter, finish, ok, read_all,
                          read_head)

IDLE = 5000
HEAD = "open-conduit-gateway 1\nlisten %s %d\nresolver %s\n" % (*LISTEN, RESOLVER)


class Holder:
    """A server that accepts and keeps."""

    def __init__(self, port):
        self.sockets = []
        self.listener = Listener(PUBLIC, port, lambda s: None, backlog=4096)
        self.listener.one = self.sockets.append


def idle():
    gateway = Gateway(allow=["up.example"])
    before = gateway.rss()
    holder = Holder(7100)
    tunnels = []
    for _ in range(IDLE):
        s, head = connect("up.example", 7100)
        if not head.startswith(b"HTTP/1.1 200 "):
            break
        tunnels.append(s)
    rss = gateway.rss()
    print("note - RSS %d kB, with %d idle tunnels %d kB: %d bytes each" % (before, len(tunnels), rss, (rss - before) * 1024 // IDLE))
    ok(len(tunnels) == IDLE, "%d tunnels at once" % IDLE, len(tunnels))
    ok(before <= 1024 and rss <= 4096 and (rss - before) * 1024 <= 512 * IDLE, "at most 1 MB, 4 MB and 512 bytes each", (before, rss))
    # Any of them still works.
    deadline = time.monotonic() + 20
    while len(holder.sockets) < IDLE and time.monotonic() < deadline:
        time.sleep(0.1)
    tunnels[IDLE // 2].sendall(b"still")
    time.sleep(0.5)
    found = 0
    for s in holder.sockets:
        s.setblocking(False)
        try:
            found += s.recv(5) == b"still"
        except BlockingIOError:
            pass
    ok(found == 1, "one of them carries bytes, to one server", found)
    for s in tunnels + holder.sockets:
        s.close()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and (event := gateway.event("end", 5)) and int(event[1]) < IDLE:
        pass
    print("note - RSS after they have gone: %d kB" % gateway.rss())
    ok(gateway.end() == 0, "it ends")
    holder.listener.close()


def full():
    """Descriptors for some: the others are told, and served again later."""
    gateway = Gateway(allow=["up.example"], nofile=300)
    holder = Holder(7101)
    tunnels, refused = [], b""
    for _ in range(400):
        s, head = connect("up.example", 7101)
        if not head.startswith(b"HTTP/1.1 200 "):
            refused = head
            s.close()
            break
        tunnels.append(s)
    ok(20 < len(tunnels) < 150 and refused.startswith(b"HTTP/1.1 503 "), "with 300 descriptors: so many, then 503", (len(tunnels), refused[:60]))
    event = gateway.event("bad")
    ok(event is not None, "and recorded", event)
    flood = [dial() for _ in range(100)]
    answers = [read_all(s)[:12] for s in flood[:20]]
    ok(all(a == b"HTTP/1.1 503" for a in answers), "as often as it happens", answers)
    for s in flood + tunnels[:10]:
        s.close()
    for s in holder.sockets[:10]:
        s.close()
    deadline = time.monotonic() + 20
    head = b""
    while time.monotonic() < deadline and not head.startswith(b"HTTP/1.1 200 "):
        s, head = connect("up.example", 7101)
        tunnels.append(s)
        time.sleep(0.2)
    ok(head.startswith(b"HTTP/1.1 200 "), "and served again when some have gone", head[:60])
    ok(gateway.end() == 0, "it ends with tunnels open")
    # Which are closed by it.
    ok(tunnels[20].recv(1) == b"", "and they end with it")
    for s in tunnels + holder.sockets:
        s.close()
    holder.listener.close()


def garbage():
    gateway = Gateway(allow=["up.example"])
    rng = random.Random(5)
    before = gateway.rss()
    parts = [b"CONNECT ", b"up.example", b":443", b" HTTP/1.1", b"\r\n", b"\r\n\r\n", b"Host: x", b"GET http://", b"\0", b"\r", b"\n", b":", b"Transfer-Encoding: chunked", b"\xff" * 7]
    for _ in range(1500):
        s = dial()
        try:
            s.sendall(b"".join(rng.choice(parts) for _ in range(rng.randrange(12))) if rng.random() < 0.7 else rng.randbytes(rng.randrange(300)))
        except OSError:
            pass
        s.close()
    held = [dial() for _ in range(200)]
    for s in held:
        s.sendall(b"GET http://up.example/" + b"a" * 9000)
    head = ask(b"CONNECT evil.example:1 HTTP/1.1\r\nHost: x\r\n\r\n")
    print("note - RSS %d kB, after 1,500 pieces of garbage and with 200 heads of 9 kB that don't end %d kB" % (before, gateway.rss()))
    ok(head.startswith(b"HTTP/1.1 403 ") and gateway.rss() < 2048, "garbage and slow heads cost little", (head[:40], gateway.rss()))
    for s in held:
        s.close()
    ok(gateway.p.poll() is None and gateway.end() == 0, "and it is still there", gateway.p.returncode)


def sleeper():
    """Nobody reads the events: requests go on, and what was lost is counted when they are read again."""
    gateway = Gateway(allow=[])
    n = 8000
    for i in range(n):
        with dial() as s:
            s.sendall(b"CONNECT host-%d.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n" % i)
            if not read_head(s).startswith(b"HTTP/1.1 403 "):
                break
    ok(i == n - 1, "%d requests are answered while nobody reads" % n, i)
    told = lost = 0
    while told + lost < n:
        line = gateway.read_line(10)
        if line is None:
            break
        if line.startswith("lost "):
            lost += int(line.split()[1])
        elif line.startswith("deny "):
            told += 1
    ok(told + lost == n and lost > 0, "each is told, or counted as lost", (told, lost))
    gateway.end()


def endings():
    table = [("", "closed"), ("open-conduit-gateway 2\nlisten 10.213.8.2 3128\nresolver 127.0.0.11\ngo\n", "error policy: line 1"),
             (HEAD + "allow *\ngo\n", "error policy: line 4"), (HEAD + "go\nallow x.example\n", "error policy"),
             (HEAD + "allow x.example\n" * 1100 + "go\n", "error policy"), ("a" * 70000, "error policy"),
             (HEAD + "listen 192.0.2.99 3128\ngo\n", "error listen")]
    for text, want in table:
        gateway = Gateway(text=text, wait=False)
        if want == "closed":
            try:
                socket.create_connection(LISTEN, 1).close()
                listening = True
            except ConnectionRefusedError:
                listening = False
            ok(not listening, "before its policy nothing listens")
            gateway.control.shutdown(socket.SHUT_WR)
        line = gateway.read_line(10)
        status = gateway.p.wait(10)
        ok(status == 1 and line and line.startswith("error" if want == "closed" else want), "a policy that is %r…: error, and 1" % text[:30], (status, line))
        gateway.end()
    gateway = Gateway(text=HEAD + "go\n")
    gateway.control.sendall(b"allow evil.example\n")
    ok(gateway.p.wait(10) == 0, "more after the policy ends it")
    gateway.end()
    gateway = Gateway(allow=[])
    os.kill(gateway.pid(), signal.SIGSTOP)
    os.kill(gateway.pid(), signal.SIGCONT)
    ok(ask(b"CONNECT a.example:1 HTTP/1.1\r\nHost: x\r\n\r\n").startswith(b"HTTP/1.1 403 "), "stopped and continued it goes on")
    gateway.end()
    # Here the test is root of its own namespace, which is root enough.
    path = "/tmp/gw-root-%d" % os.getpid()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(1)
        p = subprocess.run([PROGRAM, path], capture_output=True, text=True, timeout=20)
        said = listener.accept()[0].recv(100)
    os.unlink(path)
    ok(p.returncode == 1 and said.startswith(b"error root"), "root is refused", (p.returncode, said))
    for words in ([], ["relative"], ["/a", "/b"]):
        ok(subprocess.run([PROGRAM, *words], capture_output=True).returncode == 2, "arguments %s: usage" % words)
    p = subprocess.run([PROGRAM, "/nonesuch/sock"], capture_output=True, text=True)
    ok(p.returncode == 1 and "No such file" in p.stderr, "no control socket: says so", p.stderr)


def main():
    enter()
    NameServer({"up.example": [PUBLIC]})
    for test in (endings, full, garbage, sleeper, idle):
        test()
    finish()


main()

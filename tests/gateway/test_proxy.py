# SPDX-License-Identifier: Apache-2.0
"""What the gateway does with bytes: tunnels and their ends, plain http, names and addresses, slow and many clients, its
lifeline.  Real sockets on both sides, in a network of its own."""
import os, re, socket, ssl, struct, threading, time

from gatewayworld import LISTEN, PUBLIC, Gateway, Listener, NameServer, ask, connect, dial, enter, finish, ok, read_all, read_head, until

ALLOW = ["up.example", "*.wild.example", "nas.example:8080", "8.8.8.8", "v6.example", "own.example", "both.example"]
HTTP = []


def echo(s):
    """Back what comes; at the end a word, so that the half-close is seen to have come through."""
    while True:
        got = s.recv(65536)
        if not got:
            break
        s.sendall(got)
    s.sendall(b"ended")


def tunnels(gateway):
    s, head = connect("up.example", 7000)
    ok(head.startswith(b"HTTP/1.1 200 "), "a tunnel is opened", head)
    s.sendall(b"hello")
    ok(s.recv(5) == b"hello", "bytes go both ways")
    s.shutdown(socket.SHUT_WR)
    ok(read_all(s) == b"ended", "the client's end is passed on while the server still speaks")
    event = gateway.event("allow")
    ok(event and event[2:] == ["up.example", "7000", PUBLIC], "allow says host, port and the address dialled", event)
    end = gateway.event("end")
    ok(end and end[1] == event[1] and end[2:4] == ["5", "10"] and int(end[4]) < 20000, "end has its bytes", end)
    s = dial()
    s.sendall(b"CONNECT UP.example.:7000 HTTP/1.0\r\n\r\nearly")
    read_head(s)
    ok(s.recv(5) == b"early", "what follows the head is the tunnel's, and 1.0 without a Host is good")
    s.close()
    gateway.event("end")


def big(gateway):
    """More than pipes and sockets hold, both ways at once."""
    size = 48 * 1024 * 1024
    s, _ = connect("up.example", 7000)
    got = [0]

    def reader():
        while got[0] < size:
            n = len(s.recv(1 << 20))
            if not n:
                return
            got[0] += n
    thread = threading.Thread(target=reader)
    thread.start()
    block = os.urandom(1 << 20)
    for _ in range(size >> 20):
        s.sendall(block)
    thread.join(120)
    ok(got[0] == size, "48 MiB through an echo", got[0])
    s.close()
    end = gateway.event("end")
    ok(end and int(end[2]) == size and int(end[3]) >= size, "and counted", end)


def server_first(gateway):
    """The server ends first: the client reads all and may still write."""
    received = []

    def serve(s):
        s.sendall(b"x" * 3000000)
        s.shutdown(socket.SHUT_WR)
        received.append(read_all(s))
    server = Listener(PUBLIC, 7001, serve)
    s, _ = connect("up.example", 7001)
    data = read_all(s)
    s.sendall(b"thanks")
    s.close()
    gateway.event("end")
    until(lambda: received)
    ok(len(data) == 3000000 and received == [b"thanks"], "the server's end leaves the other direction open", (len(data), received))
    server.close()


def resets(gateway):
    hold, seen = threading.Event(), []

    def serve(s):
        s.recv(1)
        hold.wait(10)
        try:
            seen.append(s.recv(10))
        except ConnectionResetError:
            seen.append("reset")

    def cut(s):
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    server = Listener(PUBLIC, 7002, serve)
    s, _ = connect("up.example", 7002)
    s.sendall(b"x")
    time.sleep(0.2)
    cut(s)
    s.close()
    gateway.event("end")
    hold.set()
    until(lambda: seen)
    ok(seen == ["reset"], "a client's reset is a reset for the server", seen)
    server.close()
    server = Listener(PUBLIC, 7003, lambda s: (s.recv(1), cut(s)))
    s, _ = connect("up.example", 7003)
    s.sendall(b"x")
    try:
        result = s.recv(10)
    except ConnectionResetError:
        result = "reset"
    ok(result == "reset", "a server's reset is a reset for the client", result)
    gateway.event("end")
    server.close()


def names_of_tls(gateway):
    def hello(server_name):
        s, _ = connect("up.example", 7000)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname=server_name)
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return s, outgoing.read()
    s, bytes_of_it = hello("other.example")
    s.sendall(bytes_of_it[:100])
    time.sleep(0.2)
    s.sendall(bytes_of_it[100:])
    got = b""
    while len(got) < len(bytes_of_it):
        got += s.recv(65536)
    ok(got == bytes_of_it, "a ClientHello in two pieces is passed on as it is")
    s.close()
    event = gateway.event("sni")
    ok(event and event[2] == "other.example", "and its other name is recorded", event)
    gateway.event("end")
    del gateway.events[:]
    s, bytes_of_it = hello("up.example")
    s.sendall(bytes_of_it)
    s.recv(10)
    s.close()
    gateway.event("end")
    ok(not [e for e in gateway.events if e.startswith("sni")], "control: the same name is not", gateway.events)
    s, bytes_of_it = hello("up.example")
    s.sendall(bytes_of_it[:50])
    began = time.monotonic()
    ok(s.recv(100) == bytes_of_it[:50] and 0.5 < time.monotonic() - began < 8, "one that never gets whole is held back for a moment only")
    s.close()
    gateway.event("end")


def denied(gateway, names):
    del names.asked[:]
    s = dial()
    s.sendall(b"CONNECT evil.example:443 HTTP/1.1\r\nHost: up.example\r\n\r\n" + b"\x16\x03\x01" + b"x" * 4000)
    reply = read_all(s)
    ok(reply.startswith(b"HTTP/1.1 403 blocked by network.allow: evil.example:443\r\n") and b"\r\nX-Open-Conduit: blocked\r\n" in reply and
       b'{"error":"open-conduit: evil.example:443 is not in network.allow"' in reply, "a denied CONNECT says host, rule and line", reply)
    event = gateway.event("deny")
    ok(event and event[2:] == ["evil.example", "443", "not_listed"], "and is recorded", event)
    reply = ask(b"GET http://evil.example/secret?path HTTP/1.1\r\nHost: x\r\nX-Leak: leak\r\n\r\nGET http://up.example:8000/ HTTP/1.1\r\nHost: x\r\n\r\n")
    ok(reply.count(b"HTTP/1.1") == 1 and b"text/plain" in reply and b"secret" not in reply and b"leak" not in reply, "a denied GET: text, nothing reflected", reply)
    gateway.event("deny")
    ok(names.asked == [], "a denied name is never asked for", names.asked)
    for host, why in (("0x7f000001:80", None), ("127.1:80", None), ("127.0.0.1:80", "not_listed"), ("[::1]:80", "not_listed"), ("10.213.8.2:3128", "not_listed")):
        reply = ask(b"CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n" % host.encode())
        event = gateway.event("deny" if why else "bad")
        ok(reply.split(b" ")[1] == (b"403" if why else b"400") and (not why or event[4] == why), "CONNECT %s" % host, (reply[:60], event))


def every_byte(gateway):
    """Each byte put into a name at each place: refused, or the same name, or another that is denied; never dialled wrongly."""
    wrong, accepted = [], 0
    name = b"up.example"
    for byte in list(range(0, 33)) + [0x22, 0x23, 0x25, 0x2e, 0x2f, 0x3a, 0x3f, 0x40, 0x5c, 0x5f, 0x7f, 0x80, 0xad, 0xe3, 0xff]:
        for at in range(0, len(name) + 1, 3):
            reply = ask(b"CONNECT " + name[:at] + bytes([byte]) + name[at:] + b":7009 HTTP/1.1\r\nHost: x\r\n\r\n")
            status = reply.split(b" ")[1] if b" " in reply else b""
            # Nobody listens there: only the name itself leads to 502.
            if status == b"502":
                accepted += 1
                if not (byte == 0x2e and at == len(name)):
                    wrong.append((byte, at))
            elif status not in (b"400", b"403"):
                wrong.append((byte, at, reply[:50]))
    ok(not wrong, "no byte in a name changes where it leads", wrong[:5])
    reply = ask(b"CONNECT up.example:7009 HTTP/1.1\r\nHost: x\r\n\r\n")
    ok(reply.startswith(b"HTTP/1.1 502 up.example:7009: refused"), "control: without one it is dialled", reply[:80])


def http_server(s):
    """One request with its body, kept; a reply by path."""
    file = s.makefile("rb")
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = file.readline()
        if not line:
            return
        head += line
    body = b""
    if b"expect: 100-continue" in head.lower():
        s.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    length = re.search(rb"Content-Length: (\d+)", head)
    if length:
        body = file.read(int(length.group(1)))
    elif b"chunked" in head:
        while True:
            line = file.readline()
            body += line
            size = int(line.split(b";")[0], 16)
            if not size:
                body += file.readline()
                break
            body += file.read(size + 2)
    HTTP.append((head, body))
    path = head.split(b" ")[1]
    if path == b"/upgrade":
        s.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nraw")
    elif path == b"/garbage":
        s.sendall(b"\x00\x01\x02 no http\r\n\r\n")
    elif path == b"/keep":
        s.sendall(b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok")
        HTTP.append((file.read(), b""))
    else:
        s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (2 + len(body)) + b"ok" + body)


def plain(gateway):
    server = Listener(PUBLIC, 8000, http_server)
    base = b"http://up.example:8000"
    reply = ask(b"GET %s/a HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: x\r\nConnection: x-y\r\nX-Y: z\r\n\r\n" % base)
    head = HTTP[-1][0]
    ok(reply == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", "plain http: the reply, which ends the connection", reply)
    ok(head == b"GET /a HTTP/1.1\r\nHost: up.example:8000\r\nConnection: close\r\n\r\n", "plain http: the head is made anew", head)
    del HTTP[:]
    reply = ask(b"POST %s/b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET %s/second HTTP/1.1\r\nHost: x\r\n\r\n" % (base, base))
    ok(len(HTTP) == 1 and HTTP[0][1] == b"abc" and reply.endswith(b"okabc") and reply.count(b"HTTP/1.1") == 1, "a second request on the connection is never passed on", HTTP)
    reply = ask(b"GET %s/a HTTP/1.1\r\nHost: x\r\n\r\nGET http://evil.example/ HTTP/1.1\r\nHost: x\r\n\r\n" % base)
    ok(reply.count(b"HTTP/1.1") == 1 and reply.endswith(b"ok"), "nor read", reply)
    body = b"5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nT: v\r\n\r\n"
    del HTTP[:]
    reply = ask(b"POST %s/c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" % base + body + b"0\r\n\r\nGET / HTTP/1.1\r\n\r\n")
    ok(HTTP and HTTP[0][1] == b"5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nT: v\r\n" and len(HTTP) == 1, "a chunked body by its framing and no further", HTTP)
    reply = ask(b"POST %s/d HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxx\r\nGET / HTTP/1.1\r\n\r\n" % base)
    ok(reply == b"", "a body without chunks ends both connections", reply)
    s = dial()
    s.sendall(b"POST %s/e HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n" % base)
    ok(read_head(s) == b"HTTP/1.1 100 Continue\r\n\r\n", "100 Continue is passed on")
    s.sendall(b"body")
    ok(read_all(s).endswith(b"okbody"), "and the reply after it")
    large = os.urandom(3 * 1024 * 1024)
    reply = ask(b"PUT %s/f HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (base, len(large)) + large)
    ok(reply.endswith(large), "a large body and its echo", len(reply))
    ok(ask(b"GET %s/upgrade HTTP/1.1\r\nHost: x\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" % base).startswith(b"HTTP/1.1 502 "), "101 was not asked for")
    ok(ask(b"GET %s/garbage HTTP/1.1\r\nHost: x\r\n\r\n" % base).startswith(b"HTTP/1.1 502 "), "a reply that is none is 502")
    del HTTP[:]
    s = dial()
    s.sendall(b"GET %s/keep HTTP/1.1\r\nHost: x\r\n\r\n" % base)
    reply = s.recv(4096)
    s.sendall(b"GET http://evil.example/ HTTP/1.1\r\nHost: x\r\n\r\n")
    s.close()
    time.sleep(0.3)
    ok(b"Connection: close" in reply and b"keep-alive" not in reply and not [h for h, _ in HTTP if b"evil" in h], "a server that would go on is not believed", (reply, HTTP))
    server.close()
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and gateway.event("end", 1):
        pass


def addresses(gateway, names):
    """What a name leads to, judged; the event's class."""
    table = [("nas.example", 8080, ["192.168.1.5"], "allow"), ("a.wild.example", 443, ["192.168.1.5"], "private"), ("up.example", 443, ["127.0.0.1"], "loopback"),
             ("up.example", 443, ["169.254.169.254"], "metadata"), ("up.example", 443, ["169.254.3.3"], "link_local"), ("up.example", 443, ["0.0.0.0"], "special"),
             ("up.example", 443, ["::ffff:10.0.0.1"], "private"), ("own.example", 443, [LISTEN[0]], "own"), ("own.example", 443, ["10.213.8.1"], "own"),
             ("own.example", 443, ["20.0.0.99"], "own"), ("up.example", 443, [], "unresolved"), ("v6.example", 443, ["2600::77"], "allow")]
    for host, port, found, want in table:
        names.names[host] = found
        server = Listener(found[0], port, lambda s: s.sendall(b"here")) if want == "allow" else None
        s, head = connect(host, port)
        event = gateway.event("allow" if want == "allow" else "deny")
        status = {"allow": b"200", "unresolved": b"502"}.get(want, b"403")
        ok(head.split(b" ")[1] == status and event and event[4] == (found[0] if want == "allow" else want), "%s at %s: %s" % (host, found, want), (head, event))
        if server:
            ok(read_all(s) == b"here", "it is that server")
            server.close()
        s.close()
    names.names["both.example"] = ["127.0.0.1", "20.0.0.50", "20.0.0.51", "2600::51"]
    server = Listener("20.0.0.51", 9000, lambda s: s.sendall(b"second"))
    s, _ = connect("both.example", 9000)
    ok(read_all(s) == b"second", "the next address that may be dialled, when one refuses")
    event = gateway.event("allow")
    ok(event and event[4] == "20.0.0.51", "and that is what is recorded", event)
    server.close()
    names.names["up.example"] = [PUBLIC]
    reply = ask(b"CONNECT up.example:7009 HTTP/1.1\r\nHost: x\r\n\r\n")
    event = gateway.event("fail")
    ok(reply.startswith(b"HTTP/1.1 502 ") and event and event[2:] == ["up.example", "7009", "refused"], "nobody there: 502, never 403", (reply[:60], event))


def answers(gateway, names):
    """What a resolver, or one who plays it, may send."""
    def status():
        s, head = connect("up.example", 7000, timeout=40)
        s.close()
        return int(head.split(b" ")[1])
    bad = {"another id": lambda r: bytes([r[0] ^ 1]) + r[1:], "a question, not an answer": lambda r: r[:2] + bytes([r[2] & 0x7f]) + r[3:],
           "another name": lambda r: r[:13] + b"x" + r[14:]}
    for what, change in bad.items():
        names.mangle = lambda n, k, r, t, change=change: [change(r), r]
        ok(status() == 200, "ignored beside the true answer: " + what)
        gateway.event("end")
    names.mangle = lambda n, k, r, t: change(r)
    began = time.monotonic()
    ok(status() == 504 and 4 < time.monotonic() - began < 20, "control: without the true one the name is not resolved, in bounded time")
    loop = lambda n, k, r, t: r[:6] + struct.pack(">H", 1) + r[8:12] + r[12:].split(b"\xc0\x0c")[0] + b"\xc0" + bytes([len(r.split(b"\xc0\x0c")[0])]) + b"\0" * 10  # noqa: E731
    names.mangle = loop
    ok(status() == 502, "a name that points at itself is refused")
    names.mangle = lambda n, k, r, t: r if t else r[:2] + bytes([r[2] | 2]) + r[3:6] + b"\0\0" + r[8:12] + r[12:].split(b"\xc0\x0c")[0]
    ok(status() == 200, "a truncated answer is asked for again by TCP")
    gateway.event("end")
    names.mangle = lambda n, k, r, t: r if k == 1 else None
    began = time.monotonic()
    ok(status() == 200 and time.monotonic() - began < 5, "an AAAA that never comes costs a moment")
    gateway.event("end")
    names.mangle = lambda n, k, r, t: r[:3] + b"\x82" + r[4:]
    ok(status() == 502, "a resolver that fails is 502")
    seen = []
    names.mangle = lambda n, k, r, t: seen.append(struct.unpack(">H", r[:2])[0]) or r
    for _ in range(16):
        status()
        gateway.event("end")
    ok(len(set(seen)) > 24, "identifiers are not predictable", seen)
    # Answered first with a public address, then with another: each connection is judged by its own answer.
    turns = [[PUBLIC], ["169.254.169.254"]]
    names.mangle = None
    results = []
    for turn in turns:
        names.names["up.example"] = turn
        results.append(status())
    ok(results == [200, 403], "a name that is pointed elsewhere afterwards is judged anew", results)
    names.names["up.example"] = [PUBLIC]


def slow(gateway):
    began = time.monotonic()
    half, silent = dial(30), dial(30)
    half.sendall(b"CONNECT up.example:7000 HT")
    reply, nothing = read_all(half), read_all(silent)
    took = time.monotonic() - began
    ok(reply.startswith(b"HTTP/1.1 408 ") and nothing == b"" and 8 < took < 20, "a slow head: 408; one that never speaks is let go", (reply[:60], nothing, took))
    event = gateway.event("bad")
    ok(event is not None, "and recorded", event)
    reply = ask(b"GET http://up.example/ HTTP/1.1\r\nX: " + b"x" * 17000)
    ok(reply.startswith(b"HTTP/1.1 431 "), "a head of more than 16 KiB: 431", reply[:60])
    s = dial()
    for byte in b"CONNECT up.example:7000 HTTP/1.1\r\nHost: x\r\n\r\n":
        s.sendall(bytes([byte]))
    ok(read_head(s).startswith(b"HTTP/1.1 200 "), "a head byte by byte")
    s.close()
    ok(ask(b"GET http://up.example/ HTTP/1.1\nHost: x\n\n").startswith(b"HTTP/1.1 400 "), "bare LF is refused at once")


def stalled(gateway):
    """Readers that stall hold what is on its way to them; others go on."""
    server = Listener(PUBLIC, 7004, lambda s: [s.sendall(b"x" * 65536) for _ in range(2000)])
    held = [connect("up.example", 7004)[0] for _ in range(60)]
    time.sleep(1.5)
    s, _ = connect("up.example", 7000)
    began = time.monotonic()
    for _ in range(100):
        s.sendall(b"y" * 10000)
        got = 0
        while got < 10000:
            got += len(s.recv(65536))
    took = time.monotonic() - began
    ok(took < 5, "60 readers that stall don't stop others", took)
    print("note - RSS while 60 are stalled: %d kB" % gateway.rss())
    ok(gateway.rss() < 2048, "and cost no memory of the gateway's", gateway.rss())
    total = 0
    for one in held[:3]:
        total += len(read_all(one))
    ok(total == 3 * 2000 * 65536, "what was held comes when it is read", total)
    for one in held + [s]:
        one.close()
    server.close()


def last_words(gateway):
    """Told to end, it first tells what was under way: of some hundred tunnels as of one."""
    held = [connect("up.example", 7000)[0] for _ in range(300)]
    for one in held:
        one.sendall(b"x" * 100)
        one.recv(100, socket.MSG_WAITALL)
    gateway.control.shutdown(socket.SHUT_WR)
    told = 0
    while told < len(held):
        end = gateway.event("end")
        if end is None:
            break
        told += end[2:4] == ["100", "100"]
    ok(told == len(held), "told to end, it tells the bytes of what was under way", told)
    for one in held:
        one.close()


def main():
    enter()
    names = NameServer({"up.example": [PUBLIC]})
    gateway = Gateway(allow=ALLOW + ["nas.example"], private=["nas.example", "own.example"], never=["20.0.0.99"])
    Listener(PUBLIC, 7000, echo)
    with open("/proc/%d/status" % gateway.pid()) as file:
        status = file.read()
    for line in ("NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000"):
        ok(line in status, "it runs with " + line.replace("\t", " "), status)
    for test in (tunnels, big, server_first, resets, names_of_tls, lambda g: denied(g, names), every_byte, plain, lambda g: addresses(g, names),
                 lambda g: answers(g, names), slow, stalled):
        test(gateway)
    ok(gateway.p.poll() is None, "it is still there")
    last_words(gateway)
    began = time.monotonic()
    ok(gateway.end() == 0 and time.monotonic() - began < 2, "it is gone when its control connection is", gateway.stderr)
    finish()


main()

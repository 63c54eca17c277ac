#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""meddler.py LISTEN UPSTREAM RULE…: stand between a client and an engine, and change one field behind the client's back.

LISTEN and UPSTREAM are paths of unix sockets.  A RULE is one argument, "SIDE METHOD PATTERN POINTER=VALUE" or, to take
a member out, "SIDE METHOD PATTERN -POINTER":

  request POST ^/containers/create$ /HostConfig/ReadonlyRootfs=false
  reply GET ^/containers/[0-9a-f]+/json$ /Config/Labels/oc.run="theirs"

PATTERN is searched in the path without the API version and the query.  POINTER is a JSON pointer (/a~1b: a key with a
slash; /0: the first of a list, /-: a new last one); what is on its way and not there is made, as objects.  VALUE is JSON.
A reply is changed where its status is 2xx.  All else goes through as it came, upgraded connections and endless streams too.

Prints "ready", then for each request "METHOD PATH", and "changed RULE" where one was applied."""
import json
import re
import select
import socket
import sys
import threading

BLOCK = 1 << 16
HEAD_MAX = 1 << 18


class Gone(Exception):
    """A peer closed, or what it sends is no HTTP: the connection ends."""


class Rule:
    def __init__(self, text):
        self.text = text
        self.side, self.method, pattern, change = text.split(" ", 3)
        if self.side not in ("request", "reply"):
            raise ValueError("a rule begins with request or reply: " + text)
        self.pattern = re.compile(pattern)
        pointer, equals, value = change.partition("=")
        self.remove = not equals
        if self.remove and not change.startswith("-/") or not self.remove and not pointer.startswith("/"):
            raise ValueError("a rule ends with /pointer=value or -/pointer: " + text)
        self.value = json.loads(value) if equals else None
        self.keys = [key.replace("~1", "/").replace("~0", "~") for key in pointer.lstrip("-").split("/")[1:]]

    def fits(self, side, method, path):
        path = re.sub(r"^/v[0-9.]+(?=/)", "", path.split("?")[0])
        return side == self.side and method == self.method and self.pattern.search(path)

    def apply(self, body):
        at = whole = json.loads(body or b"{}")
        for key in self.keys[:-1]:
            if isinstance(at, dict) and at.get(key) is None:
                at[key] = {}
            at = at[int(key) if isinstance(at, list) else key]
        self.change(at, self.keys[-1])
        return json.dumps(whole).encode()

    def change(self, at, key):
        if isinstance(at, list) and key == "-":
            at.append(self.value)
            return
        key = int(key) if isinstance(at, list) else key
        if self.remove:
            del at[key]
        else:
            at[key] = self.value


class Peer:
    """A socket with what was read of it too early."""

    def __init__(self, sock):
        self.sock, self.held, self.other = sock, b"", None

    def more(self):
        """Waits for bytes; one whose other side has left meanwhile is left as well."""
        while self.other is not None:
            ready, _, _ = select.select([self.sock, self.other.sock], [], [])
            if self.sock in ready:
                break
            early = self.other.sock.recv(BLOCK)
            if not early:
                raise Gone
            self.other.held += early
            if len(self.other.held) > HEAD_MAX:
                raise Gone
        data = self.sock.recv(BLOCK)
        if not data:
            raise Gone
        self.held += data

    def until(self, mark):
        while mark not in self.held:
            if len(self.held) > HEAD_MAX:
                raise Gone
            self.more()
        end = self.held.index(mark) + len(mark)
        data, self.held = self.held[:end], self.held[end:]
        return data

    def some(self, most=BLOCK):
        if not self.held:
            self.more()
        data, self.held = self.held[:most], self.held[most:]
        return data


class Message:
    def __init__(self, peer):
        first, *rows = peer.until(b"\r\n\r\n").decode("latin-1").split("\r\n")[:-2]
        self.peer, self.first = peer, first.split(" ", 2)
        self.fields = [tuple(part.strip() for part in row.split(":", 1)) for row in rows]

    def field(self, name):
        return next((value for key, value in self.fields if key.lower() == name), None)

    def head(self, length=None):
        """As it came; with the length of a body that was changed."""
        fields = self.fields
        if length is not None:
            fields = [pair for pair in fields if pair[0].lower() not in ("content-length", "transfer-encoding", "trailer")]
            fields = fields + [("Content-Length", str(length))]
        return ("\r\n".join([" ".join(self.first)] + ["%s: %s" % pair for pair in fields]) + "\r\n\r\n").encode("latin-1")

    def chunked(self):
        return (self.field("transfer-encoding") or "").lower() == "chunked"

    def pieces(self, to_end):
        """The body as (bytes on the wire, bytes of the body)."""
        if self.chunked():
            yield from self.chunks()
        elif self.field("content-length") is not None:
            left = int(self.field("content-length"))
            while left:
                data = self.peer.some(min(left, BLOCK))
                left -= len(data)
                yield data, data
        elif to_end:
            try:
                while True:
                    data = self.peer.some()
                    yield data, data
            except Gone:
                pass

    def chunks(self):
        size = None
        while size != 0:
            line = self.peer.until(b"\r\n")
            size = left = int(line.split(b";")[0], 16)
            yield line, b""
            while left:
                data = self.peer.some(min(left, BLOCK))
                left -= len(data)
                yield data, data
            if size:
                yield self.peer.until(b"\r\n"), b""
        while line != b"\r\n":
            line = self.peer.until(b"\r\n")
            yield line, b""


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def forward(message, to, rules, to_end=False):
    """The message; whole and changed where a rule fits, else as it comes."""
    if not rules:
        to.sock.sendall(message.head())
        for wire, _ in message.pieces(to_end):
            to.sock.sendall(wire)
        return
    body = b"".join(data for _, data in message.pieces(to_end))
    for rule in rules:
        body = rule.apply(body)
        say("changed " + rule.text)
    to.sock.sendall(message.head(len(body)) + body)


def pump(source, to):
    """Until its end, which the other side is told."""
    try:
        if source.held:
            to.sock.sendall(source.held)
        while True:
            data = source.sock.recv(BLOCK)
            if not data:
                break
            to.sock.sendall(data)
        to.sock.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def tunnel(client, engine):
    other = threading.Thread(target=pump, args=(client, engine), daemon=True)
    other.start()
    pump(engine, client)
    # An engine that has ended reads no more, but a client may still hold its side open.
    client.sock.shutdown(socket.SHUT_RD)
    other.join()


def exchange(client, engine, rules):
    """One request and its reply; false where the connection is done with."""
    request = Message(client)
    method, path = request.first[:2]
    say("%s %s" % (method, path))
    if (request.field("expect") or "").lower() == "100-continue":
        request.fields = [pair for pair in request.fields if pair[0].lower() != "expect"]
        client.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    forward(request, engine, [rule for rule in rules if rule.fits("request", method, path)])
    engine.other = client
    reply = Message(engine)
    status = int(reply.first[1])
    raw = (reply.field("content-type") or "").startswith("application/vnd.docker.")
    if status == 101 or request.field("upgrade") and raw and status == 200:
        client.sock.sendall(reply.head())
        tunnel(client, engine)
        return False
    bodiless = method == "HEAD" or status in (204, 304)
    fitting = [rule for rule in rules if rule.fits("reply", method, path) and 200 <= status < 300]
    if bodiless:
        client.sock.sendall(reply.head())
    else:
        forward(reply, client, fitting, to_end=True)
    engine.other = None
    framed = bodiless or reply.chunked() or reply.field("content-length") is not None
    return (framed or fitting) and (reply.field("connection") or "").lower() != "close"


def serve(sock, upstream, rules):
    with sock, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as engine:
        try:
            engine.connect(upstream)
        except OSError as error:
            say("failed to connect: %s" % error)
            return
        client, engine = Peer(sock), Peer(engine)
        try:
            while exchange(client, engine, rules):
                pass
        except (Gone, OSError):  # one of them has left
            pass
        except (ValueError, LookupError, TypeError) as error:
            say("failed %s: %s" % (type(error).__name__, error))


def main():
    listen, upstream, rules = sys.argv[1], sys.argv[2], [Rule(text) for text in sys.argv[3:]]
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(listen)
        listener.listen(64)
        say("ready")
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=serve, args=(sock, upstream, rules), daemon=True).start()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""The reference vectors of the allowlist, every entry and every request, against the program: what it allows, where it
dials, what it refuses, and that it asks for no name that is not allowed."""
import json, os, socket, threading

from gatewayworld import Gateway, NameServer, ask, enter, finish, ok

HERE = os.path.dirname(os.path.abspath(__file__))


def entries(vectors):
    wrong = []
    for v in vectors["entries"]:
        entry = v["entry"]
        text = "open-conduit-gateway 1\nlisten 10.213.8.2 3128\nresolver 127.0.0.11\nallow %s\ngo\n" % entry
        gateway = Gateway(text=text)
        accepted = gateway.first == "ready"
        said = gateway.first
        status = gateway.end()
        if accepted != (v["want"] is not None) or status != (0 if accepted else 1) or (not accepted and not said.startswith("error policy: line ")):
            wrong.append((entry, v["want"], said, status))
    ok(not wrong, "all %d entries are accepted or refused as they should be" % len(vectors["entries"]), wrong)


class Listeners:
    """At each address and port that a vector may dial, one listener, made when first needed."""

    def __init__(self):
        self.known = {}

    def need(self, where):
        if where in self.known:
            return
        host, _, port = where.rpartition(":")
        host = host.strip("[]")
        self.known[where] = socket.create_server((host, int(port)), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.known[where].settimeout(10)

    def answer(self, where):
        s, _ = self.known[where].accept()
        with s:
            s.settimeout(10)
            head = b""
            if ":80" in where[-3:] or where in self.plain:
                while b"\r\n\r\n" not in head:
                    head += s.recv(4096)
                s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhere")
            else:
                s.sendall(b"here")
        return head


def status_of(reply):
    return int(reply.split(b" ")[1]) if reply.startswith(b"HTTP/1.") else None


def request(v, vectors, listeners, names):
    """None, or what is wrong."""
    head = v["head"].encode() + b"\r\n\r\n"
    plain = not v["head"].startswith("CONNECT")
    names.names = dict(v.get("dns") or {})
    names.default = [vectors["default_address"]]
    del names.asked[:]
    allow = []
    for entry in v["allow"]:
        # What the program refuses as an entry can't be in a policy: then nothing is allowed.
        if not any(entry == e["entry"] and e["want"] is None for e in vectors["entries"]):
            allow.append(entry)
    exact = [a for a in allow if not a.startswith("*") and ":" not in a and not a.replace(".", "").isdigit() and "[" not in a]
    try:
        gateway = Gateway(allow=allow, private=exact)
    except RuntimeError:
        gateway = Gateway(allow=[], private=[])
        allow = []
    seen = []
    if v["want"] == "allow":
        listeners.need(v["dial"])
        listeners.plain = {v["dial"]} if plain else set()
        thread = threading.Thread(target=lambda: seen.append(listeners.answer(v["dial"])), daemon=True)
        thread.start()
    reply = ask(head)
    if v["want"] == "allow":
        thread.join(10)
    want = {"allow": "allow", "deny": "deny", "bad": "bad"}[v["want"]]
    event = gateway.event(want, 5)
    gateway.end()
    code = status_of(reply)
    if code != {"allow": 200, "deny": 403, "bad": 400}[v["want"]] or event is None:
        return v["note"], v["want"], reply[:200], gateway.events
    if want == "allow":
        where = "[%s]:%s" % (event[4], event[3]) if ":" in event[4] else "%s:%s" % (event[4], event[3])
        if where != v["dial"] or not reply.endswith(b"here"):
            return v["note"], "dialled", where, reply[:200]
        if plain and (b"\r\nHost: x\r\n" in seen[0] or b"evil" in seen[0] or not seen[0].split(b" ")[1].startswith(b"/")):
            return v["note"], "passed on", seen[0]
    if names.asked and v["want"] == "bad":
        return v["note"], "asked for", names.asked
    if names.asked and v["want"] == "deny" and not v.get("dns"):
        return v["note"], "asked for", names.asked
    return None


def main():
    enter()
    with open(HERE + "/../unit/vectors/allowlist_vectors.json") as file:
        vectors = json.load(file)
    names, listeners = NameServer(), Listeners()
    entries(vectors)
    counts = {}
    wrong = []
    for v in vectors["requests"]:
        what = request(v, vectors, listeners, names)
        counts[v["want"]] = counts.get(v["want"], 0) + 1
        if what:
            wrong.append(what)
    for line in wrong:
        print("# %r" % (line,))
    ok(not wrong, "all %d requests (%s)" % (sum(counts.values()), counts), "%d wrong" % len(wrong))
    ok(sum(counts.values()) == 103 and min(counts.values()) > 10, "control: each answer occurs", counts)
    # Another answer than a vector's would be seen.
    denied = next(v for v in vectors["requests"] if v["want"] == "deny")
    ok(request(dict(denied, want="bad"), vectors, listeners, names) is not None, "control: a vector with the wrong answer is found")
    finish()


main()

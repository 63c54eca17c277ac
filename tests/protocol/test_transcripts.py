# SPDX-License-Identifier: Apache-2.0
"""What a provider must answer, and to what it must not: transcripts replayed against the SDK (the C example, a program that
misuses the SDK, the srt provider) and against the example without it.  Usage: test_transcripts.py MINIMAL MISUSE SRT SHELL SIZES OLDER."""
import json, select, socket, subprocess, sys

failed = 0


def ok(condition, name, detail=""):
    global failed
    failed += not condition
    print("%s - %s%s" % ("ok" if condition else "not ok", name, "" if condition else ": %r" % (detail,)))


class Peer:
    def __init__(self, path):
        ours, theirs = socket.socketpair()
        self.p = subprocess.Popen([path], stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin"})
        theirs.close()
        self.s = ours
        self.buffer = b""

    def send(self, text):
        try:
            self.s.sendall(text if isinstance(text, bytes) else text.encode() + b"\n")
        except OSError:
            pass
        return self

    def hear(self, timeout=10):
        """The next message; None at the end of the stream; False when nothing comes."""
        while b"\n" not in self.buffer:
            if not select.select([self.s], [], [], timeout)[0]:
                return False
            try:
                data = self.s.recv(1 << 20)
            except OSError:
                return None
            if not data:
                return None
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def ask(self, id, method, params=None):
        return self.send(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params if params is not None else {}})).hear()

    def hello(self):
        return self.ask(1, "initialize", {"protocol": 1, "host": "0.1.0"})

    def end(self):
        self.s.close()
        try:
            return self.p.wait(10)
        except subprocess.TimeoutExpired:
            self.p.kill()
            return "does not end"


def common(path, name):
    peer = Peer(path)
    first = peer.ask(7, "plan")
    ok("error" in first and first["id"] == 7, name + ": nothing before initialize", first)
    hello = peer.hello()
    ok(hello["result"]["protocol"] == 1 and hello["result"]["kind"] == "sandbox" and "plan" in hello["result"]["methods"], name + ": initialize", hello)
    answer = peer.ask(2, "destroy")
    ok("error" in answer and answer["id"] == 2, name + ": an unknown method is an error", answer)
    answer = peer.ask(3, "inspect", {"run": "abcdefgh1"})
    ok("result" in answer and answer["result"]["state"] in ("none", "unknown") and answer["id"] == 3, name + ": inspect", answer)
    ok(peer.end() == 0, name + ": a hang-up is the end, with status 0")


def minimal(path, name):
    peer = Peer(path)
    peer.hello()
    answer = peer.ask(2, "check", {"state_dir": "/x", "guest": "/x", "live_dir": "/x"})
    ok(answer["result"]["checks"][0]["ok"] is False and answer["result"]["checks"][0]["fix"], name + ": its check is red", answer)
    answer = peer.ask(3, "plan", {"run": "abcdefgh1", "resolved": {}, "guest": "/x", "live": "/x"})
    ok(answer["error"]["data"]["reason"] == "sandbox_unavailable" and answer["error"]["data"]["fix"], name + ": its plan is a refusal", answer)
    ok(peer.ask(4, "cleanup", {"run": "abcdefgh1", "live": "/x"})["result"] == {}, name + ": cleanup")
    peer.end()


def strict(path):
    """What breaks the protocol ends the connection, with an error status and no answer."""
    bad = {"garbage": b"\x00\x01 what\n", "no JSON-RPC": b'{"id":1,"method":"plan"}\n', "duplicate keys": b'{"jsonrpc":"2.0","id":1,"id":2,"method":"plan"}\n',
           "a notification": b'{"jsonrpc":"2.0","method":"plan","params":{}}\n', "not UTF-8": b'{"jsonrpc":"2.0","id":9,"method":"\xff","params":{}}\n',
           "an answer to no question": b'{"jsonrpc":"2.0","id":9,"result":{}}\n', "a list": b"[]\n"}
    for name, text in bad.items():
        peer = Peer(path)
        peer.hello()
        heard = peer.send(text).hear()
        status = peer.end()
        ok(heard is None and status == 1, name + " ends it", (heard, status))
    peer = Peer(path)
    peer.hello()
    for _ in range(80):
        peer.send(b"x" * (1 << 16))
    ok(peer.hear() is None and peer.end() == 1, "a line without an end ends it")
    peer = Peer(path)
    peer.hello()
    peer.send(b'{"jsonrpc":"2.0","id":2,"meth')
    ok(peer.end() == 1, "half a message and a hang-up is an error")
    peer = Peer(path)
    answer = peer.ask(1, "initialize", {"protocol": 2, "host": "x"})
    ok("error" in answer, "another protocol is refused", answer)
    answer = peer.ask(2, "initialize", {"protocol": 1, "host": "x", "more": 1})
    ok("error" in answer, "an unknown field is refused", answer)
    ok("result" in peer.hello(), "control: the right one is not")
    answer = peer.ask(4, "initialize", {"protocol": 1, "host": "x"})
    ok("error" in answer, "initialize again is refused", answer)
    peer.end()
    p = subprocess.run([path], stdin=subprocess.DEVNULL, capture_output=True)
    ok(p.returncode == 2 and not p.stdout, "without a socket it does nothing", p)


def misuse(path):
    peer = Peer(path)
    ok(peer.hello()["result"]["name"] == "misuse", "misuse: initialize")
    for id, (method, what) in enumerate({"check": "no JSON", "inspect": "never", "cleanup": "too long"}.items(), 2):
        answer = peer.ask(id, method)
        data = answer.get("error", {}).get("data", {})
        ok(data.get("reason") == "provider_failed" and what in data["message"], "misuse: %s is said to have failed" % method, answer)
    answer = peer.ask(9, "plan")
    ok(answer.get("result") == {"first": True} and peer.hear(0.2) is False, "misuse: only the first answer counts", answer)
    ok(peer.end() == 0, "misuse: goes on to the end")


def srt(path):
    peer = Peer(path)
    ok(peer.hello()["result"]["name"] == "srt", "srt: initialize")
    for id, (method, params) in enumerate((("plan", {"run": "abcdefgh1"}), ("plan", {"run": "abcdefgh1", "resolved": [], "guest": "/g", "live": "/l"}),
                                           ("inspect", {"run": "../x"}), ("inspect", {"run": "abcdefgh1", "x": 1}),
                                           ("cleanup", {"run": "abcdefgh1", "live": "/etc"}), ("cleanup", {"run": "abcdefgh1", "live": "/tmp/../abcdefgh1"}),
                                           ("check", {})), 2):
        answer = peer.ask(id, method, params)
        ok(answer.get("error", {}).get("data", {}).get("reason") in ("provider_failed", "sandbox_unavailable"), "srt: %s %s is refused" % (method, params), answer)
    ok(peer.ask(50, "inspect", {"run": "abcdefgh1"}).get("result") == {"state": "none"}, "srt: control: inspect")
    ok(peer.end() == 0, "srt: ends")


def sizes(path, older):
    peer = Peer(path)
    hello = peer.hello()
    ok(hello["result"]["kind"] == "workspace" and hello["result"]["methods"] == ["inspect", "create", "save", "remove"], "workspace: initialize", hello)
    ok(peer.ask(2, "create").get("result") == {"created": True}, "workspace: create")
    ok(peer.ask(3, "save").get("result") == {"other": True} and peer.ask(4, "remove").get("result") == {"other": True}, "workspace: save, remove")
    ok(peer.end() == 0, "workspace: ends")
    peer = Peer(older)
    hello = peer.hello()
    ok(hello["result"]["methods"] == ["inspect"], "a struct of before workspaces: has no such method", hello)
    answer = peer.ask(2, "create")
    ok("error" in answer, "a struct of before workspaces: create is unknown", answer)
    ok(peer.ask(3, "inspect").get("result") == {"other": True} and peer.end() == 0, "a struct of before workspaces: the rest works")


def main(minimal_path, misuse_path, srt_path, shell_path, sizes_path, older_path):
    for path, name in ((minimal_path, "minimal"), (srt_path, "srt"), (shell_path, "shell")):
        common(path, name)
    minimal(minimal_path, "minimal")
    minimal(shell_path, "shell")
    strict(minimal_path)
    misuse(misuse_path)
    srt(srt_path)
    sizes(sizes_path, older_path)
    return 1 if failed else 0


sys.exit(main(*sys.argv[1:]))

# SPDX-License-Identifier: Apache-2.0
"""Inside a run: calls of its toolbelt, counted.

  calls.py rate N WINDOW  N calls of echo, so many in flight; prints {"answered","twice","wrong","seconds"}
  calls.py flood SECONDS  a client that asks and never reads, again and again, beside one that does; prints {"sent","closed","answered"}
  calls.py append N       N calls of append one after another, their texts t0, t1, …; N 0: until there is a file "enough".
                          What came of each is a line {"text","ok","said"} in the file "said"
"""
import json, os, socket, subprocess, sys, time


class Client:
    def __init__(self):
        with open(os.environ["OPEN_CONDUIT_RUN_DIR"] + "/mcp.json") as f:
            server = json.load(f)["mcpServers"]["open-conduit"]
        self.server = subprocess.Popen([server["command"], *server["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.send({"id": "hello", "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {},
                                                                     "clientInfo": {"name": "calls", "version": "1"}}})
        assert self.read()["id"] == "hello"

    def send(self, message):
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.server.stdin.flush()

    def call(self, id, name, text):
        self.send({"id": id, "method": "tools/call", "params": {"name": name, "arguments": {"text": text}}})

    def read(self):
        line = self.server.stdout.readline()
        if not line:
            sys.exit("the toolbelt is gone")
        return json.loads(line)

    def close(self):
        self.server.stdin.close()
        extra = self.server.stdout.read()
        self.server.wait()
        return extra


def rate(n, window):
    client, answers, wrong, asked = Client(), {}, 0, 0
    began = time.monotonic()
    while len(answers) < n:
        while asked < n and asked - len(answers) < window:
            client.call(asked, "echo", "text %d" % asked)
            asked += 1
        answer = client.read()
        answers[answer["id"]] = answers.get(answer["id"], 0) + 1
        wrong += answer.get("result", {}).get("structuredContent") != {"echo": "text %d" % answer["id"]}
    seconds = time.monotonic() - began
    extra = client.close()
    print(json.dumps({"answered": len(answers), "twice": sum(k - 1 for k in answers.values()) + extra.count(b"\n"), "wrong": wrong,
                      "seconds": round(seconds, 3)}), flush=True)


def append(n):
    client, i = Client(), 0
    with open("said", "w") as said:
        while i < n or (n == 0 and not os.path.exists("enough")):
            text = "t%d" % i
            client.call(i, "append", text)
            answer = client.read()
            assert answer["id"] == i, answer
            result = answer["result"]
            said.write(json.dumps({"text": text, "ok": not result.get("isError", False), "said": result["content"][0]["text"]}) + "\n")
            i += 1
    assert client.close() == b"", "more answers than calls"


def connect():
    at = os.environ["OPEN_CONDUIT_TOOLBELT"]
    s = socket.socket(socket.AF_UNIX if at.startswith("/") else socket.AF_INET)
    s.connect(at if at.startswith("/") else ("127.0.0.1", int(at)))
    return s


def flood(seconds):
    ask = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n' * 1000
    client, sent, closed, answered, s = Client(), 0, 0, 0, connect()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        s.setblocking(False)
        try:
            sent += s.send(ask)
        except BlockingIOError:
            time.sleep(0.001)
        except OSError:
            closed += 1
            s = connect()
        if answered <= sent // (10 * len(ask)):
            client.call(answered, "echo", "still there")
            answered += client.read()["result"]["structuredContent"] == {"echo": "still there"}
    print(json.dumps({"sent": sent, "closed": closed, "answered": answered}), flush=True)


{"rate": rate, "append": append, "flood": flood}[sys.argv[1]](*map(int, sys.argv[2:]))

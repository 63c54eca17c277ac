# SPDX-License-Identifier: Apache-2.0
"""A Messages API of our own, as strict as the real one about what it is asked: headers, shapes, the pairing of tool_use and
tool_result.  What it answers is scripted; what it was asked is kept.

  messages_stub.py [--port N] [--key KEY] [--script FILE|JSON] [--log FILE]      prints {"port":N} once it listens; with
  [--host ADDRESS --tls FILE]     elsewhere than on 127.0.0.1, with the certificate and key in FILE

A script is a list of replies, each used once (or "sticky"), in order, by the requests that offer tools:
  {"text": "hi"}  {"tool": "Bash", "input": {…}}  {"tools": [{"name", "input"}…]}  (with "text" too)
  {"status": 529, "type": "overloaded_error", "message": "…", "headers": {…}}
  {"hang": true}   accepts and never answers      {"drop": true}   closes the connection
with "when": REGEX of the last message's JSON, "delay": seconds before the answer, "slow": seconds between words.
After its end: "echo: " and the last text of the user."""
import argparse, json, re, ssl, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOP = {"model", "messages", "system", "tools", "tool_choice", "metadata", "max_tokens", "thinking", "temperature", "stream",
       "context_management", "output_config", "stop_sequences", "top_p", "top_k", "service_tier", "container", "mcp_servers",
       "cache_control", "speed", "diagnostics"}
BLOCKS = {"user": {"text", "image", "document", "tool_result", "tool_reference"},
          "assistant": {"text", "tool_use", "thinking", "redacted_thinking"}, "system": {"text"}}
NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")


class Bad(Exception):
    pass


def need(good, message):
    if not good:
        raise Bad(message)


def blocks_of(message, at):
    content = message.get("content")
    if isinstance(content, str):
        need(content, "%s.content: text content blocks must be non-empty" % at)
        return [{"type": "text", "text": content}]
    need(isinstance(content, list) and content, "%s.content: must be text or a list that is not empty" % at)
    for i, b in enumerate(content):
        need(isinstance(b, dict) and b.get("type") in BLOCKS[message["role"]], "%s.content.%d: %r is not for %s" % (at, i, b.get("type"), message["role"]))
        if b["type"] == "text":
            need(isinstance(b.get("text"), str) and b["text"], "%s.content.%d.text: text content blocks must be non-empty" % (at, i))
    return content


def check_messages(messages):
    """Each tool_use is answered in the very next message, and nothing else is answered."""
    need(isinstance(messages, list) and messages, "messages: must not be empty")
    open_, seen = [], set()
    for i, m in enumerate(messages):
        at = "messages.%d" % i
        need(isinstance(m, dict) and m.get("role") in BLOCKS, "%s.role: user or assistant" % at)
        need(not set(m) - ({"role", "content", "output_config"} if m["role"] == "system" else {"role", "content"}), "%s: extra inputs are not permitted: %s" % (at, sorted(m)))
        need(i or m["role"] == "user", "messages: first message must use the \"user\" role")
        content = blocks_of(m, at)
        results = [b.get("tool_use_id") for b in content if b["type"] == "tool_result"]
        need(sorted(results) == sorted(open_) or (m["role"] == "system" and not results),
             "%s: `tool_use` ids %s need `tool_result` blocks immediately after, and it has %s" % (at, open_, results))
        if m["role"] == "system":
            continue
        open_ = []
        for b in content:
            if b["type"] != "tool_use":
                continue
            need(re.fullmatch(r"[a-zA-Z0-9_-]+", str(b.get("id"))) and isinstance(b.get("input"), dict) and NAME.match(str(b.get("name"))),
                 "%s: a tool_use needs id, name and input" % at)
            need(b["id"] not in seen, "%s: `tool_use` ids must be unique" % at)
            seen.add(b["id"])
            open_.append(b["id"])
    need(messages[-1]["role"] != "assistant", "the last message is the assistant's: this model does not support prefill")
    need(not open_, "messages: tool_use without tool_result")


def check_body(body):
    need(isinstance(body, dict), "the body is no object")
    need(not set(body) - TOP, "%s: extra inputs are not permitted" % ", ".join(sorted(set(body) - TOP)))
    need(isinstance(body.get("model"), str) and body["model"], "model: field required")
    need(isinstance(body.get("max_tokens"), int) and body["max_tokens"] > 0, "max_tokens: field required")
    check_messages(body.get("messages"))
    names = set()
    for i, t in enumerate(body.get("tools", [])):
        if t.get("type", "custom") != "custom":
            continue  # the server's own tools
        need(NAME.match(str(t.get("name"))), "tools.%d.name: does not match" % i)
        need(isinstance(t.get("input_schema"), dict) and t["input_schema"].get("type") == "object", "tools.%d.input_schema.type: must be object" % i)
        need(t["name"] not in names, "tools: tool names must be unique: %s" % t["name"])
        names.add(t["name"])
    for s in body["system"] if isinstance(body.get("system"), list) else []:
        need(s.get("type") == "text" and s.get("text"), "system: text content blocks must be non-empty")


class Stub:
    def __init__(self, script=(), key=None, port=0, log=None, host="127.0.0.1", tls=None):
        self.script, self.key, self.log = list(script), key, log
        self.requests, self.problems = [], []  # bodies of the agent's own turns; what a real API would have refused
        self.lock, self.serial, self.open = threading.Lock(), 0, 0
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                stub.serve(self)

            def do_GET(self):
                stub.error(self, 404, "not_found_error", "no such place")
            do_HEAD = do_GET

            def log_message(self, *_):
                pass
        self.server = ThreadingHTTPServer((host, port), Handler)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = "%s://%s:%d" % ("https" if tls else "http", host, self.port)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def set(self, *script):
        with self.lock:
            self.script = list(script)

    def next_id(self, what):
        with self.lock:
            self.serial += 1
            return "%s_stub%d" % (what, self.serial)

    def send(self, h, status, body, headers=()):
        data = json.dumps(body).encode()
        h.send_response(status)
        for k, v in [("content-type", "application/json"), ("content-length", str(len(data))), ("request-id", self.next_id("req")), *headers]:
            h.send_header(k, v)
        h.end_headers()
        h.wfile.write(data)

    def error(self, h, status, kind, message, headers=()):
        self.send(h, status, {"type": "error", "error": {"type": kind, "message": message}, "request_id": self.next_id("req")}, headers)

    def check_headers(self, h):
        need(h.headers.get("anthropic-version"), "anthropic-version: header is required")
        need((h.headers.get("content-type") or "").split(";")[0] == "application/json", "content-type: must be application/json")

    def pick(self, body):
        last = json.dumps(body["messages"][-1])
        with self.lock:
            self.requests.append(body)
            for i, r in enumerate(self.script):
                if "when" in r and not re.search(r["when"], last):
                    continue
                return r if r.get("sticky") else self.script.pop(i)
        texts = [b.get("text") for b in blocks_of(body["messages"][-1], "") if b["type"] == "text"]
        return {"text": "echo: " + (texts[-1] if texts else "?")}

    def serve(self, h):
        raw = h.rfile.read(int(h.headers.get("content-length") or 0))
        path = h.path.split("?")[0]
        given = h.headers.get("x-api-key") or re.sub("^Bearer ", "", h.headers.get("authorization") or "")
        if self.log:
            with self.lock, open(self.log, "a") as f:
                f.write(json.dumps({"path": h.path, "headers": dict(h.headers), "body": raw.decode(errors="replace")}) + "\n")
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        try:
            if path == "/v1/messages/count_tokens":
                return self.send(h, 200, {"input_tokens": 10})
            if path != "/v1/messages":
                return self.error(h, 404, "not_found_error", "Not found: " + path)
            if not given or (self.key and given != self.key):
                return self.error(h, 401, "authentication_error", "invalid x-api-key")
            try:
                self.check_headers(h)
                check_body(body)
            except Bad as e:
                self.problems.append(str(e))
                return self.error(h, 400, "invalid_request_error", str(e))
            reply = self.pick(body) if body.get("tools") else {"text": "ok"}
            self.answer(h, body, reply)
        except (BrokenPipeError, ConnectionResetError):
            h.close_connection = True

    def answer(self, h, body, reply):
        time.sleep(reply.get("delay", 0))
        if reply.get("hang"):
            self.open += 1
            try:
                h.connection.settimeout(600)
                h.connection.recv(1)  # until the other side has gone
            except OSError:
                pass
            self.open -= 1
            h.close_connection = True
            return
        if reply.get("drop"):
            h.close_connection = True
            return
        if "status" in reply:
            return self.error(h, reply["status"], reply.get("type", "api_error"), reply.get("message", "scripted"), reply.get("headers", {}).items())
        self.message(h, body, reply)

    def message(self, h, body, reply):
        calls = reply.get("tools") or ([{"name": reply["tool"], "input": reply.get("input", {})}] if "tool" in reply else [])
        offered = {t.get("name") for t in body.get("tools", [])}
        for c in calls:
            if c["name"] not in offered:
                self.problems.append("the script calls %s, which is not offered" % c["name"])
        content = [{"type": "tool_use", "id": self.next_id("toolu"), "name": c["name"], "input": c.get("input", {})} for c in calls]
        if reply.get("text") or not content:
            content.insert(0, {"type": "text", "text": reply.get("text") or "ok"})
        usage = {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        stop = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
        message = {"id": self.next_id("msg"), "type": "message", "role": "assistant", "model": body["model"]}
        if not body.get("stream"):
            return self.send(h, 200, {**message, "content": content, **stop, "usage": usage})
        h.send_response(200)
        for k, v in (("content-type", "text/event-stream"), ("cache-control", "no-cache"), ("transfer-encoding", "chunked"), ("request-id", self.next_id("req"))):
            h.send_header(k, v)
        h.end_headers()

        def event(kind, **data):
            text = ("event: %s\ndata: %s\n\n" % (kind, json.dumps({"type": kind, **data}))).encode()
            h.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
            h.wfile.flush()
        event("message_start", message={**message, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage})
        for i, b in enumerate(content):
            text = b["type"] == "text"
            event("content_block_start", index=i, content_block={"type": "text", "text": ""} if text else {**b, "input": {}})
            for piece in re.findall(r"\S+\s*|\s+", b["text"]) if text else [json.dumps(b["input"])]:
                time.sleep(reply.get("slow", 0))
                event("content_block_delta", index=i, delta={"type": "text_delta", "text": piece} if text else {"type": "input_json_delta", "partial_json": piece})
            event("content_block_stop", index=i)
        event("message_delta", delta=stop, usage={"output_tokens": 5})
        event("message_stop")
        h.wfile.write(b"0\r\n\r\n")
        h.wfile.flush()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--port", type=int, default=0)
    p.add_argument("--key")
    p.add_argument("--script", default="[]")
    p.add_argument("--log")
    p.add_argument("--host", default="127.0.0.1")
    p.add_argument("--tls")
    a = p.parse_args()
    script = a.script if a.script.lstrip().startswith("[") else open(a.script).read()
    stub = Stub(json.loads(script), a.key, a.port, a.log, a.host, a.tls)
    print(json.dumps({"port": stub.port}), flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    sys.exit(main())

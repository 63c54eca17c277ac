#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stands in for claude: it begins a session in a turn, and opens it without --print; what is typed is a command for /bin/sh."""
import json
import os
import subprocess
import sys



def ask_toolbelt(path):
    """run.policy, as an MCP client asks it."""
    with open(path, encoding="utf-8") as config:
        server = next(iter(json.load(config)["mcpServers"].values()))
    with subprocess.Popen([server["command"], *server.get("args", [])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, **server.get("env", {})}) as client:
        for number, method, params in ((1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
                                       (2, "tools/call", {"name": "run.policy", "arguments": {}})):
            client.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
            client.stdin.flush()
            answer = json.loads(client.stdout.readline())
        client.stdin.close()
    return json.loads(answer["result"]["content"][0]["text"])


home = os.environ["CLAUDE_CONFIG_DIR"]
args = sys.argv[1:]
name = next((args[i + 1] for i, a in enumerate(args) if a in ("--resume", "--session-id")), None)
path = home + "/projects/x/%s.jsonl" % name
if "--print" in args:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    for line in sys.stdin:
        said = json.loads(line)
        if said.get("type") != "user":
            continue
        with open(path, "a", encoding="utf-8") as file:
            file.write(line)
        facts = {"resume": "--resume" in args, "home": os.environ["HOME"] == home, "container": not os.path.exists("/root/.profile"),
                 "key": os.environ.get("ANTHROPIC_API_KEY") == "canary-of-" + "a-token", "claude.json": os.path.exists(home + "/.claude.json"),
                 "seeded": os.path.exists(home + "/settings.json"), "git": os.environ.get("GIT_CONFIG_KEY_0")}
        if "--mcp-config" in args:
            facts["policy"] = ask_toolbelt(args[args.index("--mcp-config") + 1])
        with open("facts.json", "w", encoding="utf-8") as file:
            json.dump(facts, file)
        servers = [{"name": "open-conduit", "status": "connected"}] if "policy" in facts else []
        print(json.dumps({"type": "system", "subtype": "init", "session_id": name, "model": "none", "mcp_servers": servers}))
        print(json.dumps({**said, "isReplay": True, "session_id": name}))
        print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "done", "session_id": name}), flush=True)
    sys.exit(0)
if "--resume" not in args or not os.path.exists(path):
    print("No conversation found with session ID")
    sys.exit(1)
with open(path, encoding="utf-8") as file:
    turns = len(file.readlines())
print("SESSION %s TURNS %d TTY %s BYPASS %s BELT %s" % (name, turns, os.isatty(0) and os.isatty(1) and os.isatty(2), "--permission-mode=bypassPermissions" in args,
      "--mcp-config" in args or os.path.exists(os.environ["OPEN_CONDUIT_RUN_DIR"] + "/mcp.json")), flush=True)
for line in sys.stdin:
    if line.strip() == "/exit":
        sys.exit(0)
    subprocess.run(["/bin/sh", "-c", line], check=False)
    print("> ", flush=True)
sys.exit(4)

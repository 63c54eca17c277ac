# SPDX-License-Identifier: Apache-2.0
"""The page's container binding with real values: it loads, passes doctor, and runs the real Claude Code, which works by a Messages
API that only the gateway reaches, by its allowed name.  OC_TEST_NAME is that name, OC_TEST_LOG what it was asked.

  container_claude.py script FILE    what the API has to answer
  container_claude.py                the test"""
import json, os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "isolation")]
KEY = "sk-ant-api-canary-of-a-key"
BYPASS = "curl -sS -o /dev/null -w '%{http_code}' https://elsewhere.example/; curl -sS --noproxy '*' -m 5 https://20.0.0.7/; getent hosts elsewhere.example; cat /home/*/.ssh/*; true"
ROUNDS = (("first", "echo one > one && git add one && git commit -qm first && env | sort > environment"), ("second", BYPASS))


def script():
    for prompt, command in ROUNDS:
        yield {"tool": "Bash", "input": {"command": command, "description": prompt}}
        yield {"text": "the %s is done" % prompt}


if sys.argv[1:2] == ["script"]:
    with open(sys.argv[2], "w") as f:
        json.dump(list(script()), f)
    sys.exit()

from boxworld import Boxes  # noqa: E402
from work import head  # noqa: E402
from world import finish, ok, put  # noqa: E402

NAME, LOG, CA = os.environ["OC_TEST_NAME"], os.environ["OC_TEST_LOG"], os.environ["OC_TEST_CA"]


def asked():
    with open(LOG) as f:
        return [json.loads(json.loads(line)["body"]) for line in f if "/v1/messages?" in line or '"/v1/messages"' in line]


def results():
    """What the agent's tools gave, as the API was told."""
    blocks = [b for body in asked() for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
    return [json.dumps(b["content"]) for b in blocks if b["type"] == "tool_result"]


def binding(w):
    put(w.home + "/ca/ca.pem", open(CA).read(), 0o644)
    policy = {"image": os.environ["OC_IMAGE_CLAUDE"], "write": ["{workspace}"], "read": [w.home + "/ca"], "network": {"allow": [NAME, "github.com"]},
              "limits": {"cpus": 1, "memory": "2g", "pids": 512}, "provider": {"context": "default"}}
    return w.box("claude", policy, executor="claude-code", command=None, secret_names=["token"], requires={"inject": True, "resume": True, "workspace": True}, config={
        "secret_env": {"token": "ANTHROPIC_API_KEY"}, "home_seed": w.seed, "env": {
            "ANTHROPIC_BASE_URL": "https://" + NAME, "NODE_EXTRA_CA_CERTS": w.home + "/ca/ca.pem", "CLAUDE_CODE_MAX_RETRIES": "0"}})


def only(w):
    """Nothing else in the config, as others of this world are to be refused."""
    path = w.config + "/config.json"
    with open(path) as f:
        config = json.load(f)
    config["scopes"][0]["bindings"] = config["scopes"][0]["bindings"][-1:]
    put(path, json.dumps(config))


def turn(w, prompt):
    return w.oc("run", "web/claude", "--work", "page", "--input", json.dumps({"prompt": "please do the " + prompt}), env={"MY_TOKEN": KEY}, cwd=w.home, timeout=600)


def main():
    w = Boxes()
    w.reset(binding(w))
    only(w)
    p = w.oc("config", "check", cwd=w.home)
    ok(p.returncode == 0, "the page's container binding loads", p.stdout + p.stderr)
    p = w.oc("doctor", "--binding", "web/claude", cwd=w.home, env={"MY_TOKEN": KEY}, timeout=600)
    ok(p.returncode == 0, "it passes doctor", p.stdout + p.stderr)
    p = turn(w, "first")
    work = w.work("page")
    ok(p.returncode == 0, "a turn of the real Claude Code, by the API behind the gateway", (p.returncode, p.stdout[-600:], p.stderr[-1500:]))
    ok("first" in w.messages(head(work)), "its commit is saved back", (w.messages(head(work)), results()))
    p = turn(w, "second")
    ok(p.returncode == 0, "the next turn", (p.returncode, p.stdout[-600:], p.stderr[-1500:]))
    told = asked()
    ok(told and "please do the first" in json.dumps(told[-1]["messages"]), "it resumes the session of the first, in the same home", len(told))
    said = results()[-1] if results() else ""
    ok("403" in said and "canary" not in said and "200" not in said, "what the agent tries beside it is refused: another name, the address itself, a look-up, keys", said)
    environment = work["workspace"] + "/environment"
    text = open(environment).read() if os.path.exists(environment) else ""
    ok("HTTPS_PROXY=" in text, "control: its command ran in there", text)
    run = w.run_record(w.work("page")["runs"][0]["id"])
    ok(KEY not in json.dumps(run), "the key is not in the record")
    hosts = {d["host"]: d for d in run["network"]["hosts"]}
    ok(hosts.get(NAME, {}).get("allowed") and hosts[NAME]["down"] > 500 and hosts[NAME]["up"] > 500 and hosts.get("elsewhere.example", {}).get("denied") and
       hosts["elsewhere.example"]["why"] == "not_listed" and not hosts["elsewhere.example"]["allowed"], "the record has the hosts asked for, with counts and bytes", hosts)
    shown = w.oc("runs", "get", run["id"], cwd=w.home).stdout
    ok("elsewhere.example:443" in shown and "not_listed" in shown and "bytes up" in shown, "and so has the text", shown[:2000])
    w.oc("work", "finish", "page")
    w.close()
    finish()


main()

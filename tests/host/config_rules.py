# SPDX-License-Identifier: Apache-2.0
"""What keys of a config mean together: each refusal by field, reason and words, and the warnings.  Part of config.py."""
import copy
import json
import os
import subprocess

DIGEST = "@sha256:" + "ab" * 32


def of(doc, *path):
    for p in path:
        doc = doc[p]
    return doc


def put(*path):
    """An edit: put(…path…, value)."""
    def edit(doc):
        of(doc, *path[:-2])[path[-2]] = path[-1]
    return edit


def drop(*path):
    def edit(doc):
        del of(doc, *path[:-1])[path[-1]]
    return edit


def add(*path):
    def edit(doc):
        of(doc, *path[:-1]).append(path[-1])
    return edit


def both(*edits):
    def edit(doc):
        for e in edits:
            e(doc)
    return edit


S = ("scopes", 0)
B = S + ("bindings", 0)
C = S + ("bindings", 1)
J = S + ("bindings", 2)
POLICY = B + ("sandbox", "config")
BOX = C + ("container", "config")
ENV = B + ("config", "env", "CLAUDE_CONFIG_DIR")
f0, f1, f2 = "scopes[0].bindings[0]", "scopes[0].bindings[1]", "scopes[0].bindings[2]"


def rules(h):
    real, home = h.WORK + "/real", h.HOME
    claude = f0 + ".config.env.CLAUDE_CONFIG_DIR"
    os.symlink(home + "/.claude", h.WORK + "/link")
    os.symlink(home, h.WORK + "/homelink")
    os.symlink(home + "/.claude-later", h.WORK + "/dangling")
    os.mkdir(home + "/not-granted")
    os.makedirs(real + "/open-home/closed")
    os.chmod(real + "/open-home", 0o777)

    def own(path):
        return both(put(*ENV, path), put(*POLICY, "write", 1, path))

    return [
        # where it runs
        ("sandbox and container", put(*B, "container", None), f0, "sandbox_conflict", "both sandbox and container"),
        ("sandbox and machine", put(*B, "machine", {"provider": "ssh", "config": {}}), f0, "sandbox_conflict", "sandbox and machine"),
        ("machine", put(*J, "machine", {"provider": "ssh", "config": {}}), f2 + ".machine", "sandbox_unavailable", "not built yet"),
        ("another kind's provider", put(*B, "sandbox", "provider", "docker"), f0 + ".sandbox.provider", "sandbox_config", "enforces a container"),
        ("a misspelt provider", put(*B, "sandbox", "provider", "str"), f0 + ".sandbox.provider", "sandbox_config", "srt"),
        # the workspace
        ("a worktree", put(*B, "resource", "config", "mode", "worktree"), f0 + ".resource.config.mode", "sandbox_workspace", "clone"),
        ("workspace_mode", put(*B, "config", "workspace_mode", "worktree"), f0 + ".config.workspace_mode", "sandbox_workspace", "clone"),
        ("setup", put(*B, "resource", "config", "setup", "make"), f0 + ".resource.config.setup", "sandbox_workspace", "host"),
        ("setup in a container", put(*C, "resource", "config", "setup", ["make"]), f1 + ".resource.config.setup", "sandbox_workspace", "host"),
        ("no workspace", drop(*B, "resource"), f0 + ".requires.workspace", "sandbox_config", "resource"),
        ("no workspace, a branch", both(drop(*B, "resource"), put(*B, "requires", {"toolbelt": "mcp"})), f0 + ".config.branch", "sandbox_config", "branch"),
        ("no workspace, an author", both(drop(*B, "resource"), put(*B, "requires", {"toolbelt": "mcp"})), f0 + ".config.author", "sandbox_config", "commits"),
        ("no checkout", put(*B, "resource", "config", "checkout", real + "/none"), f0 + ".resource.config.checkout", "sandbox_config", "no directory"),
        ("a checkout that is a file", put(*B, "resource", "config", "checkout", home + "/gh-token"), f0 + ".resource.config.checkout", "sandbox_config", "no directory"),
        ("a checkout with ..", put(*B, "resource", "config", "checkout", real + "/web/../web"), f0 + ".resource.config.checkout", "sandbox_config", '".."'),
        ("a relative checkout", put(*B, "resource", "config", "checkout", "web"), f0 + ".resource.config.checkout", "sandbox_config", "~/"),
        # the config directory of a sandboxed Claude Code
        ("claude: none", drop(*ENV), claude, "sandbox_config", "of its own"),
        ("claude: ~/.claude", own(home + "/.claude"), claude, "sandbox_config", " is your own ~/.claude"),
        ("claude: in ~/.claude", own(home + "/.claude/sub"), claude, "sandbox_config", " is inside your own ~/.claude"),
        ("claude: around ~/.claude", own(home), claude, "sandbox_config", " contains your own ~/.claude"),
        ("claude: /", own("/"), claude, "sandbox_config", "contains"),
        ("claude: a link to it", own(h.WORK + "/link"), claude, "sandbox_config", " is your own ~/.claude"),
        ("claude: through a link to the home", own(h.WORK + "/homelink/.claude"), claude, "sandbox_config", " is your own"),
        ("claude: in it, through a link", own(h.WORK + "/link/sub"), claude, "sandbox_config", "is inside"),
        ("claude: not there yet, in it", own(home + "/.claude/later/deeper"), claude, "sandbox_config", "is inside"),
        ("claude: ~/.claude.json", own(home + "/.claude.json"), claude, "sandbox_config", ".claude.json"),
        ("claude: relative", put(*ENV, "sandboxed"), claude, "sandbox_config", "absolute"),
        ("claude: ~", put(*ENV, "~/sandboxed"), claude, "sandbox_config", "absolute"),
        ("claude: dots", put(*ENV, real + "/x/../sandboxed-claude"), claude, "sandbox_config", '".."'),
        ("claude: not there", own(real + "/none"), claude, "sandbox_config", "mkdir -p"),
        ("claude: not granted", put(*ENV, home + "/not-granted"), f0 + ".sandbox.config.write", "sandbox_config", "not granted"),
        ("claude: in a container", put(*C, "config", "env", {"CLAUDE_CONFIG_DIR": real}), f1 + ".config.env.CLAUDE_CONFIG_DIR", "sandbox_config", "home"),
        ("HOME in a container", put(*C, "config", "env", {"HOME": real}), f1 + ".config.env.HOME", "sandbox_config", "home"),
        ("home_seed without a container", put(*B, "config", "home_seed", real), f0 + ".config.home_seed", "sandbox_config", "container"),
        ("home_seed: ~/.claude", put(*C, "config", "home_seed", home + "/.claude"), f1 + ".config.home_seed", "sandbox_config", "is your own ~/.claude"),
        ("home_seed: a link to it", put(*C, "config", "home_seed", h.WORK + "/link"), f1 + ".config.home_seed", "sandbox_config", "is your own ~/.claude"),
        ("home_seed: around it", put(*C, "config", "home_seed", "~/../h"), f1 + ".config.home_seed", "sandbox_config", '".."'),
        ("home_seed: the home", put(*C, "config", "home_seed", home), f1 + ".config.home_seed", "sandbox_config", "contains your own ~/.claude"),
        ("home_seed: the config", put(*C, "config", "home_seed", home + "/.config"), f1 + ".config.home_seed", "sandbox_config", "contains Open Conduit's config"),
        ("home_seed: others may write it", put(*C, "config", "home_seed", real + "/open-home"), f1 + ".config.home_seed", "sandbox_config", "every user"),
        ("home_seed: others may replace it", put(*C, "config", "home_seed", real + "/open-home/closed"), f1 + ".config.home_seed", "sandbox_config", "every user"),
        ("home_seed: another user's", put(*C, "config", "home_seed", "/usr/share"), f1 + ".config.home_seed", "sandbox_config", "another user"),
        ("home_seed: a file", put(*C, "config", "home_seed", home + "/gh-token"), f1 + ".config.home_seed", "sandbox_config", "no directory"),
        ("home_seed: in a grant", add(*BOX, "write", real + "/agent-home"), f1 + ".container.config.write[1]", "sandbox_denied", "home_seed"),
        ("home_seed: a grant in it", add(*BOX, "write", real + "/agent-home/sub"), f1 + ".container.config.write[1]", "sandbox_denied", "home_seed"),
        ("home_seed: in another binding's grant", add(*POLICY, "write", real), f0 + ".sandbox.config.write[2]", "sandbox_denied", "home_seed of web/boxed"),
        ("home_seed that is not there", put(*C, "config", "home_seed", real + "/none"), f1 + ".config.home_seed", "sandbox_config", "mkdir"),
        # policies, by the library
        ("a path", put(*POLICY, "write", 0, "{workspace}/.."), f0 + ".sandbox.config.write[0]", "sandbox_config", '".."'),
        ("a glob", add(*POLICY, "read", "deny", "/a*"), f0 + ".sandbox.config.read.deny[2]", "sandbox_config", "glob"),
        ("a placeholder", add(*POLICY, "write", "{home}/x"), f0 + ".sandbox.config.write[2]", "sandbox_config", "placeholder"),
        ("a URL", add(*POLICY, "network", "allow", "https://github.com"), f0 + ".sandbox.config.network.allow[3]", "sandbox_config", "URL"),
        ("a star", add(*POLICY, "network", "allow", "*"), f0 + ".sandbox.config.network.allow[3]", "sandbox_config", ""),
        ("*.com", add(*POLICY, "network", "allow", "*.com"), f0 + ".sandbox.config.network.allow[3]", "sandbox_config", "two labels"),
        ("localhost", add(*POLICY, "network", "allow", "localhost:80"), f0 + ".sandbox.config.network.allow[3]", "sandbox_config", "127.0.0.1:5432"),
        ("loopback", add(*POLICY, "network", "allow", "127.0.0.1"), f0 + ".sandbox.config.network.allow[3]", "sandbox_config", "port"),
        ("loopback in a container", add(*BOX, "network", "allow", "127.0.0.1:5432"), f1 + ".container.config.network.allow[1]", "sandbox_config", "loopback"),
        ("metadata", add(*POLICY, "network", "allow", "169.254.169.254"), f0 + ".sandbox.config.network.allow[3]", "sandbox_config", "metadata"),
        ("a wider word", put(*POLICY, "network", {"allowed": ["example.test"]}), f0 + ".sandbox.config.network.allowed", "sandbox_config", "allow"),
        ("mem", put(*BOX, "limits", {"mem": "1g"}), f1 + ".container.config.limits.mem", "sandbox_config", "memory"),
        ("reads", put(*POLICY, "reads", []), f0 + ".sandbox.config.reads", "sandbox_config", "read"),
        ("an image by its tag", put(*BOX, "image", "agent:latest"), f1 + ".container.config.image", "sandbox_config", "digest"),
        ("an image with a tag too", put(*BOX, "image", "agent:latest" + DIGEST), f1 + ".container.config.image", "sandbox_config", "tag"),
        ("no image", drop(*BOX, "image"), f1 + ".container.config.image", "sandbox_config", "missing"),
        ("cpus as text", put(*BOX, "limits", "cpus", "4"), f1 + ".container.config.limits.cpus", "sandbox_config", "number"),
        ("no toolbelt", put(*POLICY, "sockets", []), f0 + ".sandbox.config.sockets", "sandbox_denied", "{toolbelt}"),
        # rules that can never matter
        ("dead: twice", add(*POLICY, "write", "{workspace}"), f0 + ".sandbox.config.write[2]", "sandbox_config", "never matter"),
        ("dead: beneath", add(*POLICY, "write", "{workspace}/build"), f0 + ".sandbox.config.write[2]", "sandbox_config", "beneath"),
        ("dead: {run}", add(*POLICY, "write", "{run}/x"), f0 + ".sandbox.config.write[2]", "sandbox_config", "always"),
        ("dead: a deny and an allow", add(*POLICY, "read", "allow", real + "/denied"), f0 + ".sandbox.config.read.deny[1]", "sandbox_config", "read.allow wins"),
        ("dead: a host, other letters", add(*POLICY, "network", "allow", "API.Anthropic.com."), f0 + ".sandbox.config.network.allow[3]", "sandbox_config", "never matter"),
        ("dead: a port of a host", add(*POLICY, "network", "allow", "api.anthropic.com:443"), f0 + ".sandbox.config.network.allow[3]", "sandbox_config", "part of"),
        ("dead: a wildcard in a wildcard", add(*POLICY, "network", "allow", "*.a.example.org"), f0 + ".sandbox.config.network.allow[3]", "sandbox_config", "part of"),
        ("dead: a socket whose name is too long", add(*POLICY, "sockets", "/run/" + "x" * 103), f0 + ".sandbox.config.sockets[1]", "sandbox_config", "107"),
        ("dead: a mount that is writable", put(*BOX, "read", ["{workspace}"]), f1 + ".container.config.read[0]", "sandbox_config", "writable already"),
        ("dead: an operation", add(*B, "operations", "github.issue.get"), f0 + ".operations[2]", "sandbox_config", "twice"),
        ("dead: an operation of a toolset", put(*B, "operations", ["@github.author", "github.issue.get"]), f0 + ".operations[1]", "sandbox_config", "adds nothing"),
        # operations and connections
        ("an operation that isn't authorised", put(*S, "authorization", "operations", ["github.git.credential"]), f0 + ".operations[0]", "sandbox_config", "authorise"),
        ("a toolset that is authorised in part", both(put(*S, "authorization", "operations", ["github.issue.get", "github.git.credential"]), put(*B, "operations", ["@github.author"])), f0 + ".operations[0]", "sandbox_config", "authorise"),
        ("a misspelt operation", put(*B, "operations", ["github.issu.get"]), f0 + ".operations[0]", "sandbox_config", "github.issue.get"),
        ("a misspelt toolset", put(*B, "operations", ["@github.authr"]), f0 + ".operations[0]", "sandbox_config", "@github.author"),
        ("no authorization", drop(*S, "authorization"), f0 + ".connection", "sandbox_config", "authorise"),
        ("operations without a connection", drop(*B, "connection"), f0 + ".connection", "sandbox_config", "connection"),
        ("no such connection", put(*B, "connection", "bto"), f0 + ".connection", "sandbox_config", '"bot"'),
        ("a connection that isn't authorised", put(*S, "authorization", "connections", ["bot"]), f1 + ".connection", "sandbox_config", "authorise"),
        ("authorised, and not there", add(*S, "authorization", "connections", "none"), "scopes[0].authorization.connections[2]", "sandbox_config", "no connection"),
        ("another scope that is not there", put(*S, "authorization", "read_scopes", ["tolos"]), "scopes[0].authorization.read_scopes[0]", "sandbox_config", "tools"),
        ("its own scope", put(*S, "authorization", "read_scopes", ["web"]), "scopes[0].authorization.read_scopes[0]", "sandbox_config", "itself"),
        # the connection
        ("app without its number", drop("connections", 0, "config", "app_id"), "connections[0].config.app_id", "sandbox_config", "number"),
        ("app without its key", drop("connections", 0, "secret_refs", "app_private_key"), "connections[0].secret_refs.app_private_key", "sandbox_config", "key"),
        ("bot without an App", drop("connections", 0, "config", "bot"), "connections[0].config.bot", "sandbox_config", "no bot"),
        ("bot without its key", drop("connections", 0, "secret_refs", "bot_private_key"), "connections[0].secret_refs.bot_private_key", "sandbox_config", "key"),
        ("a key without a bot", both(drop("connections", 0, "config", "bot"), put("connections", 0, "config", "git", "user")), "connections[0].secret_refs.bot_private_key", "sandbox_config", "nobody"),
        ("token without a token", drop("connections", 1, "secret_refs"), "connections[1].secret_refs.token", "sandbox_config", "token"),
        ("token with a number", put("connections", 1, "config", "app_id", "1"), "connections[1].config.app_id", "sandbox_config", "nobody"),
        ("git as nobody", put("connections", 0, "config", "git", "boot"), "connections[0].config.git", "sandbox_config", '"bot"'),
        ("a number that is none", put("connections", 0, "config", "app_id", "x1"), "connections[0].config.app_id", "sandbox_config", "number"),
        ("a number as a number", put("connections", 0, "config", "app_id", 123456), "connections[0].config.app_id", "sandbox_config", "string"),
        ("http", put("connections", 0, "config", "base_url", "http://github.example.com"), "connections[0].config.base_url", "sandbox_config", "https"),
        ("a user in a URL", put("connections", 0, "config", "base_url", "https://me:pw@github.example.com"), "connections[0].config.base_url", "sandbox_config", "https"),
        ("two connections", put("connections", 1, "id", "bot"), "connections[1].id", "sandbox_config", "two connections"),
        # secrets
        ("a secret that isn't listed", add(*B, "secret_names", "OTHER"), f0 + ".secret_names[2]", "sandbox_config", "does not list"),
        ("a secret that reaches nobody", drop(*B, "config", "secret_env"), f0 + ".secret_names[0]", "sandbox_config", "reaches nobody"),
        ("a mapping of nothing", put(*B, "config", "secret_env", "other", "X"), f0 + ".config.secret_env.other", "sandbox_config", "does not select"),
        ("two secrets, one variable", put(*B, "config", "secret_env", "claude-token", "GH_TOKEN"), f0 + ".secret_names[1]", "sandbox_config", "both be"),
        ("a secret and a variable", put(*B, "config", "env", "GH_TOKEN", "x"), f0 + ".config.env.GH_TOKEN", "sandbox_config", "also"),
        ("an extension's secret", put(*S, "extensions", 0, "secret_names", ["none"]), "scopes[0].extensions[0].secret_names[0]", "sandbox_config", "does not list"),
        ("a value as a reference", put(*S, "secret_refs", "GH_TOKEN", "ghp_0123456789"), "scopes[0].secret_refs.GH_TOKEN", "sandbox_config", "where the secret is"),
        ("keyring without a name", put(*S, "secret_refs", "GH_TOKEN", "keyring:"), "scopes[0].secret_refs.GH_TOKEN", "sandbox_config", "keyring:NAME"),
        ("a relative file", put(*S, "secret_refs", "GH_TOKEN", "file:token"), "scopes[0].secret_refs.GH_TOKEN", "sandbox_config", "file:"),
        ("a variable that is none", put(*B, "config", "secret_env", "claude-token", "A-B"), f0 + ".config.secret_env.claude-token", "sandbox_config", "variable"),
        ("an env that is none", put(*B, "config", "env", "A=B", "x"), f0 + ".config.env.A=B", "sandbox_config", "variable"),
        # extensions, routes, names
        ("two extensions", lambda d: d["scopes"][0]["extensions"].append(copy.deepcopy(d["scopes"][0]["extensions"][0])), "scopes[0].extensions[2].name", "sandbox_config", "two extensions"),
        ("an extension of no connection", put(*S, "extensions", 0, "connection", "none"), "scopes[0].extensions[0].connection", "sandbox_config", "no connection"),
        ("an extension of no scope", put(*S, "extensions", 0, "config", "scope", "wbe"), "scopes[0].extensions[0].config.scope", "sandbox_config", "web"),
        ("no extension says which repository", drop(*S, "extensions", 0), f0 + ".connection", "sandbox_config", "which one the connection \"bot\" is for"),
        ("git as the bot, nobody says where", both(drop(*S, "extensions", 0), put(*B, "operations", [])), f0 + ".connection", "sandbox_config", "the binding's git"),
        ("two repositories", lambda d: d["scopes"][0]["extensions"].append({**d["scopes"][0]["extensions"][0], "name": "other", "config": {**d["scopes"][0]["extensions"][0]["config"], "repo": "acme/other"}}),
         f0 + ".connection", "sandbox_config", "acme/other"),
        ("git as the bot without a toolbelt", both(put(*POLICY, "sockets", []), drop(*B, "requires", "toolbelt")), f0 + ".sandbox.config.sockets", "sandbox_denied", "git signs in"),
        ("a route to no binding", put(*S, "routes", 0, "binding", "agnet"), "scopes[0].routes[0].binding", "sandbox_config", '"agent"'),
        ("a route of nobody", put(*S, "routes", 0, "handler", "gitlab"), "scopes[0].routes[0].handler", "sandbox_config", "handles"),
        ("inject into a shell", put(*S, "routes", 0, "binding", "job"), "scopes[0].routes[0].active_policy", "sandbox_config", "queue"),
        ("two routes", lambda d: d["scopes"][0]["routes"].append(copy.deepcopy(d["scopes"][0]["routes"][0])), "scopes[0].routes[1].name", "sandbox_config", "two routes"),
        ("two bindings", put(*J, "name", "agent"), f2 + ".name", "sandbox_config", "two bindings"),
        ("two scopes", put("scopes", 1, "id", "web"), "scopes[1].id", "sandbox_config", "two scopes"),
        ("a name with a slash", put(*J, "name", "a/b"), f2 + ".name", "sandbox_config", "name"),
        ("a name that is too long", put(*J, "name", "a" * 65), f2 + ".name", "sandbox_config", "64 bytes"),
        ("a provider that nobody uses", put("settings", "extensions", "dockr", {}), "settings.extensions.dockr", "sandbox_config", "docker"),
        # executors
        ("an executor that isn't there", put(*J, "executor", "shel"), f2 + ".executor", "sandbox_config", '"shell"'),
        ("shell: no command", put(*J, "config", {}), f2 + ".config.command", "sandbox_config", "command"),
        ("shell: an empty command", put(*J, "config", "command", []), f2 + ".config.command", "sandbox_config", "empty"),
        ("shell: a blank command", put(*J, "config", "command", " \n"), f2 + ".config.command", "sandbox_config", "empty"),
        ("shell: a playbook", put(*J, "config", "playbook", "work-issue"), f2 + ".config.playbook", "sandbox_config", "no playbook"),
        ("shell: a toolbelt", put(*J, "requires", {"toolbelt": "mcp"}), f2 + ".requires.toolbelt", "sandbox_config", "toolbelt"),
        ("shell: inject", put(*J, "requires", {"inject": True}), f2 + ".requires.inject", "sandbox_config", "messages"),
        ("shell: resume", put(*J, "requires", {"resume": True}), f2 + ".requires.resume", "sandbox_config", "earlier turn"),
        ("claude: a command", put(*B, "config", "command", "x"), f0 + ".config.command", "sandbox_config", "shell"),
        ("claude: a playbook that is not there", put(*B, "config", "playbook", "none"), f0 + ".config.playbook", "sandbox_config", "is not there"),
        ("claude: a playbook elsewhere", put(*B, "config", "playbook", "../x"), f0 + ".config.playbook", "sandbox_config", "name"),
        # branches
        *[("branch: %r" % b, put(*B, "config", "branch", b), f0 + ".config.branch", "sandbox_config", w) for b, w in (
            ("", "empty"), ("a b", "space"), ("a..b", '".."'), ("-x", '"-"'), ("/x", "empty part"), ("x/", "empty part"), ("a//b", "empty part"),
            (".x", 'begins with "."'), ("a/.b", 'begins with "."'), ("x.lock", ".lock"), ("x.lock/y", ".lock"), ("x.", 'ends with "."'), ("a~1", "~"),
            ("a^", "^"), ("a:b", ":"), ("a?", "?"), ("a*", "*"), ("a[0]", "["), ("a\\b", "\\"), ("@", "git"), ("a@{1}", "brace"), ("a@{{1}}", "@{"), ("HEAD", "git's own"),
            ("refs/heads/x", "git's own"), ("a\nb", "one line"), ("a\u007f{number}", "control"), ("x" * 201, "200"), ("{numbr}", "write {number}"), ("{num}", "number"),
            ("{", "brace"), ("}", "brace"), ("{}", "brace"), ("{Number}", "brace"), ("{number", "brace"), ("a{number}}", "brace"), ("{a b}", "brace"))],
        ("author: no name", put(*B, "config", "author", {"email": "a@b"}), f0 + ".config.author.name", "sandbox_config", "missing"),
        ("author: angles", put(*B, "config", "author", {"name": "A <x>", "email": "a@b"}), f0 + ".config.author.name", "sandbox_config", "<"),
        ("author: no address", put(*B, "config", "author", {"name": "A", "email": "ab"}), f0 + ".config.author.email", "sandbox_config", "mail"),
    ]


def refused(h):
    base, bad, texts = json.loads(h.fixture("tests/host/config/full.json")), [], []
    table = rules(h)
    for name, edit, *_ in table:
        doc = copy.deepcopy(base)
        if name == "sandbox and container":
            doc["scopes"][0]["bindings"][0]["container"] = copy.deepcopy(doc["scopes"][0]["bindings"][1]["container"])
        else:
            edit(doc)
        texts.append(json.dumps(doc))
    for (name, _, field, reason, words), a in zip(table, h.batch(texts)):
        found = [e for e in a["errors"] if e[0] == field and e[1] == reason and words in " ".join(str(x) for x in e[2:5])]
        if a["ok"] or not found or not all(e[3] for e in a["errors"]):
            bad.append((name, a["errors"]))
    for b in bad:
        h.check(False, "refused: %s" % b[0], b[1])
    (a,) = h.batch([json.dumps(base).replace("file:~/gh-token", "ghp_0123456789").replace("https://github", "https://me:pw0123@github")])
    h.check(len(a["errors"]) == 2 and "0123" not in json.dumps(a), "a value in the place of a reference is not repeated", a)
    h.check(not bad, "what keys mean together: %d refusals, each with field, reason and fix" % len(table))
    # All at once, each where it is.
    doc, fields = copy.deepcopy(base), []
    for name in ("no checkout", "a glob", "a URL", "mem", "a misspelt operation", "a route to no binding", "two scopes", "git as nobody",
                 "shell: an empty command", "a value as a reference", "a placeholder", "claude: ~/.claude"):
        row = next(r for r in table if r[0] == name)
        row[1](doc)
        fields.append(row[2])
    text = json.dumps(doc, indent=1)
    path = h.WORK + "/many.json"
    with open(path, "w") as f:
        f.write(text)
    r = subprocess.run([h.HOST, "config", "check", "--json", path], env=h.ENV, capture_output=True, text=True)
    said = json.loads(r.stdout)
    missing = [f for f in fields if f not in [e["field"] for e in said["errors"]]]
    h.check(r.returncode == 1 and not said["ok"] and not missing, "%d mistakes at once, each told" % len(fields), (missing, said))
    lines = text.split("\n")
    wrong = [e for e in said["errors"] if e["field"].split(".")[-1].split("[")[0] not in lines[e["line"] - 1] and "[" not in e["field"].split(".")[-1]]
    h.check(not wrong, "each with its line", wrong[:2])


def seeds(h, base):
    """What a seed's files name of this machine."""
    real, seed = os.path.realpath(h.WORK), os.path.realpath(h.WORK) + "/seed"
    os.makedirs(seed + "/plugins", 0o700)
    os.makedirs(real + "/tools/sub")

    def told(path, value, read=()):
        with open(seed + "/" + path, "w") as f:
            f.write(value if isinstance(value, str) else json.dumps(value))
        doc = copy.deepcopy(base)
        of(doc, *C)["config"]["home_seed"] = seed
        of(doc, *BOX)["read"] = list(read)
        (a,) = h.batch([json.dumps(doc)])
        os.unlink(seed + "/" + path)
        return a["ok"], [w[2] for w in a["warnings"] if "home_seed names" in w[2]]
    hook = {"hooks": {"Stop": [{"command": real + "/tools/sub --now"}]}}
    h.check([told("settings.json", hook)[1], told(".claude.json", {"projects": {real + "/tools": {}}})[1]] ==
            [["settings.json of the home_seed names %s/tools/sub, which a container of web/boxed doesn't have" % real],
             [".claude.json of the home_seed names %s/tools, which a container of web/boxed doesn't have" % real]],
            "a seed that names what only this machine has: warned of")
    h.check(told("plugins/known.json", [[{"a": real + "/tools"}]])[1] != [] and told("plugins/known.json", hook)[0], "in a folder of it too, and the config loads")
    quiet = [told("settings.json", hook, [real + "/tools"]), told("settings.json", {"a": ["/usr/bin/env", real + "/nothing", "/", "x", 1]}), told("settings.json", "{"),
             told("notes.txt", hook), told("settings.json", {"deep": json.loads("[" * 50 + json.dumps(real + "/tools") + "]" * 50)})]
    h.check(quiet == [(True, [])] * 5, "control: granted, the image's own, not there, no JSON, too deep", quiet)


def git_configs(h, base):
    """What a git configuration of the operator's brings along."""
    path = os.path.realpath(h.HOME) + "/.gitconfig"

    def told(text, grant="~/.gitconfig", at="read"):
        with open(path, "w") as f:
            f.write(text)
        doc = copy.deepcopy(base)
        of(doc, *BOX)["read"] = [grant] if at == "read" else []
        if at == "write":
            of(doc, *BOX)["write"].append(grant)
        (a,) = h.batch([json.dumps(doc)])
        os.unlink(path)
        return [w[2].split(" has ")[1].split(":")[0] for w in a["warnings"] if "it comes along" in w[2] and "s3cret" not in json.dumps(w)]
    helper, header, url = "a credential.helper", "an http.extraHeader", "a URL with a token or a password"
    rows = [('[user]\n\tname = A\n[credential]\n\thelper = !/usr/local/bin/s3cret\n', helper), ('[Credential "https://github.com"] HELPER = s3cret\n', helper),
            ('[http "https://github.com/"]\n  extraHeader = Authorization: s3cret\n', header), ('[url "https://s3cret@github.com/"]\n\tinsteadOf = https://github.com/\n', url),
            ('[remote "x"]\n\turl = https://me:s3cret@github.com/a/b\n', url)]
    h.check([told(t) for t, _ in rows] == [[w] for _, w in rows], "a git configuration that is granted: helpers, headers and tokens in it are warned of, and not shown", [told(t) for t, _ in rows])
    quiet = [told(t) for t in ("[user]\n\tname = A\n\temail = a@b.example\n", "# [credential]\n# helper = x\n", "[credential]\n\tusername = x\n", '[url "git@github.com:"]\n\tinsteadOf = x\n')]
    h.check(quiet == [[]] * 4, "control: names and addresses of mail aren't", quiet)
    h.check([told(rows[0][0], at="none"), told(rows[0][0], h.HOME + "/.config"), told(rows[0][0], "~/.gitconfig", "write")] == [[], [], [helper]], "only where it is granted, by write too")


def warned(h):
    base = json.loads(h.fixture("tests/host/config/full.json"))
    other = copy.deepcopy(base["scopes"][0]["bindings"][0])
    other.update(name="agent2")
    rows = [
        ("a shared folder", add(*S, "bindings", other), "scopes[0].bindings[3].sandbox.config.write[1]", "claude's config directory"),
        ("a branch for all", put(*B, "config", "branch", "agent/all"), f0 + ".config.branch", "same branch"),
        ("a secret of nobody", put(*S, "secret_refs", "spare", "keyring:spare"), "scopes[0].secret_refs.spare", "nothing selects"),
        ("a deny beneath a deny", add(*POLICY, "read", "deny", "~/.config/op/x"), f0 + ".sandbox.config.read.deny[2]", "denied anyway"),
        ("git's host isn't granted", put(*POLICY, "network", "allow", ["api.anthropic.com", "github.example.com:8443"]), f0 + ".sandbox.config.network.allow", "git fetch and git push will fail"),
        ("no credential in a container", both(put(*C, "operations", []), put(*C, "connection", "bot")), f1 + ".operations", "git push"),
    ]
    texts = []
    for _, edit, *_ in rows:
        doc = copy.deepcopy(base)
        edit(doc)
        texts.append(json.dumps(doc))
    bad = [(name, a) for (name, _, field, words), a in zip(rows, h.batch(texts))
           if not a["ok"] or not any(w[0] == field and words in w[2] for w in a["warnings"])]
    h.check(not bad, "%d warnings, and the config loads" % len(rows), bad[:1])
    seeds(h, base)
    git_configs(h, base)
    # A part of what is writable may be read-only.
    doc = copy.deepcopy(base)
    of(doc, *BOX)["read"] = ["{workspace}/docs"]
    (a,) = h.batch([json.dumps(doc)])
    h.check(a["ok"] and not a["warnings"], "control: a part of what is writable may be mounted to be read", a)
    # No warning where nothing is shared, and a deny between two others matters where an allow lies between.
    doc = copy.deepcopy(base)
    doc["scopes"][0]["bindings"][0]["sandbox"]["config"]["read"] = {"deny": ["/srv", "/srv/a/k"], "allow": ["/srv/a"]}
    (a,) = h.batch([json.dumps(doc)])
    h.check(a["ok"] and not a["warnings"], "control: no other warning", a)


def command(h):
    def oc(*args, **kw):
        return subprocess.run([h.HOST, "config", *args], env=dict(h.ENV, **kw), capture_output=True, text=True)

    good = h.WORK + "/good.json"
    with open(good, "w") as f:
        f.write(h.fixture("examples/config/sandbox.json"))
    os.makedirs(h.HOME + "/.config/open-conduit", exist_ok=True)
    r = oc("check")
    h.check(r.returncode == 1 and "No such file" in r.stdout and "open-conduit-config(5)" in r.stdout, "check: no config", r)
    with open(good) as f, open(h.HOME + "/.config/open-conduit/config.json", "w") as g:
        g.write(f.read())
    for args in ((), (good,)):
        r = oc("check", *args)
        h.check(r.returncode == 0 and "The config is good: 1 binding" in r.stdout and not r.stderr, "check: %s" % (args or "the standard file",), r)
    r = oc("check", XDG_CONFIG_HOME=h.WORK)
    h.check(r.returncode == 1 and h.WORK + "/open-conduit/config.json" in r.stdout, "check: XDG_CONFIG_HOME", r)
    r = oc("check", "--json", good)
    j = json.loads(r.stdout)
    h.check(r.returncode == 0 and j["version"] == 1 and j["ok"] is True and j["errors"] == [] and j["file"] == good, "check: --json", j)
    r = oc("check", "--explain", "--json", good)
    b = json.loads(r.stdout)["bindings"][0]
    said = {(a["question"], a["as"]): (a["allowed"], a["rule"]) for a in b["answers"]}
    h.check(b["binding"] == "web/agent" and said[("write", "{workspace}")] == (True, "write[0]") and said[("host", "github.com")][0] and
            said[("read", "~/.ssh")] == (False, "default") and said[("host", "any other host")][0] is False and
            said[("read", "Open Conduit's state")] == (False, "protected") and "github.pull.create" in b["operations"], "check: --explain", b)
    r = oc("check", "--explain", good)
    h.check(r.returncode == 0 and "web/agent" in r.stdout and "{workspace}" in r.stdout and "by default" in r.stdout, "check: --explain as text", r)
    # What only this machine tells.
    doc = json.loads(h.fixture("examples/config/sandbox.json"))
    policy = doc["scopes"][0]["bindings"][0]["sandbox"]["config"]
    for name, edit, field, reason, words in (
            ("a grant that is not there", lambda p: p["write"].append("~/none"), ".write[3]", "sandbox_denied", "mkdir -p"),
            ("a grant of the state", lambda p: p["write"].append("~/.local/state/open-conduit/x"), ".write[3]", "sandbox_denied", ""),
            ("a grant beneath a deny", lambda p: p["write"].append("~/.ssh"), "", "sandbox_config", "~/.ssh"),
            ("an allow that lifts nothing", lambda p: p["read"].update(allow=["~/.config"]), ".read.allow[0]", "sandbox_config", "never matter"),
            ("control: an allow that lifts a deny", lambda p: p["read"].update(allow=["~/.ssh/known_hosts"]), None, None, None)):
        changed = copy.deepcopy(doc)
        edit(of(changed, *POLICY))
        with open(good, "w") as f:
            json.dump(changed, f)
        r = oc("check", "--json", good)
        errors = json.loads(r.stdout)["errors"]
        if field is None:
            h.check(r.returncode == 0, "machine: %s" % name, errors)
        else:
            h.check(r.returncode == 1 and any(e["field"].startswith(f0 + ".sandbox.config" + field) and e["reason"] == reason and
                                              words in json.dumps(e) for e in errors), "machine: %s" % name, errors)
    # The file itself.
    os.chmod(good, 0o666)
    r = oc("check", good)
    h.check(r.returncode == 1 and "chmod go-w" in r.stdout, "file: others may write it", r)
    os.chmod(good, 0o600)
    os.mkfifo(h.WORK + "/fifo")
    for what in ("fifo", "real"):
        r = subprocess.run([h.HOST, "config", "check", h.WORK + "/" + what], env=h.ENV, capture_output=True, text=True, timeout=20)
        h.check(r.returncode == 1 and ("no file" in r.stdout or "directory" in r.stdout), "file: a %s is none" % what, r)
    with open(good, "w") as f:
        f.write(" " * (1 << 20) + "{}")
    r = oc("check", good)
    h.check(r.returncode == 1 and "1 MiB" in r.stdout, "file: too long", r)
    with open(good, "w") as f:
        f.write('{"version": 1, "scopes": [], "\\u001b[31mscreen": 1, "a\\u202eb": 2}')
    r = oc("check", good)
    h.check(r.returncode == 1 and "\x1b" not in r.stdout and "\u202e" not in r.stdout and "screen" in r.stdout, "file: a key can't drive the terminal", r)
    for args, status in ((("check", "a", "b"), 2), (("schema", "x"), 2), (("cheack",), 2), ((), 2), (("check", "--explian"), 2), (("check", "--help"), 0), (("--help",), 0)):
        r = oc(*args)
        h.check(r.returncode == status, "usage: %s" % " ".join(args), r)
    r = oc("cheack")
    h.check('did you mean "check"' in r.stderr, "usage: a misspelt command", r)
    with open(h.HOME + "/.claude-elsewhere", "w"):
        pass
    os.mkdir(h.WORK + "/theirs")
    os.symlink(h.WORK + "/theirs", h.WORK + "/alias")
    changed = copy.deepcopy(doc)
    of(changed, *B)["config"]["env"]["CLAUDE_CONFIG_DIR"] = h.WORK + "/alias"
    of(changed, *POLICY)["write"][1] = h.WORK + "/alias"
    with open(good, "w") as f:
        json.dump(changed, f)
    r = oc("check", "--json", good, CLAUDE_CONFIG_DIR=h.WORK + "/theirs")
    h.check(r.returncode == 1 and "your own CLAUDE_CONFIG_DIR" in r.stdout, "claude: the operator's own CLAUDE_CONFIG_DIR, by a link", r)
    # Another name for it that no link shows: a bind mount, in a mount namespace of its own.
    os.mkdir(h.WORK + "/bound")
    of(changed, *B)["config"]["env"]["CLAUDE_CONFIG_DIR"] = h.WORK + "/bound"
    of(changed, *POLICY)["write"][1] = h.WORK + "/bound"
    with open(good, "w") as f:
        json.dump(changed, f)
    r = oc("check", "--json", good)
    h.check(r.returncode == 0, "claude: control: before it is mounted", r)
    r = subprocess.run(["unshare", "-rm", "sh", "-c", 'mount --bind "$1" "$2" && exec "$3" config check --json "$4"', "-", h.HOME + "/.claude",
                        h.WORK + "/bound", h.HOST, good], env=h.ENV, capture_output=True, text=True)
    if r.stdout:
        h.check(r.returncode == 1 and "is your own ~/.claude" in r.stdout, "claude: a bind mount of it", r)
    else:
        print("skip - claude: a bind mount of it: no mount namespace here: %s" % r.stderr.strip().replace("\n", " "))
    long = h.WORK + "/" + "x" * 60
    r = oc("check", "--json", good, XDG_STATE_HOME=long)
    h.check(r.returncode == 1 and "sun_path" in r.stdout, "state: too long for a socket's name", r)


def run(h):
    refused(h)
    warned(h)
    command(h)

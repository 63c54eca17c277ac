#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""open-conduit-github against a fake GitHub over TLS: each row of what GitHub says no to, what is asked again and how often, clocks,
redirects, proxies, and where a secret can be seen.  Rows run side by side, each with a fake of its own: most of them wait."""
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import at_github
from world import REPO, Listener, Prism, World, finish, reason
from tap import finish as end, ok, skip

INSTALLATION, MINT = "/installation$", "/access_tokens$"
EXP = "'Expiration time' claim ('exp') is too far in the future"
w = World()
ROWS = []


def row(f):
    ROWS.append(f)
    return f


def error(told, key="message"):
    return told["answer"].get("error", {}).get(key) or ""


def failed(told):
    """Of a check: the ids of what failed, and everything said of it."""
    bad = [c for c in told["answer"].get("checks", []) if not c["ok"]]
    return [c["id"] for c in bad], " ".join("%s %s" % (c["detail"], c["fix"]) for c in bad)


# ---- what GitHub says no to ----


def denied(name, want, fix, fault=None, fake=None, repository=REPO, **more):
    """A row of the table by way of `check`: what failed says it, with a fix, after so many requests as that takes."""
    fake = fake or w.fake()
    if fault:
        fake.faults = [{"times": 99, **fault}]
    told = w.ask(fake, "check", repository=repository, **more)
    ids, text = failed(told)
    ok(told["status"] == 0 and want in text and fix in text, "refused: %s: named, with its fix" % name, told)
    return fake, told


@row
def wrong_key():
    fake, _ = denied("the key is another App's", "could not be decoded", "new private key", auth=w.auth(key=w.other_key))
    ok(len(fake.log) == 1, "refused: the key is another App's: asked once", fake.log)


@row
def wrong_app():
    denied("no App of that id", "Integration not found", "app_id", auth=w.auth(app="999999"))


@row
def not_installed():
    fake, told = denied("not installed there", "not installed on acme/nope", "/github-apps/my-app/installations/new", repository="acme/nope")
    ok(failed(told)[0] == ["github.installed"], "check: what is before it is good", told)


@row
def suspended():
    fake = w.fake()
    fake.suspend = True
    denied("suspended", "is suspended", "/settings/installations", fake=fake)


@row
def permissions():
    fake = w.fake()
    fake.granted = {"contents": "read", "metadata": "read", "issues": "write"}
    told = w.ask(fake, "check", wants=["issues", "pull_requests"])
    ids, text = failed(told)
    ok(ids == ["github.permission.contents", "github.permission.pull_requests"] and "Permissions" in text, "check: what was not granted", told)
    good = w.ask(w.fake(), "check", wants=["issues", "pull_requests"])
    ok(len(good["answer"].get("checks", [])) == 6 and not failed(good)[0], "control: everything granted: nothing fails", good)


@row
def forbidden():
    denied("a permission is missing", "Resource not accessible", "Permissions",
           {"path": INSTALLATION, "status": 403, "body": {"message": "Resource not accessible by integration"}})
    denied("an answer that no row is for", "Teapot\\x1b[31m", "see what GitHub says",
           {"path": INSTALLATION, "status": 418, "body": {"message": "Teapot\x1b[31m"}})
    _, told = denied("a message as long as a book", "xxxx", "see what", {"path": INSTALLATION, "status": 422, "body": {"message": "x" * 100000}})
    ok(len(failed(told)[1]) < 1000, "a message as long as a book is cut", len(failed(told)[1]))


@row
def personal():
    fake = w.fake()
    fake.personal("github_pat_abc", [REPO])
    good = w.ask(fake, "check", auth={"token": "github_pat_abc"})
    ok(good["status"] == 0 and not failed(good)[0] and len(good["answer"]["checks"]) == 1, "a personal token that is good", good)
    denied("a personal token that isn't", "Bad credentials", "fine-grained", fake=fake, auth={"token": "github_pat_no"})
    told = w.ask(fake, "identity", auth={"token": "github_pat_abc"})
    ok(reason(told) == "github_denied", "a personal token has no bot", told)


# ---- asked again, or not ----


def asked_again(name, fault, requests, low, high):
    fake = w.fake()
    fake.faults = [fault]
    told = w.ask(fake, "identity")
    n = len(fake.requests("GET", "/app$"))
    ok(told["answer"].get("id") and n == requests and low <= told["took"] < high, "asked again: %s: %d requests" % (name, requests), (n, told))


def given_up(name, fault, requests, want, high, words=""):
    fake = w.fake()
    fake.faults = [{"times": 99, "path": "/app$", **fault}]
    told = w.ask(fake, "identity")
    n = len(fake.requests("GET", "/app$"))
    ok(reason(told) == want and words in error(told) and n == requests and told["took"] < high,
       "given up: %s: %s after %d requests" % (name, want, requests), (n, told))
    ok(error(told, "fix") and error(told, "subject"), "given up: %s: with subject and fix" % name, told)
    return told


@row
def server_faults():
    asked_again("502 twice", {"path": "/app$", "status": 502, "times": 2}, 3, 1.5, 30)


@row
def server_down():
    given_up("500 for ever", {"status": 500, "body": {"message": "Server Error"}}, 5, "github_unavailable", 45, "Server Error")


@row
def reset_twice():
    asked_again("a reset, twice", {"path": "/app$", "drop": "reset", "times": 2}, 3, 1.5, 30)


@row
def closed_for_ever():
    given_up("connections closed without an answer", {"drop": "close"}, 5, "github_unavailable", 45)


@row
def retry_after():
    asked_again("429, Retry-After: 2", {"path": "/app$", "status": 429, "headers": {"Retry-After": 2}}, 2, 2, 30)


@row
def remaining():
    fake = w.fake()
    fake.skew = 40  # what it says is by its clock
    fake.faults = [{"path": "/app$", "status": 403, "headers": {"X-RateLimit-Remaining": 0, "X-RateLimit-Reset": int(time.time()) + 43}}]
    told = w.ask(fake, "identity")
    ok(told["answer"].get("id") and 1 <= told["took"] < 30, "asked again: 403 with nothing remaining until its clock says", told)


@row
def limits():
    told = given_up("429, Retry-After: 3600", {"status": 429, "headers": {"Retry-After": 3600}}, 1, "rate_limited", 20)
    ok(time.strftime("%Y-%m-%dT%H:", time.gmtime(time.time() + 3600)) in error(told, "fix"), "given up: until when", told)
    given_up("a secondary limit that names no time", {"status": 403, "body": {"message": "You have exceeded a secondary rate limit."}}, 1,
             "rate_limited", 20, "secondary rate limit")
    given_up("a limit for ever", {"status": 429, "headers": {"Retry-After": 0}}, 5, "rate_limited", 30)
    denied("control: 403 that is no limit", "Forbidden", "see what", {"path": "/app$", "status": 403, "body": {"message": "Forbidden"}})


@row
def garbage():
    given_up("200 that is no JSON", {"status": 200, "raw": "<html>login</html>"}, 1, "github_answer", 20)
    given_up("an answer of five megabytes", {"size": 5 << 20}, 1, "github_answer", 20)
    given_up("JSON without what is in every App", {"status": 200, "body": {"slug": "../../x"}}, 1, "github_answer", 20)
    given_up("JSON that is a list", {"status": 200, "body": [1]}, 1, "github_answer", 20)
    given_up("headers without an end", {"status": 200, "headers": {"X-%d" % i: "y" * 1000 for i in range(99)}}, 1, "github_answer", 20)


@row
def nobody_there():
    with_nobody = w.fake()
    with_nobody.server.server_close()
    told = w.ask(with_nobody, "identity")
    ok(reason(told) == "github_unavailable" and told["took"] < 45, "given up: nobody listens", told)


@row
def trust():
    fake = w.fake()
    told = w.ask(fake, "identity", env={"SSL_CERT_FILE": None})
    ok(reason(told) == "github_unavailable" and "SSL_CERT_FILE" in error(told, "fix") and not fake.log and told["took"] < 20,
       "a server that nobody vouches for hears nothing", (told, fake.log))
    told = w.ask(None, "identity", api="https://localhost.:%d" % fake.port)
    told = w.ask(None, "identity", api="https://127.0.0.2:%d" % fake.port)
    ok(reason(told) == "github_unavailable" and not fake.log, "nor one with another's certificate", told)
    # What switches verification off elsewhere does nothing here.
    loose = {"GIT_SSL_NO_VERIFY": "1", "NODE_TLS_REJECT_UNAUTHORIZED": "0", "CURL_CA_BUNDLE": w.ca, "SSL_CERT_DIR": w.path("tls"),
             "CURL_INSECURE": "1"}
    told = w.ask(fake, "identity", env={"SSL_CERT_FILE": None, **loose})
    ok(reason(told) == "github_unavailable" and not fake.log, "and no variable changes that", told)
    ok(w.ask(fake, "identity")["answer"].get("id"), "control: one that is vouched for")


# ---- clocks ----


@row
def clocks():
    for skew, corrected in ((45, False), (-45, False), (240, False), (-240, True), (172800, True), (-172800, True)):
        fake = w.fake()
        fake.skew = skew
        told = w.ask(fake, "identity")
        n, said = len(fake.requests("GET", "/app$")), told["answer"].get("clock")
        right = abs((said or 0) - skew) <= 3 if corrected else said is None
        ok(told["answer"].get("id") and right and n == (2 if corrected else 1),
           "clock: GitHub's is %+d s: %s" % (skew, "corrected once" if corrected else "no matter"), (n, told))
        checked = failed(w.ask(fake, "check"))
        ok(checked[0] == (["github.clock"] if abs(skew) > 50 else []) and (abs(skew) < 50 or "timedatectl" in checked[1]),
           "clock: check says it of %+d s" % skew, checked)


@row
def clock_for_ever():
    fake = w.fake()
    fake.skew = 300
    fake.faults = [{"path": "/app$", "status": 401, "times": 99, "body": {"message": EXP}}]
    told = w.ask(fake, "identity")
    ok(reason(told) == "github_clock" and "timedatectl" in error(told, "fix") and len(fake.log) == 2,
       "clock: corrected once and no more", (told, len(fake.log)))
    ok("ahead" in error(told) and any("%d seconds" % s in error(told) for s in range(297, 304)), "clock: by how much they differ", told)


# ---- tokens of an installation, as the bot's id is asked for where anybody may not ----


def private():
    fake = w.fake()
    fake.faults = [{"method": "GET", "path": "/users/", "status": 401, "times": 1, "body": {"message": "Requires authentication"}}]
    return fake


@row
def one_operation():
    fake = private()
    told = w.ask(fake, "identity")
    minted = [json.loads(r["body"]) for r in fake.requests("POST", MINT)]
    ok(told["answer"].get("id") and minted == [{"repositories": ["web"], "permissions": {"metadata": "read"}}],
       "a token for one operation: for one repository, with one permission", (told, minted))
    ok(len(fake.tokens) == 1 and not fake.alive(), "a token for one operation: revoked at its end", fake.tokens)
    fake = private()
    fake.faults[0]["times"] = 3
    told = w.ask(fake, "identity")
    ok(told["answer"].get("id") and told["took"] >= 3 and not fake.alive(), "a token that not all of GitHub knows yet is tried again", told)
    fake = private()
    fake.faults[0]["times"] = 99
    told = w.ask(fake, "identity")
    ok(reason(told) == "github_denied" and len(fake.tokens) == 1 and not fake.alive(), "revoked also where the operation failed", told)


def other_scope(name, scope, revoked=True, **more):
    fake = private()
    fake.scope, _ = scope, [setattr(fake, k, v) for k, v in more.items()]
    told = w.ask(fake, "identity")
    ok(reason(told) == "github_answer" and len(fake.tokens) == 1, "a token %s: refused" % name, told)
    ok(bool(fake.alive()) != revoked, "a token %s: %s" % (name, "revoked at once" if revoked else "nobody can revoke it"), fake.tokens)
    ok(not fake.requests("GET", "/users/")[1:], "a token %s: not used" % name, fake.log)


@row
def scopes():
    one = w.fake().repo_object("acme/web")
    other_scope("that may do more", {"permissions": {"metadata": "read", "contents": "write"}})
    other_scope("that may write what it should read", {"permissions": {"metadata": "write"}})
    other_scope("that may do nothing", {"permissions": {}})
    other_scope("for two repositories", {"repositories": [one, w.fake().repo_object("acme/other")]})
    other_scope("for another repository", {"repositories": [w.fake().repo_object("acme/other")]})
    other_scope("for nobody knows which", {"repositories": None})
    other_scope("that lives for a year", {}, ttl=365 * 86400)
    other_scope("without an end", {"expires_at": None})
    other_scope("whose end is no time", {"expires_at": "tomorrow"})
    other_scope("that has a line break", {"token": "ghs_x\nevil"}, revoked=False)
    other_scope("of 20 KiB", {"token": "x" * 20000}, revoked=False)
    other_scope("that isn't there", {"token": None}, revoked=False)
    fake = private()
    fake.scope = {"repositories": [{**one, "full_name": "ACME/Web"}]}
    ok(w.ask(fake, "identity")["answer"].get("id"), "control: the repository's name in other letters")


@row
def lost_token():
    fake = private()
    fake.faults.append({"method": "POST", "path": MINT, "lose": "reset", "times": 1})
    told = w.ask(fake, "identity")
    ok(told["answer"].get("id") and len(fake.tokens) == 2 and len(fake.alive()) == 1,
       "a token whose answer was lost: another is made; nobody has the first", (told, len(fake.tokens)))


# ---- where a credential may go ----


@row
def redirects():
    for status in (301, 302, 307, 308):
        fake, second = w.fake(), w.fake()
        for to in (w.api(second), "http://127.0.0.1:%d" % second.port, "//127.0.0.1:%d" % second.port, "file:///etc/passwd", w.api(fake)):
            fake.faults = [{"path": "/app$", "status": status, "headers": {"Location": to + "/app"}}]
            told = w.ask(fake, "identity")
            ok(reason(told) == "github_answer" and not second.log and len(fake.requests(path="/app$")) == 1,
               "redirect: %d to %s: told, not followed" % (status, to.split(":")[0]), (told, second.log))
            fake.log.clear()
        second.stop()
        w.started.remove(second)


@row
def proxies():
    proxy, fake = Listener(), w.fake()
    at = "http://127.0.0.1:%d" % proxy.port
    env = {n: at for n in ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")}
    told = w.ask(fake, "identity", env=env)
    ok(told["answer"].get("id") and proxy.connections == 0, "a proxy of the environment hears nothing", told)
    subprocess.run(["curl", "-sS", "-m", "5", w.api(fake) + "/app"], env={"PATH": "/usr/bin:/bin", **env}, capture_output=True)
    ok(proxy.connections > 0, "control: curl asks that proxy")
    proxy.stop()


@row
def keys_of_tls():
    fake, log = w.fake(), w.path("keys.log")
    w.ask(fake, "identity", env={"SSLKEYLOGFILE": log})
    ok(fake.log and not os.path.exists(log), "no keys of TLS are written")
    subprocess.run(["curl", "-sS", "-m", "9", "--cacert", w.ca, w.api(fake) + "/app"], env={"PATH": "/usr/bin:/bin", "SSLKEYLOGFILE": log}, capture_output=True)
    ok(os.path.exists(log), "control: curl writes them")


def slurp(pid, name):
    try:
        with open("/proc/%d/%s" % (pid, name), "rb") as f:
            return f.read()
    except PermissionError:
        return None


@row
def seen():
    fake = w.fake()
    fake.faults = [{"path": "/app$", "delay": 3}]
    p = w.begin({"op": "identity", "api": w.api(fake), "repository": REPO, "auth": w.auth()})
    until = time.monotonic() + 20
    while not fake.requests("GET", "/app$") and time.monotonic() < until:
        time.sleep(0.05)
    words, environ, maps = slurp(p.pid, "cmdline"), slurp(p.pid, "environ"), slurp(p.pid, "maps")
    ok(words == (os.path.join(os.environ["OC_BUILD"], "libexec", "open-conduit-github") + "\0").encode(), "its command line is its name", words)
    if os.getuid():
        ok(environ is None and maps is None, "its memory can't be looked at by its own user", environ)
        ok(slurp(os.getpid(), "environ") is not None, "control: that of others can")
    else:
        skip("its memory", "root may look at everything")
    told = finish(p)
    ok(told["answer"].get("id") and told["took"] > 1, "an answer that takes its time is waited for", told)
    ok(not told["stderr"], "it says nothing else", told)


# ---- the question ----


@row
def questions():
    good = {"op": "identity", "api": "https://127.0.0.1:1/api/v3", "repository": REPO, "auth": w.auth()}
    bad = {"no JSON": b"{", "nothing": b"", "a list": b"[]", "too long": b'{"op":"' + b"x" * (1 << 20) + b'"}', "an op that isn't": {**good, "op": "steal"},
           "plain http": {**good, "api": "http://127.0.0.1/api/v3"}, "a name in the address": {**good, "api": "https://a@127.0.0.1"},
           "a query in the address": {**good, "api": "https://127.0.0.1/?x="}, "another scheme": {**good, "api": "file:///etc/passwd"},
           "a path that climbs": {**good, "api": "https://127.0.0.1/../x"}, "a repository that climbs": {**good, "repository": "acme/.."},
           "a repository of three": {**good, "repository": "a/b/c"}, "a repository with a line": {**good, "repository": "a/b\nc"},
           "a token with a line": {**good, "auth": {"token": "a\r\nX: y"}}, "nobody": {**good, "auth": {}},
           "both": {**good, "auth": {**w.auth(), "token": "x"}}, "an App with a quote": {**good, "auth": w.auth(app='1","x":"')}}
    for name, question in bad.items():
        told = finish(w.begin(question))
        ok(told["status"] == 2 and not told["answer"] and told["stderr"], "a question with %s is none" % name, told)
    told = finish(w.begin({**good, "auth": w.auth(key="-----BEGIN RSA PRIVATE KEY-----\nx\n")}))
    ok(reason(told) == "secret_missing" and "secret set" in error(told, "fix"), "a key that is none", told)


@row
def github_com():
    told = at_github.outside()
    if told is None:
        return skip("github.com by its name", "no namespaces for an ordinary user here")
    ok(told["identity"]["answer"].get("email") == "987654321+my-app[bot]@users.noreply.github.com", "github.com by its name: whose the commits are", told)
    ok("https://github.com/apps/my-app/installations/new" in failed(told["nope"])[1], "github.com by its name: where to install the App", told)
    ok(told["paths"][0] == "/app" and told["host"] == "api.github.com", "github.com by its name: its API's paths", told)


# ---- GitHub's own description ----


@row
def described():
    modules = os.path.join(os.environ["OC_NPM"], "github", "node_modules")
    plain = w.fake(tls=False)
    prism = Prism(w, plain, modules)
    try:
        api = "https://127.0.0.1:%d" % prism.port
        plain.faults = [{"method": "GET", "path": "/users/", "status": 404, "times": 0}]
        told = w.ask(None, "identity", api=api)
        ok(told["answer"] == {"login": "my-app[bot]", "name": "my-app[bot]", "id": 987654321,
                              "email": "987654321+my-app[bot]@users.noreply.127.0.0.1"}, "by GitHub's description: identity", told)
        told = w.ask(None, "check", api=api, wants=["issues"])
        ok(told["answer"].get("checks") and not failed(told)[0], "by GitHub's description: check", told)
        told = w.ask(None, "check", api=api, repository="acme/nope")
        ok(failed(told)[0] == ["github.installed"], "by GitHub's description: check of what isn't there", told)
        ok(not prism.violations(), "by GitHub's description: no request and no answer breaks it", prism.violations())
        asks = {r["headers"].get(h) for r in plain.log for h in ("accept", "x-github-api-version")}
        agents = {r["headers"].get("user-agent") for r in plain.log}
        ok(asks == {"application/vnd.github+json", "2022-11-28"} and len(agents) == 1 and agents.pop().startswith("open-conduit/"),
           "each request has GitHub's headers", plain.log[:1])
        try:
            urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:%d/app/installations/42/access_tokens" % prism.plain, b'{"repository":"web"}',
                                                          {"Authorization": "Bearer x", "Content-Type": "application/json"}), timeout=20)
            ok(False, "control: a request that breaks the description is refused")
        except urllib.error.HTTPError as e:
            ok(e.code == 422, "control: a request that breaks the description is refused", e.code)
    finally:
        prism.stop()


def run(f):
    try:
        f()
    except Exception as e:  # one row's trouble is that row's
        ok(False, f.__name__ + ": runs to its end", repr(e))


wanted = [f for f in ROWS if not sys.argv[1:] or f.__name__ in sys.argv[1:]]
try:
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(run, wanted))
finally:
    w.close()
end()

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A GitHub for tests: what an App needs of its API, and git over HTTP with the tokens it made.

It verifies an App's RS256 and each claim against its own clock, which `skew` moves; makes tokens for what was asked, or with
`scope` for something else; knows of each that it made whether it was revoked; does what `faults` says first; keeps a log.

In a test: Fake(...).start(), then its members, under `lock`. As a program, for tests that aren't Python:

  fake_github.py --pubkey APP.pub.pem --repo acme/web … [--root DIR] [--port N] [--cert PEM --key PEM] [--slug NAME]

prints "listening HOST PORT"; DIR/acme/web.git is a bare repository; POST /_ctl takes {"faults","scope","skew","ttl","suspend",
"clear"}, and /_ctl answers {"log":[…],"tokens":{…}}.
"""
import argparse
import base64
import hashlib
import json
import os
import re
import secrets
import socket
import ssl
import struct
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, unquote, urlsplit

INSTALLATION, BOT_ID = 42, 987654321
API, T0, DOC = "https://api.github.com", "2024-01-01T00:00:00Z", "https://docs.github.com/rest"
GRANTED = {"contents": "write", "metadata": "read", "pull_requests": "write", "issues": "write"}
RANK = {"read": 1, "write": 2, "admin": 3}
SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")


class Http(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status
        self.body = {"message": message, "documentation_url": DOC, "status": str(status)}


def rsa_key(path):
    def told(what):
        return subprocess.run(["openssl", "rsa", "-pubin", "-in", path, "-noout", what], check=True, capture_output=True, text=True).stdout
    return int(told("-modulus").strip().split("=")[1], 16), int(re.search(r"Exponent: (\d+)", told("-text")).group(1))


def decoded(part):
    if not re.fullmatch(r"[A-Za-z0-9_-]+", part):  # base64 for addresses, without padding
        raise ValueError("base64url")
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def user_object(login, uid, kind):
    me = "%s/users/%s" % (API, quote(login))
    links = "events followers following gists organizations received_events repos starred subscriptions".split()
    return {**{k + "_url": me + "/" + k for k in links}, "login": login, "id": uid, "node_id": "U_x", "type": kind,
            "site_admin": False, "gravatar_id": "", "avatar_url": API + "/a.png", "url": me,
            "html_url": "https://github.com/" + quote(login)}


class Fake:
    def __init__(self, pubkey, repos, root=None, app_id="123456", client_id="Iv23liFAKEFAKEFAKE", slug="my-app", old_tokens=False):
        self.n, self.e = rsa_key(pubkey)
        self.repos, self.root, self.app_id, self.client_id, self.slug = list(repos), root, app_id, client_id, slug
        self.old_tokens = old_tokens
        self.lock = threading.RLock()
        self.tokens, self.log, self.faults = {}, [], []
        self.scope, self.granted = None, dict(GRANTED)
        self.ttl, self.skew, self.suspend = 3600, 0, False
        self.server = None
        self.query = {}  # of the request that is answered

    # ---- its life ----

    def start(self, host="127.0.0.1", port=0, cert=None, key=None):
        fake = self

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, request, client_address):
                pass

        self.server = Server((host, port), type("H", (Handler,), {"fake": fake}))
        if cert:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(cert, key)
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, args=(0.1,), daemon=True).start()
        return self

    @property
    def port(self):
        return self.server.server_address[1]

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def now(self):
        return time.time() + self.skew

    def requests(self, method="", path=""):
        with self.lock:
            return [r for r in self.log if r["method"].startswith(method) and re.search(path, r["path"])]

    def alive(self):
        """Tokens that were made and would still be taken."""
        with self.lock:
            return [t for t, is_ in self.tokens.items() if not is_["revoked"] and is_["exp"] > self.now()]

    def personal(self, token, repos):
        with self.lock:
            self.tokens[token] = {"repos": repos, "permissions": {"contents": "write"}, "exp": self.now() + 10 ** 8, "revoked": False}

    # ---- who asks ----

    def check_jwt(self, auth):
        m = re.fullmatch(r"(?i:bearer) (.+)", auth or "")
        if not m:
            raise Http(401, "Requires authentication")
        size = (self.n.bit_length() + 7) // 8
        try:
            h, p, s = m.group(1).split(".")
            head, claims, signature = json.loads(decoded(h)), json.loads(decoded(p)), decoded(s)
            want = b"\0\1" + b"\xff" * (size - 54) + b"\0" + SHA256 + hashlib.sha256((h + "." + p).encode()).digest()
            assert head.get("alg") == "RS256" and len(signature) == size
            assert pow(int.from_bytes(signature, "big"), self.e, self.n).to_bytes(size, "big") == want
        except Exception:
            raise Http(401, "A JSON web token could not be decoded")
        self.check_claims(claims, self.now())

    def check_claims(self, claims, now):
        if str(claims.get("iss")) not in (self.app_id, self.client_id):
            raise Http(404, "Integration not found")
        if not number(claims.get("exp")) or claims["exp"] <= now:
            raise Http(401, "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the "
                            "assertion expires")
        if claims["exp"] > now + 600:
            raise Http(401, "'Expiration time' claim ('exp') is too far in the future")
        if not number(claims.get("iat")) or claims["iat"] > now:
            raise Http(401, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")

    def live(self, token):
        t = self.tokens.get(token)
        return t if t and not t["revoked"] and t["exp"] > self.now() else None

    def bearer(self, auth):
        m = re.fullmatch(r"(?i:bearer|token) (\S+)", auth or "")
        t = self.live(m.group(1)) if m else None
        if not t:
            raise Http(401, "Bad credentials")
        return t

    # ---- what it has ----

    def find(self, full):
        return next((r for r in self.repos if r.lower() == full.lower()), None)

    def repo_object(self, full):
        owner, name = full.split("/")
        links = ("archive assignees blobs branches clone collaborators comments commits compare contents contributors deployments "
                 "downloads events forks git git_commits git_refs git_tags hooks html issue_comment issue_events issues keys labels "
                 "languages merges milestones notifications pulls releases ssh stargazers statuses subscribers subscription svn "
                 "tags teams trees").split()
        r = {k + "_url": "%s/repos/%s/%s" % (API, full, k) for k in links}
        r.update({k: False for k in "archived disabled fork has_discussions has_downloads has_issues has_pages has_projects has_wiki".split()})
        r.update({k: 0 for k in "forks forks_count network_count open_issues open_issues_count size stargazers_count "
                  "subscribers_count watchers watchers_count".split()})
        r.update({k: None for k in "description homepage language license mirror_url".split()})
        return {**r, "id": 1000 + (self.repos + [full]).index(full), "node_id": "R_x", "name": name, "full_name": full, "private": True,
                "default_branch": "main", "created_at": T0, "updated_at": T0, "pushed_at": T0,
                "url": "%s/repos/%s" % (API, full), "owner": user_object(owner, 7, "Organization")}

    def app_object(self):
        return {"id": int(self.app_id), "client_id": self.client_id, "slug": self.slug, "name": self.slug, "node_id": "A_x",
                "owner": user_object("acme", 7, "Organization"), "permissions": self.granted, "events": [], "description": None,
                "external_url": API, "html_url": "https://github.com/apps/" + self.slug, "created_at": T0, "updated_at": T0}

    def installation_object(self, full):
        owner = full.split("/")[0]
        return {"id": INSTALLATION, "account": user_object(owner, 7, "Organization"), "single_file_name": None,
                "access_tokens_url": "%s/app/installations/%d/access_tokens" % (API, INSTALLATION), "suspended_by": None,
                "repositories_url": API + "/installation/repositories", "created_at": T0, "updated_at": T0,
                "html_url": "https://github.com/organizations/acme/settings/installations/%d" % INSTALLATION,
                "app_id": int(self.app_id), "app_slug": self.slug, "target_type": "Organization", "target_id": 7,
                "repository_selection": "selected", "permissions": self.granted, "events": [],
                "suspended_at": T0 if self.suspend else None}

    # ---- tokens ----

    def selected(self, body):
        names, ids = body.get("repositories") or [], body.get("repository_ids") or []
        chosen = [r for r in self.repos if r.split("/")[1] in names or self.repo_object(r)["id"] in ids]
        if len(chosen) != len(set(map(str, names + ids))) or not chosen:
            raise Http(422, "There is at least one repository that does not exist or is not accessible to the parent installation.")
        return chosen

    def permitted(self, wanted):
        for name, level in wanted.items():
            if RANK.get(level, 9) > RANK.get(self.granted.get(name), 0):
                raise Http(422, "The permissions requested are not granted to this installation.")
        return {**wanted, "metadata": "read"}

    def mint(self, body):
        if self.suspend:
            raise Http(403, "This installation has been suspended")
        named = "repositories" in body or "repository_ids" in body
        repos = self.selected(body) if named else list(self.repos)
        permissions = self.permitted(body["permissions"]) if body.get("permissions") is not None else dict(self.granted)
        token = "ghs_" + secrets.token_hex(18)
        if not self.old_tokens:  # since 2026
            token = "ghs_%s_%s.%s.%s" % (self.app_id, secrets.token_urlsafe(40), secrets.token_urlsafe(150), secrets.token_urlsafe(190))
        expires = self.now() + self.ttl
        self.tokens[token] = {"repos": repos, "permissions": permissions, "exp": expires, "revoked": False}
        answer = {"token": token, "expires_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(expires)),
                  "permissions": permissions, "repository_selection": "selected"}
        if named:
            answer["repositories"] = [self.repo_object(r) for r in repos]
        for name, value in (self.scope or {}).items():
            answer[name] = value
        return 201, {k: v for k, v in answer.items() if v is not None}

    # ---- the API ----

    def api(self, method, path, auth, raw):
        path = unquote(path)
        if (method, path) == ("GET", "/app"):
            self.check_jwt(auth)
            return 200, self.app_object()
        if (method, path) == ("GET", "/users/%s[bot]" % self.slug):
            none = dict.fromkeys("bio blog company email hireable location name".split())
            return 200, {**user_object(self.slug + "[bot]", BOT_ID, "Bot"), **none, "followers": 0, "following": 0,
                         "public_gists": 0, "public_repos": 0, "created_at": T0, "updated_at": T0}
        if (method, path) == ("DELETE", "/installation/token"):
            self.bearer(auth)["revoked"] = True
            return 204, None
        for pattern, verb, does in self.places():
            m = re.fullmatch(pattern, path)
            if m and method == verb:
                return does(m, auth, raw)
        raise Http(404, "Not Found")

    def places(self):
        """(pattern, method, function of match, Authorization and body): further ones are added here."""
        return [(r"/repos/([\w.-]+/[\w.-]+)/installation", "GET", self.get_installation),
                (r"/app/installations/(\d+)/access_tokens", "POST", self.post_token),
                (r"/repos/([\w.-]+/[\w.-]+)", "GET", self.get_repo)]

    def get_installation(self, m, auth, _):
        self.check_jwt(auth)
        full = self.find(m.group(1))
        if not full:
            raise Http(404, "Not Found")
        return 200, self.installation_object(full)

    def post_token(self, m, auth, raw):
        self.check_jwt(auth)
        if int(m.group(1)) != INSTALLATION:
            raise Http(404, "Not Found")
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            raise Http(400, "Problems parsing JSON")
        return self.mint(body)

    def get_repo(self, m, auth, _):
        t = self.bearer(auth)
        full = self.find(m.group(1))
        if not full or full not in t["repos"]:
            raise Http(404, "Not Found")
        return 200, self.repo_object(full)


class Handler(BaseHTTPRequestHandler):
    fake = None
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "fake-github", ""
    timeout = 120

    def log_message(self, *args):
        pass

    def date_time_string(self, timestamp=None):
        return super().date_time_string(self.fake.now() if timestamp is None else timestamp)

    def send(self, status, data, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, str(value))
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def reply(self, status, value=None, headers=None):
        data = b"" if value is None else json.dumps(value).encode()
        self.send(status, data, {**({} if value is None else {"Content-Type": "application/json; charset=utf-8"}), **(headers or {})})

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        out = b""
        while True:
            n = int(self.rfile.readline().split(b";")[0], 16)
            out += self.rfile.read(n)
            self.rfile.readline()
            if n == 0:
                return out

    def drop(self, how):
        """reset: a TCP reset; anything else: closed, without an answer."""
        self.close_connection = True
        if how == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        try:
            os.close(self.connection.detach())
        except OSError:
            pass

    def fault(self, path):
        with self.fake.lock:
            for f in self.fake.faults:
                if f.get("times", 1) > 0 and f.get("method", self.command) == self.command and re.search(f.get("path", ""), path):
                    f["times"] = f.get("times", 1) - 1
                    return f
        return {}

    def handle_all(self):
        raw, path = self.body(), urlsplit(self.path).path
        fake = self.fake
        if path == "/_ctl":
            return self.control(raw)
        with fake.lock:
            fake.log.append({"method": self.command, "path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}, "at": time.time(),
                             "body": raw.decode("utf-8", "replace") if len(raw) < 65536 else None})
        fault = self.fault(path)
        time.sleep(fault.get("delay", 0))
        if fault.get("drop"):
            return self.drop(fault["drop"])
        if "raw" in fault or "size" in fault:
            return self.send(fault.get("status", 200), fault.get("raw", "").encode() or b" " * fault["size"], fault.get("headers", {}))
        if fault.get("status"):
            return self.reply(fault["status"], fault.get("body", {"message": "injected"}), fault.get("headers"))
        if re.match(r"/[\w.-]+/[\w.-]+\.git/", path):
            return self.git(path, raw)
        self.answer(path[7:] if path.startswith("/api/v3/") else path, raw, fault)

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = handle_all

    def answer(self, path, raw, fault):
        if not self.headers.get("User-Agent"):
            return self.reply(403, {"message": "Request forbidden by administrative rules. Please make sure your request has a "
                                               "User-Agent header"})
        try:
            with self.fake.lock:
                self.fake.query = dict(parse_qsl(urlsplit(self.path).query))
                status, value = self.fake.api(self.command, path, self.headers.get("Authorization"), raw)
        except Http as e:
            status, value = e.status, e.body
        if fault.get("lose"):  # it is done, and nobody hears of it
            return self.drop(fault["lose"])
        self.reply(status, value, {"X-GitHub-Request-Id": secrets.token_hex(8), "X-RateLimit-Remaining": 4999})

    def control(self, raw):
        fake = self.fake
        with fake.lock:
            asked = json.loads(raw or b"{}")
            for name in ("faults", "scope", "skew", "ttl", "suspend"):
                if name in asked:
                    setattr(fake, name, asked[name])
            if asked.get("clear"):
                fake.log.clear()
            self.reply(200, {"log": fake.log, "tokens": fake.tokens})

    # ---- git ----

    def plain(self, status, text, headers=None):
        self.send(status, text.encode(), {"Content-Type": "text/plain; charset=UTF-8", **(headers or {})})

    def git_refused(self, full, push):
        """(status, text, headers), or None; as GitHub says it."""
        m = re.fullmatch(r"(?i:basic) (\S+)", self.headers.get("Authorization", ""))
        user, _, token = base64.b64decode(m.group(1)).decode().partition(":") if m else (None, None, None)
        t = self.fake.live(token) if user == "x-access-token" else None
        if not t:
            return 401, "" if not m else "Invalid username or token. Password authentication is not supported for Git operations.\n", \
                {"WWW-Authenticate": 'Basic realm="GitHub"'}
        if not full or full not in t["repos"] or "contents" not in t["permissions"]:
            return 404, "Repository not found.\n", {}
        if push and t["permissions"]["contents"] != "write":
            return 403, "Write access to repository not granted.\n", {}
        return None

    def git(self, path, raw):
        full = self.fake.find(re.match(r"/([\w.-]+/[\w.-]+)\.git/", path).group(1))
        refused = self.git_refused(full, "service=git-receive-pack" in self.path or path.endswith("/git-receive-pack"))
        if refused:
            return self.plain(*refused)
        env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": os.path.abspath(self.fake.root), "GIT_HTTP_EXPORT_ALL": "1",
               "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_COUNT": "2",
               "GIT_CONFIG_KEY_0": "http.receivepack", "GIT_CONFIG_VALUE_0": "true",
               "GIT_CONFIG_KEY_1": "safe.directory", "GIT_CONFIG_VALUE_1": "*",
               "REQUEST_METHOD": self.command, "PATH_INFO": "/" + full + path[path.index(".git/"):],
               "QUERY_STRING": urlsplit(self.path).query, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
               "CONTENT_LENGTH": str(len(raw)), "REMOTE_USER": "x-access-token", "REMOTE_ADDR": "127.0.0.1",
               "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
               "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        out = subprocess.run(["git", "http-backend"], input=raw, stdout=subprocess.PIPE, env=env).stdout
        head, _, data = out.partition(b"\r\n\r\n")
        headers = dict(h.split(": ", 1) for h in head.decode().split("\r\n"))
        self.send(int(headers.pop("Status", "200").split()[0]), data, headers)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--host", default="127.0.0.1")
    ap.add_argument("--port", type=int, default=0)
    ap.add_argument("--root")
    ap.add_argument("--app-id", default="123456")
    ap.add_argument("--slug", default="my-app")
    ap.add_argument("--pubkey", required=True)
    ap.add_argument("--repo", action="append", default=[])
    ap.add_argument("--cert")
    ap.add_argument("--key")
    ap.add_argument("--old-tokens", action="store_true")
    a = ap.parse_args()
    fake = Fake(a.pubkey, a.repo, a.root, a.app_id, slug=a.slug, old_tokens=a.old_tokens).start(a.host, a.port, a.cert, a.key)
    print("listening", a.host, fake.port, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""GitHub's and others' hosts for a test that is alone in its network, each at an address of its own and at the port that is
theirs, by names that a name server and the test's /etc/hosts have; and what a test of tokens looks for."""
import base64, contextlib, json, os, re, socket, subprocess, sys, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "isolation")]
sys.path += [os.path.join(HERE, "..", "gateway"), os.path.join(HERE, "..", "github")]
from fake_github import Fake  # noqa: E402
from gatewayworld import NameServer  # noqa: E402
from world import ok, put  # noqa: E402

GITHUB, MESSAGES, ELSEWHERE = "github.example", "api.claude.example", "elsewhere.example"
ADDRESSES = {GITHUB: "20.0.0.8", MESSAGES: "20.0.0.7", ELSEWHERE: "20.0.0.9"}
NAMESERVER, BOT_APP = "20.0.0.53", "123456"
REPO, OTHER = "acme/web", "acme/other"


def openssl(where, *args):
    subprocess.run(["openssl", *args], cwd=where, check=True, capture_output=True)


def authority(where, names):
    """ca.pem, and srv.pem with srv.key that it signed for these names."""
    os.makedirs(where)
    openssl(where, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=authority of the tests", "-addext", "basicConstraints=critical,CA:TRUE",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign", "-keyout", "ca.key", "-out", "ca.pem")
    openssl(where, "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test", "-keyout", "srv.key", "-out", "srv.csr")
    put(where + "/srv.ext", "subjectAltName=%s\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n" % ",".join(names))
    openssl(where, "x509", "-req", "-in", "srv.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "srv.ext", "-out", "srv.pem")


def app_key(where, name):
    openssl(where, "genrsa", "-traditional", "-out", name + ".pem", "2048")
    openssl(where, "rsa", "-in", name + ".pem", "-pubout", "-out", name + ".pub.pem")
    os.chmod(where + "/" + name + ".pem", 0o600)


class GitHub:
    """Added to a world with a checkout (Works, Boxes): keys, a certificate, repositories, and the connection to them."""

    def prepare(self, names):
        self.keys, self.tls, self.repos = self.root + "/keys", self.root + "/tls", self.root + "/repos"
        authority(self.tls, names)
        os.makedirs(self.keys)
        for name in ("app", "bot"):  # of two Apps: the fake knows the bot's alone
            app_key(self.keys, name)
        self.ca = put(self.home + "/ca/ca.pem", open(self.tls + "/ca.pem").read(), 0o644)
        self.env["SSL_CERT_FILE"] = self.ca

    def repository(self, full):
        """A bare one with what the checkout has."""
        path = "%s/%s.git" % (self.repos, full)
        self.git("clone", "-q", "--bare", self.checkout, path)
        return path

    def fake(self, host, port, kind=Fake, repos=(REPO, OTHER)):
        for full in repos:
            if not os.path.exists("%s/%s.git" % (self.repos, full)):
                self.repository(full)
        fake = kind(self.keys + "/bot.pub.pem", list(repos), root=self.repos, app_id=BOT_APP)
        fake.granted["checks"] = "read"
        return fake.start(host, port, self.tls + "/srv.pem", self.tls + "/srv.key")

    def origin(self, base):
        self.git("remote", "add", "origin", "%s/%s.git" % (base, REPO))

    def connection(self, base):
        return {"id": "github", "type": "github", "config": {"auth": "app", "app_id": "111111", "base_url": base, "git": "bot", "bot": {"app_id": BOT_APP}},
                "secret_refs": {"app_private_key": "file:%s/app.pem" % self.keys, "bot_private_key": "file:%s/bot.pem" % self.keys}}

    def connect(self, base, *bindings, routes=()):
        """The whole config: these bindings, of the repository REPO."""
        put(self.config + "/config.json", json.dumps({"version": 1, "settings": {"extensions": {"docker": {"pass_env": ["DOCKER_HOST"]}}}, "connections": [self.connection(base)], "scopes": [
            {"id": "web", "name": REPO, "secret_refs": {"token": "env:MY_TOKEN"}, "routes": list(routes), "bindings": list(bindings),
             "authorization": {"connections": ["github"], "operations": ["@github.author", "@github.workspace", "run.policy"], "read_scopes": []},
             "extensions": [{"name": "web", "type": "github", "connection": "github", "secret_names": [],
                             "config": {"namespace": "github/%s/%s" % (base[8:].replace(":", "."), REPO), "scope": "web", "repo": REPO}}]}]}))

    def bare(self, *args, full=REPO):
        """Of a repository: a line, or nothing."""
        p = subprocess.run(["git", "--git-dir", "%s/%s.git" % (self.repos, full), *args], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "HOME": self.home})
        return p.stdout.strip() if p.returncode == 0 else ""


class Hosts(GitHub):
    """Each at its own address, of a network that the test is alone in."""

    def hosts(self, kind=Fake):
        self.base = "https://" + GITHUB
        self.prepare(["DNS:" + name for name in ADDRESSES])
        self.origin(self.base)
        self.names = NameServer({name: [address] for name, address in ADDRESSES.items()}, address=NAMESERVER)
        self.github, self.elsewhere = self.fake(ADDRESSES[GITHUB], 443, kind), self.fake(ADDRESSES[ELSEWHERE], 443)
        self.fakes = {GITHUB: self.github, ELSEWHERE: self.elsewhere}
        self.plain = {name: Deaf(ADDRESSES[name]) for name in self.fakes}


class Deaf:
    """Listens where something without TLS would be, and keeps what it is told."""

    def __init__(self, address, port=80):
        self.heard = b""
        self.socket = socket.create_server((address, port), backlog=64)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                one, _ = self.socket.accept()
            except OSError:
                return
            with one, contextlib.suppress(OSError):
                one.settimeout(5)
                self.heard += one.recv(65536)
                one.sendall(b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"GitHub\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def given(fake):
    """What the server handed out: {token: facts}."""
    with fake.lock:
        return dict(fake.tokens)


def shown(request):
    """The credential of a request as the client knows it, or "" (an App's own proof is no token)."""
    kind, _, text = request["headers"].get("authorization", "").partition(" ")
    if kind.lower() == "basic":
        return base64.b64decode(text).decode(errors="replace").partition(":")[2]
    return text


def carried(fakes, token):
    """[(host, method and path)…] of each request that had this token anywhere: header, address or body."""
    found = []
    for name, fake in fakes.items():
        for r in fake.requests():
            if shown(r) == token or token in r["path"] or token in (r["body"] or "") or any(token in v for v in r["headers"].values()):
                found.append((name, r["method"] + " " + r["path"]))
    return found


class Watch:
    """Arguments and environments of all that this user runs, as seen again and again while a token is made and used."""

    def __init__(self):
        self.texts, self.over = set(), False
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while not self.over:
            for pid in filter(str.isdigit, os.listdir("/proc")):
                for name in ("cmdline", "environ"):
                    with contextlib.suppress(OSError), open("/proc/%s/%s" % (pid, name), "rb") as f:
                        self.texts.add(f.read())
            time.sleep(0.1)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.thread.join()

    def saw(self, text):
        return any(text.encode() in t for t in self.texts)


def forms(value):
    """How a value may be written down: as it is, and as HTTP and our channels have it."""
    out = [value.encode()]
    for text in (value, "x-access-token:" + value):
        for shift in range(3):  # of base64 whatever stands before it
            out.append(base64.b64encode(b"x" * shift + text.encode())[4:-4])
    return out


def pattern(values):
    return re.compile(b"|".join(re.escape(f) for v in ([values] if isinstance(values, str) else values) for f in forms(v)))


def files_with(values, *places, but=()):
    """Files below these that have it, or one of them, in any form."""
    wanted, found = pattern(values), []
    for place in places:
        for folder, _, names in os.walk(place):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path) and not os.path.islink(path) and path not in but:
                    with contextlib.suppress(OSError), open(path, "rb") as f:
                        if wanted.search(f.read()):
                            found.append(path)
    return found


def in_no_record(w, values, runs, name):
    """What commands and the engine show of these runs has none of the values; and this search finds what is there."""
    texts = []
    for run in runs:
        texts += [w.oc(*args, cwd=w.home).stdout for args in (("runs", "get", run), ("runs", "get", run, "--json"), ("runs", "get", "--receipt", run), ("runs", "logs", run))]
        ok(run in texts[-3], "%s: control: the record of %s is read" % (name, run), texts[-3][:300])
    texts.append(w.oc("work", "list", "--json", cwd=w.home).stdout)
    wanted = pattern(values)
    ok(values and not any(wanted.search(t.encode()) for t in texts), "%s: none of %d tokens is in a record, an output or a receipt" % (name, len(values)))
    ok(wanted.search("".join(texts + [values[0]]).encode()), name + ": control: one would be found")


def told_of_tokens(w, run):
    """How many revoked ones its text for people has."""
    text = w.oc("runs", "get", run, cwd=w.home).stdout.partition("tokens made for it\n")[2].split("\n\n")[0]
    return len(re.findall(r"^  revoked +\d{4}-", text, re.M)) if REPO in text else 0


def every_token_revoked(fake, name):
    made = given(fake)
    ok(made and all(t["revoked"] for t in made.values()), "%s: each of %d tokens that the server handed out is revoked, by its own list" % (name, len(made)),
       [(t[:12], f["revoked"], f["repos"], f["permissions"]) for t, f in made.items()])

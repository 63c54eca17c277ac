# SPDX-License-Identifier: Apache-2.0
"""Real clients through the gateway, as in a container (all spellings of the proxy's variables): what is allowed works, what is
denied says so in our words wherever that client shows any.  A client that is not installed is skipped."""
import http.server, os, shutil, ssl, subprocess, tempfile, threading

from gatewayworld import LISTEN, PUBLIC, Gateway, NameServer, enter, finish, ok, skip



class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass


def certificate(where):
    """A CA and a server's certificate, as nobody else's is trusted."""
    run = lambda *words: subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=where)  # noqa: E731
    run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test ca",
        "-addext", "basicConstraints=critical,CA:TRUE")
    run("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "srv.key", "-out", "srv.csr", "-subj", "/CN=up.example")
    with open(where + "/ext", "w") as file:
        file.write("subjectAltName=DNS:up.example\n")
    run("x509", "-req", "-in", "srv.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "srv.pem", "-days", "2", "-extfile", "ext")


def serve(where, port, tls):
    server = http.server.ThreadingHTTPServer((PUBLIC, port), lambda *a: Handler(*a, directory=where + "/www"))
    server.daemon_threads = True
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(where + "/srv.pem", where + "/srv.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def fill(where):
    """A page, a repository that dumb http can serve, a package for pip and one for npm."""
    www = where + "/www"
    os.makedirs(www + "/simple/thing")
    with open(www + "/page", "w") as file:
        file.write("the page\n")
    env = {**os.environ, "HOME": where, "GIT_CONFIG_NOSYSTEM": "1"}
    git = lambda *words: subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.test", *words], check=True, capture_output=True, env=env, cwd=where)  # noqa: E731
    git("init", "-q", "-b", "main", "src")
    git("-C", "src", "commit", "-q", "--allow-empty", "-m", "one")
    git("clone", "-q", "--bare", "src", "www/repo.git")
    git("-C", "www/repo.git", "update-server-info")
    with open(www + "/simple/thing/index.html", "w") as file:
        file.write('<a href="/thing-1.0.tar.gz">thing-1.0.tar.gz</a>\n')
    with open(www + "/thing", "w") as file:
        file.write('{"name":"thing","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"thing","version":"1.0.0","dist":{"tarball":"https://up.example/x.tgz"}}}}')


def environment(where):
    proxy = "http://%s:%d" % LISTEN
    env = {"PATH": os.environ["PATH"], "HOME": where, "LANG": "C.UTF-8", "NODE_USE_ENV_PROXY": "1", "no_proxy": "localhost,127.0.0.1,::1",
           "NO_PROXY": "localhost,127.0.0.1,::1", "SSL_CERT_FILE": where + "/ca.pem", "CURL_CA_BUNDLE": where + "/ca.pem", "GIT_SSL_CAINFO": where + "/ca.pem",
           "NODE_EXTRA_CA_CERTS": where + "/ca.pem", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        env[name] = proxy
    return env


BLOCKED = "blocked by network.allow: evil.example:%d"
ERROR = "open-conduit: evil.example:%d is not in network.allow"
PYTHON = "import sys,urllib.request;print(urllib.request.urlopen(sys.argv[1]).read().decode())"
FETCH = "fetch(process.argv[1]).then(r=>r.text().then(t=>{console.log(t);process.exit(r.ok?0:1)})).catch(e=>{console.error(e,e.cause);process.exit(1)})"
HTTPS_GET = "require('https').get(process.argv[1],r=>r.on('data',d=>process.stdout.write(d))).on('error',e=>{console.error(e);process.exit(1)})"

# name, program, words after it, what an allowed one prints, what a denied one shows by TLS and without (None: no words of
# ours reach it).  %s is the URL's beginning.
CLIENTS = [
    ("curl", "curl", ["-sSf", "%s/page"], "the page", "403", "403"),
    ("curl, body", "curl", ["-sS", "%s/page"], "the page", "403", ERROR),
    ("wget", "wget", ["-qO-", "--ca-certificate=%(home)s/ca.pem", "%s/page"], "the page", None, None),
    ("wget, loud", "wget", ["-O-", "--ca-certificate=%(home)s/ca.pem", "%s/page"], "the page", BLOCKED, BLOCKED),
    ("git", "git", ["ls-remote", "%s/repo.git"], "refs/heads/main", "403", ERROR),
    ("Python urllib", "python3", ["-c", PYTHON, "%s/page"], "the page", BLOCKED, BLOCKED),
    ("pip", "pip", ["download", "--no-cache-dir", "--disable-pip-version-check", "--retries", "0", "--cert", "%(home)s/ca.pem", "-v", "-d", "%(home)s", "--no-deps",
                    "--index-url", "%s/simple", "--trusted-host", "up.example", "--trusted-host", "evil.example", "thing==2"], "from versions: 1.0", None, None),
    ("npm", "npm", ["view", "--registry=%s/", "--fetch-retries=0", "thing", "version"], "1.0.0", ERROR, ERROR),
    ("node fetch", "node", ["-e", FETCH, "%s/page"], "the page", "403", "403"),
    ("node https", "node", ["-e", HTTPS_GET, "%s/page"], "the page", BLOCKED, None),
]


def run(program, words, base, env):
    words = [w.replace("%s", base).replace("%(home)s", env["HOME"]) if w not in (PYTHON, FETCH, HTTPS_GET) else w for w in words]
    return subprocess.run([program, *words], capture_output=True, text=True, env=env, cwd=env["HOME"], timeout=120, stdin=subprocess.DEVNULL)


def one(client, env, gateway):
    name, program, words, good, tls, plain = client
    for scheme, port, shows in (("https", 443, tls), ("http", 80, plain)):
        if scheme == "http" and program == "node" and "https" in name:
            continue
        p = run(program, words, "%s://up.example" % scheme, env)
        said = p.stdout + p.stderr
        event = gateway.event("allow", 5)
        ok(good in said and event and event[2:4] == ["up.example", str(port)], "%s, %s: allowed" % (name, scheme), (said[-900:], event))
        gateway.event("end", 10)
        p = run(program, words, "%s://evil.example" % scheme, env)
        said = p.stdout + p.stderr
        event = gateway.event("deny", 5)
        ok((p.returncode != 0 or name == "curl, body") and good not in said and event and event[2:] == ["evil.example", str(port), "not_listed"],
           "%s, %s: denied and recorded" % (name, scheme), (p.returncode, said[-900:], event))
        if shows:
            words_of_it = shows % port if "%d" in shows else shows
            ok(words_of_it in said, "%s, %s: it shows %r" % (name, scheme, words_of_it), said[-1500:])
        gateway.end_events()


def main():
    enter()
    where = tempfile.mkdtemp(prefix="g")
    certificate(where)
    fill(where)
    NameServer({"up.example": [PUBLIC]})
    serve(where, 80, False)
    serve(where, 443, True)
    gateway = Gateway(allow=["up.example"])

    def end_events():
        while gateway.event("end", 0.3):
            pass
    gateway.end_events = end_events
    env = environment(where)
    for client in CLIENTS:
        path = shutil.which(client[1])
        if not path:
            skip(client[0], "it is not installed")
            continue
        if client[1] == "node":
            version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout.strip()
            if int(version.lstrip("v").split(".")[0]) < 22:
                skip(client[0], "%s ignores the proxy's variables: it needs Node 22" % version)
                continue
        one(client, env, gateway)
    ok(gateway.end() == 0, "the gateway ends", gateway.stderr)
    shutil.rmtree(where, ignore_errors=True)
    finish()


main()

# SPDX-License-Identifier: Apache-2.0
"""What the tests of open-conduit-github share: a test's CA and an App's keys, the program and its question, servers that stand
in front of the fake or in its place."""
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import fake_github  # noqa: E402

BUILD = os.environ["OC_BUILD"]
PROGRAM = os.path.join(BUILD, "libexec", "open-conduit-github")
REPO = "acme/web"


def openssl(where, *args):
    subprocess.run(("openssl",) + args, cwd=where, check=True, capture_output=True)


class World:
    """A directory with tls/ca.pem, srv.pem and srv.key for 127.0.0.1 and localhost, app.pem with app.pub.pem, other.pem."""

    def __init__(self, names=("DNS:localhost", "IP:127.0.0.1")):
        self.dir = tempfile.mkdtemp(prefix="gh.", dir=os.environ.get("OC_TEST_TMP") or os.environ["HOME"])
        self.started = []
        os.mkdir(self.path("tls"))
        self.certificates(names)
        for name in ("app", "other"):
            openssl(self.dir, "genrsa", "-traditional", "-out", name + ".pem", "2048")
        openssl(self.dir, "rsa", "-in", "app.pem", "-pubout", "-out", "app.pub.pem")
        with open(self.path("app.pem")) as f:
            self.key = f.read()
        with open(self.path("other.pem")) as f:
            self.other_key = f.read()

    def certificates(self, names):
        tls = self.path("tls")
        openssl(tls, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", "-subj", "/CN=Test CA (tests only)", "-addext",
                "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign", "-keyout", "ca.key", "-out", "ca.pem")
        openssl(tls, "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test", "-keyout", "srv.key", "-out", "srv.csr")
        with open(os.path.join(tls, "srv.ext"), "w") as f:
            f.write("subjectAltName=%s\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n" % ",".join(names))
        openssl(tls, "x509", "-req", "-in", "srv.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "3650", "-extfile",
                "srv.ext", "-out", "srv.pem")

    def path(self, *names):
        return os.path.join(self.dir, *names)

    @property
    def ca(self):
        return self.path("tls", "ca.pem")

    @property
    def server_files(self):
        return self.path("tls", "srv.pem"), self.path("tls", "srv.key")

    def fake(self, tls=True, kind=fake_github.Fake, port=0, **more):
        fake = kind(self.path("app.pub.pem"), [REPO, "acme/other"], **more)
        fake.start(port=port, cert=self.server_files[0] if tls else None, key=self.server_files[1])
        self.started.append(fake)
        return fake

    def api(self, fake):
        return "https://127.0.0.1:%d/api/v3" % fake.port

    def auth(self, app="123456", key=None):
        return {"app": app, "key": key or self.key}

    def environment(self, **more):
        env = {"PATH": "/usr/bin:/bin", "HOME": self.dir, "XDG_STATE_HOME": self.path("state"), "SSL_CERT_FILE": self.ca,
               "OPEN_CONDUIT_LIBEXEC": os.path.join(BUILD, "libexec")}
        env.update(more)
        return {k: v for k, v in env.items() if v is not None}

    def begin(self, question, **env):
        """The program with its whole question; its answer by finish()."""
        p = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment(**env))
        p.stdin.write(question if isinstance(question, bytes) else json.dumps(question).encode())
        p.stdin.close()
        p.stdin = None
        return p

    def ask(self, fake, op, env=None, **more):
        """{"status": exit status, "took": seconds, "answer": JSON, "stderr"} of one question."""
        question = {"op": op, "api": self.api(fake) if fake else None, "repository": REPO, "auth": self.auth(), **more}
        return finish(self.begin(question, **(env or {})))

    def close(self):
        for server in self.started:
            server.stop()
        shutil.rmtree(self.dir, ignore_errors=True)


def finish(p, timeout=120):
    start = time.monotonic()
    try:
        out, err = p.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
    try:
        answer = json.loads(out)
    except ValueError:
        answer = {}
    return {"status": p.returncode, "took": time.monotonic() - start, "answer": answer, "stderr": err.decode("utf-8", "replace")}


def reason(told):
    return told["answer"].get("error", {}).get("reason")


class Listener:
    """Counts who connects, and says nothing, or copies to another port; with TLS if it is given files."""

    def __init__(self, to=None, files=None):
        self.to, self.connections, self.heard = to, 0, b""
        self.tls = None
        if files:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(*files)
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                one, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.one, args=(one,), daemon=True).start()

    def one(self, one):
        try:
            one = self.tls.wrap_socket(one, server_side=True) if self.tls else one
            if not self.to:
                one.settimeout(5)
                self.heard += one.recv(65536)
                return one.close()
            other = socket.create_connection(("127.0.0.1", self.to))
        except OSError:
            return one.close()
        threading.Thread(target=copy, args=(other, one), daemon=True).start()
        copy(one, other)

    def stop(self):
        self.socket.close()


def copy(a, b):
    try:
        while True:
            data = a.recv(65536)
            if not data:
                break
            b.sendall(data)
    except OSError:
        pass
    for s in (a, b):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Prism:
    """Prism in front of a fake that speaks plainly: what breaks GitHub's description is an error, either way; of a fake that answers
    with less than GitHub does (`brief`) only what is asked is looked at."""

    def __init__(self, world, fake, modules, *further, brief=False):
        self.world, self.brief = world, brief
        slice_ = world.path("slice.json")
        with open(slice_, "w") as f:
            subprocess.run(["node", os.path.join(HERE, "slice_openapi.mjs")] + list(further), cwd=os.path.dirname(modules), stdout=f, check=True)
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = s.getsockname()[1]
        self.log = open(world.path("prism.log"), "w+")
        self.process = subprocess.Popen([os.path.join(modules, ".bin", "prism"), "proxy", slice_, "http://127.0.0.1:%d" % fake.port, "-h", "127.0.0.1",
                                         "-p", str(port)] + ([] if brief else ["--errors"]), stdout=self.log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.plain = port
        self.wait(port)
        self.front = Listener(port, world.server_files)
        self.port = self.front.port

    def wait(self, port):
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            try:
                return socket.create_connection(("127.0.0.1", port)).close()
            except OSError:
                time.sleep(0.2)
        raise RuntimeError("Prism did not begin: " + open(self.world.path("prism.log")).read()[-1000:])

    def violations(self):
        with open(self.world.path("prism.log")) as f:
            found = [line for line in f if "Violation" in line or "VIOLATION" in line]
        return [line for line in found if "Violation: request" in line] if self.brief else found

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()
        self.front.stop()

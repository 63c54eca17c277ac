# SPDX-License-Identifier: Apache-2.0
"""The engine that is too old and the meddler do what tests will count on, the second in front of a real engine."""
import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../lib"))
from tap import finish, ok  # noqa: E402 # pylint: disable=wrong-import-position

ENGINE = os.environ["OC_DOCKER_HOST"].split("://")[1]
DOCKER, SMALL = os.environ["OC_DOCKER"], os.environ["OC_IMAGE_SMALL"]
CREATE = json.dumps({"Image": SMALL, "Cmd": ["cat"], "Labels": {"a/b": "asked"}, "OpenStdin": True, "StdinOnce": True,
                     "HostConfig": {"ReadonlyRootfs": True, "NetworkMode": "none", "CapDrop": ["ALL"]}})


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("engine", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask(path, method, target, body=None):
    """(status, headers, body) of an answer; status 0 where the connection ended without one."""
    with contextlib.closing(Connection(path)) as connection:
        try:
            connection.request(method, target, body, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            return reply.status, str(reply.headers), reply.read()
        except (ConnectionError, http.client.RemoteDisconnected):
            return 0, "", b""


class StandIn:
    """A program of this folder: its lines up to now are in .lines once it is closed."""

    def __init__(self, name, *args):
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, name)] + list(args), stdout=subprocess.PIPE, text=True)
        self.first, self.lines = self.process.stdout.readline(), []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.lines = self.process.stdout.read().splitlines()
        self.process.wait()


def docker(path, *args, given="", **more):
    return subprocess.run([DOCKER] + list(args), env={"DOCKER_HOST": "unix://" + path, "HOME": "/nonexistent", "PATH": os.environ["PATH"]},
                          input=given, capture_output=True, text=True, timeout=120, check=False, **more)


def old_engine(folder):
    path, log = os.path.join(folder, "old"), os.path.join(folder, "log")
    with StandIn("old_engine.py", path, log) as engine:
        ok(engine.first == "ready\n", "old engine: it listens once it says so", engine.first)
        said = docker(path, "version", "--format", "{{.Server.Version}} {{.Server.APIVersion}} {{.Server.MinAPIVersion}}")
        ok(said.stdout == "27.5.1 1.47 1.24\n", "old engine: the CLI takes it for a 27.5.1", said)
        said = docker(path, "info", "--format", "{{.ServerVersion}}")
        ok(said.stdout == "27.5.1\n", "old engine: the CLI reads its info", said)
        status, head, body = ask(path, "POST", "/v1.47/containers/create", CREATE)
        ok(status == 404 and json.loads(body) == {"message": "page not found"}, "old engine: nothing can be made", body)
        ok("Api-Version: 1.47" in head, "old engine: its answers name its API", head)
        status, _, body = ask(path, "GET", "/v1.51/info")
        ok(status == 400 and b"too new" in body, "old engine: a newer API is refused", body)
        status, _, body = ask(path, "HEAD", "/_ping")
        ok(status == 200 and body == b"", "old engine: it is pinged", body)
    with open(log, encoding="utf-8") as file:
        lines = file.read().splitlines()
    ok("POST /v1.47/containers/create" in lines and lines[-1] == "HEAD /_ping", "old engine: each request is in its log", lines)
    path = os.path.join(folder, "other")
    with StandIn("old_engine.py", path, log, "28.0.0-rc.1", "1.48", "1.44"):
        status, _, body = ask(path, "GET", "/v1.43/version")
        ok(status == 400 and b"too old" in body, "old engine: another version with another minimum", body)
        ok(json.loads(ask(path, "GET", "/version")[2])["Version"] == "28.0.0-rc.1", "old engine: the version that it is told")


def created(path, rules):
    """What the engine says of a container that was created behind the rules: (inspected, the meddler's lines)."""
    with StandIn("meddler.py", path, ENGINE, *rules) as meddler:
        status, _, body = ask(path, "POST", "/v1.48/containers/create", CREATE)
    os.unlink(path)
    if status != 201:
        return {"failed": body.decode()}, meddler.lines
    name = json.loads(body)["Id"]
    inspected = json.loads(ask(ENGINE, "GET", "/containers/%s/json" % name)[2])
    ask(ENGINE, "DELETE", "/containers/%s?v=1&force=1" % name)
    return inspected, meddler.lines


def rules_of_requests(folder):
    path = os.path.join(folder, "request")
    plain, lines = created(path, [])
    ok(plain["HostConfig"]["ReadonlyRootfs"] and lines == ["POST /v1.48/containers/create"],
       "meddler: control: without a rule all goes through as it came", lines)
    same, lines = created(path, ["request POST ^/networks/create$ /HostConfig/ReadonlyRootfs=false"])
    ok(same["HostConfig"] == plain["HostConfig"] and len(lines) == 1, "meddler: control: nor does a rule for other paths change anything", lines)
    rule = "request POST ^/containers/create$ /HostConfig/ReadonlyRootfs=false"
    changed, lines = created(path, [rule])
    expected = dict(plain["HostConfig"], ReadonlyRootfs=False)
    ok(changed["HostConfig"] == expected and lines[1:] == ["changed " + rule], "meddler: one field of a request, and no other", lines)
    changed, lines = created(path, ["request POST create /Labels/a~1b=\"changed\"", "request POST create /HostConfig/CapAdd/0=1",
                                    "request POST create -/OpenStdin"])
    ok("failed" in changed, "meddler: a change that the engine refuses is refused", lines)
    changed, lines = created(path, ["request POST create /Labels/a~1b=\"changed\"", "request POST create /HostConfig/CapDrop/-=\"CHOWN\"",
                                    "request POST create -/OpenStdin", "request POST create /NetworkingConfig/EndpointsConfig/none={}"])
    ok(changed["Config"]["Labels"]["a/b"] == "changed" and changed["HostConfig"]["CapDrop"] == ["ALL", "CHOWN"] and
       not changed["Config"]["OpenStdin"], "meddler: keys with a slash, ends of lists, members taken out or made", changed)


def rules_of_replies(folder):
    path = os.path.join(folder, "reply")
    rule = "reply GET ^/version$ /Version=\"27.0.0\""
    with StandIn("meddler.py", path, ENGINE, rule, "reply GET ^/images/.*/json$ -/Nothing", "reply GET missing /a=1") as meddler:
        real, seen = (json.loads(ask(at, "GET", "/version")[2]) for at in (ENGINE, path))
        ok(seen == dict(real, Version="27.0.0") and real != seen, "meddler: one field of a reply, and no other", seen)
        said = docker(path, "version", "--format", "{{.Server.Version}}")
        ok(said.stdout == "27.0.0\n", "meddler: a client keeps its connection and its pace", said)
        status, _, body = ask(path, "GET", "/images/%s/json" % SMALL)
        ok(status == 0 and body == b"", "meddler: a rule that can't be applied lets nothing through", body)
        status, _, body = ask(path, "GET", "/containers/missing/json")
        ok(status == 404 and b"No such container" in body, "meddler: an error stays as it is", body)
    ok(any(line.startswith("failed KeyError") for line in meddler.lines), "meddler: and says so", meddler.lines)
    wrong = subprocess.run([sys.executable, os.path.join(HERE, "meddler.py"), path + "2", ENGINE, "reply GET /version Version=1"],
                           capture_output=True, text=True, check=False)
    ok(wrong.returncode != 0 and not os.path.exists(path + "2"), "meddler: a rule that is none is refused at once", wrong)


def streams(folder):
    path = os.path.join(folder, "stream")
    text = "".join("line %d\n" % i for i in range(20000))
    with StandIn("meddler.py", path, ENGINE) as meddler:
        said = docker(path, "run", "-i", "--rm", "--network", "none", SMALL, "cat", given=text)
        ok(said.stdout == text and said.returncode == 0, "meddler: an attached container's input and output, to the end of both", said.stderr)
        said = docker(path, "run", "--rm", "--network", "none", SMALL, "sh", "-c", "echo out; echo err >&2; exit 7")
        ok((said.returncode, said.stdout, said.stderr) == (7, "out\n", "err\n"), "meddler: both outputs and the exit status", said)
        name = docker(path, "run", "-d", "--network", "none", SMALL, "sh", "-c", "for i in 1 2 3; do echo $i; done").stdout.strip()
        said = docker(path, "logs", "-f", name)
        ok(said.stdout == "1\n2\n3\n", "meddler: a log that is followed", said)
        docker(path, "rm", "-f", name)
    failed = [line for line in meddler.lines if line.startswith("failed")]
    ok(not failed, "meddler: nothing failed on the way", failed)


def client_leaves(folder):
    """Who waits for ever and then leaves takes the connection to the engine along."""
    path, upstream = os.path.join(folder, "left"), os.path.join(folder, "silent")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(upstream)
        listener.listen(1)
        listener.settimeout(60)
        with StandIn("meddler.py", path, upstream):
            client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            client.connect(path)
            client.sendall(b"POST /containers/x/wait HTTP/1.1\r\nHost: e\r\nContent-Length: 0\r\n\r\n")
            engine, _ = listener.accept()
            engine.settimeout(60)
            first = engine.recv(65536)
            engine.settimeout(0.3)
            try:
                early = engine.recv(1)
            except TimeoutError:
                early = None
            client.close()
            engine.settimeout(60)
            ok(first.startswith(b"POST /containers/x/wait") and early is None and engine.recv(1) == b"",
               "meddler: a client that leaves is gone for the engine as well", first)
            engine.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        old_engine(folder)
        rules_of_requests(folder)
        rules_of_replies(folder)
        streams(folder)
        client_leaves(folder)
    finish()


if __name__ == "__main__":
    main()

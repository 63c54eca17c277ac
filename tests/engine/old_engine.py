#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""old_engine.py SOCKET LOG [VERSION [API [MINIMUM]]]: a Docker Engine that is too old (27.5.1, 1.47, 1.24), as far as a
client sees that asks before it does anything.  It answers _ping, version and info as the real one does; all else is not
there, so nothing can be made.  LOG gets a line "METHOD PATH" for each request before it is answered.  Prints "ready"."""
import http.server
import json
import re
import socketserver
import sys


def version(number, api, minimum):
    details = {"ApiVersion": api, "Arch": "amd64", "BuildTime": "2025-01-22T13:41:31.000000000+00:00",
               "Experimental": "false", "GitCommit": "4c9b3b0", "GoVersion": "go1.22.11", "KernelVersion": "6.1.0",
               "MinAPIVersion": minimum, "Os": "linux"}
    return dict({"Platform": {"Name": "Docker Engine - Community"}, "Version": number,
                 "Components": [{"Name": "Engine", "Version": number, "Details": details},
                                {"Name": "containerd", "Version": "1.7.25", "Details": {"GitCommit": "bcc810d"}},
                                {"Name": "runc", "Version": "1.2.4", "Details": {"GitCommit": "v1.2.4-0-g6c52b3f"}},
                                {"Name": "docker-init", "Version": "0.19.0", "Details": {"GitCommit": "de40ad0"}}]},
                **{key: details[key] for key in details if key != "Experimental"})


def info(number):
    return {"ID": "7f0a6c1e-0000-4000-8000-000000000000", "Containers": 0, "ContainersRunning": 0, "ContainersPaused": 0,
            "ContainersStopped": 0, "Images": 1, "Driver": "overlay2", "DriverStatus": [["Backing Filesystem", "extfs"]],
            "Plugins": {"Volume": ["local"], "Network": ["bridge", "host", "ipvlan", "macvlan", "null", "overlay"],
                        "Authorization": None, "Log": ["json-file", "local", "none"]},
            "MemoryLimit": True, "SwapLimit": True, "CpuCfsPeriod": True, "CpuCfsQuota": True, "PidsLimit": True,
            "IPv4Forwarding": True, "BridgeNfIptables": True, "BridgeNfIp6tables": True, "OomKillDisable": False,
            "LoggingDriver": "json-file", "CgroupDriver": "systemd", "CgroupVersion": "2", "KernelVersion": "6.1.0",
            "OperatingSystem": "Debian GNU/Linux 12 (bookworm)", "OSVersion": "12", "OSType": "linux",
            "Architecture": "x86_64", "NCPU": 2, "MemTotal": 4113170432, "DockerRootDir": "/var/lib/docker", "Name": "old",
            "ServerVersion": number, "DefaultRuntime": "runc", "LiveRestoreEnabled": False, "Isolation": "",
            "InitBinary": "docker-init", "SecurityOptions": ["name=seccomp,profile=builtin", "name=cgroupns"],
            "CDISpecDirs": [], "Warnings": None}


def number_of(api):
    return tuple(int(part) for part in api.split("."))


class Engine(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def version_string(self):
        return "Docker/%s (linux)" % self.server.version

    def address_string(self):
        return "a client"

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json"):
        self.send_response(status)
        for name, value in (("Api-Version", self.server.api), ("Docker-Experimental", "false"), ("Ostype", "linux"),
                            ("Content-Type", kind), ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status, message):
        self.answer(status, json.dumps({"message": message}).encode() + b"\n")

    def handle_any(self):
        with open(self.server.log, "a", encoding="utf-8") as log:
            log.write("%s %s\n" % (self.command, self.path))
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        # A body of another form is not read, so the connection ends with the answer.
        self.close_connection = self.close_connection or "Transfer-Encoding" in self.headers
        prefix, path = re.match(r"(?:/v([0-9]+\.[0-9]+))?(/[^?]*)?", self.path).groups()
        if prefix and number_of(prefix) > number_of(self.server.api):
            self.refuse(400, "client version %s is too new. Maximum supported API version is %s" % (prefix, self.server.api))
        elif prefix and number_of(prefix) < number_of(self.server.minimum):
            self.refuse(400, "client version %s is too old. Minimum supported API version is %s, please upgrade your "
                             "client to a newer version" % (prefix, self.server.minimum))
        else:
            self.route(path)

    def route(self, path):
        if self.command in ("GET", "HEAD") and path == "/_ping":
            self.answer(200, b"OK", "text/plain; charset=utf-8")
        elif self.command == "GET" and path == "/version":
            self.answer(200, json.dumps(version(self.server.version, self.server.api, self.server.minimum)).encode() + b"\n")
        elif self.command == "GET" and path == "/info":
            self.answer(200, json.dumps(info(self.server.version)).encode() + b"\n")
        else:
            self.refuse(404, "page not found")

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_any


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, path, log, number="27.5.1", api="1.47", minimum="1.24"):
        super().__init__(path, Engine)
        self.log, self.version, self.api, self.minimum = log, number, api, minimum


if __name__ == "__main__":
    with Server(*sys.argv[1:]) as server:
        print("ready", flush=True)
        server.serve_forever()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""images.py REGISTRY LAYERS: put the tests' images into the registry at 127.0.0.1:PORT, from the tar files that layers.sh
made, and print a line NAME REFERENCE PLATFORM for each.  What the registry has is not sent again.  Layers aren't compressed,
so that a digest depends on nothing but what is in them."""
import functools
import hashlib
import http.client
import json
import os
import platform
import sys

HERE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
OTHER = {"amd64": "arm64", "arm64": "amd64"}[HERE]
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OCI = "application/vnd.oci.image."

# Each as (layers, configuration, architecture).
IMAGES = {
    "small": (["small"], {}, HERE),
    "tools": (["tools"], {}, HERE),
    "claude": (["tools", "claude"], {}, HERE),
    "volume": (["small"], {"Volumes": {"/data": {}, "/var/lib/x": {}, "/tmp": {}}}, HERE),
    "env": (["small"], {"Env": ["PATH=/evil:/bin", "LD_PRELOAD=/evil.so", "HTTP_PROXY=http://192.0.2.1:9", "no_proxy=*",
                                "NODE_OPTIONS=--require /evil.js", "BASH_ENV=/evil.sh", "HOME=/evil", "EMPTY=",
                                "GIT_CONFIG_COUNT=0", "MARK=of the image"]}, HERE),
    "label": (["small"], {"Labels": {"oc.run": "theirs", "oc.instance": "theirs", "open-conduit.run": "theirs",
                                     "org.example.harmless": "yes"}}, HERE),
    "root": (["small"], {"User": "root"}, HERE),
    "entry": (["small"], {"Entrypoint": ["/bin/sh", "-c", "echo the image\\'s entry point ran; exec \"$@\"", "entry"],
                          "Cmd": ["/bin/echo", "the image's command ran"], "WorkingDir": "/proc/self/fd/8",
                          "StopSignal": "SIGWINCH", "ExposedPorts": {"2375/tcp": {}},
                          "OnBuild": ["RUN touch /onbuild"]}, HERE),
    "health": (["small"], {"Healthcheck": {"Test": ["CMD-SHELL", "echo ran >>/tmp/health"], "Interval": 1000000000,
                                           "Timeout": 1000000000}}, HERE),
    "named": (["small", "named"], {"User": "1000"}, HERE),
    "setuid": (["tools", "setuid"], {}, HERE),
    "other": (["small"], {}, OTHER),
}
INDEX = ("small", "other")  # as the image "index": one of them for each architecture


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


@functools.cache
def file_digest(path):
    with open(path, "rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


class Registry:
    def __init__(self, address):
        self.connection = http.client.HTTPConnection(address, timeout=120)

    def ask(self, method, path, body=None, headers=None, want=()):
        self.connection.request(method, path, body, headers or {})
        reply = self.connection.getresponse()
        text = reply.read()
        if want and reply.status not in want:
            sys.exit("images.py: %s %s: %d %s" % (method, path, reply.status, text[:500]))
        return reply

    def blob(self, name, digest, body, size):
        if self.ask("HEAD", "/v2/%s/blobs/%s" % (name, digest)).status == 200:
            return
        begun = self.ask("POST", "/v2/%s/blobs/uploads/" % name, b"", want=(202,))
        place = begun.headers["Location"].split("//", 1)[1].split("/", 1)[1]
        self.ask("PUT", "/%s&digest=%s" % (place, digest), body,
                 {"Content-Length": str(size), "Content-Type": "application/octet-stream"}, want=(201,))

    def manifest(self, name, document, kind):
        data = json.dumps(document, sort_keys=True).encode()
        digest = digest_of(data)
        self.ask("PUT", "/v2/%s/manifests/%s" % (name, digest), data, {"Content-Type": kind}, want=(201,))
        return {"mediaType": kind, "digest": digest, "size": len(data)}


def push(registry, name, layers, folder, settings, architecture):
    """The descriptor of the image's manifest."""
    described = []
    for layer in layers:
        path = os.path.join(folder, layer + ".tar")
        size, digest = os.path.getsize(path), file_digest(path)
        with open(path, "rb") as file:
            registry.blob(name, digest, file, size)
        described.append({"mediaType": OCI + "layer.v1.tar", "digest": digest, "size": size})
    config = json.dumps({"architecture": architecture, "os": "linux", "config": dict({"Env": [PATH], "Cmd": ["/bin/sh"]}, **settings),
                         "rootfs": {"type": "layers", "diff_ids": [layer["digest"] for layer in described]}}, sort_keys=True).encode()
    registry.blob(name, digest_of(config), config, len(config))
    return registry.manifest(name, {"schemaVersion": 2, "mediaType": OCI + "manifest.v1+json", "layers": described,
                                    "config": {"mediaType": OCI + "config.v1+json", "digest": digest_of(config),
                                               "size": len(config)}}, OCI + "manifest.v1+json")


def main():
    address, folder = sys.argv[1:]
    registry = Registry(address)
    for name, (layers, settings, architecture) in IMAGES.items():
        described = push(registry, "oc-test/" + name, layers, folder, settings, architecture)
        print("%s %s/oc-test/%s@%s linux/%s" % (name, address, name, described["digest"], architecture), flush=True)
    children = []
    for name in INDEX:
        layers, settings, architecture = IMAGES[name]
        child = push(registry, "oc-test/index", layers, folder, settings, architecture)
        children.append(dict(child, platform={"architecture": architecture, "os": "linux"}))
    whole = registry.manifest("oc-test/index", {"schemaVersion": 2, "mediaType": OCI + "index.v1+json",
                                                "manifests": children}, OCI + "index.v1+json")
    print("index %s/oc-test/index@%s linux/%s" % (address, whole["digest"], HERE))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""attempts.py SETTINGS: eight things that a confined run must not be able to do.

Prints a line for each: its name, "done" or "refused", and how.  The same program is started outside the sandbox first,
where all eight can be done: an attempt that fails everywhere would show nothing."""
import base64
import json
import os
import signal
import socket
import sys
import urllib.parse

with open(sys.argv[1], encoding="utf-8") as file:
    here = json.load(file)


def read_key():
    with open(here["home"] + "/.ssh/id_ed25519", encoding="utf-8") as key:
        return "read %d bytes" % len(key.read())


def write_outside():
    with open(here["home"] + "/.bashrc", "a", encoding="utf-8") as startup:
        startup.write("# %s\n" % ("planted" if os.environ.get("OPEN_CONDUIT_RUN") else "control"))
    return "appended a line"


def plant_hook():
    hook = os.getcwd() + "/.git/hooks/post-commit"  # of the checkout, or of the job's clone of it
    with open(hook, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n")
    os.unlink(hook)  # the control has shown that it can be done
    return "planted a hook"


def read_state():
    with open(here["state"] + "/state.db", "rb") as database:
        return "read %d bytes" % len(database.read(16))


def talk(peer):
    peer.settimeout(5)
    peer.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
    return peer.recv(4096).split(b"\r\n")[0].decode("ascii", "replace")


def connect_port():
    with socket.create_connection(("127.0.0.1", here["port"]), timeout=5) as peer:
        return talk(peer)


def through_proxy():
    """To a host that no rule allows, the way every program in there would go: by the proxy, if there is one."""
    proxy = os.environ.get("HTTP_PROXY")
    if not proxy:
        return connect_port()
    url = urllib.parse.urlsplit(proxy)
    request = "CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % (here["port"], here["port"])
    if url.username:
        who = "%s:%s" % (urllib.parse.unquote(url.username), urllib.parse.unquote(url.password or ""))
        request += "Proxy-Authorization: Basic %s\r\n" % base64.b64encode(who.encode()).decode()
    with socket.create_connection((url.hostname, url.port), timeout=10) as peer:
        peer.settimeout(10)
        peer.sendall((request + "\r\n").encode())
        answer = peer.recv(4096).split(b"\r\n")[0].decode("ascii", "replace")
        if " 200" not in answer:
            raise PermissionError("the proxy said: " + answer)
        return talk(peer)


def connect_unix():
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(here["socket"])
        return talk(peer)


def signal_process():
    os.kill(here["pid"], signal.SIGUSR1)
    return "sent a signal"


ATTEMPTS = [
    ("read an SSH key", read_key),
    ("write to ~/.bashrc", write_outside),
    ("plant a git hook", plant_hook),
    ("read the state of Open Conduit", read_state),
    ("connect to a port of this machine", connect_port),
    ("reach a host not on the list", through_proxy),
    ("connect to a unix socket", connect_unix),
    ("signal a process of this machine", signal_process),
]
for name, attempt in ATTEMPTS:
    try:
        line = "done\t%s" % attempt()
    except OSError as refusal:
        line = "refused\t%s" % (refusal.strerror or refusal)
    print("%s\t%s" % (name, line), flush=True)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs inside a sandbox: answers questions by doing them.  ask.py JSON → one line of JSON.
A question is [op, subject]; an answer is true, false or the text of an unexpected failure."""
import base64, json, os, socket, sys


def read(path):
    if os.path.isdir(path):
        # A directory that is hidden is there, and may list what is lifted beneath it: never this entry.
        return ("bash" if path == "/usr/bin" else "keep") in os.listdir(path)
    with open(path, "rb") as f:
        return f.read() != b""


def write(path):
    if os.path.isdir(path):
        probe = os.path.join(path, "ask-probe")
        with open(probe, "w"):
            pass
        os.unlink(probe)
    else:
        with open(path, "ab") as f:
            f.write(b"")
    return True


def host(target):
    """403 is the proxy's no; 200 and 502 (allowed, and then not reachable) are its yes."""
    url = os.environ["HTTP_PROXY"][len("http://"):]
    credentials, _, address = url.rpartition("@")
    name, _, port = address.partition(":")
    if ":" not in target.rpartition("]")[2]:
        target += ":443"
    with socket.create_connection((name, int(port)), 20) as s:
        auth = base64.b64encode(credentials.encode()).decode()
        s.sendall(("CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic %s\r\n\r\n" % (target, target, auth)).encode())
        line = s.recv(4096).split(b"\r\n")[0].decode()
    code = int(line.split()[1])
    if code in (200, 502):
        return True
    return False if code == 403 else line


def unix(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
    return True


def answer(op, subject):
    try:
        return {"read": read, "write": write, "host": host, "socket": unix}[op](subject)
    except OSError:
        return False


print(json.dumps([answer(*q) for q in json.loads(sys.argv[1])]))

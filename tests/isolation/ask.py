#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs inside a sandbox: answers questions by doing them.  ask.py JSON → one line of JSON.
A question is [op, subject]; an answer is true, false or the text of an unexpected failure.  What is written stays, for the
asker to see whether it came: the mark is of the question's number."""
import base64, json, os, re, socket, sys


def read(path):
    if os.path.isdir(path):
        # A directory that is hidden is there, and may list what is lifted beneath it: never this entry.
        return ("bash" if path == "/usr/bin" else "keep") in os.listdir(path)
    with open(path, "rb") as f:
        return re.sub(rb"ask-\d+;", b"", f.read()) != b""


def mark(number):
    return "ask-%d;" % number


def write(path, number):
    if os.path.isdir(path):
        with open(os.path.join(path, mark(number)), "x"):
            pass
    else:
        with open(path, "ab") as f:
            f.write(mark(number).encode())
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


def answer(number, op, subject):
    try:
        return write(subject, number) if op == "write" else {"read": read, "host": host, "socket": unix}[op](subject)
    except OSError:
        return False


if __name__ == "__main__":
    print(json.dumps([answer(i, *q) for i, q in enumerate(json.loads(sys.argv[1]))]))

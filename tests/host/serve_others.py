# SPDX-License-Identifier: Apache-2.0
"""Root and another user at the socket of a user's daemon.  serve_others.py WHERE: as serve_unit.py others wrote it.  Root's."""
import json, os, socket, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from tap import finish, ok  # noqa: E402


def hello(where):
    """What comes of the right greeting: an answer, or None."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20)
        s.connect(where["socket"])
        try:
            s.sendall((json.dumps({"jsonrpc": "2.0", "id": 1, "method": "hello", "params": {"version": 1, "token": where["token"]}}) + "\n").encode())
            return s.recv(4096) or None
        except ConnectionError:
            return None


def as_uid(uid, what):
    """In a child of that user: "reached", "closed" or the error's name."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        if uid:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
        try:
            said = "reached" if what() else "closed"
        except OSError as e:
            said = type(e).__name__
        os.write(w, said.encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(w)
    with os.fdopen(r) as f:
        return f.read()


def main():
    with open(sys.argv[1]) as f:
        where = json.load(f)
    owner = os.stat(where["state"]).st_uid
    said = as_uid(owner, lambda: hello(where))
    ok(said == "reached", "others: control: its own user is answered", said)
    said = as_uid(0, lambda: hello(where))
    ok(said == "closed", "others: root, with the token, is turned away", said)
    said = as_uid(65534, lambda: hello(where))
    ok(said == "PermissionError", "others: another user doesn't come to the socket", said)
    said = as_uid(65534, lambda: open(where["state"] + "/serve.token").read())
    ok(said == "PermissionError", "others: nor to the token", said)
    # Even where the directories let everyone through.
    opened = []
    at = where["state"]
    while at != "/" and os.stat(at).st_uid == owner:
        opened.append((at, os.stat(at).st_mode & 0o7777))
        os.chmod(at, opened[-1][1] | 0o111)
        at = os.path.dirname(at)
    os.chmod(where["socket"], 0o666)
    said = as_uid(65534, lambda: hello(where))
    ok(said == "closed", "others: one who does is turned away by his uid, with the token", said)
    os.chmod(where["socket"], 0o600)
    for path, mode in opened:
        os.chmod(path, mode)
    finish()


main()

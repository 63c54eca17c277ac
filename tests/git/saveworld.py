# SPDX-License-Identifier: Apache-2.0
"""A checkout, a workspace made of it, and what is asked of every save: the checkout is sound for real git afterwards, and
nothing that an agent planted ran."""
import hashlib, os, shutil, zlib

from gitworld import GitWorld, ok

OURS = "refs/open-conduit/w1/"


def numbers(path):
    st = os.lstat(path)
    return {"dev": st.st_dev, "ino": st.st_ino}


class SaveWorld(GitWorld):
    def __init__(self, where=None):
        super().__init__(where)
        self.canary = self.root + "/canary"
        self.program = self.write(self.root + "/program", "#!/bin/sh\necho \"$0 $*\" >>%s\ncat\n" % self.canary, 0o755)
        self.number = 0

    def start(self, branch="agent/1", pack=False):
        """A fresh checkout and its workspace."""
        self.number += 1
        self.co = self.checkout("co%d" % self.number)
        if pack:
            self.git(self.co, "gc", "-q")
        self.made = self.create(self.co, branch=branch)
        self.ws, self.branch = self.dir, branch
        self.base = self.made["baseline"]
        return self.ws

    def save(self, final=False, env=None, **over):
        params = dict(checkout=self.co, dir=self.ws, root=self.made["root"], git=self.made["git"], work="w1", branch=self.branch,
                      quarantine=os.path.dirname(self.ws) + "/quarantine", baseline=self.base, final=final)
        params.update(over)
        self.last = self.ask("save", env=env, **params)
        return self.last

    # What the checkout has.
    def ref(self, name):
        p = self.git(self.co, "rev-parse", "-q", "--verify", name, check=False)
        return p.stdout.strip() if p.returncode == 0 else None

    def refs(self):
        return dict(line.split(" ", 1) for line in self.git(self.co, "for-each-ref", "--format=%(refname) %(objectname)").splitlines())

    def objects(self, repo=None, *more):
        text = self.git(repo or self.co, "rev-list", "--objects", "--all", *more, input=b"")
        return {line.split(b" ")[0].decode() for line in text.splitlines()}

    def sound(self, name):
        p = self.git(self.co, "fsck", "--strict", "--full", check=False)
        said = [l for l in (p.stdout + p.stderr).splitlines() if not l.startswith(("dangling", "notice: HEAD points to an unborn", "Checking"))]
        return ok(p.returncode == 0 and not said and not os.path.exists(self.canary), name + ": the checkout is sound, nothing ran",
                  (said, os.path.exists(self.canary) and open(self.canary).read()))

    def holds(self, text):
        """Whether any object of the checkout, reachable or not, has these bytes."""
        ids = self.git(self.co, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
        p = self.git(self.co, "cat-file", "--batch", input="\n".join(ids).encode() + b"\n", check=False)
        return text in p.stdout

    # Objects made by hand.
    def put(self, kind, data, name=None, repo=None):
        """A loose object in the workspace, under the id it has or under another one."""
        whole = kind.encode() + b" %d\0" % len(data) + data
        hex = name or hashlib.sha1(whole).hexdigest()
        path = "%s/.git/objects/%s/%s" % (repo or self.ws, hex[:2], hex[2:])
        if os.path.lexists(path):
            os.unlink(path)
        self.write(path, zlib.compress(whole))
        return hex

    def tree(self, *entries):
        return self.put("tree", b"".join(b"%s %s\0%s" % (m.encode(), n if isinstance(n, bytes) else n.encode(), bytes.fromhex(i)) for m, n, i in entries))

    def raw_commit(self, tree, parents=(), head=None, tail=b"\nx\n"):
        head = head or b"author A <a@example.test> 1700000000 +0000\ncommitter A <a@example.test> 1700000000 +0000\n"
        return self.put("commit", b"tree %s\n" % tree.encode() + b"".join(b"parent %s\n" % p.encode() for p in parents) + head + tail)

    def set(self, ref, id):
        self.write(self.ws + "/.git/" + ref, id + "\n")

    def blob(self, text):
        return self.put("blob", text if isinstance(text, bytes) else text.encode())

    def loose(self, id):
        return "%s/.git/objects/%s/%s" % (self.ws, id[:2], id[2:])

    def lost(self):
        return " ".join(l["what"] + ": " + l["why"] for l in self.last["lost"])

    def done(self):
        for path in (self.co, os.path.dirname(self.ws)):
            shutil.rmtree(path, ignore_errors=True)

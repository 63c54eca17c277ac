# SPDX-License-Identifier: Apache-2.0
"""Saving what a hostile agent leaves: nothing of it runs, nothing of the operator's gets in, no good commit is lost, and
the checkout is sound for git fsck --strict."""
import hashlib, os, shutil, struct, subprocess, sys, time, traceback, zlib

from gitworld import Refused, finish, ok
from saveworld import OURS, SaveWorld

w = SaveWorld()


def config():
    """All that makes git run something, in every file where git would look."""
    w.start()
    evil = "[core]\n\tfsmonitor = %s\n\thooksPath = ../evil\n\tsshCommand = %s\n\tpager = %s\n\tworktree = /\n\tattributesFile = %s/attributes\n" % ((w.program,) * 3 + (w.root,))
    evil += "[filter \"x\"]\n\tclean = %s\n\tsmudge = %s\n\tprocess = %s\n\trequired = true\n[diff]\n\texternal = %s\n[gpg]\n\tprogram = %s\n" % ((w.program,) * 5)
    evil += "[extensions]\n\tworktreeConfig = true\n\tobjectFormat = sha256\n\trefStorage = reftable\n[include]\n\tpath = %s/.netrc\n[uploadpack]\n\tpackObjectsHook = %s\n[alias]\n\tstatus = !%s\n" % (w.home, w.program, w.program)
    w.commit(w.ws, ".gitattributes", "* filter=x diff=x merge=x\n")
    tip = w.commit(w.ws, "new", "new\n")
    real = w.ws + "/.git"
    for name in ("config", "config.worktree"):
        w.write(real + "/" + name, evil)
    w.write(real + "/commondir", w.co + "/.git\n")
    w.write(real + "/gitdir", "/nonexistent\n")
    w.write(real + "/shallow", tip + "\n")
    w.write(real + "/info/grafts", tip + "\n")
    w.write(real + "/objects/info/commit-graph", "nonsense")
    w.write(real + "/objects/pack/multi-pack-index", "nonsense")
    for hook in ("pre-commit", "post-checkout", "reference-transaction", "post-index-change", "fsmonitor-watchman", "pre-auto-gc"):
        w.write(real + "/hooks/" + hook, open(w.program).read(), 0o755)
        w.write(w.ws + "/evil/" + hook, open(w.program).read(), 0o755)
    r = w.save(final=True)
    ok(r["outcome"] == "moved" and w.ref("refs/heads/agent/1") == tip, "a repository that is all traps is saved", r)
    ok(w.git(w.co, "cat-file", "-p", OURS + "leftover:evil/pre-commit") == open(w.program).read().strip(), "a hook in the working tree is a file", r["leftover"])
    w.sound("traps")
    # The control: with that config git itself does run it.
    os.unlink(real + "/commondir")
    w.write(real + "/config", "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = %s\n" % w.program)
    w.git(w.ws, "status", check=False)
    ok(os.path.exists(w.canary), "control: git status in the workspace runs the program")
    os.unlink(w.canary)
    w.done()


def links():
    """Whatever is a link, a FIFO or a device where a file should be."""
    secret = w.write(w.home + "/.ssh/id_x", "PRIVATE-KEY-OF-THE-OPERATOR\n", 0o600)
    w.start()
    a = w.commit(w.ws, "new", "new\n")
    blob = w.git(w.ws, "rev-parse", "HEAD:new")
    os.unlink(w.loose(blob))
    os.symlink(secret, w.loose(blob))
    b = w.git(w.ws, "commit-tree", "-p", w.base, "-m", "good", w.base + "^{tree}")
    w.set("refs/heads/good", b)
    r = w.save()
    ok(blob in w.lost() and w.ref(OURS + "branches/good") == b, "an object that is a link is lost, the other branch is not", r)
    ok(not w.holds(b"PRIVATE-KEY"), "and the file it leads to is nowhere")
    os.unlink(w.loose(blob))
    os.mkfifo(w.loose(blob))
    start = time.time()
    r = w.save()
    ok(blob in w.lost() and time.time() - start < 20, "one that is a FIFO: not waited for", r)
    w.sound("linked objects")
    w.done()
    for where, target in (("objects", None), ("objects/pack", None), ("refs", None), ("refs/heads", None), ("HEAD", "/dev/zero"), ("HEAD", "fifo"), ("packed-refs", "fifo"),
                          ("packed-refs", secret), ("refs/heads/agent/1", secret), ("refs/heads/agent/1", "fifo"), ("refs/heads/x", "/dev/zero"), ("index", "fifo"), ("logs", secret)):
        w.start()
        tip = w.commit(w.ws, "new", "new\n")
        path = w.ws + "/.git/" + where
        if target is None:
            shutil.move(path, w.root + "/moved%d" % w.number)
            target = w.root + "/moved%d" % w.number
        elif os.path.lexists(path):
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        if target == "fifo":
            os.mkfifo(path)
        else:
            os.symlink(target, path)
        start, name = time.time(), "%s is %s" % (where, "a FIFO" if target == "fifo" else "a link")
        try:
            said = str(w.save(final=True))
        except Refused as r:
            said = r.message
        ok(time.time() - start < 30 and not w.holds(b"PRIVATE-KEY"), name + ": ends, and nothing of it gets in", said)
        if where in ("HEAD", "packed-refs", "refs/heads/x", "index", "logs"):
            ok(w.ref(OURS + "head") == tip, name + ": the branch is saved", said)
        if where not in ("logs",):
            ok("lost': []" not in said, name + ": it is named", said)
        w.sound(name)
        w.done()


def alternates():
    """An object of another repository, whose id the agent knows."""
    w.start()
    private = w.checkout("private%d" % w.number)
    w.commit(private, "secret", "PRIVATE-CONTENT-ELSEWHERE\n")
    id = w.git(private, "rev-parse", "HEAD:secret")
    w.write(w.ws + "/.git/objects/info/alternates", private + "/.git/objects\n")
    w.write(w.ws + "/.git/objects/info/http-alternates", private + "/.git/objects\n")
    tip = w.raw_commit(w.tree(("100644", "stolen", id)), [w.base])
    w.set("refs/heads/agent/1", tip)
    ok("PRIVATE" in w.git(w.ws, "cat-file", "-p", id), "control: git in the workspace reads it")
    r = w.save(final=True)
    ok(id in w.lost() and not w.holds(b"PRIVATE-CONTENT"), "alternates are not followed", r)
    w.sound("alternates")
    w.done()


def corrupt():
    """One rotten object, loose: what stands before it and beside it is saved."""
    w.start()
    good = [w.commit(w.ws, "f%d" % i, "%d\n" % i) for i in range(3)]
    bad = w.commit(w.ws, "bad", "bad\n")
    w.commit(w.ws, "after", "after\n")
    w.git(w.ws, "checkout", "-q", "-b", "beside", good[1])
    beside = w.commit(w.ws, "beside", "beside\n")
    w.git(w.ws, "checkout", "-q", "agent/1")
    for what, id in (("blob", w.git(w.ws, "rev-parse", bad + ":bad")), ("commit", bad), ("tree", w.git(w.ws, "rev-parse", bad + "^{tree}"))):
        whole = open(w.loose(id), "rb").read()
        os.chmod(w.loose(id), 0o600)
        for how, data in (("flipped", whole[:-6] + bytes([whole[-6] ^ 1]) + whole[-5:]), ("cut", whole[:len(whole) // 2]), ("empty", b""), ("longer", whole + b"x"),
                          ("another's", zlib.compress(b"blob 5\0other")), ("no header", zlib.compress(b"x" * 100)), ("too long", zlib.compress(b"blob 3\0four"))):
            with open(w.loose(id), "wb") as f:
                f.write(data)
            r = w.save()
            ok(id in w.lost() and w.ref(OURS + "branches/beside") == beside and good[2] in w.objects(), "a %s that is %s: it is named, what is good is saved" % (what, how), r)
        with open(w.loose(id), "wb") as f:
            f.write(whole)
    ok(w.ref("refs/heads/agent/1") is None, "the branch is not made of a part of it")
    w.sound("rotten objects")
    r = w.save(final=True)
    ok(r["outcome"] == "moved" and r["lost"] == [], "control: mended, all is saved", r)
    w.done()


# Packs made by hand.
def entry(kind, data, base=b"", say=None):
    n = len(data) if say is None else say
    head = [kind << 4 | n & 15]
    n >>= 4
    while n:
        head[-1] |= 0x80
        head.append(n & 0x7f)
        n >>= 7
    return bytes(head) + base + zlib.compress(data)


def distance(n):
    out = [n & 0x7f]
    n >>= 7
    while n:
        n -= 1
        out.insert(0, 0x80 | n & 0x7f)
        n >>= 7
    return bytes(out)


def varint(n):
    out = b""
    while True:
        out += bytes([n & 0x7f | (0x80 if n >> 7 else 0)])
        n >>= 7
        if not n:
            return out


def pack(*entries, count=None, cut=0):
    data = b"PACK" + struct.pack(">II", 2, len(entries) if count is None else count) + b"".join(entries)
    data = data[:len(data) - cut]
    data += hashlib.sha1(data).digest()
    name = w.ws + "/.git/objects/pack/pack-" + hashlib.sha1(data).hexdigest()
    w.write(name + ".pack", data)
    return name


def index(name, places):
    """An index that says what it is told to."""
    ids = sorted(places)
    fan = [sum(bytes.fromhex(i)[0] <= b for i in ids) for b in range(256)]
    data = b"\377tOc" + struct.pack(">I", 2) + struct.pack(">256I", *fan) + b"".join(bytes.fromhex(i) for i in ids) + b"\0\0\0\0" * len(ids)
    data += b"".join(struct.pack(">I", places[i]) for i in ids) + open(name + ".pack", "rb").read()[-20:]
    w.write(name + ".idx", data + hashlib.sha1(data).digest())


def id_of(kind, data):
    return hashlib.sha1(kind.encode() + b" %d\0" % len(data) + data).hexdigest()


def try_blob(name, blob, wanted):
    """A commit whose one file is `blob`: saved, or named as lost; the branch beside it is saved in any case."""
    w.set("refs/heads/agent/1", w.raw_commit(w.tree(("100644", "f", blob)), [w.base], tail=b"\n" + name.encode() + b"\n"))
    side = w.raw_commit(w.git(w.ws, "rev-parse", w.base + "^{tree}"), [w.base], tail=b"\nside " + name.encode() + b"\n")
    w.set("refs/heads/side", side)
    start = time.time()
    r = w.save()
    there = w.git(w.co, "cat-file", "-e", blob, check=False).returncode == 0
    ok(there == wanted and (blob in w.lost()) != wanted and w.ref(OURS + "branches/side") == side and time.time() - start < 60,
       name + (": saved" if wanted else ": lost, and nothing else is"), (r, time.time() - start))


def packs():
    w.start()
    base = b"base of the deltas " * 10
    whole = id_of("blob", base)

    def delta(result):
        return varint(len(base)) + varint(len(result)) + bytes([len(result)]) + result
    # The honest ones: by index, without one, with one that lies.
    one = id_of("blob", b"result one")
    first = entry(3, base)
    at = 12 + len(first)
    name = pack(first, entry(6, delta(b"result one"), distance(at - 12)))
    index(name, {whole: 12, one: at})
    try_blob("a delta, found by its index", one, True)
    two = id_of("blob", b"result two")
    pack(first, entry(6, delta(b"result two"), distance(at - 12)))
    try_blob("a delta in a pack without an index", two, True)
    three = id_of("blob", b"result three")
    name = pack(first, entry(6, delta(b"result three"), distance(at - 12)))
    index(name, {three: 12, whole: at})
    try_blob("an index that says each is the other", three, True)
    four = id_of("blob", b"result four")
    name = pack(first, entry(6, delta(b"result four"), distance(at - 12)))
    index(name, {four: 0x7ffffff0, whole: 0xffffffff})
    try_blob("an index that leads out of the pack", four, True)
    w.write(name + ".idx", b"\377tOc\0\0\0\2" + b"\xff" * 2000)
    five = id_of("blob", b"result five")
    pack(entry(7, delta(b"result five"), bytes.fromhex(whole)), first)
    try_blob("a delta to an object that comes later", five, True)
    thin = id_of("blob", b"result thin")
    told = w.git(w.ws, "cat-file", "blob", w.base + ":one").encode() + b"\n"
    pack(entry(7, varint(len(told)) + varint(11) + bytes([11]) + b"result thin", bytes.fromhex(id_of("blob", told))))
    try_blob("a delta to what the checkout has", thin, True)
    # And the others.
    fake = id_of("blob", b"no such result")
    pack(first, entry(6, delta(b"no such result"), distance(at + 100)))
    try_blob("a delta to a place before the pack", fake, False)
    a, b = id_of("blob", b"circle a"), id_of("blob", b"circle b")
    ea, eb = entry(7, delta(b"circle a"), bytes.fromhex(b)), entry(7, delta(b"circle b"), bytes.fromhex(a))
    name = pack(ea, eb)
    index(name, {a: 12, b: 12 + len(ea)})
    try_blob("deltas in a circle", a, False)
    bomb = id_of("blob", b"bomb")
    step = varint(1 << 20) + varint(1 << 40) + b"\x70\xff\xff\xff" * 50
    pack(entry(3, b"\0" * (1 << 20)), entry(6, step, distance(0x500)))
    name = pack(entry(3, b"\0" * (1 << 20)), entry(7, step, bytes.fromhex(id_of("blob", b"\0" * (1 << 20)))))
    index(name, {bomb: 12 + len(entry(3, b"\0" * (1 << 20)))})
    try_blob("a delta that claims a terabyte", bomb, False)
    chained, entries = 1000, [entry(3, b"x" * 1000)]
    while chained < (1 << 30):
        # Each doubles what is before it; the last would be more than any object may be.
        copies = b"".join(b"\xff" + struct.pack("<I", o) + struct.pack("<I", min(0xffffff, chained - o))[:3] for o in range(0, chained, 0xffffff))
        step = 2 if chained < (2 << 20) else 600
        entries.append(entry(6, varint(chained) + varint(step * chained) + copies * step, distance(len(entries[-1]))))
        chained *= step
    grown = id_of("blob", b"grown")
    name = pack(*entries)
    index(name, {grown: 12 + sum(map(len, entries[:-1]))})
    try_blob("deltas that double until there is no end", grown, False)
    for end in (".pack", ".idx"):  # each save of what is lost goes through all packs
        os.unlink(name + end)
    claim = id_of("blob", b"claims")
    name = pack(entry(3, b"claims", say=1 << 45))
    index(name, {claim: 12})
    try_blob("an entry that claims 32 terabytes", claim, False)
    zipped = id_of("blob", b"zipped")
    name = pack(entry(3, b"\0" * (64 << 20), say=6))
    index(name, {zipped: 12})
    try_blob("an entry with more in it than it says", zipped, False)
    cut = id_of("blob", b"this is cut")
    pack(entry(3, b"before the cut"), entry(3, os.urandom(5000)), entry(3, b"this is cut"), cut=8)
    before = id_of("blob", b"before the cut")
    try_blob("a pack that is cut: what is behind the cut", cut, False)
    try_blob("a pack that is cut: what is before it", before, True)
    pack(entry(3, b"few"), count=0xffffffff)
    try_blob("a pack that claims four billion entries", id_of("blob", b"few"), True)
    pack(entry(5, b"kind five"))
    try_blob("an entry of a kind that there isn't", id_of("blob", b"kind five"), False)
    w.write(w.ws + "/.git/objects/pack/pack-" + "0" * 40 + ".pack", b"PACK")
    w.sound("packs by hand")
    w.done()


def repacked():
    """An ordinary gc in the workspace, then one byte of the pack rots."""
    w.start(pack=True)
    text = "".join("line %d\n" % i for i in range(2000))
    tips = []
    for i in range(12):
        tips.append(w.commit(w.ws, "f%d" % (i % 3), text.replace("line %d\n" % (i * 7), "changed %d\n" % i)))
    w.git(w.ws, "gc", "-q", "--aggressive", "--prune=now")
    ok("chain length" in w.git(w.ws, "verify-pack", "-v", *[w.ws + "/.git/objects/pack/" + f for f in os.listdir(w.ws + "/.git/objects/pack") if f.endswith(".idx")]), "control: a pack with deltas")
    r = w.save()
    ok(r["lost"] == [] and w.ref(OURS + "head") == tips[-1], "after a gc in the workspace", r)
    w.sound("gc")
    w.git(w.co, "update-ref", "-d", OURS + "head")
    shutil.rmtree(w.co + "/.git/logs/refs/open-conduit")
    w.git(w.co, "gc", "-q", "--prune=now")
    # Without deltas nothing else depends on it.
    w.git(w.ws, "-c", "pack.window=0", "repack", "-q", "-a", "-d", "-f")
    last = w.git(w.ws, "rev-parse", "HEAD^{tree}")
    line = [l.split() for l in w.git(w.ws, "verify-pack", "-v", w.ws + "/.git/objects/pack/" + [f for f in os.listdir(w.ws + "/.git/objects/pack") if f.endswith(".idx")][0]).splitlines() if l.startswith(last)][0]
    path = w.ws + "/.git/objects/pack/" + [f for f in os.listdir(w.ws + "/.git/objects/pack") if f.endswith(".pack")][0]
    os.chmod(path, 0o600)
    with open(path, "r+b") as f:
        f.seek(int(line[4]) + int(line[3]) - 3)
        f.write(b"\xff\xff\xff")
    r = w.save()
    ok(last in w.lost() and tips[-2] in w.objects() and w.ref(OURS + "head") == tips[-2], "one object of the pack rots: all commits but the last are saved", r)
    w.sound("a rotten pack")
    w.done()


WRONG_TREES = [
    (".git", [("40000", ".git", "T")]), (".GIT", [("40000", ".GIT", "T")]), ("git~1", [("100644", "git~1", "B")]), (".git with a space", [("100644", ".git ", "B")]),
    (".git with dots", [("100644", ".git...", "B")]), (".git with a stream", [("100644", ".git::$INDEX_ALLOCATION", "B")]), ("HFS", [("40000", b".g\xe2\x80\x8cit", "T")]),
    ("HFS, mark", [("40000", b"\xef\xbb\xbf.git", "T")]), ("backslash", [("100644", "a\\.git\\config", "B")]), ("..", [("40000", "..", "T")]), (".", [("40000", ".", "T")]),
    ("slash", [("100644", "a/b", "B")]), ("empty name", [("100644", "", "B")]), ("twice", [("100644", "a", "B"), ("100644", "a", "B")]),
    ("file and folder", [("100644", "a", "B"), ("40000", "a", "T")]), ("file and folder apart", [("100644", "a", "B"), ("100644", "a.b", "B"), ("40000", "a", "T")]),
    ("not in order", [("100644", "b", "B"), ("100644", "a", "B")]), ("zero id", [("100644", "a", "0" * 40)]), ("padded mode", [("0100644", "a", "B")]), ("odd mode", [("100777", "a", "B")]),
    ("mode 0", [("0", "a", "B")]), ("long mode", [("777777777777", "a", "B")]), ("a tree called a blob", [("100644", "a", "T")]), ("a blob called a tree", [("40000", "a", "B")]),
    (".gitmodules is a link", [("120000", ".gitmodules", "B")]), (".GITMODULES~ is a link", [("120000", "GITMOD~1", "B")]), ("gi7eba is a link", [("120000", "gi7eba~1", "B")]),
]
MODULES = [
    ("an option for a url", '[submodule "x"]\n\tpath = x\n\turl = -u./evil\n'), ("an option for a path", '[submodule "x"]\n\tpath = -x\n\turl = https://a.test/x\n'),
    ("a name that leads out", '[submodule "../../x"]\n\tpath = x\n\turl = https://a.test/x\n'), ("a backslash name", '[submodule "a\\\\..\\\\x"]\n\tpath = x\n\turl = https://a.test/x\n'),
    ("a command", '[submodule "x"]\n\tpath = x\n\turl = https://a.test/x\n\tupdate = !touch /tmp/x\n'), ("a line's end", '[submodule "x"]\n\tpath = x\n\turl = https://a.test/%0ahost=b\n'),
    ("quoted", '[submodule "x"]\n\tpath = x\n\turl = "-\\"x"\n'), ("continued", '[submodule "x"]\n\tpath = x\n\turl = \\\n-x\n'), ("no name", '[submodule ""]\n\tpath = x\n\turl = https://a.test/x\n'),
    ("case", '[SubModule "x"]\n\tpath = x\n\tURL = -x\n'), ("on one line", '[submodule "x"] url = -x\n'), ("byte order mark", '\ufeff[submodule "x"]\n\turl = -x\n'),
    ("relative and out", '[submodule "x"]\n\tpath = x\n\turl = ../../../:a.test/x\n'), ("no host", '[submodule "x"]\n\tpath = x\n\turl = http:///x\n'),
]


def objects():
    """Trees, commits, tags and .gitmodules that git fsck --strict refuses, and some that it takes."""
    w.start()
    blob = w.blob("content\n")
    inner = w.tree(("100644", "inner", blob))
    known = w.git(w.ws, "rev-parse", w.base + "^{tree}")
    wrong = []
    for name, entries in WRONG_TREES:
        wrong.append(("tree: " + name, w.raw_commit(w.tree(*[(m, n, {"T": inner, "B": blob}.get(i, i)) for m, n, i in entries]), [w.base], tail=b"\n" + name.encode() + b"\n")))
    wrong.append(("tree: cut", w.raw_commit(w.put("tree", b"100644 a\0" + b"x" * 10), [w.base])))
    wrong.append(("tree: in a tree", w.raw_commit(w.tree(("40000", "deep", w.tree(("40000", "x", w.tree(("40000", ".git", inner)))))), [w.base])))
    for name, text in MODULES:
        wrong.append((".gitmodules: " + name, w.raw_commit(w.tree(("100644", ".gitmodules", w.blob(text))), [w.base])))
        wrong.append((".GitModules: " + name, w.raw_commit(w.tree(("100644", ".GitModules", w.blob(text))), [w.base])))
    wrong.append((".gitattributes: a line too long", w.raw_commit(w.tree(("100644", ".gitattributes", w.blob("x" * 3000 + "\n"))), [w.base])))
    good = b"author A <a@example.test> 1700000000 +0000\ncommitter A <a@example.test> 1700000000 +0000\n"
    for name, head in (("no author", b"committer A <a@example.test> 1 +0000\n"), ("two authors", b"author A <a@example.test> 1 +0000\n" + good), ("no committer", b"author A <a@example.test> 1 +0000\n"),
                       ("no date", good.replace(b"1700000000 ", b"")), ("date too large", good.replace(b"1700000000", b"99999999999999999999")), ("date with a zero", good.replace(b"1700000000", b"01700000000")),
                       ("bad zone", good.replace(b"+0000", b"+000")), ("no mail", good.replace(b"<a@example.test> ", b"")), ("no space", good.replace(b"A <", b"A<")), ("mail in mail", good.replace(b"<a@", b"<<a@")),
                       ("NUL in the header", good.replace(b"A <", b"A\0 <")), ("bad name", good.replace(b"A <", b"A> <"))):
        wrong.append(("commit: " + name, w.raw_commit(known, [w.base], head=head)))
    wrong.append(("commit: NUL in its text", w.raw_commit(known, [w.base], tail=b"\na\0b\n")))
    wrong.append(("commit: parent is a tree", w.raw_commit(known, [known])))
    wrong.append(("commit: its tree is a blob", w.raw_commit(blob, [w.base])))
    wrong.append(("commit: parent is missing", w.raw_commit(known, ["1" * 40])))
    wrong.append(("commit: no end", w.put("commit", b"tree " + known.encode())))
    tagger = b"tagger A <a@example.test> 1700000000 +0000\n"
    for name, data in (("bad type", b"object %s\ntype thing\ntag x\n" % w.base.encode() + tagger + b"\nx\n"), ("another type", b"object %s\ntype blob\ntag x\n" % w.base.encode() + tagger + b"\nx\n"),
                       ("bad name", b"object %s\ntype commit\ntag a..b\n" % w.base.encode() + tagger + b"\nx\n"), ("bad tagger", b"object %s\ntype commit\ntag x\ntagger A\n\nx\n" % w.base.encode())):
        wrong.append(("tag: " + name, w.put("tag", data)))
    right = w.raw_commit(w.tree(("100644", ".gitattributes", blob), ("100644", ".gitmodules", w.blob('[submodule "a/b"]\n\tpath = a\n\turl = ../a.git ; comment\n\tignore\n[other "../x"]\n\turl = -x\n')),
                                ("120000", "link", blob), ("160000", "sub", "1" * 40), ("100755", "x", blob), ("40000", "y", inner)), [w.base])
    lines = "%s refs/heads/right\n" % right
    for i, (name, id) in enumerate(wrong):
        lines += "%s refs/heads/wrong%03d\n" % (id, i)
    w.write(w.ws + "/.git/packed-refs", lines)
    w.save(final=True)
    said = {l["what"]: l["why"] for l in w.last["lost"]}
    for i, (name, id) in enumerate(wrong):
        ok("refs/heads/wrong%03d" % i in said and w.git(w.co, "cat-file", "-e", id, check=False).returncode, name + ": lost", said.get("refs/heads/wrong%03d" % i))
    ok(w.ref(OURS + "branches/right") == right and "refs/heads/right" not in said, "control: one that is right in all of that is saved", w.last["lost"][:3])
    w.sound("wrong objects")
    # The control for fsck: brought in by git itself it complains.
    w.git(w.co, "fetch", "-q", w.ws, "refs/heads/wrong%03d:refs/heads/w" % 0, check=False)
    ok(w.git(w.co, "fsck", "--strict", check=False).returncode != 0, "control: git fetch takes the first of them, and git fsck sees it")
    w.done()


def names():
    """References with names that a terminal, a file system or git would stumble over."""
    w.start()
    tree = w.git(w.ws, "rev-parse", w.base + "^{tree}")
    odd = ["refs/heads/../../../x", "refs/heads/a..b", "refs/heads/.hidden", "refs/heads/x.lock", "refs/heads/a b", "refs/heads/a~1", "refs/heads/\x1b[31m", "refs/heads/@{u}", "HEAD", "../../evil", "refs/heads/"]
    fine = ["refs/heads/-x", "refs/heads/\u202e", "refs/heads/A", "refs/heads/a", "refs/heads/a/b", "refs/heads/" + "n" * 300, "refs/heads/$(touch-x)", "refs/heads/;x", "refs/open-conduit/w1/head", "refs/open-conduit/other/head",
            "refs/heads/odd-0000000000000000", "refs/notes/x", "refs/bisect/bad", "refs/tags/tag", "refs/heads/refs/heads/x"]
    tips = {}
    for i, name in enumerate(odd + fine):
        tips[name] = w.raw_commit(tree, [w.base], tail=b"\n%d\n" % i)
    head = w.commit(w.ws, "new", "new\n")
    w.write(w.ws + "/.git/packed-refs", "# pack-refs with: peeled fully-peeled sorted \n" + "".join("%s %s\n" % (tips[n], n) for n in odd + fine) + "nonsense\n^zzz\n")
    r = w.save()
    have = w.objects()
    ok(all(tips[n] in have for n in fine), "what git takes for a name is saved, under a plain one", [n for n in fine if tips[n] not in have])
    ok(not any(tips[n] in have for n in odd) and "packed-refs" in w.lost(), "what git doesn't is not, and said", [n for n in odd if tips[n] in have])
    refs = w.refs()
    ok(all(r.startswith(OURS) or r in ("refs/heads/main", "refs/heads/other", "refs/tags/light", "refs/tags/v1") for r in refs), "all of it beneath our own", sorted(refs))
    plain = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+=@-")
    ok(all(set(r) <= plain for r in refs) and refs[OURS + "head"] == head, "in plain letters; our own name can't be taken", sorted(refs))
    ok(len({r.lower() for r in refs}) == len(refs), "and none differ in case alone")
    w.sound("odd names")
    w.done()
    w.start()
    good = w.commit(w.ws, "new", "new\n")
    for name, text in (("a", "ref: refs/heads/b\n"), ("b", "ref: refs/heads/a\n"), ("self", "ref: refs/heads/self\n"), ("out", "ref: ../../../x\n"), ("junk", "junk\n"), ("short", good[:39] + "\n"), ("empty", ""),
                       ("big", "x" * 10000), ("upper", good.upper() + "\n"), ("zero", "0" * 40 + "\n"), ("blob", w.git(w.ws, "rev-parse", "HEAD:new") + "\n")):
        w.write(w.ws + "/.git/refs/heads/" + name, text)
    with open(w.ws + "/.git/refs/heads/sparse", "wb") as f:
        f.truncate(1 << 40)
    os.chmod(w.write(w.ws + "/.git/refs/heads/closed", good + "\n"), 0)
    r = w.save(final=True)
    for name in ("a", "b", "self", "out", "junk", "short", "empty", "big", "zero", "sparse", "closed"):
        ok("refs/heads/%s:" % name in w.lost(), "a reference that is no good: " + name, w.lost())
    ok(r["outcome"] == "moved" and w.ref("refs/heads/agent/1") == good, "and the branch is saved", r)
    w.sound("bad references")
    w.done()
    for text in ("ref: refs/heads/a\n", "ref: refs/heads/nowhere\n", "ref: HEAD\n", "junk", "", "0" * 40, "ref: refs/heads/../../x\n"):
        w.start()
        good = w.commit(w.ws, "new", "new\n")
        w.write(w.ws + "/.git/HEAD", text)
        r = w.save(final=True)
        ok(r["outcome"] == "moved" and w.ref("refs/heads/agent/1") == good, "HEAD is %r" % text, r)
        w.done()


def sizes():
    """Bombs, and more of everything than anyone needs."""
    w.start()
    good = w.commit(w.ws, "new", "new\n")
    def bomb(kind, say, real):
        c = zlib.compressobj(9)
        out = c.compress(b"%s %d\0" % (kind, say))
        for _ in range(real >> 20):
            out += c.compress(b"\0" * (1 << 20))
        id = hashlib.sha1(b"%d" % say).hexdigest()
        w.write(w.loose(id), out + c.flush())
        return id
    cases = [("says 5 bytes, is a gigabyte", bomb(b"blob", 5, 1 << 30)), ("says a gigabyte, and is", bomb(b"blob", 1 << 30, 1 << 30)), ("says 2^62", bomb(b"blob", 1 << 62, 1 << 20)),
             ("says 300 MiB, is nothing", bomb(b"blob", 300 << 20, 0)), ("a number without end", bomb(b"blob", 10 ** 60, 0))]
    for name, id in cases:
        w.set("refs/heads/bomb", w.raw_commit(w.tree(("100644", "f", id)), [w.base]))
        start = time.time()
        r = w.save()
        ok(id in w.lost() and w.ref(OURS + "head") == good and time.time() - start < 30, "a loose object that %s" % name, (r, time.time() - start))
    inner = w.tree(("100644", "f", w.blob("x\n")))
    for i in range(1500):
        inner = w.tree(("40000", "d", inner))
    w.set("refs/heads/bomb", w.raw_commit(inner, [w.base]))
    r = w.save()
    ok("refs/heads/bomb" in w.lost() and w.ref(OURS + "head") == good, "1,500 folders in each other", r)
    # A tree bomb: ten entries that are all the same, ten levels deep; each is looked at once.
    inner = w.blob("x\n")
    for i in range(12):
        inner = w.tree(*[("40000" if i else "100644", "n%d" % k, inner) for k in range(10)])
    bomb_tip = w.raw_commit(inner, [w.base])
    w.set("refs/heads/bomb", bomb_tip)
    start = time.time()
    r = w.save()
    ok(w.ref(OURS + "branches/bomb") == bomb_tip and time.time() - start < 20, "a trillion paths of twelve trees", (r, time.time() - start))
    chain = w.base
    tree = w.git(w.ws, "rev-parse", w.base + "^{tree}")
    text = b""
    for i in range(5000):
        text += b"commit refs/heads/long\nmark :%d\ncommitter A <a@example.test> %d +0000\ndata 2\nx\n" % (i + 1, 1700000000 + i) + (b"from %s\n" % w.base.encode() if i == 0 else b"") + b"\n"
    w.git(w.ws, "fast-import", "--quiet", "--force", input=text)
    r = w.save()
    ok(len(w.git(w.co, "rev-list", OURS + "branches/long").splitlines()) == 5002, "5,000 commits in a row", r["lost"])
    w.sound("sizes")
    w.done()


def long_names():
    """More that is lost than an answer has room for."""
    w.start()
    good = w.commit(w.ws, "new", "new\n")
    folder = w.ws.encode() + b"/" + b"/".join(b"\xff" * 250 for _ in range(8))
    os.makedirs(folder)
    for i in range(1200):
        os.close(os.open(folder + b"/" + b"\xfe" * 200 + b"%d" % i, os.O_CREAT | os.O_WRONLY, 0))
    w.write(w.ws + "/.git/packed-refs", "".join("%s refs/heads/%s\n" % (w.raw_commit("2" * 40, [w.base], tail=b"\n%d\n" % i), ("\u202e" * 330) + str(i)) for i in range(700)))
    r = w.save(final=True)
    ok(r["outcome"] == "moved" and w.ref("refs/heads/agent/1") == good, "the branch is saved", str(r)[:300])
    ok(len(r["lost"]) == 501 and "more" in r["lost"][-1]["what"], "500 are named, and how many more there are", r["lost"][-1:])
    w.sound("long names")
    w.done()


def shadow():
    """What the checkout has is never taken from the workspace."""
    w.start()
    tree = w.git(w.ws, "rev-parse", w.base + "^{tree}")
    os.chmod(w.loose(tree), 0o600) if os.path.exists(w.loose(tree)) else None
    w.put("tree", b"", name=tree)
    w.set("refs/heads/agent/1", w.raw_commit(tree, [w.base]))
    before = w.git(w.co, "cat-file", "-p", tree)
    r = w.save(final=True)
    ok(r["outcome"] == "moved" and w.git(w.co, "cat-file", "-p", tree) == before, "another object under the id of one that the checkout has", r)
    w.sound("shadow")
    w.done()


def racing():
    """Files that change while they are read: a process that replaces objects, references and folders all the time."""
    w.start()
    for i in range(30):
        tip = w.commit(w.ws, "f%d" % i, "%d\n" % i)
    secret = w.write(w.home + "/.ssh/id_y", "PRIVATE-KEY-IN-A-RACE\n", 0o600)
    script = w.write(w.root + "/race.py", """
import os, sys, time
ws, secret = sys.argv[1:]
objects = [os.path.join(d, f) for d, _, fs in os.walk(ws + '/.git/objects') for f in fs if len(f) == 38]
end = time.time() + 12
while time.time() < end:
    for o in objects[:40]:
        try:
            os.rename(o, o + '.x'); os.symlink(secret, o); os.unlink(o); os.rename(o + '.x', o)
        except OSError: pass
    for d in ('/.git/refs/heads', '/.git/objects/' + objects[0].split('/')[-2]):
        try:
            os.rename(ws + d, ws + '/.git/away'); os.symlink('/', ws + d); os.unlink(ws + d); os.rename(ws + '/.git/away', ws + d)
        except OSError: pass
""")
    p = subprocess.Popen([sys.executable, script, w.ws, secret])
    saves = 0
    while p.poll() is None:
        try:
            w.save()
            saves += 1
        except Refused:
            pass
    ok(saves > 0 and not w.holds(b"PRIVATE-KEY"), "files that are replaced by links all the time: %d saves, nothing of it gets in" % saves)
    r = w.save(final=True)
    ok(w.ref("refs/heads/agent/1") == tip and r["lost"] == [], "control: in peace all is saved", r)
    w.sound("racing")
    w.done()


TESTS = [config, links, alternates, corrupt, packs, repacked, objects, names, sizes, long_names, shadow, racing]
if __name__ == "__main__":
    only = sys.argv[1:]
    for test in TESTS:
        if not only or test.__name__ in only:
            try:
                test()
            except Exception:
                ok(False, test.__name__, traceback.format_exc())
    w.close()
    finish()

# SPDX-License-Identifier: Apache-2.0
"""canary.py [--image FILE]: a secret that is found nowhere outside its run's own processes.

A value made for this test, in a real keyring, is given to real runs, sandboxed and not, which print it in every way that
happens by accident; then to runs whose host or guard is killed at each named point.  It is looked for, plain, in base64 and
in hex, in all files of the state, the home and the temporary directories, in records, logs and history, in arguments and
environments of all processes while they live.  Where all this is on a disk of its own, OC_DISK is the file that holds it:
then after each part its blocks are looked through as well, free ones among them, and once more by root after it was
unmounted (--image); OC_CANARY names a file that is told what to look for.

Each search has a control: what is planted on purpose is found."""
import base64, json, mmap, os, subprocess, sys, threading, time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("../lib", "../fault", "../isolation", "."):
    sys.path.insert(0, os.path.join(HERE, folder))
from tap import finish, ok, skip  # noqa: E402

# As a whole, in two pieces with a pause between, as a string of JSON, on standard error, and with all that env prints.
PRINTS = ('printf %s "$T"; printf %s "$T" | head -c 20; sleep 0.4; printf %s "$T" | tail -c +21; echo; printf "{\\"k\\":\\"%s\\"}\\n" "$T" >&2; env; '
          'echo before-"$T"-after; printf %s "$T" | rev; echo; sleep 0.6; exit 7')


def forms(text):
    """Plain, in base64 wherever it stands in what was encoded, in hex."""
    raw, found = text.encode(), {text.encode(), text.encode().hex().encode(), text.encode().hex().upper().encode()}
    for shift in range(3):
        code = base64.b64encode(b"\0" * shift + raw)
        found.add(code[(0, 2, 3)[shift]:-4])  # but for what the neighbours change
    return sorted(found)


class Watch(threading.Thread):
    """Arguments and environments of every process that can be looked into, again and again."""

    def __init__(self, needles):
        super().__init__(daemon=True)
        self.needles, self.over, self.seen, self.rounds = needles, False, set(), 0

    def run(self):
        while not self.over:
            self.rounds += 1
            for p in filter(str.isdigit, os.listdir("/proc")):
                for what in ("cmdline", "environ"):
                    try:
                        text = open("/proc/%s/%s" % (p, what), "rb").read()
                        if any(n in text for n in self.needles):
                            self.seen.add((what, open("/proc/%s/comm" % p).read().strip(), b"OPEN_CONDUIT_RUN=" in text))
                    except OSError:
                        pass
            time.sleep(0.005)

    def stop(self):
        self.over = True
        self.join()
        return self.seen


def in_files(places, needles):
    found = []
    for place in places:
        for top, _, files in os.walk(place):
            for name in files:
                path = os.path.join(top, name)
                try:
                    if os.path.islink(path) or not os.path.isfile(path) or os.stat(path).st_uid != os.getuid():
                        continue
                    with open(path, "rb") as f:
                        text = f.read()
                except OSError:
                    continue
                if any(n in text for n in needles):
                    found.append(path)
    return found


class Canary:
    def __init__(self):
        from secret import Secrets
        self.w = w = Secrets()
        self.key = w.keyring()
        self.value = "canary" + os.urandom(20).hex()
        self.control = "control" + os.urandom(20).hex()
        self.needles = forms(self.value)
        p = w.oc("secret", "set", "tok", input=self.value, env=self.key.env)
        ok(p.returncode == 0, "the canary is in the keyring", p.stderr)

    def places(self):
        return [self.w.root, "/tmp", "/var/tmp", "/dev/shm"]

    def clean(self, what):
        found = in_files(self.places(), self.needles)
        ok(not found, what + ": in no file", found[:5])
        if os.environ.get("OC_DISK"):
            # What is deleted is in the free blocks: the control of the search of the disk.
            with open(self.w.root + "/control", "w") as f:
                f.write(self.control * 200)
                f.flush()
                os.fsync(f.fileno())
            os.unlink(self.w.root + "/control")
            os.sync()
            disk(os.environ["OC_DISK"], {"canary": self.value, "control": self.control}, what + ": ")

    def exec(self, kind, command=PRINTS, **env):
        return self.w.oc("exec", *(["--unsandboxed"] if kind == "none" else []), "--secret", "T=keyring:tok", "--", "sh", "-c", command, env={**self.key.env, **env})

    def controls(self):
        path = "/dev/shm/planted-%d" % os.getpid()  # not on the disk that is looked through, where it would stay
        for needle in self.needles:
            with open(path, "wb") as f:
                f.write(b"x" * 1000 + needle + b"y")
            found = set(in_files(self.places(), self.needles))
            os.unlink(path)
            ok(found == {path}, "control: a file with it is found", found)
        watch = Watch(self.needles)
        watch.start()
        for argv, env in ((["sleep", "0.5"], {"X": self.value}), (["sh", "-c", "sleep 0.5; : " + self.value], {})):
            subprocess.run(argv, env={"PATH": "/usr/bin:/bin", **env})
        ok({(w, c) for w, c, _ in watch.stop()} >= {("environ", "sleep"), ("cmdline", "sh")}, "control: in arguments and an environment it is found", watch.seen)

    def runs(self, kind):
        watch = Watch(self.needles)
        watch.start()
        p = self.exec(kind)
        seen = watch.stop()
        name = "a %s run" % ("sandboxed" if kind == "srt" else "plain")
        both = p.stdout + p.stderr
        ok(p.returncode == 7 and both.count("[secret T]") >= 5 and "before-[secret T]-after" in p.stdout and '{"k":"[secret T]"}' in p.stderr,
           name + ": what it prints is redacted, wherever it was cut", (p.returncode, both[-600:]))
        ok(self.value[::-1] in p.stdout, name + ": control: what is no longer the value is recorded", p.stdout[-200:])
        ok(not [s for s in seen if s[0] == "cmdline"], name + ": in no argument", seen)
        own = {s[1] for s in seen if s[2]}
        ok(own and own <= {"sh", "sleep", "env", "head", "tail", "rev", "dash"} and not [s for s in seen if not s[2]],
           name + ": in the environment of its own processes alone (%d looks)" % watch.rounds, seen)
        run = json.loads(self.w.oc("runs", "list", "--json", "-n", "1").stdout)["runs"][0]["id"]
        texts = [self.w.oc("runs", *args).stdout for args in (("get", run), ("get", run, "--json"), ("logs", run), ("list", "--json"))]
        ok(all(texts) and not [t for t in texts if any(n.decode() in t for n in self.needles)], name + ": in no record, log or history")
        self.clean(name)

    def killed(self, kind):
        from faults import points, processes, wait_for
        # Those of the toolbelt need one; they come after delivery.
        places = [p for p in points("host:") + points("guard:") if not p.startswith("host:call-")]
        reached = {}

        def one(point):
            p = self.exec(kind, "printf %s \"$T\"; echo; exit 7", OPEN_CONDUIT_FAULT=point)
            reached[point] = p.returncode == -9 if point.startswith("host:") else p.returncode in (125, 7)
            return p.stdout + p.stderr
        with ThreadPoolExecutor(8) as pool:
            said = list(pool.map(one, places))
        ok(all(reached.values()) and len(places) >= 20, "killed (%s): %d points of host and guard" % (kind, len(places)), [p for p in places if not reached[p]])
        ok(not [t for t in said if self.value in t], "killed (%s): nothing that is printed has it" % kind)
        self.clean("killed (%s), before anybody tidies up" % kind)
        mine = {p.pid for k in self.w.open for p in k.processes}
        left = lambda: [p for p in processes(self.w) if p[0] not in mine]  # noqa: E731
        ok(wait_for(lambda: not left(), 40), "killed (%s): nothing of it stays" % kind, left())
        self.w.oc("runs", "list")
        self.clean("killed (%s), after recovery" % kind)

    def close(self):
        where = os.environ.get("OC_CANARY")
        if where:
            with open(where, "w") as f:
                json.dump({"canary": self.value, "control": self.control}, f)
        self.w.close()


def disk(path, told, what):
    """The blocks of a file system, through the file that holds it."""
    with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as blocks:
        ok(blocks.find(told["control"].encode()) >= 0, what + "control: what was deleted is found in the free blocks")
        found = [(n, blocks.find(n)) for n in forms(told["canary"]) if blocks.find(n) >= 0]
        ok(not found, what + "in no block of %d MiB, free ones and the file system's journal among them" % (len(blocks) >> 20), found)


def main():
    if sys.argv[1:2] == ["--image"]:
        with open(os.environ["OC_CANARY"]) as f:
            disk(sys.argv[2], json.load(f), "unmounted: ")
        finish()
    if not os.path.exists(os.environ["OC_BUILD"] + "/libexec/open-conduit-keyring"):
        skip("canary", "this build has no libsecret")
        sys.exit(0)
    c = Canary()
    try:
        c.controls()
        for kind in ("none", "srt"):
            c.runs(kind)
        for kind in ("none", "srt"):
            c.killed(kind)
    finally:
        c.close()
    finish()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Secrets by the command line: set, list, rm; where a value may come from and what is refused; the Secret Service for real
in each of its states.  That a value is nowhere it should not be is canary.py's."""
import json, os, pty, re, resource, select, shutil, signal, subprocess, sys, termios, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from keyring import Keyring  # noqa: E402
from work import Works, put  # noqa: E402
from world import BUILD, finish, ok, skip  # noqa: E402

VALUE = "canary-%d-of-a-secret" % os.getpid()
HASH = "printf %s \"$T\" | sha256sum | cut -c1-64"


class Secrets(Works):
    """Works, and a keyring of its own."""

    def __init__(self):
        super().__init__()
        self.secrets = self.config + "/secrets"
        self.open = []

    def keyring(self, **how):
        k = Keyring(self.root + "/k%d" % len(self.open), **how)
        self.open.append(k)
        return k

    def gives(self, source, env=None, command=HASH):
        return self.oc("exec", "--unsandboxed", "--secret", "T=" + source, "--", "sh", "-c", command, env=env)

    def refused(self, source, what, words, env=None, within=None):
        mark, began = self.root + "/ran", time.monotonic()
        p = self.gives(source, env, "touch " + mark)
        took = time.monotonic() - began
        good = p.returncode == 125 and "secret_missing" in p.stderr and "  fix " in p.stderr and not os.path.exists(mark)
        ok(good and re.search(words, p.stderr) and (within is None or took < within), what, (p.returncode, "%.1f s" % took, p.stderr))
        return p.stderr

    def close(self):
        for k in self.open:
            k.close()
        super().close()


def hashed(text):
    import hashlib
    return hashlib.sha256(text if isinstance(text, bytes) else text.encode()).hexdigest()


def states(w):
    """What a run is told in each state of the keyring, and that it never runs without the value."""
    said = {"no_bus": w.refused("keyring:tok", "keyring: no bus", "no session bus", env={"XDG_RUNTIME_DIR": w.root})}
    k = w.keyring(service=False)
    said["no_service"] = w.refused("keyring:tok", "keyring: a bus with nothing behind it", "no program serves", env=k.env)
    k = w.keyring(unlocked=False)
    said["never"] = w.refused("keyring:tok", "keyring: one that was never unlocked is not one without the secret", "never unlocked", env=k.env)
    ok(w.oc("secret", "set", "tok", input=VALUE, env=k.env).returncode == 1, "keyring: nothing is stored in one that was never unlocked")
    k = w.keyring()
    said["absent"] = w.refused("keyring:tok", "keyring: no such entry", "no such entry", env=k.env)
    ok("open-conduit secret set tok" in said["absent"], "keyring: the fix of an absent one can be pasted", said["absent"])
    p = w.oc("secret", "set", "tok", input=VALUE, env=k.env)
    ok(p.returncode == 0 and VALUE not in p.stdout + p.stderr, "keyring: stored, and not shown", p.stderr)
    p = w.gives("keyring:tok", k.env)
    ok(p.returncode == 0 and p.stdout.strip() == hashed(VALUE), "keyring: present, and the run has it", p.stderr)
    p = w.oc("exec", "--secret", "T=keyring:tok", "--", "sh", "-c", HASH, env=k.env)
    ok(p.returncode == 0 and p.stdout.strip() == hashed(VALUE), "keyring: a sandboxed run has it", p.stderr)
    k.lock()
    said["locked"] = w.refused("keyring:tok", "keyring: locked", "keyring is locked", env=k.env)
    ok("gnome-keyring-daemon" in said["locked"] and "secret set" not in said["locked"], "keyring: a locked one is not to be set anew", said["locked"])
    for do in (("set", "tok"), ("rm", "tok")):
        p = w.oc("secret", *do, input=VALUE, env=k.env)
        ok(p.returncode == 1 and "locked" in p.stderr, "keyring: secret %s of a locked one" % do[0], p.stderr)
    k.freeze()
    said["silent"] = w.refused("keyring:tok", "keyring: one that does not answer is not waited for", "within 5 seconds", env=k.env, within=9)
    k.freeze(False)
    texts = [re.sub(r".*\n  what   (.*)\n.*", r"\1", t, flags=re.S) for t in said.values()]
    ok(len(set(texts)) == len(said), "keyring: each state is told apart", texts)


def helpers(w):
    """A helper that is not there, or not what it should be, gives no value."""
    k = w.keyring()
    w.oc("secret", "set", "tok", input=VALUE, env=k.env)
    lib = w.root + "/libexec"
    shutil.copytree(BUILD + "/libexec", lib)
    env, helper = {**k.env, "OPEN_CONDUIT_LIBEXEC": lib}, lib + "/open-conduit-keyring"
    ok(w.gives("keyring:tok", env).stdout.strip() == hashed(VALUE), "helper: control: a copy of it works")
    os.unlink(helper)
    w.refused("keyring:tok", "helper: not built", "without libsecret", env=env)
    for what, script in (("says nothing", "exit 0"), ("says nonsense", "echo whatever"), ("says so and fails", "printf 'present\\nvalue'; exit 1"),
                         ("does not start", "exit 127"), ("is killed", "kill -9 $$"), ("gives no value", "echo present"),
                         ("gives a NUL", "printf 'present\\na\\0b'"), ("gives too much", "echo present; head -c 65537 /dev/zero | tr '\\0' x"),
                         ("never ends", "yes present"), ("hangs", "sleep 100")):
        put(helper, "#!/bin/sh\n" + script + "\n", 0o755)
        w.refused("keyring:tok", "helper: one that " + what, "what ", env=env, within=12)
    put(helper, "#!/bin/sh\nprintf 'present\\n%s' \"$*|$(env | sed 's/=.*//' | sort | tr '\\n' ' ')\"\n", 0o755)
    p = w.gives("keyring:tok", {**env, "MY_OWN": VALUE}, "printf %s \"$T\" | base64")
    import base64
    saw = base64.b64decode(p.stdout).decode()
    ok(saw.startswith("lookup tok|") and "MY_OWN" not in saw and "OPEN_CONDUIT" not in saw and "DBUS_SESSION_BUS_ADDRESS" in saw,
       "helper: is given a name, and of the environment what finds the bus", saw)
    os.unlink(helper)
    shutil.copy(BUILD + "/libexec/open-conduit-keyring", helper)
    k.freeze()
    p = subprocess.Popen([helper, "lookup", "tok"], env=k.env, stdout=subprocess.DEVNULL)
    sleeper = subprocess.Popen(["sleep", "10"], env=k.env)
    time.sleep(0.5)
    ok(os.stat("/proc/%d/environ" % p.pid).st_uid == 0 and os.stat("/proc/%d/environ" % sleeper.pid).st_uid == os.getuid(),
       "helper: no other process of the user looks into it; control: into another it does")
    limits = open("/proc/%d/limits" % sleeper.pid).read()
    with open("/proc/%d/status" % p.pid) as f:
        ok(f.read() and "Max core file size" in limits, "helper: lives while the keyring is silent")
    sleeper.kill()
    sleeper.wait()
    ok(p.wait(15) == -signal.SIGALRM, "helper: ends by itself when nobody ends it", p.returncode)
    k.freeze(False)


def terminal(argv, env, type_, wait=b"(it is not shown): ", signal_=None):
    """Run on a terminal, type once the prompt is there: what it showed, the status, has it its echo again?"""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(BUILD + "/host/open-conduit", ["open-conduit"] + argv, env)
    seen, end, typed = b"", time.monotonic() + 30, False
    while time.monotonic() < end:
        if select.select([fd], [], [], 0.5)[0]:
            try:
                piece = os.read(fd, 65536)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        if not typed and wait in seen:
            typed = True
            time.sleep(0.1)
            quiet = not termios.tcgetattr(fd)[3] & termios.ECHO
            if signal_:
                os.kill(pid, signal_)
            else:
                os.write(fd, type_)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(fd)
    return seen, status, typed and quiet


def echo_after(argv, env):
    """A shell on the terminal around it: is there an echo when it is over?"""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve("/bin/sh", ["sh", "-c", 'trap : INT; %s/host/open-conduit %s; stty -a | grep -o " -\\?echo " | tr -d " \\n"; echo .' % (BUILD, " ".join(argv))], env)
    seen, sent, end = b"", False, time.monotonic() + 30
    while time.monotonic() < end and select.select([fd], [], [], 20)[0]:
        try:
            piece = os.read(fd, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
        if b"(it is not shown): " in seen and not sent:
            time.sleep(0.1)
            os.write(fd, b"\x03")
            sent = True
    os.waitpid(pid, 0)
    os.close(fd)
    return sent and b"\necho." in seen.replace(b"\r", b""), seen


def setting(w):
    k = w.keyring()
    env = {**w.env, **k.env}
    seen, status, quiet = terminal(["secret", "set", "typed"], env, VALUE.encode() + b"\n")
    ok(status == 0 and quiet and VALUE.encode() not in seen, "set: typed at a terminal, nothing is shown", (status, seen))
    ok(w.gives("keyring:typed", k.env).stdout.strip() == hashed(VALUE), "set: without the newline that ended it")
    seen, status, _ = terminal(["secret", "set", "typed"], env, b"first line\nsecond line\n")
    ok(status == 1 and b"more" in seen and b"second" not in seen, "set: what has more lines is no line of a terminal", (status, seen))
    for number in (signal.SIGINT, signal.SIGTERM):
        seen, status, _ = terminal(["secret", "set", "typed"], env, b"", signal_=number)
        ok(status == 128 + number and b"nothing was stored" in seen, "set: interrupted by signal %d" % number, (status, seen))
    good, seen = echo_after(["secret", "set", "typed"], env)
    ok(good, "set: the terminal has its echo again", seen)
    seen, status, _ = terminal(["secret", "set", "typed"], env, b"x" * 4094 + b"\n")
    ok(status == 1 and b"longer" in seen, "set: a line that the terminal would cut", status)
    seen, status, _ = terminal(["secret", "set", "typed"], env, b"\n")
    ok(status == 1 and b"empty" in seen, "set: an empty line", (status, seen))
    ok(w.gives("keyring:typed", k.env).stdout.strip() == hashed(VALUE), "set: what was there is as it was")
    odd = "two\nlines, \u00fc, \"quoted\" \\ and a newline\n"
    for flags, source in (((), "keyring:odd"), (("--file",), "file:" + w.secrets + "/odd")):
        p = w.oc("secret", "set", *flags, "odd", input=odd, env=k.env)
        ok(p.returncode == 0 and "newline" in p.stderr, "set: standard input, whole, and says that it ends with a newline", p.stderr)
        ok(w.gives(source, k.env).stdout.strip() == hashed(odd), "set: byte for byte: " + source.split(":")[0])
    for what, text in (("nothing", ""), ("a NUL", "a\0b"), ("64 KiB and one", "x" * 65537)):
        for flags in ((), ("--file",)):
            p = w.oc("secret", "set", *flags, "odd", input=text, env=k.env)
            ok(p.returncode == 1 and "  fix " in p.stderr, "set: %s is refused %s" % (what, "".join(flags)), p.stderr)
    whole = "y" * 65536
    for flags, source in (((), "keyring:whole"), (("--file",), "file:" + w.secrets + "/whole")):
        w.oc("secret", "set", *flags, "whole", input=whole, env=k.env)
        ok(w.gives(source, k.env).stdout.strip() == hashed(whole), "set: 64 KiB: " + source.split(":")[0])
    for args in (("set", "odd", VALUE), ("set", "odd=" + VALUE), ("set", "--value=" + VALUE, "odd"), ("rm", "odd", VALUE), ("set",), ("set", "../x"), ("set", ".x")):
        p = w.oc("secret", *args, input="x", env=k.env)
        ok(p.returncode == 2 and VALUE not in p.stdout + p.stderr, "set: usage: " + " ".join(args).replace(VALUE, "VALUE"), (p.returncode, p.stderr))
    # with the tool that everybody has, either way
    ok(k.tool("lookup", "application", "open-conduit", "name", "odd").stdout == odd.encode(), "set: secret-tool finds it")
    k.tool("store", "--label=x", "application", "open-conduit", "name", "theirs", input=VALUE.encode())
    ok(w.gives("keyring:theirs", k.env).stdout.strip() == hashed(VALUE), "set: what secret-tool stored is found")
    k.tool("store", "--label=x", "application", "open-conduit", "name", "theirs", "more", "1", input=b"another")
    w.refused("keyring:theirs", "set: of two entries none is taken", "more than one", env=k.env)
    ok(w.oc("secret", "set", "theirs", input="third", env=k.env).returncode == 0 and w.gives("keyring:theirs", k.env).stdout.strip() == hashed("third"),
       "set: one again")
    k.tool("store", "--label=x", "application", "another", "name", "foreign", input=VALUE.encode())
    w.refused("keyring:foreign", "set: an entry of another program is none of ours", "no such entry", env=k.env)
    removing(w, k)


def removing(w, k):
    for flags in ((), ("--file",)):
        ok(w.oc("secret", "rm", *flags, "odd", env=k.env).returncode == 0, "rm: removed " + "".join(flags))
        p = w.oc("secret", "rm", *flags, "odd", env=k.env)
        ok(p.returncode == 1 and "no such" in p.stderr and "open-conduit secret list" in p.stderr, "rm: what is gone can't be removed " + "".join(flags), p.stderr)
    ok(not os.path.exists(w.secrets + "/odd") and k.tool("lookup", "application", "open-conduit", "name", "odd").returncode == 1, "rm: both are gone")
    ok(k.tool("lookup", "application", "another", "name", "foreign").stdout == VALUE.encode(), "rm: another program's is there")


def files(w):
    at = w.secrets + "/tok"
    p = w.oc("secret", "set", "--file", "tok", input=VALUE)
    ok(p.returncode == 0 and "file:" + at in p.stderr and VALUE not in p.stderr, "file: stored where it says", p.stderr)
    modes = [os.stat(p).st_mode & 0o7777 for p in (at, w.secrets)]
    ok(modes == [0o600, 0o700], "file: ours alone", [oct(m) for m in modes])
    ok(w.gives("file:" + at).stdout.strip() == hashed(VALUE), "file: the run has it")
    p = w.oc("exec", "--read", w.home, "--", "cat", at)
    ok(p.returncode != 0 and VALUE not in p.stdout, "file: no sandboxed run reads it, whatever it is granted", p.stderr)
    plain = put(w.root + "/plain", VALUE, 0o600)
    ok(w.gives("file:" + plain).stdout.strip() == hashed(VALUE), "file: control: any of our own, 0600")
    for mode in (0o640, 0o604, 0o660, 0o610):
        os.chmod(plain, mode)
        w.refused("file:" + plain, "file: mode %o" % mode, "chmod 600 " + plain)
    os.chmod(plain, 0o400)
    ok(w.gives("file:" + plain).stdout.strip() == hashed(VALUE), "file: control: read-only is good")
    os.symlink(plain, w.root + "/link")
    w.refused("file:" + w.root + "/link", "file: a symbolic link", "symbolic link")
    os.link(plain, w.root + "/second")
    w.refused("file:" + plain, "file: with a second name", "hard link")
    os.unlink(w.root + "/second")
    os.mkfifo(w.root + "/fifo", 0o600)
    w.refused("file:" + w.root + "/fifo", "file: a FIFO, without waiting", "not a regular file", within=5)
    w.refused("file:" + w.root, "file: a directory", "not a regular file|directory")
    w.refused("file:/etc/hostname", "file: another's", "another user|access to it")
    w.refused("file:" + w.root + "/none", "file: none", "No such file")
    ok("secret set --file none" in w.refused("file:" + w.secrets + "/none", "file: none of ours", "No such file"), "file: the fix can be pasted")
    for what, text in (("empty", ""), ("only a newline", "\n"), ("a NUL", "a\0b"), ("too long", "x" * 65537)):
        w.refused("file:" + put(w.root + "/odd", text), "file: " + what, "what ")
    changed(w, at)


def changed(w, at):
    """A set that fails leaves what was there, and no part of what it wrote."""
    def no_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))
    p = subprocess.run([BUILD + "/host/open-conduit", "secret", "set", "--file", "tok"], env=w.env, input=b"another value", preexec_fn=no_room, capture_output=True)
    ok(p.returncode == 1 and os.listdir(w.secrets) == ["tok"] and w.gives("file:" + at).stdout.strip() == hashed(VALUE),
       "file: a full disk leaves the old value", (p.returncode, p.stderr, os.listdir(w.secrets)))
    old = os.open(at, os.O_RDONLY)
    put(w.secrets + "/.part-12345678", "what a killed one left")
    p = w.oc("secret", "set", "--file", "tok", input="second value")
    ok(p.returncode == 0 and os.listdir(w.secrets) == ["tok"], "file: what a killed one left goes", os.listdir(w.secrets))
    ok(os.pread(old, 100, 0).strip(b"\0") == b"" and w.gives("file:" + at).stdout.strip() == hashed("second value"), "file: the old value is overwritten")
    os.close(old)
    os.chmod(w.secrets, 0o755)
    p = w.oc("secret", "set", "--file", "tok", input="third")
    ok(p.returncode == 1 and "chmod 700" in p.stderr, "file: a directory open to others is not written", p.stderr)
    os.chmod(w.secrets, 0o700)
    os.rename(w.secrets, w.root + "/elsewhere")
    os.symlink(w.root + "/elsewhere", w.secrets)
    p = w.oc("secret", "set", "--file", "tok", input="third")
    ok(p.returncode == 1 and "  fix " in p.stderr, "file: nor through a link", p.stderr)


def listing(w):
    k = w.keyring()
    w.configure(w.binding("kept", secret_names=["kept", "gone"], config={"secret_env": {"kept": "KEPT", "gone": "GONE"}}),
                w.binding("also", secret_names=["kept"], config={"secret_env": {"kept": "KEPT"}}))
    config = json.load(open(w.config + "/config.json"))
    config["scopes"][0]["secret_refs"].update({"kept": "keyring:kept", "gone": "keyring:gone", "spare": "file:~/.config/open-conduit/secrets/spare"})
    put(w.config + "/config.json", json.dumps(config))
    for name in ("kept", "unnamed"):
        w.oc("secret", "set", name, input=VALUE, env=k.env)
    for name in ("spare", "stray"):
        w.oc("secret", "set", "--file", name, input=VALUE)
    p = w.oc("secret", "list", "--json", env=k.env)
    answer = json.loads(p.stdout)
    rows = {(r["name"], r["ref"].split(":")[0]): r for r in answer["secrets"]}
    want = {("kept", "keyring"): ("present", ["web/kept", "web/also"]), ("gone", "keyring"): ("absent", ["web/kept"]), ("unnamed", "keyring"): ("present", []),
            ("spare", "file"): ("present", []), ("stray", "file"): ("present", []), ("token", "env"): ("absent", ["web/secret"]),
            ("file-token", "file"): ("present", ["web/secret"])}
    ok({k_: (r["state"], r["bindings"]) for k_, r in rows.items()} == want, "list: names, states, who selects them", answer["secrets"])
    ok(answer["version"] == 1 and answer["keyring"]["state"] == "present" and answer["config"] == "good", "list: the keyring and the config", answer)
    text = w.oc("secret", "list", env={**k.env, "MY_TOKEN": VALUE})
    ok("web/kept, web/also" in text.stdout and "absent" in text.stdout and VALUE not in p.stdout + text.stdout + text.stderr, "list: as text, never a value", text.stdout)
    doctor(w, k)
    k.lock()
    rows = {r["name"]: r["state"] for r in json.loads(w.oc("secret", "list", "--json", env=k.env).stdout)["secrets"]}
    ok(rows["kept"] == "locked" and rows["gone"] == "locked" and "unnamed" not in rows, "list: of a locked keyring nothing is called absent", rows)
    p = w.oc("doctor", "--json", env=k.env)
    ok(p.returncode == 1 and json.loads(p.stdout)["keyring"]["state"] == "locked", "doctor: a locked keyring that a binding needs", p.stdout)
    rows = {r["name"]: r["state"] for r in json.loads(w.oc("secret", "list", "--json").stdout)["secrets"]}
    ok(rows["kept"] == "no_bus", "list: without a bus", rows)
    put(w.config + "/config.json", "{")
    p = w.oc("secret", "list", "--json")
    ok(p.returncode == 0 and json.loads(p.stdout)["config"] == "bad", "list: a config with errors", p.stderr)


def doctor(w, k):
    p = w.oc("doctor", "--json", env=k.env)
    got = json.loads(p.stdout)
    ok(p.returncode == 1 and not got["ok"] and got["keyring"]["missing"] == ["gone"] and "secret set gone" in got["keyring"]["fix"], "doctor: a secret that is missing", got["keyring"])
    p = w.oc("doctor", env=k.env)
    ok(p.returncode == 1 and "FAIL    the keyring" in p.stdout and "secret set gone" in p.stdout, "doctor: as text", p.stdout)
    p = w.turn("true", binding="kept", env=k.env)
    ok(p.returncode == 125 and "secret set gone" in p.stderr and not w.left(), "doctor: so the binding's run is refused, before a Work is begun", (p.stderr, w.left()))
    w.oc("secret", "set", "gone", input="now it is there", env=k.env)
    p = w.oc("doctor", "--json", env=k.env)
    ok(p.returncode == 0 and json.loads(p.stdout)["keyring"]["ok"], "doctor: all there", p.stdout)
    p = w.turn("printf %s:%s \"$KEPT\" \"$GONE\" | sha256sum", binding="kept", env=k.env)
    ok(p.returncode == 0 and hashed(VALUE + ":now it is there") in p.stdout, "doctor: and the binding's run has them", p.stderr)


def part(name):
    w = Secrets()
    try:
        globals()[name](w)
    finally:
        w.close()


def main():
    if not os.path.exists(BUILD + "/libexec/open-conduit-keyring"):
        skip("keyring", "this build has no libsecret")
        part("files")
        finish()
    for name in sys.argv[1:] or ["states", "helpers", "setting", "files", "listing"]:
        part(name)
    finish()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What holds a container, seen from inside and as the engine shows it, each beside a container where it is otherwise; images that
mean ill; two runs at once."""
import json, os, sys

from boxes import ENGINE, TOOLS, Boxes, wait_for
from world import HERE, finish, ok, put

UID, GID = str(os.getuid()), str(os.getgid())
LIMITS = {"cpus": 0.5, "memory": "128m", "pids": 50}
SOCKET = ENGINE[len("unix://"):]
# The opposite of all that is looked for.
LOOSE = ("--privileged", "--cap-add", "NET_ADMIN", "--network", "host", "--pid", "host", "--ipc", "host", "--uts", "host", "--cgroupns", "host", "--user", "0", "--restart", "always", "--init",
         "--log-driver", "json-file", "-v", "%s:%s" % ((os.path.dirname(SOCKET),) * 2), "--group-add", "7",
         "-e", "LOOK_AT=" + os.path.dirname(SOCKET), "--device", "/dev/kmsg", "--health-cmd", "true", "--dns", "127.0.0.1", "--add-host", "x:127.0.0.1", "--volume", "/data", "-i", "-t")
NO_PRIVILEGE = "0" * 16


def inside_table(host):
    """(what, where, what it has to be or a test of it)."""
    ns = {n: os.readlink("/proc/self/ns/" + n) for n in host["ns"]}
    return [
        ("the operator's uid, all of them", "uid", [UID] * 4), ("and gid", "gid", [GID] * 4), ("no groups beside it", "groups", lambda g: set(g) <= {GID}),
        ("no capability in any set", "caps", [NO_PRIVILEGE]), ("NoNewPrivs", "no_new_privs", "1"), ("a filter of system calls", "seccomp", "2"),
        ("a read-only root", "root", True), ("/tmp is a tmpfs", "tmp", "tmpfs"), ("of nosuid and nodev", "tmp_options", lambda o: {"nosuid", "nodev"} <= set(o)),
        ("/proc/sys is read-only", "proc_sys", True), ("so are the control groups", "cgroup", True),
        ("the limit of memory", "memory", str(128 << 20)), ("of processes", "pids", "50"), ("of processors", "cpus", lambda c: c.split()[0] == "50000"),
        ("it is killed before others", "oom", "500"), ("no socket of an engine", "sockets", []), ("a name that tells nothing", "hostname", "open-conduit"),
        ("the guest is its first process", "first", lambda f: f in ("/.open-conduit/guest", "Permission denied")), ("no device of the host", "devices", lambda d: not {"kmsg", "mem", "vda", "sda", "loop-control"} & set(d)),
        ("no route out", "default_route", False), ("two links", "links", ["eth0", "lo"]),
        ] + [("a %s namespace of its own" % n, "ns", lambda found, n=n: found[n] != ns[n]) for n in sorted(ns)]


def config(key):
    return lambda o: o["Config"].get(key)


def of_host(key):
    return lambda o: o["HostConfig"].get(key)


def label(name):
    return lambda o: o["Config"]["Labels"].get("io.openconduit." + name)


def empty(get):
    return lambda o: not get(o)


# (what, how it is found, what it has to be), in both of a run's containers.
SHOWN = [
    ("the user", config("User"), UID + ":" + GID), ("no capability", of_host("CapDrop"), ["ALL"]), ("none added", empty(of_host("CapAdd")), True),
    ("not privileged", of_host("Privileged"), False), ("no new privileges, and the engine's own filter", of_host("SecurityOpt"), ["no-new-privileges"]),
    ("a read-only root", of_host("ReadonlyRootfs"), True), ("a limit of processes", lambda o: (o["HostConfig"].get("PidsLimit") or 0) > 0, True),
    ("no way to swap", lambda o: o["HostConfig"]["Memory"] > 0 and o["HostConfig"]["Memory"] == o["HostConfig"]["MemorySwap"], True),
    ("no IPC with others", lambda o: o["HostConfig"]["IpcMode"] in ("private", "none"), True), ("control groups of its own", of_host("CgroupnsMode"), "private"),
    ("processes of its own", of_host("PidMode"), ""), ("a name of its own", of_host("UTSMode"), ""), ("no log", lambda o: o["HostConfig"]["LogConfig"]["Type"], "none"),
    ("not started again", lambda o: o["HostConfig"]["RestartPolicy"]["Name"], "no"), ("no init of the engine's", empty(of_host("Init")), True), ("no device", empty(of_host("Devices")), True),
    ("no group added", empty(of_host("GroupAdd")), True), ("no bind by another way", empty(of_host("Binds")), True), ("no resolver of ours", empty(of_host("Dns")), True),
    ("no name added", empty(of_host("ExtraHosts")), True), ("no health check", lambda o: (o["Config"].get("Healthcheck") or {}).get("Test"), ["NONE"]),
    ("not on the host's network", lambda o: o["HostConfig"]["NetworkMode"] == "host", False), ("no engine's socket", lambda o: any(m.get("Source") and SOCKET.startswith(m["Source"]) for m in o["Mounts"]), False),
    ("no volume", lambda o: [m["Type"] for m in o["Mounts"] if m["Type"] not in ("bind", "tmpfs")], []), ("no terminal", config("Tty"), False), ("no input of the engine's", config("OpenStdin"), False),
    ("no port", empty(of_host("PortBindings")), True), ("labels of its run", lambda o: bool(label("run")(o) and label("instance")(o) and label("plan")(o)), True),
]
# An engine's own value is this one in any container, and no flag says otherwise with the host's network.
NEVER_ELSE = {"no port", "a mnt namespace of its own"}


def table(title, rows, found, loose, get=lambda row, o: row(o)):
    for what, where, want in rows:
        value, other = get(where, found), get(where, loose)
        good = want if callable(want) else lambda v, want=want: v == want
        ok(good(value), "%s: %s" % (title, what), value)
        if what not in NEVER_ELSE:
            ok(not good(other), "control: otherwise in a container made otherwise: %s: %s" % (title, what), other)


def held(w):
    script = put(w.ws + "/look.py", open(HERE + "/box_look.py").read(), 0o644)
    q, line = w.start("--policy", w.policy(limits=LIMITS), "--", "/bin/sh", "-c", "python3 look.py; while [ ! -e go ]; do sleep .2; done")
    seen = w.running()
    w.docker("run", "-d", "--name", w.name + "-loose", *LOOSE, "-v", "%s:%s" % (w.ws, w.ws), TOOLS, "/bin/sh", "-c", "python3 %s; sleep 1000" % script)
    w.made.append(("rm", "-f", w.name + "-loose"))
    ok(wait_for(lambda: "default_route" in w.docker("logs", w.name + "-loose").stdout, 60), "control: a container that nothing holds", w.docker("logs", w.name + "-loose").stdout)
    loose, free = w.inspect(w.name + "-loose")[0], json.loads(w.docker("logs", w.name + "-loose").stdout.splitlines()[0])
    found = json.loads(line) if line else {}
    ok(line and set(seen) == {"container", "gateway"}, "a run is there, with its gateway", (line, q.stderr.read() if not line else ""))
    table("inside", inside_table(free), found, free, lambda where, o: o.get(where))
    for role in ("container", "gateway"):
        table("shown of the " + role, SHOWN, seen[role][0], loose)
        logs = w.docker("logs", seen[role][0]["Id"])
        ok(logs.returncode != 0 and not logs.stdout, "the engine keeps nothing that the %s prints" % role, logs.stdout + logs.stderr)
    own = seen["container"][0]["HostConfig"]
    ok((own["Memory"], own["PidsLimit"], own["NanoCpus"]) == (128 << 20, 50, 500000000), "shown of the container: the limits that were asked for", own)
    network = w.inspect(own["NetworkMode"])[0]
    ok(network["Internal"] and {v for k, v in network["Options"].items() if "gateway_mode" in k} == {"isolated"}, "its network is internal and isolated, by IPv4 and IPv6", network)
    put(w.ws + "/go", "")
    ok(q.wait(120) == 0 and not w.left(), "and all of it goes with the run", w.left())


def fails(w, what, p, *words):
    ok(p.returncode == 125 and all(x in p.stderr for x in words) and "fix" in p.stderr, what, (p.returncode, p.stderr))


def images(w):
    def run(name, script, *flags):
        w.image = os.environ["OC_IMAGE_" + name]
        p = w.oc("exec", "--policy", w.policy(), *flags, "--", "/bin/sh", "-c", script)
        return p.stdout + p.stderr

    def plain(name, script, *flags):
        p = w.plain(*(("/bin/sh", "-c", script) if script else ()), flags=flags, image=os.environ["OC_IMAGE_" + name])
        return p.stdout + p.stderr
    volumes = w.docker("volume", "ls", "-q").stdout
    said = run("VOLUME", "echo x > /data/x || echo no; echo x > /var/lib/x/x || echo no; ls -A /data /var/lib/x")
    ok(said.count("Read-only file system") == 2 and w.docker("volume", "ls", "-q").stdout == volumes, "an image's volumes are covered, and none is made", said)
    ok("fine" in plain("VOLUME", "echo x > /data/x && echo fine"), "control: elsewhere it can be written")
    said = run("ENV", "/bin/busybox env")
    ok("HTTP_PROXY=http://10." in said and "192.0.2.1" not in said and "no_proxy=localhost" in said, "an image can't set another proxy, nor what goes past it", said)
    said = plain("ENV", "/bin/busybox env")
    ok("192.0.2.1" in said and "no_proxy=*" in said, "control: elsewhere it does", said)
    for name, what, user in (("ROOT", "an image's root", "root"), ("NAMED", "a user of the image's whose name is a number", "1000")):
        said = run(name, "id -u")
        ok(said.strip() == UID, what + " is nobody here", said)
        ok(w.inspect(w.image)[0]["Config"]["User"] == user, "control: that image wants to be " + user)
    said = run("ENTRY", "pwd; cat /proc/1/cmdline")
    ok(said.startswith(w.ws + "\n") and "entry point" not in said, "an image's entry point, command and folder are not used", said)
    ok("entry point ran" in plain("ENTRY", "", "-w", "/"), "control: elsewhere they are")
    said = run("HEALTH", "sleep 3; ls -A /tmp")
    ok(said == "", "an image's health check is not run", said)
    ok("health" in plain("HEALTH", "sleep 4; ls -A /tmp"), "control: elsewhere it is")
    said = run("SETUID", "/usr/local/bin/root-id")
    ok(said.startswith("uid=%s(" % UID) and "euid=" not in said, "a program with a set-uid bit stays the operator's", said)
    ok("euid=0" in plain("SETUID", "/usr/local/bin/root-id", "--user", UID), "control: elsewhere it is root's")
    said = run("INDEX", "echo fine")
    ok(said == "fine\n", "an index of images: the one for this machine", said)
    w.image = os.environ["OC_IMAGE_OTHER"]
    fails(w, "an image for another machine is refused", w.oc("exec", "--policy", w.policy(), "--", "/bin/true"), "arm64", "amd64")
    w.image = os.environ["OC_IMAGE_SMALL"].split("@")[0] + ":latest"
    fails(w, "an image by a tag is refused", w.oc("exec", "--policy", w.policy(), "--", "/bin/true"), "digest")


def labels(w):
    w.image = os.environ["OC_IMAGE_LABEL"]
    q, line = w.start("--policy", w.policy(), "--", "/bin/sh", "-c", "echo up; sleep 1000")
    run = w.last()[0]
    seen = w.running().get("container", [])
    ok(line and len(seen) == 1 and seen[0]["Config"]["Labels"]["io.openconduit.run"] == run and seen[0]["Config"]["Labels"].get("oc.run") == "theirs",
       "an image's labels are beside the run's own, and are none of them", seen and seen[0]["Config"]["Labels"])
    q.terminate()
    q.wait(120)
    ok(not w.left(), "such a run is found by its labels, and removed", w.left())


# Listens at its own address and where a toolbelt does, and says where that is.
FIRST = r'''
import json, os, re, socket, threading, time
def serve(s):
    while True:
        c, _ = s.accept(); c.sendall(b"mine"); c.close()
own = os.environ["HTTP_PROXY"].rpartition("/")[2].split(":")[0]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect((own, 1)); address = s.getsockname()[0]
for family, at in ((socket.AF_INET6, "::"),):
    for port in (4000, 7353):
        l = socket.socket(family); l.bind((at, port)); l.listen(9); threading.Thread(target=serve, args=(l,), daemon=True).start()
six = [":".join(re.findall("....", line[:32])) for line in open("/proc/net/if_inet6") if line.split()[5] == "eth0"]
with socket.create_connection((own, 3128), 5) as s:
    print(json.dumps({"address": address, "gateway": own, "six": six, "met": True}), flush=True)
while not os.path.exists("go"):
    time.sleep(.2)
'''
# Tries each address and port, by itself and by its proxy if it has one.
SECOND = r'''
import json, os, socket, sys
def tcp(address, port):
    try:
        with socket.create_connection((address, port), 3) as s:
            return True
    except OSError:
        return False
def proxied(address, port):
    if "HTTP_PROXY" not in os.environ:
        return False
    own = os.environ["HTTP_PROXY"].rpartition("/")[2].split(":")[0]
    target = "[%s]:%d" % (address, port) if ":" in address else "%s:%d" % (address, port)
    with socket.create_connection((own, 3128), 5) as s:
        s.settimeout(20)
        s.sendall(("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, target)).encode())
        said = s.recv(4096)
        if b" 200 " not in said.split(b"\r\n")[0]:
            return False
        # Who is there says so; what lies beyond this machine may take any connection.
        if port == 3128:
            s.sendall(b"GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n")
        s.settimeout(5)
        try:
            said = s.recv(4096)
        except OSError:
            return False
        return b"mine" in said or b"X-Open-Conduit" in said
def named(name):
    try:
        return bool(socket.getaddrinfo(name, 80))
    except OSError:
        return False
want = json.loads(sys.argv[1])
print(json.dumps({"tcp": [a for a in want["at"] if tcp(*a)], "proxied": [a for a in want["at"] if proxied(*a)], "named": [n for n in want["names"] if named(n)]}))
'''


def two_runs(w):
    """Neither the other's container, nor its gateway, nor what listens there, by address, name or proxy."""
    put(w.ws + "/first.py", FIRST)
    put(w.ws + "/second.py", SECOND)
    q, line = w.start("--policy", w.policy(), "--", "/usr/bin/python3", "first.py")
    other = json.loads(line) if line else {}
    seen = w.running()
    gateway, container = seen["gateway"][0], seen["container"][0]
    egress = [n["IPAddress"] for name, n in gateway["NetworkSettings"]["Networks"].items() if name.endswith("-egress")]
    at = [[other["address"], 4000], [other["address"], 7353], [other["gateway"], 3128], [egress[0], 3128]] + [[a, 4000] for a in other["six"]]
    names = [container["Name"][1:], gateway["Name"][1:], container["Id"][:12]]
    want = json.dumps({"at": at, "names": names})
    p = w.plain("/usr/bin/python3", w.ws + "/second.py", want, flags=("--network", container["HostConfig"]["NetworkMode"], "-v", "%s:%s" % (w.ws, w.ws)))
    ok(p.returncode == 0 and [a for a in at[:3] if a in json.loads(p.stdout)["tcp"]] == at[:3] and len(json.loads(p.stdout)["named"]) >= 2,
       "control: on the run's own network its container, gateway and names are there", p.stdout + p.stderr)
    entries = ["%s:%d" % (a, port) for a, port in at if ":" not in a]
    for what, allow in (("", []), (", also where a policy lists them", entries)):
        p = w.oc("exec", "--policy", w.policy(network={"allow": allow}), "--", "/usr/bin/python3", "second.py", want)
        ok(p.returncode == 0 and json.loads(p.stdout) == {"tcp": [], "proxied": [], "named": []}, "another run reaches none of them" + what, p.stdout + p.stderr)
        # One more is the probe's, before the agent starts.
        denied = [e["why"] for e in w.decided(w.last()[0]) if e["event"] == "deny" and not e["host"].endswith(".invalid")]
        ok(len(denied) == len(at) if not allow else "own" in denied, "its gateway refused each that is not listed, and the way out itself" + what, denied)
    put(w.ws + "/go", "")
    ok(q.wait(120) == 0, "control: the first was there all the time", q.stderr.read())


PARTS = (held, images, labels, two_runs)


def main():
    for part in PARTS:
        if sys.argv[1:] and part.__name__ not in sys.argv[1:]:
            continue
        w = Boxes()
        try:
            part(w)
            ok(not w.left(), "%s: nothing is left in the engine" % part.__name__, w.left())
        finally:
            w.close()
    finish()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""What a container's run costs, beside the same steps by the docker command, in turn and in one run.

  bench_docker.py time           create to the exit of `true`, hardened, with a gateway: ours; one docker command after another;
                                 and a bare `docker run --network none`, which has no gateway and no plan
  bench_docker.py memory PREFIX… what each of so many runs holds beside its agent: root sums it up, PREFIX makes an ordinary user
  bench_docker.py hold N         (for memory) as many runs; their ids, until the input ends

A bound that is not met is MISSED; one that is missed by half fails."""
import json, os, shutil, socket, statistics, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "docker"))
from dockerworld import BUILD, HOST, Engine, Launch, World  # noqa: E402
from tap import finish, ok  # noqa: E402

DOCKER, SMALL, GATEWAY = os.environ["OC_DOCKER"], os.environ["OC_IMAGE_SMALL"], os.environ["OPEN_CONDUIT_GATEWAY_IMAGE"]
ROUNDS = 7
RUNS = 5
FAILS = 1.5  # of a bound: what other work on the machine does not explain
ISOLATED = ["-o", "com.docker.network.bridge.gateway_mode_ipv4=isolated", "-o", "com.docker.network.bridge.gateway_mode_ipv6=isolated"]
HARDENED = ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only", "--log-driver", "none", "--pids-limit", "64",
            "--user", "%d:%d" % (os.getuid(), os.getgid())]


def docker(*args):
    p = subprocess.run([DOCKER, *args], env={"DOCKER_HOST": HOST, "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}, capture_output=True, text=True, timeout=300)
    if p.returncode:
        raise RuntimeError("docker %s: %s" % (" ".join(args), p.stderr))
    return p.stdout.strip()


class Policy(threading.Thread):
    """What a gateway is told when it connects."""

    def __init__(self, where, listen):
        super().__init__()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(where + "/sock")
        self.listener.listen(1)
        self.text = "open-conduit-gateway 1\nlisten %s 3128\nresolver 127.0.0.11\nallow example.com\ngo\n" % listen
        self.start()

    def run(self):
        self.s, _ = self.listener.accept()
        self.s.sendall(self.text.encode())
        self.answer = self.s.makefile().readline()

    def close(self):
        self.s.close()
        self.listener.close()


def by_command(name, n):
    """What docker.md's hardened run is, step by step, as a script of docker commands does it."""
    where = tempfile.mkdtemp(prefix="oc-bench-")
    own, egress, gateway, container = (name + part for part in ("-n", "-e", "-g", "-c"))
    address = "10.213.250.%d" % (8 * n + 2)
    policy = Policy(where, address)
    begin = time.monotonic()
    docker("network", "create", "--internal", "--ipv6", *ISOLATED, "--subnet", "10.213.250.%d/29" % (8 * n), own)
    docker("network", "create", "-o", "com.docker.network.bridge.enable_icc=false", "--subnet", "10.213.251.%d/29" % (8 * n), egress)
    docker("network", "inspect", own, egress)
    docker("create", "--pull", "never", "--name", gateway, "--network", own, "--ip", address, *HARDENED, "-v", where + ":/control:ro", GATEWAY, "/control/sock")
    docker("network", "connect", egress, gateway)
    docker("create", "--pull", "never", "--name", container, "--network", own, *HARDENED, "--tmpfs", "/tmp", SMALL, "/bin/true")
    docker("inspect", gateway, container)
    docker("start", gateway)
    policy.join(60)
    docker("start", container)
    docker("wait", container)
    took = time.monotonic() - begin
    answer = policy.answer
    policy.close()
    docker("rm", "-f", container, gateway)
    docker("network", "rm", own, egress)
    shutil.rmtree(where)
    if answer != "ready\n":
        raise RuntimeError("the gateway says %r" % answer)
    return took


def by_us(w):
    plan = w.plan(w.run(), SMALL)
    begin = time.monotonic()
    launch = Launch(plan)
    if not launch.hello():
        raise RuntimeError(launch.text())
    launch.lines.write(b"exit 0\n")
    launch.lines.readline()
    took = time.monotonic() - begin
    status = launch.wait()
    if status:
        raise RuntimeError(launch.text())
    launch.close()
    return took


def bare(name):
    begin = time.monotonic()
    docker("run", "--name", name, "--pull", "never", "--network", "none", SMALL, "/bin/true")
    took = time.monotonic() - begin
    docker("rm", name)
    return took


def ratio(what, ours, theirs, bound):
    met = ours <= bound * theirs
    ok(ours <= bound * theirs * FAILS, "%s: %.0f ms, %.0f ms, %.2f (at most %.2f%s)" % (what, ours, theirs, ours / theirs, bound, "" if met else ": MISSED"))


def times():
    w = World()
    measured = {"ours": [], "commands": [], "bare": []}
    for i in range(ROUNDS):
        measured["ours"].append(by_us(w))
        name = "oc-bench-%d-%d" % (os.getpid(), i)
        measured["commands"].append(by_command(name, i))
        measured["bare"].append(bare(name))
    w.close()
    usual = {name: 1e3 * statistics.median(values) for name, values in measured.items()}
    ratio("create to exit of true / the same by docker's commands", usual["ours"], usual["commands"], 0.5)
    print("note - create to exit of true / bare docker run --network none: %.0f ms, %.0f ms, %.2f" % (usual["ours"], usual["bare"], usual["ours"] / usual["bare"]))


def hold(n):
    root = tempfile.mkdtemp(prefix="oc-bench-", dir=os.environ.get("OC_TEST_TMP"))
    config = root + "/config/open-conduit"
    os.makedirs(config)
    with open(config + "/config.json", "w") as f:
        json.dump({"version": 1, "settings": {"extensions": {"docker": {"pass_env": ["DOCKER_HOST"]}}}, "connections": [], "scopes": []}, f)
    env = {"PATH": "/usr/bin:/bin", "HOME": root, "XDG_CONFIG_HOME": root + "/config", "XDG_STATE_HOME": root + "/s", "DOCKER_HOST": HOST,
           "OPEN_CONDUIT_GATEWAY_IMAGE": GATEWAY, "OPEN_CONDUIT_LIBEXEC": BUILD + "/libexec"}
    runs = []
    for i in range(n):
        os.makedirs("%s/ws%d" % (root, i))
        runs.append(subprocess.Popen([BUILD + "/host/open-conduit", "exec", "--container", SMALL, "--", "/bin/sh", "-c", "echo up; read x"], env=env,
                                     cwd="%s/ws%d" % (root, i), stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        if runs[-1].stdout.readline() != b"up\n":
            raise RuntimeError("a run does not start")
    listed = subprocess.run([BUILD + "/host/open-conduit", "runs", "list", "--json"], env=env, capture_output=True, check=True).stdout
    print(" ".join(r["id"] for r in json.loads(listed)["runs"]), flush=True)
    sys.stdin.read()
    for p in runs:
        p.stdin.close()
    for p in runs:
        p.wait(120)
    shutil.rmtree(root, ignore_errors=True)


def pss_kb(pid):
    with open("/proc/%d/smaps_rollup" % pid) as f:
        return sum(int(line.split()[1]) for line in f if line.startswith("Pss:"))


def words_of_all():
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % name, "rb") as f, open("/proc/%s/stat" % name) as s:
                yield int(name), int(s.read().rsplit(")", 1)[1].split()[1]), f.read().decode(errors="replace").split("\0")
        except OSError:
            pass


def memory(prefix):
    p = subprocess.Popen([*prefix, "python3", os.path.abspath(__file__), "hold", str(RUNS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    runs = p.stdout.readline().split()
    ok(len(runs) == RUNS, "so many runs are there", runs)
    engine, parts = Engine(), {}
    there = list(words_of_all())
    for run in runs:
        guard = [pid for pid, _, words in there if words[0].endswith("open-conduit-guard") and words[-2:-1] and words[-2].endswith("/" + run)]
        launch = [pid for pid, parent, words in there if parent in guard]
        ids = engine.labelled("run", run)
        first = [state["State"]["Pid"] for state in (engine.ask("GET", "/containers/%s/json" % i)[1] for i in ids) if "State" in state]
        shims = [pid for pid, _, words in there if "containerd-shim" in words[0] and set(words) & set(ids)]
        for what, pids in (("guard", guard), ("launch command", launch), ("guest, gateway", first), ("shims", shims)):
            parts.setdefault(what, []).extend(pss_kb(pid) for pid in pids)
    for what, values in parts.items():
        print("note - %s: %.1f MB a run" % (what, sum(values) / 1024 / RUNS))
    if not ok(all(parts.values()) and len(parts.get("shims", [])) == 2 * RUNS, "control: each part is found", {k: len(v) for k, v in parts.items()}):
        return
    each = (sum(sum(values) for values in parts.values()) - sum(parts["shims"]) / 2) / 1024 / RUNS
    ok(each <= 12 * FAILS, "PSS of a run beside its agent and the shim that any container has: %.1f MB (at most 12%s)" % (each, "" if each <= 12 else ": MISSED"))
    p.stdin.close()
    p.wait(300)


if sys.argv[1] == "hold":
    hold(int(sys.argv[2]))
elif sys.argv[1] == "memory":
    memory(sys.argv[2:])
    finish()
else:
    times()
    finish()

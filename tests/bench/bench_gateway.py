# SPDX-License-Identifier: Apache-2.0
"""The gateway beside tinyproxy, squid and no proxy at all, in one run and in turn: bulk with one stream and with four, tunnels a
second eight at a time; its memory idle and with 5,000 idle tunnels; the size of its program.  Medians: the best of direct
connections is a rare one in which both ends fall into step, at four times the usual.  A bound that is not met is MISSED; one
that is missed by half fails.  tinyproxy and squid where they are installed."""
import os, shutil, signal, statistics, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gateway"))
from gatewayworld import BUILD, LISTEN, PROGRAM, PUBLIC, Gateway, enter, finish, ok, skip  # noqa: E402

LOAD = os.environ.get("OC_TEST_LOAD", BUILD + "/tests/bench/bench_load")
PORT = 7000
BYTES = 1 << 28
ROUNDS = 12
TUNNELS = 1500
IDLE = 5000
FAILS = 0.5  # of a bound: what other work on the machine does not explain


def load(what, proxy, count, parallel):
    p = subprocess.run([LOAD, what, proxy, "%s:%d" % (PUBLIC, PORT), str(count), str(parallel)], capture_output=True, text=True, timeout=300)
    if p.returncode:
        raise RuntimeError("%s through %s: %s" % (what, proxy, p.stderr))
    return float(p.stdout)


def held(words, **more):
    """A process that says when it is ready."""
    p = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)
    if not p.stdout.readline():
        raise RuntimeError("%s ends" % words[1])
    return p


def let_go(p):
    p.stdin.close()
    p.wait(60)
    p.stdout.close()


def tinyproxy(where):
    if not shutil.which("tinyproxy"):
        return None, None
    with open(where + "/tinyproxy.conf", "w") as file:
        file.write("Port 8888\nListen 127.0.0.1\nTimeout 600\nMaxClients 12000\nLogLevel Critical\nLogFile \"%s/tinyproxy.log\"\n" % where)
    return "127.0.0.1:8888", subprocess.Popen(["tinyproxy", "-d", "-c", where + "/tinyproxy.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def squid(where):
    if not shutil.which("squid"):
        return None, None
    with open(where + "/squid.conf", "w") as file:
        file.write("http_port 127.0.0.1:8889\nhttp_access allow all\ncache deny all\naccess_log none\ncache_log %s/squid.log\npid_filename %s/squid.pid\n"
                   "cache_store_log none\ncoredump_dir %s\nvisible_hostname bench\nshutdown_lifetime 1 second\npinger_enable off\n" % (where, where, where))
    os.chmod(where, 0o777)
    return "127.0.0.1:8889", subprocess.Popen(["unshare", "--map-user=1000", "--map-group=1000", "squid", "-N", "-f", where + "/squid.conf"],
                                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(proxy):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            load("tunnels", proxy, 1, 1)
            return True
        except RuntimeError:
            time.sleep(0.3)
    return False


def in_turn(proxies, what, count, parallel):
    measured = {name: [] for name in proxies}
    names = list(proxies)
    for i in range(ROUNDS):
        for name in names if i % 2 == 0 else reversed(names):
            measured[name].append(load(what, proxies[name], count, parallel))
    return {name: statistics.median(values) for name, values in measured.items()}


def judge(what, ours, theirs, bound, who):
    ratio = ours / theirs if theirs else 0
    ok(ratio >= bound * FAILS, "%s: %.0f, %.2f times %s (at least %.2f%s)" % (what, ours, ratio, who, bound, "" if ratio >= bound else ": MISSED"))


def at_most(what, value, bound, unit):
    ok(value <= bound / FAILS, "%s: %d %s (at most %d%s)" % (what, value, unit, bound, "" if value <= bound else ": MISSED"))


def processor_s(process):
    """What a process has had of the processors: unlike what it gets done, other work on the machine hardly changes it."""
    with open("/proc/%d/stat" % process.pid) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cost(proxies, gateway, other):
    """The same work by each, for a second of its processor's time."""
    for what, count, parallel, bound, unit in (("bulk", BYTES, 1, 4, "MB"), ("tunnels", TUNNELS, 8, 1.4, "tunnels")):
        per = {}
        for name, process in (("gateway", gateway), ("tinyproxy", other)):
            before = processor_s(process)
            for _ in range(4):
                load(what, proxies[name], count, parallel)
            per[name] = 4 * (count / 1e6 if what == "bulk" else count) / max(processor_s(process) - before, 0.01)
        judge("%s for a second of its processor" % unit, per["gateway"], per["tinyproxy"], bound, "tinyproxy")


def speed(proxies):
    for streams in (1, 4):
        usual = in_turn(proxies, "bulk", BYTES // streams, streams)
        print("note - bulk, %d: %s" % (streams, ", ".join("%s %.0f MB/s" % (n, v) for n, v in usual.items())), flush=True)
        judge("bulk, streams: %d, MB/s" % streams, usual["gateway"], usual["direct"], 0.45, "direct")
        if "tinyproxy" in usual:
            judge("bulk, streams: %d, MB/s" % streams, usual["gateway"], usual["tinyproxy"], 4, "tinyproxy")
    usual = in_turn(proxies, "tunnels", TUNNELS, 8)
    print("note - tunnels a second, 8 at once: %s" % ", ".join("%s %.0f" % item for item in usual.items()), flush=True)
    if "tinyproxy" in usual:
        judge("tunnels a second", usual["gateway"], usual["tinyproxy"], 1.4, "tinyproxy")


def memory():
    gateway = Gateway(allow=["20.0.0.%d" % (7 + i) for i in range(32)])
    at_most("RSS idle", gateway.rss(), 1024, "kB")
    tunnels = held([LOAD, "idle", "%s:%d" % LISTEN, "%s:%d" % (PUBLIC, PORT), str(IDLE)])
    rss = gateway.rss()
    at_most("RSS with %d idle tunnels" % IDLE, rss, 4096, "kB")
    with open("/proc/net/tcp") as file:
        there = sum(1 for line in file if line.split()[3] == "01")
    ok(there >= 4 * IDLE, "control: so many are open", there)
    let_go(tunnels)
    gateway.end()
    at_most("the program", os.stat(PROGRAM).st_size, 300000, "bytes")


def main():
    enter()
    with open("/proc/sys/net/ipv4/ip_local_port_range", "w") as file:
        file.write("1024 65000\n")  # each tunnel's port is taken for a minute after its end
    where = tempfile.mkdtemp(prefix="g")
    server = held([LOAD, "serve", str(PORT)])
    gateway = Gateway(allow=["20.0.0.%d" % (7 + i) for i in range(32)])
    proxies = {"direct": "-", "gateway": "%s:%d" % LISTEN}
    others = []
    for name, start in (("tinyproxy", tinyproxy), ("squid", squid)):
        at, process = start(where)
        if at and wait_for(at):
            proxies[name] = at
        else:
            skip("beside " + name, "it is not installed, or does not start")
        others += [process] if process else []
    speed(proxies)
    if "tinyproxy" in proxies:
        cost(proxies, gateway.p, others[0])
    gateway.end()
    memory()
    for process in others:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    let_go(server)
    shutil.rmtree(where, ignore_errors=True)
    finish()


main()

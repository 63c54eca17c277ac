# SPDX-License-Identifier: Apache-2.0
"""From the start of a turn to the agent's first question to its API: `run` of a binding under srt, each time a new Work with
a clone of its own, against the bare CLI under bare srt with the same arguments.  Usage: bench_claude.py [ROUNDS]"""
import json, os, statistics, subprocess, sys, threading, time, uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "host"))
from claudeworld import CLAUDE, Claude  # noqa: E402
from world import SRT, finish, ok  # noqa: E402

ARGS = ["--print", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--replay-user-messages",
        "--permission-mode", "bypassPermissions", "--setting-sources", "user", "--strict-mcp-config"]


def first_question(w, start):
    """Seconds from start() until the stub is asked, and the process ended well."""
    had = len(w.stub.requests)
    began = time.monotonic()
    p = start()
    while len(w.stub.requests) == had and p.poll() is None:
        time.sleep(0.002)
    took = time.monotonic() - began
    out, err = p.communicate(timeout=120)
    if p.returncode or len(w.stub.requests) == had:
        raise RuntimeError("status %s: %s %s" % (p.returncode, out[-500:], err[-500:]))
    return took


def bare(w, settings):
    cli = SRT + "/node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js"
    words = ["env", "NO_PROXY=", "no_proxy=", "HOME=" + w.cfg, "CLAUDE_CONFIG_DIR=" + w.cfg, "TMPDIR=" + w.cfg + "/tmp",
             "CLAUDE_CODE_TMPDIR=" + w.cfg + "/tmp", CLAUDE, *ARGS, "--session-id", str(uuid.uuid4())]
    p = subprocess.Popen([w.node_bin() + "/node", cli, "-s", settings, "--", *words], cwd=w.checkout, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True,
                         env={**w.env, "ANTHROPIC_API_KEY": w.env["API_KEY"], "ANTHROPIC_BASE_URL": w.stub.url,
                              "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"})
    line = json.dumps({"type": "user", "message": {"role": "user", "content": "hello"}, "uuid": str(uuid.uuid4())})
    threading.Thread(target=lambda: (p.stdin.write(line + "\n"), p.stdin.flush(), time.sleep(3)), daemon=True).start()
    return p


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    if not os.access(CLAUDE, os.X_OK):
        sys.exit("OC_CLAUDE names no program")
    w = Claude()
    os.makedirs(w.cfg + "/tmp")
    settings = w.root + "/settings.json"
    with open(settings, "w") as f:
        json.dump({"network": {"allowedDomains": ["127.0.0.1"], "deniedDomains": []},
                   "filesystem": {"denyRead": [], "allowWrite": [w.checkout, w.cfg], "denyWrite": []}}, f)
    ours, theirs = [], []
    for i in range(rounds + 1):
        one = first_question(w, lambda: w.start("boxed", "bench%d" % i, "hello"))
        two = first_question(w, lambda: bare(w, settings))
        if i:  # the first warms what both read
            ours.append(one)
            theirs.append(two)
    o, t = statistics.median(ours), statistics.median(theirs)
    ok(o <= 2 * t, "a turn's start is no multiple of the bare CLI's under bare srt", [ours, theirs])
    print("note - start of a turn to the agent's first question: %.2f s, bare %.2f s, ratio %.2f (medians of %d)" % (o, t, o / t, rounds), flush=True)
    w.close()
    finish()


main()

# SPDX-License-Identifier: Apache-2.0
"""explain and doctor for a binding of the config: its real policy, and the same answers as a run of it gets."""
import json, os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "isolation")]
from work import Works  # noqa: E402
from world import finish, ok, put  # noqa: E402


class Asked(Works):
    def __init__(self):
        super().__init__()
        self.shared = self.home + "/shared"
        os.makedirs(self.shared)
        put(self.shared + "/notes", "x", 0o644)
        os.makedirs(self.home + "/.ssh", exist_ok=True)
        put(self.home + "/.ssh/known_hosts", "x")
        os.makedirs(self.home + "/cfg", mode=0o700)
        put(self.home + "/bin/claude", "#!/bin/sh\nexit 9\n", 0o755)
        self.env["PATH"] = self.home + "/bin:" + self.env["PATH"]
        self.configure(self.binding("fenced", sandbox={"write": ["{workspace}", self.shared], "read": {"allow": ["~/.ssh/known_hosts"]},
                                                       "network": {"allow": ["example.org:443"]}}),
                       self.binding("mind", executor="claude-code", command=None, sandbox={"write": ["{workspace}", self.home + "/cfg"], "network": {"allow": ["example.org:443"]}},
                                    config={"env": {"CLAUDE_CONFIG_DIR": self.home + "/cfg"}}),
                       self.binding("missing", sandbox={"write": ["{workspace}", self.home + "/not-there"], "network": {"allow": []}}))

    def asked(self, *args):
        p = self.oc("explain", *args, "--json", cwd=self.home)
        return p.returncode, (json.loads(p.stdout) if p.stdout else {}), p.stderr


def explain(w):
    rc, j, err = w.asked("web/fenced", "--write", "{workspace}/x", "--write", w.shared + "/notes", "--read=~/.ssh/known_hosts", "--host", "example.org:443")
    ok(rc == 0 and j["allowed"] and [a["rule"] for a in j["answers"]][:2] == ["write[0]", "write[1]"], "explain: what the binding grants, by which rule", (rc, j, err))
    rc, j, err = w.asked("web/fenced", "--write", w.checkout + "/file", "--read=~/.ssh/id_test", "--host", "example.org:80", "--read", w.state + "/state.db")
    ok(rc == 1 and not any(a["allowed"] for a in j["answers"]) and j["answers"][1]["allow_line"], "explain: what it does not grant, and what line would", (rc, j, err))
    rc, j, _ = w.asked("web/plain", "--write", "/etc/passwd", "--host", "anything:1")
    ok(rc == 0 and {a["rule"] for a in j["answers"]} == {"unsandboxed"}, "explain: a binding that nothing confines", (rc, j))
    p = w.oc("explain", "web/fencd", "--read", "/")
    ok(p.returncode == 1 and "open-conduit explain web/fenced" in p.stderr, "explain: no such binding, with the nearest to paste", p.stderr)
    for what, args in (("a binding and a file", ("web/fenced", "--policy", "x", "--read", "/")), ("neither", ("--read", "/")), ("two bindings", ("web/fenced", "web/plain", "--read", "/")),
                       ("no question", ("web/fenced",)), ("a Work of a file's policy", ("--policy", "x", "--work", "k", "--read", "/"))):
        p = w.oc("explain", *args)
        ok(p.returncode == 2, "explain: usage: " + what, (p.returncode, p.stderr))
    left = [n for n in os.listdir("/tmp") if n.startswith("open-conduit-check-") and os.stat("/tmp/" + n).st_uid == os.geteuid()]
    ok(not left, "explain: nothing stays", left)


def the_same_as_a_run(w):
    """Each question once to explain and once to a run of the same Work."""
    first = w.turn("true", "k", "fenced")
    if not ok(first.returncode == 0, "a Work of the binding", first.stderr):
        return
    work = w.work("k")
    paths = [("write", work["workspace"] + "/new"), ("write", work["workspace"] + "/.git/config"), ("write", w.shared + "/notes"), ("write", w.checkout + "/file"),
             ("read", w.home + "/.ssh/known_hosts"), ("read", w.home + "/.ssh/id_test"), ("read", w.state + "/state.db"), ("read", w.checkout + "/file"),
             ("read", w.home + "/.netrc"), ("read", w.home + "/.claude/secret")]
    args, script = ["web/fenced", "--work", "k"], ""
    for what, path in paths:
        args += ["--" + what, path]
        script += "(%s '%s') 2>/dev/null && echo yes || echo no\n" % (": >>" if what == "write" else "head -c 1 >/dev/null", path)
    rc, j, err = w.asked(*args)
    said = ["yes" if a["allowed"] else "no" for a in j.get("answers", [])]
    p = w.turn(script, "k", "fenced")
    done = p.stdout.split()
    for (what, path), a, b in zip(paths, said, done):
        ok(a == b, "the same as a run: %s %s: %s" % (what, path[len(w.home):], a), b)
    ok(len(said) == len(done) == len(paths) and set(said) == {"yes", "no"}, "control: each was answered, and not all alike", (said, done, err, p.stderr))
    rc, j, err = w.asked("web/plain", "--work", "k", "--read", "/")
    ok(rc == 1 and not j.get("answers"), "a Work of another binding is none of this one", err)


def doctor(w):
    def tried(binding, **env):
        p = w.oc("doctor", "--json", "--binding", binding, cwd=w.home, env=env)
        return p.returncode, (json.loads(p.stdout) if p.stdout else {}), p.stderr
    before = sorted(w.left())
    rc, j, err = tried("web/fenced")
    ok(rc == 0 and j["ok"] and j["binding"] == {"binding": "web/fenced", "kind": "sandbox", "ok": True}, "doctor: a binding that works", (rc, j.get("binding"), err))
    runs = w.runs()["runs"]
    ok(runs[0]["binding"] == "web/fenced" and runs[0]["kind"] == "sandbox" and runs[0]["state"] == "exited" and runs[0]["command"][0].endswith("/true"),
       "doctor: by a run of it, on record", runs[0])
    rc, j, err = tried("web/plain")
    ok(rc == 0 and j["binding"]["kind"] == "none", "doctor: one that nothing confines", (rc, err))
    for what, binding, words in (("a grant that isn't there", "web/missing", ("sandbox_denied", w.home + "/not-there", "mkdir -p")),
                                 ("a secret that is missing", "web/secret", ("secret_missing", "MY_TOKEN", "fix")),
                                 ("a host that its agent needs", "web/mind", ("sandbox_denied", "api.anthropic.com:443", "fix")),
                                 ("no such binding", "web/fencd", ("doctor --binding web/fenced",))):
        rc, j, err = tried(binding)
        ok(rc == 1 and not j["ok"] and not j["binding"]["ok"] and all(x in err for x in words), "doctor: " + what, (rc, j.get("binding"), err))
    rc, j, err = tried("web/secret", MY_TOKEN="canary-of-env")
    ok(rc == 0, "control: with the secret there it works", (rc, err))
    p = w.oc("doctor", cwd=w.home)
    ok(p.returncode == 0 and "binding:" not in p.stdout, "doctor without a binding is as before", p.stdout)
    ok(sorted(w.left()) == before, "doctor: no clone stays", w.left())


def main():
    w = Asked()
    try:
        explain(w)
        the_same_as_a_run(w)
        doctor(w)
    finally:
        w.close()
    finish()


main()

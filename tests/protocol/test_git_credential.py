# SPDX-License-Identifier: Apache-2.0
"""git's credential through the whole of a run: git, the guest as its helper, the toolbelt, the guard, the host that answers;
without a sandbox and under srt, with a personal configuration that brings a helper of its own."""
import json, os, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from tap import finish, ok  # noqa: E402

HOST = os.environ["OC_BUILD"] + "/tests/protocol/belt_host"
ASK = "printf 'protocol=https\\nhost=%s\\npath=%s\\n\\n' | /usr/bin/git credential fill"
OWN = "username=x-access-token\npassword=of-the-host\n"
EVIL = "[credential]\n\thelper = \"!echo username=evil; echo password=evil; :\"\n\tuseHttpPath = false\n"


class World:
    def __init__(self):
        if os.geteuid() == 0:
            sys.exit("these tests run as an ordinary user")
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="c", dir=os.path.expanduser("~")))
        os.mkdir(self.root + "/ws")
        with open(self.root + "/.gitconfig", "w") as f:
            f.write(EVIL)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        self.env.update(HOME=self.root, OPEN_CONDUIT_LIBEXEC=os.environ["OC_BUILD"] + "/libexec")

    def run(self, kind, script, credential=True):
        env = dict(self.env)
        if credential:
            env["BELT_GIT"] = json.dumps({"base": "https://github.com", "repository": "acme/web", "from": "toolbelt"})
        done = subprocess.run([HOST, "start", self.root + "/state", kind, "--", "/bin/sh", "-c", script], cwd=self.root + "/ws",
                              env=env, text=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=180)
        return done.returncode, done.stdout, done.stderr

    def close(self):
        subprocess.run(["chmod", "-R", "u+rwX", self.root], stderr=subprocess.DEVNULL)
        shutil.rmtree(self.root, ignore_errors=True)


def asked(kind):
    w = World()
    mine, other = ASK % ("github.com", "acme/web.git"), ASK % ("github.com", "acme/other.git")
    got = w.run(kind, mine)
    ok(got[0] == 0 and OWN in got[1] and "evil" not in got[1], "%s: git gets the credential that the host made" % kind, got)
    got = w.run(kind, other)
    ok(got[0] != 0 and "password" not in got[1] and "for https://github.com/acme/web alone" in "".join(got[1:]),
       "%s: none for another repository" % kind, got)
    got = w.run(kind, mine, credential=False)
    ok(OWN not in got[1] and "evil" in got[1], "%s: control: git as it would sign in anyway" % kind, got)
    got = w.run(kind, ASK % ("gitlab.test", "acme/web.git"))
    ok(("evil" in got[1]) == (kind == "none"), "%s: another host's helper is %s" % (kind, "the user's" if kind == "none" else "none"), got)
    w.close()


for each in sys.argv[1:] or ["none", "sandbox"]:
    asked(each)
finish()

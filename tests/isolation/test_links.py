#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What was looked at while planning and is another thing when srt is started: a name that becomes a link to
something denied shows nothing of it inside."""
import os

import mutate
from world import BUILD, World, finish, ok

w = World()
netrc = w.home + "/.netrc"  # a denied file: its directory is hidden, and the other entries are given back
bait = w.home + "/work/bait"
out = w.ws + "/out"
command = ["/bin/sh", "-c", "cat %s %s >%s 2>&1; exit 0" % (bait, netrc, out)]


def attempt(hook, env=None):
    if os.path.lexists(bait):
        os.unlink(bait)
    with open(bait, "w") as f:
        f.write("harmless\n")
    if os.path.exists(out):
        os.unlink(out)
    status, record = w.steps(w.policy(), "held", hook, command, env=env)
    return record, open(out).read() if os.path.exists(out) else ""


record, text = attempt("true")
ok(record.get("state") == "exited" and "harmless" in text, "control: the entry is there as it was", (record, text))
ok("topsecret" not in text, "control: the denied file is not")
for name, target in (("the denied file", netrc), ("a link to it", w.home + "/alias")):
    if target != netrc:
        os.symlink(netrc, target)
    record, text = attempt("rm %s && ln -s %s %s" % (bait, target, bait))
    ok(record.get("state") in ("exited", "unavailable"), "an entry became a link to %s: the run ends" % name, record)
    ok("topsecret" not in text, "an entry became a link to %s: nothing of it shows" % name, text)
providers = w.root + "/providers"
os.mkdir(providers)
mutate.make(providers, BUILD + "/libexec/providers/open-conduit-provider-srt",
            "f = s['filesystem']; f['denyRead'] = [d for d in f['denyRead'] if not d['path'].endswith('/.netrc')]")
record, text = attempt("rm %s && ln -s %s %s" % (bait, netrc, bait), {"OPEN_CONDUIT_PROVIDER_DIR": providers})
ok("topsecret" in text, "control: without a deny of the file itself the link shows it", (record, text))
w.close()
finish()

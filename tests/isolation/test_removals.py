#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The real srt with one rule at a time removed from the settings it is given, a swapped folder, a srt
without its seccomp helper, and one that confines nothing: each is caught before the agent starts,
and the report names the probe."""
import json, os, shutil, socket, sys

import mutate
from world import BUILD, SRT, World, finish, ok, put

REAL = BUILD + "/libexec/providers/open-conduit-provider-srt"
CANARY = "echo started > agent-was-here"


def drop(section, key, suffix):
    """Take the entries whose path ends so out of a list of srt's settings."""
    return ("s[%r][%r] = [e for e in s[%r][%r] if not (e['path'] if isinstance(e, dict) else e).endswith(%r)]"
            % (section, key, section, key, suffix))


def give_back(path):
    return "s['filesystem']['allowRead'].append({'path': %r, 'literal': True})" % path


def mutations(w):
    """name -> (edit, the probes any of which may name it)."""
    out = {}
    for part in ("config", "hooks", "info", "commondir", "config.worktree", "objects/info/alternates"):
        out["write deny of .git/" + part] = (drop("filesystem", "denyWrite", "/.git/" + part), {"P9"})
    out["every write deny"] = ("s['filesystem']['denyWrite'] = []", {"P9"})
    out["mount of .git"] = (drop("filesystem", "allowWrite", "/ws/.git"), {"P9"})
    out["read deny of a policy's path"] = (drop("filesystem", "denyRead", w.secret_place), {"P7"})
    # Beneath the hidden home each deny is there twice: taken out of the list alone it still holds (shown by
    # `redundant` below), so here the entry is given back too.
    for name, path, probes in (("the state directory", w.state, {"P6"}), ("the config directory", w.config, {"P6"}),
                               ("a credential directory", w.home + "/.ssh", {"P7"}), ("a credential file", w.home + "/.netrc", {"P7"}),
                               ("the operator's agent", w.home + "/.claude", {"P6"})):
        out["read deny of " + name] = (drop("filesystem", "denyRead", path) + "; " + give_back(path), probes)
    out["hiding of the home directory"] = ("s['filesystem']['denyRead'] = [e for e in s['filesystem']['denyRead'] if e['path'] != %r]" % w.home, {"P6", "P7"})
    out["every read deny"] = ("s['filesystem']['denyRead'] = []", {"P6", "P7"})
    out["the network list"] = ("s['network']['allowedDomains'].append(params['run'] + '.invalid')", {"P5"})
    out["seccomp"] = ("s['network']['allowAllUnixSockets'] = True", {"P15"})
    out["the limits of write grants"] = (
        "s['filesystem']['allowWrite'].append({'path': %r, 'literal': True}); reply['guest']['landlock'] = False" % (w.home + "/work"), {"P8"})
    out["file rules as a whole"] = ("s['filesystem']['disabled'] = True", {"P6", "P7", "P8", "P9"})
    return out


def without(path):
    return "s['filesystem']['denyRead'] = [e for e in s['filesystem']['denyRead'] if e['path'] != %r]" % path


def unix_mutations(w):
    """With "unix_sockets": "all" srt's own filter is gone, and the guest's namespaces and hidden directories stand in."""
    return {
        "the nested namespaces": ("reply['guest']['nest'] = False", {"guest.deny_ipc"}),
        "nested namespaces and Landlock": ("reply['guest'].update(nest=False, landlock=False, deny_ipc=True)", {"guest.unix"}),
        "the private /tmp": (without("/tmp"), {"P10"}),
        "hiding of /run": (without("/run"), {"P10"}),
        "hiding of a directory with a socket": (without(os.path.dirname(w.service)), {"P10"}),
        "a hidden directory, given back": (give_back(os.path.dirname(w.service)), {"P10"}),
        "every read deny": ("s['filesystem']['denyRead'] = []", {"P6", "P7", "P10"}),
    }


def caught(w, name, edit, probes, policy, env=None, made=None):
    directory = os.path.join(w.root, "mutant")
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    if edit is not None:
        mutate.make(directory, REAL, edit)
    if made:
        made(directory)
    status, record = w.steps(policy, "never", "true", ["/bin/sh", "-c", CANARY], env={"OPEN_CONDUIT_PROVIDER_DIR": directory, **(env or {})})
    started = os.path.exists(w.ws + "/agent-was-here")
    if started:
        os.unlink(w.ws + "/agent-was-here")
    ok(not started, "without %s the agent does not start" % name, record)
    error = record.get("error") or record
    subjects = {e.get("subject") for e in [error, *(error.get("more") or [])] if isinstance(e, dict)}
    ok(error.get("reason") == "sandbox_unavailable" and subjects & probes,
       "without %s the report names %s" % (name, " or ".join(sorted(probes))), record)


def control(w, policy):
    status, record = w.steps(policy, "never", "true", ["/bin/sh", "-c", CANARY])
    ok(os.path.exists(w.ws + "/agent-was-here") and record.get("state") == "exited", "with every rule the agent runs", record)
    if os.path.exists(w.ws + "/agent-was-here"):
        os.unlink(w.ws + "/agent-was-here")


def redundant(w, policy):
    """A deny beneath the hidden home that is only taken out of the list: still refused inside."""
    directory = os.path.join(w.root, "mutant")
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    mutate.make(directory, REAL, drop("filesystem", "denyRead", "/.ssh"))
    status, record = w.steps(policy, "never", "true", ["/bin/cat", w.home + "/.ssh/id_test"], env={"OPEN_CONDUIT_PROVIDER_DIR": directory})
    ok(record.get("state") == "exited" and record.get("status") != 0 and not record.get("output_bytes", 1) > 200,
       "a credential beneath the hidden home is denied twice", record)


def swapped_folder(w, policy):
    """P14: a granted directory is swapped for another between the preflight and the mount."""
    extra = w.home + "/work/extra"
    os.makedirs(extra)
    granted = w.policy("swap.json", write=["{workspace}", extra])
    for name, hook in (("another directory", "mv {0} {0}.old && mkdir {0}"), ("a link", "mv {0} {0}.old && ln -s {1} {0}")):
        status, record = w.steps(granted, "held", hook.format(extra, w.outside), ["/bin/sh", "-c", CANARY])
        error = record.get("error") or record
        subjects = {e.get("subject") for e in [error, *(error.get("more") or [])] if isinstance(e, dict)}
        ok(not os.path.exists(w.ws + "/agent-was-here") and record.get("state") != "exited", "a folder swapped for %s: the agent does not start" % name, record)
        ok("P14" in subjects or "P8" in subjects, "a folder swapped for %s: the report names the probe" % name, record)
        if os.path.islink(extra):
            os.unlink(extra)
        else:
            os.rmdir(extra)
        os.rename(extra + ".old", extra)


def srt_copy(w, name):
    """A copy of srt's package that a test may damage, links kept."""
    copy = os.path.join(w.root, name)
    shutil.copytree(SRT + "/node_modules", copy + "/node_modules", symlinks=True, ignore=shutil.ignore_patterns("node-linux-*", "node"))
    for d in os.listdir(SRT + "/node_modules"):
        if d.startswith("node-linux-"):
            os.symlink(SRT + "/node_modules/" + d, copy + "/node_modules/" + d)
    return copy


def damaged_srt(w, policy):
    package = "/node_modules/@anthropic-ai/sandbox-runtime"
    no_helper = srt_copy(w, "no-helper")
    shutil.rmtree(no_helper + package + "/vendor/seccomp")
    env = {"PATH": no_helper + "/node_modules/.bin:" + w.env["PATH"].split(":", 1)[1]}
    status, record = w.steps(policy, "never", "true", ["/bin/sh", "-c", CANARY], env=env)
    ok(not os.path.exists(w.ws + "/agent-was-here") and record.get("reason") == "sandbox_unavailable",
       "a srt without its seccomp helper is refused by the check", record)
    fake = srt_copy(w, "fake")
    put(fake + package + "/dist/cli.js", """
const { spawnSync } = require('child_process');
const r = spawnSync('bash', process.argv.slice(process.argv.indexOf('-c')), { stdio: [0, 1, 2, 3] });
process.exit(r.status ?? 1);
""", 0o755)
    manifest = json.load(open(fake + package + "/package.json"))
    manifest["type"] = "commonjs"
    put(fake + package + "/package.json", json.dumps(manifest))
    env = {"PATH": fake + "/node_modules/.bin:" + w.env["PATH"].split(":", 1)[1]}
    status, record = w.steps(policy, "never", "true", ["/bin/sh", "-c", CANARY], env=env)
    ok(not os.path.exists(w.ws + "/agent-was-here") and record.get("reason") == "sandbox_unavailable",
       "a srt that confines nothing is refused by the check", record)
    # The same with a check that lies: then the probes must do it alone.
    caught(w, "any confinement at all", "launch['env'] = dict(launch['env'])\nlaunch['env']['MUTATED'] = '1'",
           {"P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P15"}, policy, env=env)


def main():
    w = World()
    w.secret_place = w.root + "/elsewhere"
    put(w.secret_place + "/secret")
    policy = w.policy(read={"deny": [w.denied, w.secret_place]})
    control(w, policy)
    redundant(w, policy)
    for name, (edit, probes) in mutations(w).items():
        caught(w, name, edit, probes, policy)
    listener = socket.socket(socket.AF_UNIX)
    w.service = w.root + "/services/s"
    os.makedirs(os.path.dirname(w.service), mode=0o700)
    listener.bind(w.service)
    listener.listen()
    everything = w.policy("all.json", read={"deny": [w.denied, w.secret_place]}, unix_sockets="all")
    control(w, everything)
    for name, (edit, probes) in unix_mutations(w).items():
        caught(w, name + ' (unix_sockets "all")', edit, probes, everything)
    swapped_folder(w, policy)
    damaged_srt(w, policy)
    w.close()
    finish()


main()

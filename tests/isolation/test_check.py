# SPDX-License-Identifier: Apache-2.0
"""The srt provider's check: green for what is installed, and red with a cause and a fix for each way it can be broken,
among them an srt that runs everything and confines nothing."""
import json, os, shutil, subprocess, sys
from provider import Provider
from world import BUILD, SRT, World, finish, ok, put, skip

PACKAGE = "/node_modules/@anthropic-ai/sandbox-runtime"
PATH = "/usr/local/bin:/usr/bin:/bin"


def check(w, **env):
    variables = {"PATH": PATH, "HOME": w.home, "OPEN_CONDUIT_SRT": SRT, **env}
    provider = Provider(BUILD + "/libexec/providers/open-conduit-provider-srt", {k: v for k, v in variables.items() if v is not None})
    reply = provider.call("check", {"state_dir": w.state, "guest": "/bin/true", "live_dir": w.state + "/live"})
    provider.close()
    return {c["id"]: c for c in reply["checks"]}


def red(w, name, what, cause, fix, **env):
    checks = check(w, **env)
    c = checks.get(what, {})
    ok(c.get("ok") is False and cause in c["detail"] and c["fix"] and fix in c["fix"], name + " is red, with its fix", checks)
    return checks


def copy_of_srt(w, name):
    prefix = w.root + "/" + name
    shutil.copytree(SRT, prefix, symlinks=True)
    return prefix


def program(path, text):
    put(path, "#!/bin/sh\n" + text, 0o755)


def packages(w):
    helper = "/vendor/seccomp/" + ("x64" if os.uname().machine == "x86_64" else "arm64") + "/apply-seccomp"
    prefix = copy_of_srt(w, "copy")
    ok(all(c["ok"] for c in check(w, OPEN_CONDUIT_SRT=prefix).values()), "control: the copy is green as it is")
    os.rename(prefix + PACKAGE + helper, w.root + "/helper")
    red(w, "an srt without its seccomp helper", "seccomp", "seccomp helper is missing", "npm", OPEN_CONDUIT_SRT=prefix)
    shutil.copy("/usr/bin/env", prefix + PACKAGE + helper)
    red(w, "an srt whose seccomp helper filters nothing", "act", "without its seccomp filter", "npm", OPEN_CONDUIT_SRT=prefix)
    shutil.copy(w.root + "/helper", prefix + PACKAGE + helper)
    os.rename(prefix + "/node_modules/zod", w.root + "/zod")
    red(w, "an incomplete srt", "act", "incomplete", "npm", OPEN_CONDUIT_SRT=prefix)
    os.rename(w.root + "/zod", prefix + "/node_modules/zod")
    cli = prefix + PACKAGE + "/dist/cli.js"
    os.chmod(cli, 0o755)
    put(cli, "import {spawnSync} from 'child_process'; const r = spawnSync('bash', ['-c', process.argv[process.argv.indexOf('-c') + 1]],"
        " {stdio: 'inherit'}); process.exit(r.status);", 0o755)
    red(w, "an srt that confines nothing", "act", "without its seccomp filter", "npm", OPEN_CONDUIT_SRT=prefix)
    manifest = prefix + PACKAGE + "/package.json"
    about = json.load(open(manifest))
    about["version"] = "0.0.79"
    put(manifest, json.dumps(about), 0o644)
    red(w, "an srt that is too old", "srt", "0.0.80 or later", "npm", OPEN_CONDUIT_SRT=prefix)
    red(w, "no srt", "srt", "/nonexistent", "npm", OPEN_CONDUIT_SRT="/nonexistent")


def helpers(w):
    bin_dir = w.root + "/bin"
    os.mkdir(bin_dir)
    names = ("bash", "which", "sh", "socat", "bwrap", "rg")
    for name in names:
        os.symlink(shutil.which(name, path=PATH), bin_dir + "/" + name)
    ok(all(c["ok"] for c in check(w, PATH=bin_dir).values()), "control: a PATH of six programs is enough")
    for name, package in (("bwrap", "bubblewrap"), ("socat", "socat"), ("rg", "ripgrep"), ("bash", "bash"), ("which", "debianutils")):
        os.rename(bin_dir + "/" + name, bin_dir + "/.away")
        red(w, "a PATH without " + name, "programs", name, package, PATH=bin_dir)
        os.rename(bin_dir + "/.away", bin_dir + "/" + name)
    node = bin_dir + "/node"
    program(node, "echo v18.19.0\n")
    lonely = w.root + "/lonely"
    shutil.copytree(SRT + PACKAGE, lonely + PACKAGE)
    red(w, "a Node that is too old", "node", "18.19.0", "node", PATH=bin_dir, OPEN_CONDUIT_SRT=lonely)
    os.unlink(node)
    red(w, "no Node", "node", "22.12.0", "node", PATH=bin_dir, OPEN_CONDUIT_SRT=lonely)


def kernels(w):
    bin_dir = w.root + "/bin"
    os.unlink(bin_dir + "/bwrap")
    texts = (("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "AppArmor", "apparmor_restrict_unprivileged_userns=0"),
             ("apply-seccomp: write /proc/self/setgroups (nested userns is capability-restricted): Permission denied", "AppArmor", "apparmor"),
             ("bwrap: No permissions to create new namespace, likely because the kernel does not allow it", "user namespaces", "userns_clone"),
             ("bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)", "too few", "max_user_namespaces"),
             ("bwrap: unshare user ns: No space left on device", "three", "max_user_namespaces"),
             ("bwrap: Failed to make / slave: Operation not permitted", "container", "container"),
             ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "masks /proc", "systempaths"),
             ("bwrap: something new \033[31m", "something new \\x1b[31m", ""))
    for text, cause, fix in texts:
        program(bin_dir + "/bwrap", "[ \"$1\" = --version ] && exec echo bubblewrap 9\nprintf '%s\\n' \"" + text + "\" >&2\nexit 1\n")
        red(w, text[:50].replace("\033", ""), "act", cause, fix, PATH=bin_dir)


if __name__ == "__main__":
    if not SRT:
        skip("the provider's check", "OC_SRT names no prefix with srt in it")
        sys.exit(0)
    world = World(clone=False)
    os.makedirs(world.state + "/live", 0o700)
    checks = check(world)
    ok(all(c["ok"] for c in checks.values()) and "act" in checks, "what is installed is green", checks)
    packages(world)
    helpers(world)
    kernels(world)
    ok(not os.listdir(world.state + "/live"), "the checks leave nothing", os.listdir(world.state + "/live"))
    shutil.rmtree(world.root, ignore_errors=True)
    finish()

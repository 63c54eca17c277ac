# SPDX-License-Identifier: Apache-2.0
"""source.py TREE [EXCEPTIONS]: what is forbidden in the C sources, found in code, not in comments or strings.

  head     the first line is the licence; no // comment
  size     a file of more than 600 lines
  banned   a call that can't be used safely
  cloexec  a descriptor made without close-on-exec
  reap     a wait for just any child: in the library that would be the embedder's

EXCEPTIONS has lines "CHECK FILE NAME REASON…"; one that excuses nothing is itself a finding.  Prints a line for each
finding; exits 1 if there is one."""
import os
import re
import sys

FOLDERS = ("lib", "include", "host", "providers", "examples", "tests")
MAX_LINES = 600
BANNED = "system popen strcpy strcat stpcpy sprintf vsprintf gets tmpnam mktemp tempnam alloca vfork".split()
# In what is installed.  What the library alone may not call, tests/abi/imports.sh asks the linked object.
BANNED_SHIPPED = "signal strtok strncpy longjmp".split()
CLOEXEC = {
    "open": "O_CLOEXEC", "openat": "O_CLOEXEC", "openat2": None, "creat": "", "socket": "SOCK_CLOEXEC",
    "socketpair": "SOCK_CLOEXEC", "accept": "", "accept4": "SOCK_CLOEXEC", "dup": "", "dup2": "", "dup3": "O_CLOEXEC",
    "pipe": "", "pipe2": "O_CLOEXEC", "epoll_create": "", "epoll_create1": "EPOLL_CLOEXEC", "eventfd": "EFD_CLOEXEC",
    "timerfd_create": "TFD_CLOEXEC", "signalfd": "SFD_CLOEXEC", "inotify_init": "", "inotify_init1": "IN_CLOEXEC",
    "memfd_create": "MFD_CLOEXEC", "recvmsg": "MSG_CMSG_CLOEXEC", "mkstemp": "", "mkostemp": "O_CLOEXEC",
}
SHIPPED = ("lib/", "host/", "providers/")


def code_of(text):
    """Comments and the inside of strings as blanks, line breaks kept; and the lines that have a // comment."""
    out, slashes, i, line, state = [], [], 0, 1, ""
    while i < len(text):
        c, two = text[i], text[i:i + 2]
        if c == "\n":
            line += 1
            state = "" if state == "//" else state
            out.append(c)
        elif not state and two in ("/*", "//"):
            state = two
            if two == "//":
                slashes.append(line)
            out.append("  ")
            i += 1
        elif state == "/*" and two == "*/":
            state = ""
            out.append("  ")
            i += 1
        elif state in ('"', "'"):
            if c == "\\":
                out.append("  ")
                i += 2
                continue
            if c == state:
                state = ""
                out.append(c)
            else:
                out.append("e" if c == "e" else " ")
        elif not state and c in "\"'":
            state = c
            out.append(c)
        else:
            out.append(" " if state else c)
        i += 1
    return "".join(out), slashes


def calls(code, names):
    """(name, line, arguments) of each call, whole over line breaks; declarations count too, and have no business here."""
    for found in re.finditer(r"(?<![\w.>])(%s)\s*\(" % "|".join(names), code):
        depth, end = 1, found.end()
        while end < len(code) and depth:
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        yield found.group(1), code.count("\n", 0, found.start()) + 1, code[found.end():end - 1]


def findings(path, text):
    code, slashes = code_of(text)
    if not text.startswith("/* SPDX-License-Identifier: Apache-2.0 */\n"):
        yield "head", 1, "spdx", "the first line is not the licence"
    for line in slashes:
        yield "head", line, "//", "a // comment"
    lines = text.count("\n")
    if lines > MAX_LINES:
        yield "size", lines, "lines", "%d lines, %d at most: it is two things" % (lines, MAX_LINES)
    for name, line, _ in calls(code, BANNED + (BANNED_SHIPPED if path.startswith(SHIPPED) else [])):
        yield "banned", line, name, "%s() is not used here" % name
    if not path.startswith(SHIPPED):
        return
    for name, line, arguments in calls(code, ["wait", "waitpid", "waitid"]):
        if path.startswith("lib/") and re.match(r"\s*(-1\b|P_ALL\b|&|NULL|0)", arguments):
            yield "reap", line, name, "%s() takes children that are not its own" % name
    for name, line, arguments in calls(code, CLOEXEC):
        want = CLOEXEC[name]
        if want is None or (want and want in arguments):
            continue
        yield "cloexec", line, name, "%s() without %s" % (name, want or "a form that closes on exec")
    for name, line, arguments in calls(code, ["fopen", "fdopen"]):
        mode = arguments.rsplit(",", 1)[-1]
        if name == "fopen" and "e" not in mode:
            yield "cloexec", line, name, 'fopen() without "e"'
    for name, line, arguments in calls(code, ["fcntl"]):
        if re.search(r"\bF_DUPFD\b", arguments):
            yield "cloexec", line, name, "F_DUPFD without _CLOEXEC"


def main():
    tree = sys.argv[1]
    excused, used, bad = {}, set(), 0
    if len(sys.argv) > 2:
        with open(sys.argv[2], encoding="utf-8") as file:
            for row in file:
                if row.strip() and not row.startswith("#"):
                    check, path, name, _ = row.split(None, 3)
                    excused[(check, path, name)] = row.strip()
    for top in FOLDERS:
        for folder, _, files in sorted(os.walk(os.path.join(tree, top))):
            for name in sorted(files):
                if not name.endswith((".c", ".h")):
                    continue
                full = os.path.join(folder, name)
                path = os.path.relpath(full, tree)
                # Frozen: kept as they were released.
                if re.match(r"tests/abi/v\d", path):
                    continue
                with open(full, encoding="utf-8") as file:
                    text = file.read()
                for check, line, what, message in findings(path, text):
                    key = (check, path, what)
                    if key in excused:
                        used.add(key)
                        continue
                    print("%s: %s:%d: %s" % (check, path, line, message))
                    bad = 1
    for key in sorted(set(excused) - used):
        print("exception that excuses nothing: %s" % excused[key])
        bad = 1
    return bad


sys.exit(main())

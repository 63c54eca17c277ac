# SPDX-License-Identifier: Apache-2.0
"""analyse.py gcc|tidy BUILD CACHE FOLDER…: what the analyser says about each file of those folders that BUILD compiled.

gcc is gcc -fanalyzer, tidy is clang-tidy 14 as .clang-tidy says.  A file that is compiled several times in one way is
looked at once.  What was said is kept in CACHE, by what it depends on: the analyser's version, its options, and the text
of the file and of all that it includes, as ninja noted them when it was built."""
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time

KEEP_S = 60 * 24 * 3600
TIDY = ["clang-tidy-14", "--quiet", "--extra-arg=-Wno-unknown-warning-option",
        "--extra-arg=-Wno-ignored-optimization-argument"]  # what gcc knows and clang doesn't is no finding


def real(build, path):
    return os.path.realpath(os.path.join(build, path))


def gcc_command(command):
    """The same compilation without optimisation, as a shipped one, to nowhere."""
    out, skip = [], False
    for word in shlex.split(command):
        if skip or word in ("-MQ", "-MF", "-o"):
            skip = not skip
        elif word not in ("-MD", "-Werror", "-DOC_FAULTS") and not re.match("-O[0-9s]$", word):
            out.append(word)
    return out + ["-O0", "-fanalyzer", "-o", "/dev/null"]


def compilations(tool, build, folders):
    """One of each way in which a file is compiled: it differs by its macros."""
    found = {}
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        for entry in json.load(file):
            path = real(entry["directory"], entry["file"])
            macros = sorted(w for w in shlex.split(entry["command"]) if w.startswith(("-D", "-U")))
            if path.endswith(".c") and os.path.relpath(path, os.path.realpath(".")).split(os.sep)[0] in folders:
                command = gcc_command(entry["command"]) if tool == "gcc" else TIDY + [path]
                found.setdefault((path, tuple(macros)), dict(entry, path=path, words=command))
    return [found[key] for key in sorted(found)]


def noted_includes(build):
    """{object: [files]}, without those whose note is older than the object."""
    out, files = {}, []
    text = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    for row in text.splitlines():
        match = re.match(r"(\S.*): #deps \d+, .*\((VALID|STALE)\)$", row)
        if match:
            files = []
            if match[2] == "VALID":
                out[match[1]] = files
        elif row.startswith("    "):
            files.append(row[4:])
    return out


class Keys:
    def __init__(self, tool, build):
        program = [TIDY[0]] if tool == "tidy" else ["gcc"]
        self.base = [tool, subprocess.run(program + ["--version"], capture_output=True, text=True, check=True).stdout]
        if tool == "tidy":
            with open(".clang-tidy", encoding="utf-8") as file:
                self.base.append(file.read())
        self.build, self.notes, self.digests = build, noted_includes(build), {}

    def digest(self, path):
        if path not in self.digests:
            with open(path, "rb") as file:
                self.digests[path] = hashlib.sha256(file.read()).hexdigest()
        return self.digests[path]

    def of(self, entry):
        """None: what it depends on isn't known."""
        files = self.notes.get(entry.get("output") or "")
        if not files:
            return None
        paths = sorted({real(self.build, name) for name in files} | {entry["path"]})
        try:
            whole = self.base + [entry["words"], entry["command"], [(path, self.digest(path)) for path in paths]]
        except OSError:
            return None
        return hashlib.sha256(json.dumps(whole).encode()).hexdigest()


def analyse(tool, entry):
    """A process for each: with several files clang-tidy 14 takes va_list for another type and reports it unset."""
    with tempfile.TemporaryDirectory() as one:
        if tool == "tidy":
            # Only this way to compile it: clang-tidy would look at it in all that the build knows.
            with open(os.path.join(one, "compile_commands.json"), "w", encoding="utf-8") as file:
                json.dump([{k: entry[k] for k in ("directory", "command", "file")}], file)
            entry["words"] += ["-p", one]
        done = subprocess.run(entry["words"], cwd=entry["directory"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    fine = done.returncode in ((0, 1) if tool == "tidy" else (0,))
    text = done.stdout if fine else "%serror: %s ended with %d on %s\n" % (done.stdout, tool, done.returncode,
                                                                         entry["path"])
    return fine, text


def said(tool, entry, cache, key):
    """The text, and whether it was found out now."""
    place = key and os.path.join(cache, key)
    if place and os.path.exists(place):
        os.utime(place)
        with open(place, encoding="utf-8") as file:
            return file.read(), False
    fine, text = analyse(tool, entry)
    if fine and place:
        with open(place + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(place + ".new", place)
    return text, True


def main():
    tool, build, cache, folders = sys.argv[1], os.path.realpath(sys.argv[2]), sys.argv[3], sys.argv[4:]
    os.makedirs(cache, exist_ok=True)
    entries, keys = compilations(tool, build, folders), Keys(tool, build)
    if not entries:
        print("error: nothing to look at in %s" % " ".join(folders))
        return 2
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("OC_JOBS") or os.cpu_count())) as pool:
        texts = list(pool.map(lambda entry: said(tool, entry, cache, keys.of(entry)), entries))
    for text, _ in texts:
        sys.stdout.write(text)
    print("%d files, %d of them looked at now" % (len(entries), sum(new for _, new in texts)))
    for name in os.listdir(cache):
        if os.stat(os.path.join(cache, name)).st_mtime < time.time() - KEEP_S:
            os.unlink(os.path.join(cache, name))
    return 0


sys.exit(main())

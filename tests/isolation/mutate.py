#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A provider that is the real one but for one thing: it stands between host and provider and edits
the launch of every plan, so that exactly one rule is missing from what srt is given.

    mutate.py MAKE DIR REAL EXPRESSION    write DIR/open-conduit-provider-srt, a script that runs REAL

EXPRESSION is Python that edits `s` (the settings given to srt, parsed), `launch`, or `reply` (the
whole answer) in place.  Checks are answered green without asking: what must catch the difference
here is the probes.  An expression that changes nothing fails the run: a mutation that isn't one
would make the test pass for nothing."""
import copy, json, os, socket, subprocess, sys


def serve(real, expression):
    ours, theirs = socket.socketpair()
    child = subprocess.Popen([real], stdin=theirs, stdout=theirs)
    theirs.close()
    provider = ours.makefile("rw", buffering=1)
    for line in sys.stdin:
        request = json.loads(line)
        provider.write(line)
        provider.flush()
        answer = json.loads(provider.readline())
        reply = answer.get("result")
        if request.get("method") == "plan" and reply:
            launch, before = reply["launch"], copy.deepcopy(reply)
            settings = launch["files"][0]
            s = json.loads(settings["text"])
            exec(expression, {"s": s, "launch": launch, "reply": reply, "params": request["params"], "os": os})
            settings["text"] = json.dumps(s)
            before["launch"]["files"][0]["text"] = json.dumps(json.loads(before["launch"]["files"][0]["text"]))
            if reply == before:
                print("mutate: nothing changed by: " + expression, file=sys.stderr)
                sys.exit(9)
        if request.get("method") == "check" and reply:
            reply["checks"] = [{"id": "mutated", "title": "mutated", "ok": True, "detail": "", "fix": None, "ms": 0}]
        print(json.dumps(answer), flush=True)
    provider.close()
    ours.close()
    child.wait()


def make(directory, real, expression):
    path = os.path.join(directory, "open-conduit-provider-srt")
    with open(path, "w") as f:
        f.write("#!%s\nimport sys\nsys.path.insert(0, %r)\nsys.dont_write_bytecode = True\nimport mutate\nmutate.serve(%r, %r)\n"
                % (sys.executable, os.path.dirname(os.path.abspath(__file__)), real, expression))
    os.chmod(path, 0o755)


if __name__ == "__main__":
    make(*sys.argv[2:5])

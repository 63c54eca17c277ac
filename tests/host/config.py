# SPDX-License-Identifier: Apache-2.0
"""The config: what loads, and how everything else is refused.  Each known key with one letter wrong, each key twice, each
value of another type: refused by the reader with the exact path, and by the schema too, which an independent validator
applies.  OC_BUILD: the build folder."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import jsonschema

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ["OC_BUILD"]
BATCH = BUILD + "/tests/host/config_batch"
HOST = BUILD + "/host/open-conduit"
# Not beneath /tmp, which a policy may hide; and short: srt's sockets have to fit in a name beneath the state directory.
WORK = tempfile.mkdtemp(prefix="c", dir=os.path.expanduser("~"))
HOME = WORK + "/h"
ENV = {"PATH": os.environ["PATH"], "HOME": HOME, "LANG": "C.UTF-8", "OPEN_CONDUIT_LIBEXEC": BUILD + "/libexec"}
failed = 0


def check(good, name, why=""):
    global failed
    text = str(why).replace("\n", " | ")[:1200]
    print("ok - %s" % name if good else "not ok - %s: %s" % (name, text), flush=True)
    failed |= not good
    return good


# ---- documents that keep what a dict throws away: order, keys that are there twice, how a key is written ----

class Obj(list):
    """[key, value, how the key is written] for each member."""

    def get(self, key):
        return next((m[1] for m in self if m[0] == key), None)

    def member(self, key):
        return next(m for m in self if m[0] == key)


class Raw(str):
    """A value as it is to be written."""


def load(text):
    return json.loads(text, object_pairs_hook=lambda pairs: Obj([k, v, None] for k, v in pairs))


def dump(value):
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, Obj):
        return "{%s}" % ",".join("%s:%s" % (m[2] or json.dumps(m[0]), dump(m[1])) for m in value)
    if isinstance(value, list):
        return "[%s]" % ",".join(dump(v) for v in value)
    return json.dumps(value)


def nodes(value, path=()):
    """Every (value, path, the list or object it is in, its place there)."""
    if isinstance(value, Obj):
        for m in value:
            yield m[1], path + (m[0],), value, m
            yield from nodes(m[1], path + (m[0],))
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield v, path + (i,), value, i
            yield from nodes(v, path + (i,))


def shown(path):
    text = ""
    for p in path:
        text += "[%d]" % p if isinstance(p, int) else ("." if text else "") + p
    return text


def fixture(name):
    with open(name if name.startswith("/") else "%s/%s" % (TREE, name)) as f:
        return f.read().replace("/path/to", WORK + "/real")


FIXTURES = ["examples/config/container.json", "examples/config/sandbox.json", "examples/config/shell.json",
            "tests/host/config/full.json"]


def batch(texts, *args):
    """What the reader says of each."""
    out = subprocess.run([BATCH, *args], input="".join(t.replace("\n", " ") + "\n" for t in texts), env=ENV, text=True,
                         capture_output=True, check=True).stdout
    answers = [json.loads(line) for line in out.splitlines()]
    assert len(answers) == len(texts)
    return answers


def world():
    for d in ("web", "sandboxed-claude", "agent-home", "denied"):
        os.makedirs("%s/real/%s" % (WORK, d))
    for d in (".npm", ".ssh", ".config/open-conduit", ".claude/sub", ".config/op"):
        os.makedirs("%s/%s" % (HOME, d))
    for f in (".gitconfig", ".claude.json", ".ssh/known_hosts", "gh-token"):
        open("%s/%s" % (HOME, f), "w").close()


SCHEMA = json.loads(subprocess.run([HOST, "config", "schema"], env=ENV, text=True, capture_output=True, check=True).stdout)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def free(path):
    """Objects whose keys are the operator's own names."""
    last = path[-1] if path else ""
    return last in ("env", "secret_env", "extensions") and (last != "extensions" or path[0] == "settings") or (
        last == "secret_refs" and path[0] == "scopes")


# ---- what loads ----

def good():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for name in FIXTURES:
        text = fixture(name)
        (a,) = batch([text])
        check(a["ok"] and not a["errors"], "loads: %s" % name, a["errors"])
        errors = list(VALIDATOR.iter_errors(json.loads(text)))
        check(not errors, "schema: %s" % name, errors[:1])
    page = json.loads(open(TREE + "/examples/config/container.json").read())
    check(page["scopes"][0]["bindings"][0]["container"]["config"]["limits"] == {"cpus": 4, "memory": "8g", "pids": 2048},
          "the page's example is what is loaded")
    # Every key of the schema is in some fixture: so the changes below are of every known key.
    seen = set()
    for name in FIXTURES:
        for _, path, inside, _ in nodes(load(fixture(name))):
            if isinstance(path[-1], str):
                seen.add(re.sub(r"settings\.extensions\.\w+", "settings.extensions.*", ".".join(p for p in path if isinstance(p, str))))
    missing = [k for k in schema_keys(SCHEMA, ()) if k not in seen and not k.endswith("setup") and ".machine" not in k]
    check(not missing, "every key of the schema is in a fixture (%d)" % len(seen), missing)


def documented():
    """The manual has every operation, every key and no operation that isn't there."""
    with open(TREE + "/man/open-conduit-config.5") as f, open(TREE + "/man/open-conduit-policy.5") as g:
        page, policies = f.read().replace("\\(dq", '"'), g.read().replace("\\(dq", '"')
    there = set(SCHEMA["properties"]["scopes"]["items"]["properties"]["authorization"]["properties"]["operations"]["items"]["enum"])
    named = set(re.findall(r"^\.It Li (@?(?:github|run|work|workspace)\.[a-z.]+|@\w+)(?: |$)", page, re.M))
    check(there == named and len(there) > 8, "manual: every operation and toolset", there ^ named)
    keys = {k.split(".")[-1] for k in schema_keys(SCHEMA, ())} - {"*"}
    missing = [k for k in keys if not re.search(r"\b%s\b" % k, page + policies)]
    check(not missing and not re.search(r"\bnot_a_key\b", page + policies), "manual: every key of the schema (%d)" % len(keys), missing)


def schema_keys(schema, path):
    for key, sub in schema.get("properties", {}).items():
        yield ".".join(path + (key,))
        yield from schema_keys(sub, path + (key,))
    if isinstance(schema.get("additionalProperties"), dict):
        yield from schema_keys(schema["additionalProperties"], path + ("*",))
    if "items" in schema:
        yield from schema_keys(schema["items"], path)


# ---- changes of one letter ----

def mutations(key):
    for i in range(len(key)):
        yield key[:i] + key[i + 1:]
        for c in {"x", "_", "s", key[i].swapcase(), chr(ord(key[i]) + 1)}:
            yield key[:i] + c + key[i + 1:]
    for i in range(len(key) + 1):
        for c in {"x", "_", "s", key[i - 1] if i else key[0]}:
            yield key[:i] + c + key[i:]
    for i in range(len(key) - 1):
        yield key[:i] + key[i + 1] + key[i] + key[i + 2:]


def one_letter():
    texts, wanted, originals = [], [], []
    for name in FIXTURES:
        doc = load(fixture(name))
        for _, path, inside, m in list(nodes(doc)):
            if not isinstance(inside, Obj) or free(path[:-1]):
                continue
            key, siblings = m[0], {o[0] for o in inside}
            for other in sorted(set(mutations(key)) - siblings):
                m[0] = other
                texts.append(dump(doc))
                wanted.append(shown(path[:-1] + (other,)))
                originals.append(key)
            m[0] = key
    answers, accepted, elsewhere, lost, loose = batch(texts, "--no-disk"), [], [], [], []
    for text, want, key, a in zip(texts, wanted, originals, answers):
        about = [e for e in a["errors"] if e[0] == want]
        if a["ok"]:
            accepted.append(want)
        elif not about:
            elsewhere.append((want, a["errors"][:2]))
        elif len(key) > 2 and not any(key in e[2] + e[3] for e in about):
            lost.append((want, about))
    # The validator is slow: each twentieth.
    for text, want in list(zip(texts, wanted))[::20]:
        if VALIDATOR.is_valid(json.loads(text)):
            loose.append(want)
    n = len(texts)
    check(n > 5000 and not accepted, "one letter wrong in a key: %d of %d are refused" % (n - len(accepted), n), accepted[:5])
    check(not elsewhere, "one letter wrong in a key: with its path", elsewhere[:3])
    check(not lost, "one letter wrong in a key: with the key that was meant", lost[:3])
    check(not loose, "one letter wrong in a key: by the schema too (%d)" % len(texts[::20]), loose[:5])


# ---- keys that are there twice ----

def escaped(key):
    """The same key in other letters."""
    return '"%s\\u%04x%s"' % (key[:len(key) // 2], ord(key[len(key) // 2]), key[len(key) // 2 + 1:])


def twice():
    texts, wanted = [], []
    for name in FIXTURES:
        doc = load(fixture(name))
        for value, path, inside, m in list(nodes(doc)):
            if not isinstance(inside, Obj):
                continue
            for again in (None, escaped(m[0])):
                inside.append([m[0], value, again])
                texts.append(dump(doc))
                wanted.append(shown(path))
                inside.pop()
    bad = []
    for want, a in zip(wanted, batch(texts, "--no-disk")):
        if a["ok"] or not any(e[0] == want and "twice" in e[2] for e in a["errors"]):
            bad.append((want, a["errors"][:2]))
    check(len(texts) > 400 and not bad, "a key twice, plain and escaped: %d are refused with their path" % len(texts), bad[:3])
    # And the control: the same key written with an escape, once, is that key.
    doc = load(fixture(FIXTURES[0]))
    for _, _, inside, m in list(nodes(doc)):
        if isinstance(inside, Obj):
            m[2] = escaped(m[0])
    (a,) = batch([dump(doc)], "--no-disk")
    check(a["ok"], "control: every key written with an escape is that key", a["errors"])


# ---- values of another type ----

def types():
    others = [None, True, 7, Raw("1.5"), Raw("-3"), "", "x", [], [None], Obj(), Obj([["a", 1, None]])]
    texts, wanted = [], []
    for name in FIXTURES:
        doc = load(fixture(name))
        for value, path, inside, m in list(nodes(doc)):
            for other in others if name == FIXTURES[-1] else others[::4]:
                if isinstance(inside, Obj):
                    m[1] = other
                else:
                    inside[m] = other
                texts.append(dump(doc))
                wanted.append(shown(path))
            if isinstance(inside, Obj):
                m[1] = value
            else:
                inside[m] = value
    answers = batch(texts, "--no-disk")
    accepted, elsewhere, invalid = [], [], 0
    for text, want, a in zip(texts, wanted, answers):
        if VALIDATOR.is_valid(json.loads(text)):
            continue
        invalid += 1
        if a["ok"]:
            accepted.append((want, text))
        elif not any(e[0] == want or e[0].startswith(want + ".") or e[0].startswith(want + "[") for e in a["errors"]):
            elsewhere.append((want, a["errors"][:2]))
    check(invalid > 1000 and not accepted, "another type: %d that the schema refuses, the reader refuses" % invalid, accepted[:2])
    check(not elsewhere, "another type: with its path", elsewhere[:3])


def required():
    texts, wanted = [], []
    for name in FIXTURES:
        doc = load(fixture(name))
        for _, path, inside, m in list(nodes(doc)):
            if not isinstance(inside, Obj):
                continue
            at = inside.index(m)
            inside.pop(at)
            texts.append(dump(doc))
            wanted.append(shown(path))
            inside.insert(at, m)
    bad, n = [], 0
    for text, want, a in zip(texts, wanted, batch(texts, "--no-disk")):
        if VALIDATOR.is_valid(json.loads(text)):
            continue
        n += 1
        if a["ok"] or not any(e[0] == want and "missing" in e[2] for e in a["errors"]):
            bad.append((want, a["errors"]))
    check(n > 60 and not bad, "a key that has to be there: %d times it is missed, by its path" % n, bad[:2])


def versions():
    doc = load(fixture(FIXTURES[0]))
    bad = []
    for v in ("0", "2", "-1", "1.0", "1e0", "10", '"1"', "null", "true", "[1]", "{}", "99999999999999999999"):
        doc.member("version")[1] = Raw(v)
        (a,) = batch([dump(doc)], "--no-disk")
        if a["ok"] or not any(e[0] == "version" for e in a["errors"]):
            bad.append(v)
    check(not bad, "version: everything but 1 is refused", bad)


# ---- JSON that is none ----

def json_text():
    good = '{"version":1,"scopes":[]}'
    rows = ["", " ", "[", "{", "nul", "{]", '{"version":1,}', '{"version":1 "scopes":[]}', "{'version':1}", '{"version":01}',
            '{"version":+1}', '{"version":1.}', '{"version":.1}', '{"version":1e}', '{"version":NaN}', '{"version":0x1}',
            '{"version":1,"scopes":[]} x', good + good, "\ufeff" + good, '{"a\tb":1}', '{"\\ud800":1}', '{"\\udc00\\ud800":1}', '{"\\x41":1}',
            '{"\\u00":1}', '{"\\u0000":1}', '{"version":1,"scopes":[] // no\f}', "[" * 40 + "]" * 40, '{"a":"', '"a', "-", '{"a"}',
            '{"a":}', "[1 2]", '{"version":1,"scopes":[' + ",".join("1" for _ in range(1001)) + "]}"]
    bad = [r for r, a in zip(rows, batch(rows, "--no-disk")) if a["ok"] or not a["errors"]]
    check(not bad, "JSON: %d that are none are refused" % len(rows), bad)
    (a,) = batch([good], "--no-disk")
    check(a["ok"], "JSON: control: the smallest config", a["errors"])
    spaced = "\r" + "".join(c + (" \t\r" if c in '{}[]:,' else "") for c in good)
    (a,) = batch([spaced], "--no-disk")
    check(a["ok"], "JSON: control: white space", a["errors"])
    with open(WORK + "/bytes.json", "wb") as f:
        f.write(b'{"version":1,"scopes":[{"id":"a","name":"\xff","bindings":[]}]}')
    r = subprocess.run([HOST, "config", "check", "--json", WORK + "/bytes.json"], env=ENV, capture_output=True)
    said = json.loads(r.stdout)
    check(r.returncode == 1 and "UTF-8" in said["errors"][0]["message"], "JSON: what is not UTF-8", said)


def run():
    world()
    good()
    documented()
    one_letter()
    twice()
    types()
    required()
    versions()
    json_text()
    sys.path.insert(0, HERE)
    import config_rules
    config_rules.run(sys.modules[__name__])


if __name__ == "__main__":
    sys.modules["config_harness"] = sys.modules[__name__]
    try:
        run()
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
    sys.exit(1 if failed else 0)

# SPDX-License-Identifier: Apache-2.0
"""The toolbelt's operations as open-conduit-github performs them: each on the Work's own issue and branch, by a token with the one
permission that it needs, which is revoked at its end; changes are said once."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import World, reason  # noqa: E402
from forge import Forge  # noqa: E402
from tap import finish, ok  # noqa: E402

BRANCH = "agent/issue-7"


def perform(w, f, operation, arguments=None, about=None, **more):
    told = w.ask(f, "perform", operation=operation, arguments=arguments or {}, about=about or {"number": 7, "branch": BRANCH}, **more)
    return told, told["answer"].get("result") or {}


def minted(f):
    return [json.loads(r["body"]) for r in f.requests("POST", "access_tokens")]


def issues(w, f):
    f.issues[7] = {"title": "It breaks", "body": "x" * 20000, "labels": ["bug"], "comments": ["c%d" % i for i in range(40)]}
    f.issues[8] = {"title": "another", "body": "", "labels": [], "comments": []}
    told, r = perform(w, f, "github.issue.get")
    texts = [c["text"] for c in r.get("comments", [])]
    ok(r.get("title") == "It breaks" and r["labels"] == ["bug"] and len(r["text"]) == 16384 and r["text_cut"] == 20000 - 16384, "issue.get: the issue, its text cut and said so", told)
    ok(texts == ["c%d" % i for i in range(10, 40)] and r["older_comments"] == 10, "the newest comments, in order, and how many are older", texts)
    ok(minted(f)[-1] == {"repositories": ["web"], "permissions": {"issues": "read"}} and not f.alive(), "by a token to read issues of the one repository, revoked")
    told, r = perform(w, f, "github.issue.comment", {"body": "Done."})
    ok(f.issues[7]["comments"][-1] == "Done." and r.get("url", "").endswith("-7040"), "issue.comment: as it was given, and nothing of ours", told)
    told, r = perform(w, f, "github.issue.label", {"labels": ["bug", "ready"]})
    ok(f.issues[7]["labels"] == ["bug", "ready"] == r.get("labels"), "issue.label: exactly these", told)
    ok(minted(f)[-1]["permissions"] == {"issues": "write"} and not f.alive() and not f.issues[8]["comments"], "by a token to write them, revoked; the other issue is as it was")
    told, _ = perform(w, f, "github.issue.get", about={"branch": BRANCH})
    ok(reason(told) == "no_issue", "a Work about no issue: said so", told)


def pulls(w, f):
    told, _ = perform(w, f, "github.pull.get")
    ok(reason(told) == "no_pull_request", "no pull request yet: said so", told)
    f.foreign = [{"number": 900, "state": "open", "title": "theirs", "head": {"ref": BRANCH, "sha": "d" * 40, "repo": {"full_name": "mallory/web"}}, "base": {"ref": "main"}}]
    told, r = perform(w, f, "github.pull.create", {"title": "Mend it", "body": "why", "draft": True})
    p = f.pulls[0] if f.pulls else {}
    ok(r.get("number") == 100 and p["head"]["ref"] == BRANCH and p["base"]["ref"] == "main" and p["draft"], "pull.create: from the Work's branch to the default one", told)
    told, _ = perform(w, f, "github.pull.create", {"title": "Again"})
    ok(reason(told) == "exists" and len(f.pulls) == 1, "a second one: refused", told)
    told, r = perform(w, f, "github.pull.update", {"title": "Mend it well", "state": "closed"})
    ok(f.pulls[0]["title"] == "Mend it well" and r.get("state") == "closed" and f.pulls[0]["body"] == "why", "pull.update: what was given, nothing else", told)
    told, _ = perform(w, f, "github.pull.update")
    ok(reason(told) == "bad_arguments", "nothing to change: said so", told)
    told, _ = perform(w, f, "github.pull.comment", {"body": "See above"})
    told, r = perform(w, f, "github.pull.get")
    ok(r.get("number") == 100 and [c["text"] for c in r["comments"]] == ["See above"] and r["on_lines"][0]["file"] == "f" and r["mergeable"] is True,
       "pull.get: that one, never one of a fork's branch of the same name, with its comments", told)
    f.checks[BRANCH] = [{"name": "ci", "status": "completed", "conclusion": "failure", "head_sha": "c" * 40, "html_url": "https://github.com/x", "output": {"summary": "y" * 3000}}]
    told, r = perform(w, f, "github.check.list")
    ok(r.get("total") == 1 and r["checks"][0]["conclusion"] == "failure" and len(r["checks"][0]["summary"]) == 1000, "check.list: of the branch", told)
    ok(not f.alive() and all(m["repositories"] == ["web"] and len(m["permissions"]) == 1 for m in minted(f)), "no token is left, and each was for one repository and one permission")


def faults(w, f):
    n = len(f.issues[7]["comments"])
    for what, fault in (("its answer is lost", {"lose": "reset"}), ("500", {"status": 500}), ("no JSON", {"raw": "<html>", "status": 201})):
        f.faults = [{"method": "POST", "path": "/comments$", "times": 9, **fault}]
        before = len(f.requests("POST", "/comments$"))
        told, _ = perform(w, f, "github.issue.comment", {"body": "once"})
        ok(reason(told) == "outcome_unknown" and len(f.requests("POST", "/comments$")) == before + 1, "a change, %s: unknown, and said once" % what, told)
    f.faults = []
    ok(f.issues[7]["comments"][n:] == ["once"] and not f.alive(), "control: the first was heard, once; no token is left")
    f.faults = [{"method": "GET", "path": "/issues/7$", "times": 1, "status": 502}]
    told, r = perform(w, f, "github.issue.get")
    ok(r.get("title") == "It breaks", "control: reading is tried again", told)
    f.granted["issues"] = "read"
    told, _ = perform(w, f, "github.issue.comment", {"body": "no"})
    ok(reason(told) == "github_denied" and "issues: write" in json.dumps(told["answer"]), "a permission that the App hasn't: named", told)
    f.personal("github_pat_" + "x" * 30, ["acme/web"])
    f.tokens["github_pat_" + "x" * 30]["permissions"] = {"issues": "write"}
    before = len(minted(f))
    told, r = perform(w, f, "github.issue.comment", {"body": "by hand"}, auth={"token": "github_pat_" + "x" * 30})
    ok(f.issues[7]["comments"][-1] == "by hand" and len(minted(f)) == before and f.alive() == ["github_pat_" + "x" * 30], "with a personal token: that one, and it stays", told)


w = World()
try:
    f = w.fake(kind=Forge)
    issues(w, f)
    pulls(w, f)
    faults(w, f)
finally:
    w.close()
finish()

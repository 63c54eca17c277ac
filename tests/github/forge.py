# SPDX-License-Identifier: Apache-2.0
"""The fake GitHub with issues, pull requests and checks: what the toolbelt's operations read and write."""
import json

from fake_github import API, T0, Fake, Http, user_object


class Forge(Fake):
    """issues: {number: {"title","body","labels","comments":[text…]}}; pulls: what was opened; checks: {branch: [run…]}."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.issues, self.pulls, self.checks, self.foreign = {}, [], {}, []
        self.granted["checks"] = "read"

    def places(self):
        r = r"/repos/([\w.-]+/[\w.-]+)"
        return super().places() + [
            (r + r"/issues/(\d+)", "GET", self.get_issue), (r + r"/issues/(\d+)/comments", "GET", self.get_comments),
            (r + r"/issues/(\d+)/comments", "POST", self.post_comment), (r + r"/issues/(\d+)/labels", "PUT", self.put_labels),
            (r + r"/pulls", "GET", self.list_pulls), (r + r"/pulls", "POST", self.post_pull), (r + r"/pulls/(\d+)", "GET", self.get_pull),
            (r + r"/pulls/(\d+)", "PATCH", self.patch_pull), (r + r"/pulls/(\d+)/(?:reviews|comments)", "GET", self.get_reviews),
            (r + r"/commits/(.+)/check-runs", "GET", self.get_checks)]

    def allowed(self, m, auth, *permissions):
        """One of the permissions, for that repository; as "issues:write"."""
        t = self.bearer(auth)
        full = self.find(m.group(1))
        if not full or full not in t["repos"]:
            raise Http(404, "Not Found")
        rank = {"read": 1, "write": 2}
        if not any(rank.get(t["permissions"].get(p.split(":")[0]), 0) >= rank[p.split(":")[1]] for p in permissions):
            raise Http(403, "Resource not accessible by integration")
        return full

    def of(self, number):
        pull = next((p for p in self.pulls if p["number"] == number), None)
        if number not in self.issues and not pull:
            raise Http(404, "Not Found")
        return self.issues.get(number) or pull

    def comment(self, full, number, i, text):
        return {"id": 1000 * number + i, "body": text, "user": user_object("someone", 5, "User"), "created_at": T0,
                "html_url": "https://github.com/%s/issues/%d#issuecomment-%d" % (full, number, 1000 * number + i)}

    def get_issue(self, m, auth, _):
        full, number = self.allowed(m, auth, "issues:read"), int(m.group(2))
        i = self.of(number)
        return 200, {"number": number, "title": i["title"], "body": i["body"], "state": "open", "labels": [{"name": x} for x in i["labels"]],
                     "comments": len(i["comments"]), "user": user_object("someone", 5, "User"), "created_at": T0,
                     "html_url": "https://github.com/%s/issues/%d" % (full, number)}

    def get_comments(self, m, auth, _):
        full, number = self.allowed(m, auth, "issues:read", "pull_requests:read"), int(m.group(2))
        query = self.query
        size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
        texts = self.of(number)["comments"]
        return 200, [self.comment(full, number, i, t) for i, t in enumerate(texts)][(page - 1) * size:page * size]

    def post_comment(self, m, auth, raw):
        full, number = self.allowed(m, auth, "issues:write", "pull_requests:write"), int(m.group(2))
        texts = self.of(number)["comments"]
        texts.append(json.loads(raw)["body"])
        return 201, self.comment(full, number, len(texts) - 1, texts[-1])

    def put_labels(self, m, auth, raw):
        self.allowed(m, auth, "issues:write")
        self.of(int(m.group(2)))["labels"] = json.loads(raw)["labels"]
        return 200, [{"name": x} for x in self.of(int(m.group(2)))["labels"]]

    def list_pulls(self, m, auth, _):
        self.allowed(m, auth, "pull_requests:read")
        owner, _, branch = self.query["head"].partition(":")
        state = self.query.get("state", "open")
        mine = [p for p in self.foreign + self.pulls if p["head"]["ref"] == branch and state in ("all", p["state"])]
        return 200, sorted(mine, key=lambda p: -p["number"])

    def post_pull(self, m, auth, raw):
        full, asked = self.allowed(m, auth, "pull_requests:write"), json.loads(raw)
        number = 100 + len(self.pulls)
        by = self.bearer(auth)
        self.pulls.append({"number": number, "title": asked["title"], "body": asked.get("body"), "draft": asked.get("draft", False), "state": "open",
                           "head": {"ref": asked["head"], "sha": "c" * 40, "repo": {"full_name": full}}, "base": {"ref": asked["base"]},
                           "html_url": "https://github.com/%s/pull/%d" % (full, number), "comments": [], "labels": [],
                           "by": self.slug + "[bot]" if by else None})
        return 201, self.shown(self.pulls[-1])

    def shown(self, pull):
        return {**pull, "comments": len(pull["comments"]), "merged": False, "mergeable": True, "url": "%s/pulls/%d" % (API, pull["number"])}

    def get_pull(self, m, auth, _):
        self.allowed(m, auth, "pull_requests:read")
        return 200, self.shown(self.of(int(m.group(2))))

    def patch_pull(self, m, auth, raw):
        self.allowed(m, auth, "pull_requests:write")
        self.of(int(m.group(2))).update(json.loads(raw))
        return 200, self.shown(self.of(int(m.group(2))))

    def get_reviews(self, m, auth, _):
        self.allowed(m, auth, "pull_requests:read")
        return 200, [{"body": "look here", "user": user_object("reviewer", 6, "User"), "created_at": T0, "path": "f", "line": 1}]

    def get_checks(self, m, auth, _):
        self.allowed(m, auth, "checks:read")
        runs = self.checks.get(m.group(2), [])
        return 200, {"total_count": len(runs), "check_runs": runs}

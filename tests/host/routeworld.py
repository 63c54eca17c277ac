# SPDX-License-Identifier: Apache-2.0
"""A daemon with routes, a GitHub of issues and comments over TLS, and agents that are stand-ins."""
import calendar, hashlib, importlib.util, json, os, re, sys, threading, time
from urllib.parse import parse_qs, urlsplit

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]
from hostedworld import Hosted, put, wait_for  # noqa: E402, F401

# Its own "world" is another than that of the runs.
spec = importlib.util.spec_from_file_location("github_world", os.path.join(HERE, "..", "github", "world.py"))
github_world = importlib.util.module_from_spec(spec)
spec.loader.exec_module(github_world)
fake_github = github_world.fake_github
REPO = "acme/web"
PEOPLE = {"alice": 11, "mallory": 12, "my-app[bot]": fake_github.BOT_ID}


def stamp(at):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


class Issues(fake_github.Fake):
    """Issues with labels, assignees and comments, in lists that have an ETag each."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.issues, self.comments, self.serial, self.asked = {}, [], 1000, threading.local()

    def people(self, login):
        return fake_github.user_object(login, PEOPLE[login], "User")

    def issue(self, number, title="Fix it", body="It is broken", labels=(), assignees=(), state="open", pull=False):
        with self.lock:
            now = self.now()
            self.issues[number] = {"number": number, "title": title, "body": body, "labels": list(labels), "assignees": list(assignees),
                                   "state": state, "pull": pull, "created": now, "updated": now}

    def change(self, number, **what):
        with self.lock:
            self.issues[number].update(what, updated=self.now())

    def comment(self, number, body, author="alice"):
        with self.lock:
            self.serial += 1
            self.comments.append({"id": self.serial, "number": number, "body": body, "author": author, "created": self.now(), "updated": self.now()})
            return self.serial

    def edit(self, comment, body):
        with self.lock:
            next(c for c in self.comments if c["id"] == comment).update(body=body, updated=self.now() + 1)

    def url(self, number):
        return "https://github.com/%s/issues/%d" % (REPO, number)

    def issue_object(self, i):
        out = {"id": i["number"], "number": i["number"], "title": i["title"], "body": i["body"], "state": i["state"], "user": self.people("alice"),
               "labels": [{"name": x} for x in i["labels"]], "assignees": [self.people(x) for x in i["assignees"]], "html_url": self.url(i["number"]),
               "created_at": stamp(i["created"]), "updated_at": stamp(i["updated"])}
        return {**out, "pull_request": {"url": "x"}} if i["pull"] else out

    def comment_object(self, c):
        return {"id": c["id"], "body": c["body"], "user": self.people(c["author"]), "created_at": stamp(c["created"]), "updated_at": stamp(c["updated"]),
                "html_url": "%s#issuecomment-%d" % (self.url(c["number"]), c["id"]), "issue_url": "%s/repos/%s/issues/%d" % (fake_github.API, REPO, c["number"])}

    def places(self):
        return super().places() + [(r"/repos/acme/web/issues", "GET", self.get_issues), (r"/repos/acme/web/issues/comments", "GET", self.get_comments),
                                   (r"/repos/acme/web/issues/(\d+)/comments", "GET", self.get_talk)]

    def may(self, auth):
        t = self.bearer(auth)
        if t["permissions"].get("issues") not in ("read", "write") or REPO not in t["repos"]:
            raise fake_github.Http(403, "Resource not accessible by integration")

    def page(self, values):
        q = self.asked.q
        n, page = int(q.get("per_page", ["30"])[0]), int(q.get("page", ["1"])[0])
        assert 1 <= n <= 100 and page >= 1
        return 200, values[(page - 1) * n:page * n]

    def get_issues(self, m, auth, _):
        self.may(auth)
        q = self.asked.q
        found = [i for i in self.issues.values() if i["state"] == q["state"][0] and ("labels" not in q or q["labels"][0] in i["labels"]) and
                 ("assignee" not in q or q["assignee"][0] in i["assignees"])]
        assert q["sort"] == ["updated"] and q["direction"] == ["desc"]
        return self.page([self.issue_object(i) for i in sorted(found, key=lambda i: -i["updated"])])

    def get_comments(self, m, auth, _):
        self.may(auth)
        since = calendar.timegm(time.strptime(self.asked.q["since"][0], "%Y-%m-%dT%H:%M:%SZ"))
        found = sorted((c for c in self.comments if int(c["updated"]) >= since), key=lambda c: c["updated"])
        return self.page([self.comment_object(c) for c in found])

    def get_talk(self, m, auth, _):
        self.may(auth)
        return self.page([self.comment_object(c) for c in self.comments if c["number"] == int(m.group(1))])


class Handler(fake_github.Handler):
    def answer(self, path, raw, fault):
        self.fake.asked.q = parse_qs(urlsplit(self.path).query)
        super().answer(path, raw, fault)

    def reply(self, status, value=None, headers=None):
        headers = dict(headers or {})
        if status == 200 and isinstance(value, list):
            headers["ETag"] = 'W/"%s"' % hashlib.sha256(json.dumps(value).encode()).hexdigest()
            if self.headers.get("If-None-Match") == headers["ETag"]:
                status, value = 304, None
        with self.fake.lock:
            self.fake.answers.append((self.path, status))
        super().reply(status, value, headers)


class Routed(Hosted):
    poll = "300"

    def __init__(self, policy="inject", **binding):
        self.gh = github_world.World()
        super().__init__()
        fake_github.Handler = Handler
        self.fake = self.gh.fake(kind=Issues)
        self.fake.answers = []
        self.env.update(SSL_CERT_FILE=self.gh.ca, OPEN_CONDUIT_POLL_MS=self.poll)
        put(self.home + "/app.pem", self.gh.key)
        self.policy, self.error = policy, None
        self.bindings = [self.binding("agent", playbook="work-issue", branch="agent/issue-{number}", env={"PLAY": self.play}, **binding)]
        self.write()

    def write(self, **route):
        put(self.config + "/config.json", json.dumps({"version": 1, "settings": {}, "connections": [
            {"id": "gh", "type": "github", "config": {"auth": "app", "app_id": "123456", "base_url": "https://127.0.0.1:%d" % self.fake.port},
             "secret_refs": {"app_private_key": "file:%s/app.pem" % self.home}}],
            "scopes": [{"id": "web", "name": "web", "secret_refs": {"key": "env:API_KEY"},
                        "authorization": {"connections": ["gh"], "operations": [], "read_scopes": []},
                        "extensions": [{"name": "web", "type": "github", "connection": "gh", "secret_names": [],
                                        "config": {"namespace": "github/127.0.0.1/acme/web", "scope": "web", "repo": REPO}}],
                        "routes": [{"name": "issues", "handler": "github", "binding": "agent", "active_policy": self.policy, "config": {}, **route}],
                        "bindings": self.bindings}]}))

    def polls(self):
        return len(self.fake.requests("GET", "assignee="))

    def polled(self, n=2):
        """So many polls begin and end from now on."""
        start = self.polls()
        return wait_for(lambda: self.polls() >= start + n, 60)

    def runs(self, key="issue-12"):
        return self.work(key)["runs"]

    def route(self):
        return (self.status().get("routes") or [{}])[0]

    def close(self):
        super().close()
        self.gh.close()

# SPDX-License-Identifier: Apache-2.0
"""What the toolbelt's operations and the daemon's routes ask of GitHub, by its own description: Prism looks at each request."""
import json
import os
import sys
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import Prism, World  # noqa: E402
from forge import Forge  # noqa: E402
from tap import finish, ok  # noqa: E402

REPO = "/repos/{owner}/{repo}"
ISSUE, PULL = REPO + "/issues/{issue_number}", REPO + "/pulls/{pull_number}"
OPERATIONS = {REPO + "/issues": ["get"], REPO + "/issues/comments": ["get"], ISSUE: ["get"], ISSUE + "/comments": ["get", "post"], ISSUE + "/labels": ["put"],
              REPO + "/pulls": ["get", "post"], PULL: ["get", "patch"], PULL + "/reviews": ["get"], PULL + "/comments": ["get"],
              REPO + "/commits/{ref}/check-runs": ["get"]}
ABOUT = {"number": 7, "branch": "agent/issue-7"}
ASKED = (("github.issue.get", {}), ("github.issue.comment", {"body": "Done."}), ("github.issue.label", {"labels": ["bug"]}),
         ("github.pull.create", {"title": "Mend it", "body": "why", "draft": True}), ("github.pull.get", {}), ("github.pull.comment", {"body": "See above"}),
         ("github.pull.update", {"title": "Mend it well", "state": "closed"}), ("github.check.list", {}))


class Listed(Forge):
    def places(self):
        lists = [(r"/repos/acme/web/issues%s" % more, "GET", lambda m, auth, body: (200, [])) for more in ("", "/comments")]
        return lists + super().places()


def broken(prism):
    """A comment without its text, as nobody of ours would send it."""
    request = urllib.request.Request("http://127.0.0.1:%d/repos/acme/web/issues/7/comments" % prism.plain, b"{}", {
        "Content-Type": "application/json", "Authorization": "Bearer x", "User-Agent": "t"}, method="POST")
    try:
        urllib.request.urlopen(request, timeout=30)
    except urllib.error.HTTPError:
        pass


def main():
    w = World()
    try:
        plain = w.fake(tls=False, kind=Listed)
        plain.issues[7] = {"title": "It breaks", "body": "", "labels": ["bug"], "comments": ["c"]}
        with open(w.path("operations.json"), "w") as f:
            json.dump(OPERATIONS, f)
        prism = Prism(w, plain, os.path.join(os.environ["OC_NPM"], "github", "node_modules"), w.path("operations.json"), brief=True)
        api = "https://127.0.0.1:%d" % prism.port
        for operation, arguments in ASKED:
            told = w.ask(None, "perform", api=api, operation=operation, arguments=arguments, about=ABOUT)
            ok("result" in told["answer"], operation + ": by way of GitHub's description", told)
        told = w.ask(None, "poll", api=api, label="agent", since=1767225600000, known=[7])
        ok("error" not in told["answer"] and told["answer"], "a route's question: by way of GitHub's description", told)
        ok(not prism.violations(), "and none of what was asked breaks it", prism.violations())
        broken(prism)
        ok(prism.violations(), "control: one that breaks it shows")
        prism.stop()
    finally:
        w.close()
    finish()


main()

# SPDX-License-Identifier: Apache-2.0
"""Inside namespaces of its own, where api.github.com is the fake: what open-conduit-github says there, as JSON.  outside() makes
them."""
import json
import os
import subprocess
import sys

from world import World


def outside():
    """What `inside` prints, or None where no namespace can be had."""
    me = os.path.abspath(__file__)
    p = subprocess.run(["unshare", "--user", "--map-root-user", "--net", "--mount", sys.executable, me, "inside"], capture_output=True, text=True, timeout=120)
    return json.loads(p.stdout) if p.returncode == 0 else None


def inside():
    w = World(["DNS:api.github.com"])
    try:
        with open(w.path("hosts"), "w") as f:
            f.write("127.0.0.1 localhost api.github.com\n")
        subprocess.run(["mount", "--bind", w.path("hosts"), "/etc/hosts"], check=True)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        fake = w.fake(port=443)
        api = "https://api.github.com"
        told = {"identity": w.ask(None, "identity", api=api), "nope": w.ask(None, "check", api=api, repository="acme/nope"),
                "paths": [r["path"] for r in fake.log], "host": fake.log[0]["headers"].get("host")}
        print(json.dumps(told))
    finally:
        w.close()


if __name__ == "__main__":
    inside()

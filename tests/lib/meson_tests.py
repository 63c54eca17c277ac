# SPDX-License-Identifier: Apache-2.0
"""meson_tests.py BUILD FOLDER: the names of the meson tests whose program is built in that folder of the tree."""
import json
import os
import subprocess
import sys

build, folder = sys.argv[1:3]
tests = json.loads(subprocess.run(["meson", "introspect", "--tests", build], check=True, capture_output=True).stdout)
inside = os.path.join(os.path.realpath(build), folder) + os.sep
print("\n".join(sorted({t["name"] for t in tests if os.path.realpath(t["cmd"][0]).startswith(inside)})))

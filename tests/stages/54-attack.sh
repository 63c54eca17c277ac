# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: An agent that attacks its guest and guard, and everyday tools, against the real srt
# tier: full
# packages: git
# timeout: 400
# About 120 s: some forty runs.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

for test in test_attack test_tools; do
	python3 "tests/isolation/$test.py" || oc_failed=1
done
finish

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: The isolation battery, and every rule of srt removed, against the real srt
# tier: full
# packages: git
# timeout: 400
# About 90 s: 123 attempts outside, then in four sandboxes; some forty launches with one rule less.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

for test in test_battery test_removals; do
	python3 "tests/isolation/$test.py" || oc_failed=1
done
finish

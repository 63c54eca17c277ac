# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: The srt provider against the real srt: its check, and the truth table
# tier: full
# packages: git
# timeout: 600
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

for test in test_check test_truth test_links test_settings; do
	python3 "tests/isolation/$test.py" || oc_failed=1
done
finish

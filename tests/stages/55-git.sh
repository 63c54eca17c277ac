# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Workspaces made from every kind of checkout, used and removed, against real git
# tier: full
# packages: git python3
# timeout: 600
# Under two minutes alone on the machine; 43 everyday commands are one run of about 15 s.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

for test in test_create test_kinds test_remove test_everyday; do
	python3 "tests/git/$test.py" || oc_failed=1
done
finish

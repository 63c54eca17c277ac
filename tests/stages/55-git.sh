# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Workspaces made from every kind of checkout, and removed, against real git
# tier: full
# packages: git python3
# timeout: 600
# About a minute and a half alone on the machine.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

for test in test_create test_kinds test_remove; do
	python3 "tests/git/$test.py" || oc_failed=1
done
finish

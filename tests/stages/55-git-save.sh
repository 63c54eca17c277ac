# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Saving workspaces back: every state git can be left in, and what a hostile agent leaves
# tier: full
# packages: git libgit2-dev zlib1g-dev
# timeout: 600
# About 110 s, of which 20 wait for locks and 12 race.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

for test in test_save test_save_hostile; do
	python3 "tests/git/$test.py" || oc_failed=1
done
finish

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Tokens of runs: hosts killed while one is made, guards that stay for them, nothing on the disk
# tier: full
# packages: python3
# timeout: 300
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

python3 tests/fault/test_token.py || oc_failed=1
finish

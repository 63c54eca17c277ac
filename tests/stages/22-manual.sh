# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Manual: exports, headers and pages name the same functions
# tier: quick
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
expect 'man: exports, prototypes and pages agree' bash tests/man.sh
bash tests/man.sh --control || oc_failed=1
finish

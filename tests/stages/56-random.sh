# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: What explain says of random policies is what real opens and connects do
# tier: full
# timeout: 600
# About 40 s for 200 pairs; the soak asks 1,000.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

pairs=200
[ "${OC_TIER:-full}" != soak ] || pairs=1000
python3 tests/isolation/test_random.py "$pairs" || oc_failed=1
finish

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Host, guard, sandbox, recovery and retry killed at each named point
# tier: full
# packages: python3
# timeout: 14400
# About three minutes on two cores: most of it is waiting for a guard to notice that its host is gone, side by side.
# soak: each point thrice and with a full disk, 1,000 runs of kind none and 30 under srt started and killed at any moment.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

limit=600
[ "$OC_TIER" = soak ] && limit=14000
timeout "$limit" python3 tests/fault/test_kill.py || oc_failed=1
if [ "$OC_TIER" = soak ]; then
	timeout 3600 python3 tests/fault/test_full.py || oc_failed=1
fi
finish

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Live runs against their guard, plan and store: other processes, boots, clocks, plans; a store that can't be read
# tier: full
# packages: python3
# timeout: 600
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

timeout 300 python3 tests/fault/test_pin.py || oc_failed=1
finish

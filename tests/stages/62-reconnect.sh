# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Hosts killed and reconnected in a live run; guards that hang; damaged records
# tier: full
# packages: python3
# timeout: 900
# About ninety seconds: thirty of them wait for a guard that hangs.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

python3 tests/fault/test_reconnect.py || oc_failed=1
finish

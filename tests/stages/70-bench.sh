# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: The promised figures, side by side
# tier: full
# timeout: 300
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

# About a minute and a half.  Alone: other work on the machine would be measured along.
python3 tests/bench/bench.py --quick || oc_failed=1
finish

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Unit tests
# tier: quick
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

meson test -C "$OC_BUILD" --no-rebuild --num-processes "$OC_JOBS" --print-errorlogs | sed 's/^/| /'
python3 tests/lib/meson_checks.py "$OC_BUILD/meson-logs/testlog.json" || oc_failed=1
finish

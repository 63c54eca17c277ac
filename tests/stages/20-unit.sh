# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Unit tests
# tier: quick
# packages: locales openssl
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

# Locales that write numbers and letters otherwise, for the embedding tests.
export LOCPATH=$OC_WORK/locale
mkdir -p "$LOCPATH"
for locale in de_DE tr_TR; do
	[ -d "$LOCPATH/$locale.UTF-8" ] || localedef -i "$locale" -f UTF-8 "$LOCPATH/$locale.UTF-8"
done

meson test -C "$OC_BUILD" --no-rebuild --num-processes "$OC_JOBS" --print-errorlogs | sed 's/^/| /'
python3 tests/lib/meson_checks.py "$OC_BUILD/meson-logs/testlog.json" || oc_failed=1
finish

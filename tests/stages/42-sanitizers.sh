# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Unit tests under ASan and UBSan (clang)
# tier: full
# packages: clang-14 libclang-rt-14-dev llvm-14
# timeout: 900
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
build=$OC_WORK/build-asan
seeded=$(mktemp -d)
trap 'rm -rf "$seeded"' EXIT
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
ASAN_SYMBOLIZER_PATH=$(command -v llvm-symbolizer-14)
export ASAN_SYMBOLIZER_PATH

sanitized()
{
	local again=()
	[ ! -d "$build" ] || again=(--reconfigure)
	CC=clang-14 meson setup "${again[@]}" "$build" . -Dwerror_dev=true -Db_sanitize=address,undefined -Db_lundef=false -Dfaults=true ||
		{ rm -rf "$build"; CC=clang-14 meson setup "$build" . -Dwerror_dev=true -Db_sanitize=address,undefined -Db_lundef=false -Dfaults=true; } ||
		return 1
	ninja -C "$build"
}
expect 'builds with clang, every warning an error' sanitized
mapfile -t names < <(python3 tests/lib/meson_tests.py "$build" tests/unit)
if [ -z "${names[*]}" ]; then
	not_ok 'there are unit tests'
	finish
fi
meson test -C "$build" --no-rebuild --num-processes "$OC_JOBS" --timeout-multiplier 4 "${names[@]}" | sed 's/^/| /'
python3 tests/lib/meson_checks.py "$build/meson-logs/testlog.json" || oc_failed=1

fault()
{
	printf '#include <stdlib.h>\n#include <limits.h>\nint main(int argc, char **argv) { (void)argv; %s }\n' "$2" >"$seeded/a.c"
	clang-14 -w -g -fsanitize=address,undefined -o "$seeded/a" "$seeded/a.c" || not_ok "control: $1 compiles"
	refute "control: $1" "$seeded/a"
}
fault 'a read past the end' 'char *p = malloc(4); int r = p[3 + argc]; free(p); return r & 0;'
fault 'a leak' 'volatile char *p = malloc(argc); p[0] = 1; p = 0; return 0;'
fault 'an overflow' 'int n = INT_MAX; n += argc; return n & 0;'
finish

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Static analysis: gcc -fanalyzer, clang-tidy
# tier: full
# packages: clang-tidy-14
# Costs about 5 minutes of one processor.
# timeout: 1500
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
seeded=$(mktemp -d)
trap 'rm -rf "$seeded"' EXIT

build=$OC_WORK/build-analyzer
analyzer()
{
	rm -rf "$build"
	# The tests are not what is analysed.  Findings are warnings here, since each is compared with what is known.
	meson setup "$build" . -Dtests=false --buildtype=debug -Dc_args=-fanalyzer && ninja -C "$build" -j "$OC_JOBS" >"$build/analyzer.log" 2>&1 &&
		python3 tests/lint/findings.py gcc tests/lint/known "$build/analyzer.log"
}
expect 'gcc -fanalyzer: no finding' analyzer
printf '#include <stdlib.h>\nint f(int n) { int *p = malloc(4); if (n) return 1; free(p); return *p; }\n' >"$seeded/a.c"
refute 'gcc -fanalyzer: control: a leak and a use after free' gcc -fanalyzer -Werror -c -o "$seeded/a.o" "$seeded/a.c"

tidy()
{
	bash tests/lint/tidy.sh "$OC_BUILD" lib host providers >"$OC_BUILD/tidy.log" 2>&1
	python3 tests/lint/findings.py tidy tests/lint/known "$OC_BUILD/tidy.log"
}
expect 'clang-tidy: no finding' tidy
cp .clang-tidy "$seeded/"
printf '#include <string.h>\nint g(int n);\nint g(int n) { int *p = 0; if (n) p = &n; return *p + (int)strlen("x") * (n = 1); }\n' >"$seeded/b.c"
refute 'clang-tidy: control: a null dereference' clang-tidy-14 --quiet "$seeded/b.c" --
printf '%s\n' 'a.c:1:1: warning: it leaks [-Wanalyzer-malloc-leak]' >"$seeded/log"
refute 'findings: control: one that is not known' python3 tests/lint/findings.py gcc tests/lint/known "$seeded/log"
: >"$seeded/log"
printf 'gcc lib/base/buf.c no_such_function analyzer-malloc-leak because\n' >"$seeded/known"
refute 'findings: control: a known one in a function that is gone' python3 tests/lint/findings.py gcc "$seeded/known" "$seeded/log"
finish

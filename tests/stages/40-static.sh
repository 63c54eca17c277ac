# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Static analysis: gcc -fanalyzer, clang-tidy
# tier: full
# packages: clang-tidy-14
# timeout: 600
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
seeded=$(mktemp -d)
trap 'rm -rf "$seeded"' EXIT

build=$OC_WORK/build-analyzer
analyzer()
{
	rm -rf "$build"
	# Without optimisation it follows fewer paths twice; the tests are not what is analysed.
	meson setup "$build" . -Dwerror_dev=true -Dtests=false --buildtype=debug -Dc_args=-fanalyzer && ninja -C "$build"
}
expect 'gcc -fanalyzer: no finding' analyzer
printf '#include <stdlib.h>\nint f(int n) { int *p = malloc(4); if (n) return 1; free(p); return *p; }\n' >"$seeded/a.c"
refute 'gcc -fanalyzer: control: a leak and a use after free' gcc -fanalyzer -Werror -c -o "$seeded/a.o" "$seeded/a.c"

expect 'clang-tidy: no finding' bash tests/lint/tidy.sh "$OC_BUILD" lib host providers
cp .clang-tidy "$seeded/"
printf '#include <string.h>\nint g(int n);\nint g(int n) { int *p = 0; if (n) p = &n; return *p + (int)strlen("x") * (n = 1); }\n' >"$seeded/b.c"
refute 'clang-tidy: control: a null dereference' clang-tidy-14 --quiet "$seeded/b.c" --
finish

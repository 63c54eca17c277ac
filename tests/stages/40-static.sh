# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Static analysis: gcc -fanalyzer, clang-tidy
# tier: full
# beside: yes
# packages: clang-tidy-14
# Costs about ten minutes of one processor when nothing is known yet, and seconds when nothing changed.
# timeout: 3600
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
seeded=$(mktemp -d)
trap 'rm -rf "$seeded"' EXIT

# What each says is kept by all that it depends on, so that only what changed is looked at again.
said=$OC_WORK/analysed
rm -rf "$OC_WORK/build-analyzer" # of an earlier form of this stage
analyse()
{
	python3 tests/lint/analyse.py "$1" "$OC_BUILD" "$said" "${@:2}" >"$OC_BUILD/$1.log" 2>&1
	local rc=$?
	python3 tests/lint/findings.py "$1" tests/lint/known "$OC_BUILD/$1.log" && return "$rc"
}
# The tests are not what is analysed.
expect 'gcc -fanalyzer: no finding' analyse gcc lib host providers examples
echo "note - gcc -fanalyzer: $(tail -n 1 "$OC_BUILD/gcc.log")"
printf '#include <stdlib.h>\nint f(int n) { int *p = malloc(4); if (n) return 1; free(p); return *p; }\n' >"$seeded/a.c"
refute 'gcc -fanalyzer: control: a leak and a use after free' gcc -fanalyzer -Werror -c -o "$seeded/a.o" "$seeded/a.c"

expect 'clang-tidy: no finding' analyse tidy lib host providers
echo "note - clang-tidy: $(tail -n 1 "$OC_BUILD/tidy.log")"
cp .clang-tidy "$seeded/"
printf '#include <string.h>\nint g(int n);\nint g(int n) { int *p = 0; if (n) p = &n; return *p + (int)strlen("x") * (n = 1); }\n' >"$seeded/b.c"
refute 'clang-tidy: control: a null dereference' clang-tidy-14 --quiet "$seeded/b.c" --
printf '%s\n' 'a.c:1:1: warning: it leaks [-Wanalyzer-malloc-leak]' >"$seeded/log"
refute 'findings: control: one that is not known' python3 tests/lint/findings.py gcc tests/lint/known "$seeded/log"
: >"$seeded/log"
printf 'gcc lib/base/buf.c no_such_function analyzer-malloc-leak because\n' >"$seeded/known"
refute 'findings: control: a known one in a function that is gone' python3 tests/lint/findings.py gcc "$seeded/known" "$seeded/log"

# A change in what a file includes is a change of the file.
again()
{
	(cd "$seeded/tree" && printf '%s\n' "$1" >src/a.h && python3 "$OC_SRC/tests/lint/analyse.py" gcc . ../kept src)
}
mkdir -p "$seeded/tree/src"
printf '#include <stdlib.h>\n#include "a.h"\nint f(int n);\nint f(int n) { int *p = malloc(4); EARLY free(p); return n; }\n' >"$seeded/tree/src/a.c"
# shellcheck disable=SC2016 # for ninja
printf '%s\n' 'rule cc' '  command = gcc -MD -MF $out.d -c $in -o $out' '  deps = gcc' '  depfile = $out.d' 'build a.o: cc src/a.c' >"$seeded/tree/build.ninja"
printf '#define EARLY\n' >"$seeded/tree/src/a.h"
(cd "$seeded/tree" && ninja >/dev/null && ninja -t compdb cc >compile_commands.json)
expect 'analyse: control: looked at' grep -q '^1 files, 1 of them' <(again '#define EARLY')
expect 'analyse: control: known the second time' grep -q '^1 files, 0 of them' <(again '#define EARLY')
expect 'analyse: control: a leak by way of a header' grep -q 'analyzer-malloc-leak' <(again '#define EARLY if (n) return 1;')
finish

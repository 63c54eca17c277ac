# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Unit tests under valgrind
# tier: full
# packages: valgrind libc6-dbg
# timeout: 900
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
seeded=$(mktemp -d)
trap 'rm -rf "$seeded"' EXIT
# Check forks for each test by default; a leak would then be reported as an early exit, without valgrind's own words.
export CK_FORK=no
# So is what a test's forked child leaves behind, when it ends in the middle of what its parent was doing.
export OC_TEST_LEAKS=1
# shellcheck disable=SC2054 # the commas are valgrind's
wrapper=(valgrind --quiet --leak-check=full --show-leak-kinds=definite,indirect,possible --errors-for-leak-kinds=definite,indirect,possible
	--error-exitcode=99 --track-origins=no --child-silent-after-fork=yes)

mapfile -t all < <(python3 tests/lib/meson_tests.py "$OC_BUILD" tests/unit)
# Each by name, so that a new test is run until it is found that it can't be.
names=()
for name in "${all[@]}"; do
	case $name in
	guest | guest_hardening | guest_nest | guest_probes)
		skip "valgrind: $name" 'what it tests is another program, static and hardened, which valgrind does not follow' ;;
	sweep)
		skip "valgrind: $name" 'it needs pidfd_open(), which valgrind 3.19 does not know' ;;
	git_refs)
		skip "valgrind: $name" 'it needs openat2(), which valgrind 3.19 does not know' ;;
	git_confine)
		skip "valgrind: $name" 'what it tests denies itself the calls that valgrind makes' ;;
	*) names+=("$name") ;;
	esac
done
if [ -z "${names[*]}" ]; then
	not_ok 'there are unit tests'
	finish
fi
meson test -C "$OC_BUILD" --no-rebuild --num-processes "$OC_JOBS" --timeout-multiplier 20 --logbase valgrind \
	--wrapper "${wrapper[*]}" "${names[@]}" | sed 's/^/| /'
python3 tests/lib/meson_checks.py "$OC_BUILD/meson-logs/valgrind-valgrind.json" || oc_failed=1

fault()
{
	printf '#include <stdlib.h>\nint main(int argc, char **argv) { (void)argv; %s }\n' "$2" >"$seeded/a.c"
	gcc -w -g -o "$seeded/a" "$seeded/a.c" || not_ok "control: $1 compiles"
	refute "control: $1" "${wrapper[@]}" "$seeded/a"
}
fault 'a read past the end' 'volatile char *p = malloc(4); int r = p[3 + argc]; free((void *)p); return r & 0;'
fault 'a leak' 'volatile char *p = malloc(argc); p[0] = 1; p = 0; return 0;'
fault 'a decision on what was never set' 'int *p = malloc(8); if (p[1] > argc) argc++; free(p); return 0;'
finish

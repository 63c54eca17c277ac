# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Text: format, spelling, shell scripts, man pages
# tier: full
# packages: clang-format-14 codespell shellcheck mandoc
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
seeded=$(mktemp -d)
trap 'rm -rf "$seeded"' EXIT

expect 'format: as clang-format 14 has it' bash tests/format.sh
mkdir -p "$seeded/lib"
cp .clang-format "$seeded/"
printf '/* SPDX-License-Identifier: Apache-2.0 */\nint f(void) { return  0; }\n' >"$seeded/lib/a.c"
refute 'format: control: a crooked line' bash tests/format.sh "$seeded"

spelling()
{
	codespell --ignore-words tests/lint/spelling --skip '*.abi,package-lock.json,corpus,LICENSE,./.git,*.pyc' "$@"
}
expect 'spelling' spelling .
printf 'The control: this rec%s a finding.\n' ieves >"$seeded/words.txt"
refute 'spelling: control: a wrong word' spelling "$seeded/words.txt"

mapfile -t scripts < <({
	find . -path ./.git -prune -o -name '*.sh' -print
	grep -rlIE --exclude-dir=.git --exclude-dir=corpus '^#!.*\b(ba)?sh$' .
} | sed 's|^\./||' | sort -u)
shell()
{
	shellcheck -x "$@"
}
expect "shell: ${#scripts[@]} scripts pass shellcheck" shell "${scripts[@]}"
# shellcheck disable=SC2016 # as it stands
printf '#!/bin/sh\nrm -rf $1/*\n' >"$seeded/a.sh"
refute 'shell: control: an unquoted word' shell "$seeded/a.sh"

mapfile -t pages < <(find man -name '*.[1-8]' | sort)
manual()
{
	local said
	said=$(mandoc -T lint -W warning "$@")
	[ -z "$said" ] || { printf '%s\n' "$said"; return 1; }
}
if [ "${#pages[@]}" -gt 0 ]; then
	expect "man: ${#pages[@]} pages without a warning" manual "${pages[@]}"
else
	not_ok 'man: there are no pages'
fi
printf '.Dd today\n.Dt X 1\n.Sh NAME\n.Nm x\n.Xyz\n' >"$seeded/x.1"
refute 'man: control: an unknown macro' manual "$seeded/x.1"
finish

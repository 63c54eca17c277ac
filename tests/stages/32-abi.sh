# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: ABI: against the baseline, and programs built with frozen headers
# tier: full
# packages: abigail-tools clang-14
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
lib=$OC_BUILD/lib/libopenconduit.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

baseline=tests/abi/openconduit.abi
if [ -f $baseline ]; then
	expect 'the library is what its baseline promises' bash tests/abi/abi.sh $baseline "$lib" include
else
	not_ok 'there is a baseline (tests/abi/update.sh makes it)'
fi

# Seeded breaks, on a stand-in with the real headers: the gate must see what breaks and let pass what does not.
# build NAME [COMPILER] [FLAG…]: from $work/include and $work/standin.c
build()
{
	local name=$1 compiler=${2:-gcc}
	shift
	[ $# = 0 ] || shift
	"$compiler" -g -O1 -w -shared -fPIC "$@" -I"$work/include" -o "$work/$name.so" "$work/standin.c" || not_ok "abi: $name compiles"
}
fresh()
{
	rm -rf "$work/include"
	mkdir "$work/include"
	cp -r include/openconduit "$work/include/"
	cp tests/abi/standin.c "$work/"
}
headers=$work/include/openconduit
gate()
{
	bash tests/abi/abi.sh "$work/base.abi" "$work/$1.so" "$work/include"
}
fresh
build base
abidw --no-corpus-path --headers-dir include --out-file "$work/base.abi" "$work/base.so" || not_ok 'abi: a baseline of the stand-in'
expect 'abi: control: the same passes' gate base

# passes NAME / breaks NAME: after the change has been made.
passes()
{
	build change "${@:2}"
	expect "abi: passes: $1" gate change
	fresh
}
breaks()
{
	build change "${@:2}"
	refute "abi: seen: $1" gate change
	fresh
}
# member FILE STRUCT-END first|last LINE: a member more, before the options' second or after their last.
appended()
{
	sed -i "s/^} $2;/\tint64_t added;\n&/" "$headers/$1"
}
inserted()
{
	sed -i "/^typedef struct $2 {/,/^}/s/^\tsize_t size;.*/&\n\tint64_t added;/" "$headers/$1"
}
appended context.h oc_context_options
passes 'an option appended'
inserted context.h oc_context_options
breaks 'an option inserted'
appended broker.h oc_request
passes 'a member of the request appended'
inserted broker.h oc_request
breaks 'a member of the request inserted'
sed -i 's/#include <stddef.h>/&\n#include <stdint.h>/' "$headers/provider.h"
appended provider.h oc_provider_ops
passes 'an op appended'
sed -i 's/#include <stddef.h>/&\n#include <stdint.h>/' "$headers/provider.h"
inserted provider.h oc_provider_ops
breaks 'an op inserted'
breaks 'a function removed' gcc -DWITHOUT_FD
passes 'a function added' gcc -DWITH_MORE
sed -i 's/const char \*oc_version/int oc_version/' "$headers/context.h"
breaks 'a return type changed' gcc -DVERSION_TYPE=int
sed -i 's/int private_member;/&\n\tint another[7];/' "$work/standin.c"
passes 'a private struct that grew'
passes 'the same built by clang' clang-14
printf '[suppress_type]\n  name_regexp = ^oc_.*_options$\n  has_data_member_inserted_at = end\n' >"$work/wide.abignore"
inserted context.h oc_context_options
build change
if abidiff --no-added-syms --suppressions "$work/wide.abignore" --headers-dir2 "$work/include" "$work/base.abi" "$work/change.so" >/dev/null; then
	printf 'note - without type_kind in the suppression this abidiff lets an insertion pass\n'
fi
fresh

# Frozen headers: a program of then with the library of today, and each value of then in the headers of today.
values()
{
	printf '#include <openconduit/openconduit.h>\n#include <openconduit/provider.h>\n#include "%s/enums.h"\n' "$PWD/$1" |
		gcc -std=gnu11 -I"$2" -x c -fsyntax-only -
}
consumer()
{
	gcc -std=c99 -Wall -Werror -I"$1" -o "$work/consumer" tests/abi/consumer.c -L"$OC_BUILD/lib" -lopenconduit &&
		rm -rf "$work/state" && mkdir -m 700 "$work/state" && LD_LIBRARY_PATH=$OC_BUILD/lib "$work/consumer" "$work/state"
}
frozen=0
for version in tests/abi/v[0-9]*; do
	[ -d "$version" ] || continue
	frozen=$((frozen + 1))
	expect "frozen $version: its constants and layouts hold" values "$version" include
	expect "frozen $version: a program built with it runs" consumer "$version"
	sed -i 's/OC_EREFUSED = -6/OC_EREFUSED = -16/' "$headers/error.h"
	refute "frozen $version: control: a renumbered constant" values "$version" "$work/include"
	fresh
	inserted context.h oc_context_options
	refute "frozen $version: control: a member inserted" values "$version" "$work/include"
	fresh
done
[ "$frozen" -gt 0 ] || not_ok 'there are frozen headers (tests/abi/update.sh makes them)'
finish

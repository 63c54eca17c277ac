# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Runs of an earlier build, its host and its guard, adopted by this one
# tier: full
# packages: xz-utils
# timeout: 1200
# Each frozen source of tests/abi is built, most of a minute; and once more with a guard that speaks only versions that nobody knows.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

work=$(mktemp -d "$OC_WORK/earlier.XXXXXX")
trap 'rm -rf "$work"' EXIT

# build NAME: of the sources that lie in $work/guard.
build()
{
	meson setup --optimization 0 "$work/$1" "$work/guard" && ninja -C "$work/$1"
}
# What a guard of these sources says of itself gets a member more, or another one.
speak_otherwise()
{
	local file=$work/guard/lib/guard
	if grep -q OC_GUARD_PROTOCOL_LAST "$file/protocol.h"; then
		sed -i -E 's/^(#define OC_GUARD_PROTOCOL_FIRST) .*/\1 7/; s/^(#define OC_GUARD_PROTOCOL_LAST) .*/\1 9/' "$file/protocol.h"
	else
		sed -i 's/"{s:i, s:I, s:s, s:s}"/"{s:i, s:I, s:s, s:s, s:[i, i]}"/; s/g->boot, "digest", g->digest)/g->boot, "digest", g->digest, "protocol", 7, 9)/' "$file/record.c"
	fi
}

for version in tests/abi/v[0-9]*; do
	name=$(basename "$version")
	tar -C "$work" -xf "$version/guard.tar.xz" || not_ok "$name: its sources"
	expect "$name: it is built" build "$name"
	cp "$work/guard/lib/guard/record.c" "$work/guard/lib/guard/protocol.h" "$work"
	speak_otherwise
	refute "$name: control: the other guard's sources are changed" cmp -s <(cat "$work"/guard/lib/guard/{record.c,protocol.h}) <(cat "$work"/{record.c,protocol.h})
	expect "$name: with a guard that speaks otherwise it is built" build "$name-other"
	python3 tests/fault/test_earlier.py "$work/$name" "$work/$name-other" || oc_failed=1
	rm -rf "${work:?}"/*
done
finish

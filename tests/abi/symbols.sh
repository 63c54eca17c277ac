#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# symbols.sh HEADERS MAP LIB: what the shared object exports, what the version script lists and what the public headers
# declare are the same names, and each is exported under the script's version.
set -u
headers=$1 map=$2 lib=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Declarations of functions marked OC_API, over line breaks; comments out of the way first.
cat "$headers"/*.h | gcc -fpreprocessed -dD -E -P -x c - 2>/dev/null | tr '\n' ' ' | grep -oE 'OC_API[^;]*;' |
	grep -oE '\boc_[a-z0-9_]+[[:space:]]*\(' | tr -d ' (' | sort -u >"$work/headers"
sed -n '/global:/,/local:/s/^[[:space:]]*\(oc_[a-z0-9_]*\);.*/\1/p' "$map" | sort >"$work/map"
nm -D --defined-only --with-symbol-versions "$lib" | awk '$2 != "A" { print $3 }' | sort >"$work/versioned"
sed 's/@.*//' "$work/versioned" | sort >"$work/exports"

bad=0
compare()
{
	local only
	only=$(comm "$1" "$work/$2" "$work/$3")
	[ -z "$only" ] || { printf '%s: %s\n' "$4" "$(tr '\n\t' '  ' <<<"$only")"; bad=1; }
}
compare -23 exports map 'exported, not in the version script'
compare -13 exports map 'in the version script, not exported'
compare -23 headers map 'declared in a header, not in the version script'
compare -13 headers map 'in the version script, declared in no header'
unversioned=$(grep -vE '@@OPENCONDUIT_[0-9.]+$' "$work/versioned")
[ -z "$unversioned" ] || { printf 'without a version: %s\n' "$unversioned"; bad=1; }
[ -s "$work/exports" ] || { echo 'the library exports nothing'; bad=1; }
[ -z "$(uniq -d "$work/map")" ] || { echo 'a name stands twice in the version script'; bad=1; }
exit $bad

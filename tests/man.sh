#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The library's manual is about the library that is there: what the version script exports, what the public headers
# declare, and what the pages of section 3 name (.Nm) and describe (.Fn) are the same functions.
#
#   tests/man.sh [--map FILE] [--include DIR] [--man DIR]
#   tests/man.sh --control        the faults that have to be found
set -u

tree=$(cd "$(dirname "$0")/.." && pwd)
map=$tree/lib/libopenconduit.map
include=$tree/include/openconduit
man=$tree/man
control=
while [ $# -gt 0 ]; do
	case $1 in
	--map) map=$2; shift ;;
	--include) include=$2; shift ;;
	--man) man=$2; shift ;;
	--control) control=1 ;;
	*) printf 'usage: %s [--map FILE] [--include DIR] [--man DIR] | --control\n' "$0" >&2; exit 2 ;;
	esac
	shift
done

exports() { sed -n '/global:/,/local:/s/^[[:space:]]*\(oc_[a-z0-9_]*\);.*/\1/p' "$map" | sort -u; }
# A declaration may run over lines: join them, drop comments, take the name before its parenthesis.
prototypes()
{
	cat "$include"/*.h | sed 's|/\*[^*]*\*/||g' | tr '\n' ' ' | grep -o 'OC_API [^;]*' |
		sed -n 's/^OC_API [^(]*\(\b\|[ *]\)\(oc_[a-z0-9_]*\)(.*/\2/p' | sort -u
}
# Typedefs of callbacks, "(*oc_x_fn)", are described too, but they are no functions.
described() { cat "$man"/*.3 | sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/s/^\.Fn \(oc_[a-z0-9_]*\) .*/\1/p' | sort -u; }
# The first name of each page is the page's own: it needn't be a function.
named()
{
	local page
	for page in "$man"/*.3; do
		sed -n '/^\.Sh NAME/,/^\.Nd/s/^\.Nm \(oc_[a-z0-9_]*\).*/\1/p' "$page" | tail -n +2
	done | sort -u
}

compare() # WHAT-A LIST-A WHAT-B LIST-B
{
	local only
	only=$(comm -23 <(printf '%s\n' "$2") <(printf '%s\n' "$4"))
	[ -z "$only" ] || { printf '%s but not %s: %s\n' "$1" "$3" "$(echo "$only" | tr '\n' ' ')"; failed=1; }
	only=$(comm -13 <(printf '%s\n' "$2") <(printf '%s\n' "$4"))
	[ -z "$only" ] || { printf '%s but not %s: %s\n' "$3" "$1" "$(echo "$only" | tr '\n' ' ')"; failed=1; }
}

check()
{
	local e p d n
	failed=0
	e=$(exports) p=$(prototypes) d=$(described) n=$(named)
	[ -n "$e" ] || { echo 'the version script exports nothing'; failed=1; }
	compare exported "$e" declared "$p"
	compare exported "$e" 'described (.Fn)' "$d"
	compare exported "$e" 'named (.Nm)' "$n"
	return $failed
}

# Each seeded fault has to be found; a check that can't fail proves nothing.
controls()
{
	local bad=0
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	seed()
	{
		rm -rf "${dir:?}"/*
		mkdir "$dir/man"
		cp "$tree"/man/*.3 "$dir/man"
		cp -r "$tree/include/openconduit" "$dir/include"
		cp "$tree/lib/libopenconduit.map" "$dir/map"
	}
	found()
	{
		if bash "$0" --map "$dir/map" --include "$dir/include" --man "$dir/man" >"$dir/said" 2>&1; then
			printf 'not ok - man: control: %s\n' "$1"
			bad=1
		elif grep -q oc_ "$dir/said"; then
			printf 'ok - man: control: %s\n' "$1"
		else
			printf 'not ok - man: control: %s: it fails and does not say for what\n' "$1"
			bad=1
		fi
	}
	seed; sed -i 's/oc_version;/&\n\toc_none_such;/' "$dir/map"; found 'exported and nowhere else'
	seed; sed -i '/oc_version;/d' "$dir/map"; found 'not exported'
	seed; printf 'OC_API int\noc_none_such(\n\tvoid);\n' >>"$dir/include/plan.h"; found 'declared and nowhere else'
	seed; sed -i 's/oc_version(void)/oc_other(void)/' "$dir/include/context.h"; found 'declared by another name'
	seed; sed -i '/^\.Fn oc_run_ack "/d' "$dir/man/oc_run.3"; found 'not described'
	seed; sed -i '/^\.Nm oc_run_ack /d' "$dir/man/oc_run.3"; found 'not named'
	seed; sed -i 's/^\.Fn oc_run_ack "/.Fn oc_run_akc "/' "$dir/man/oc_run.3"; found 'described by another name'
	return $bad
}

if [ -n "$control" ]; then
	controls
else
	check
fi

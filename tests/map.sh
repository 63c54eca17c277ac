#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The map in HACKING.md is true as far as names go: every file it names is there.
#
#   tests/map.sh [FILE]     FILE: another map, for the control
set -u
cd "$(dirname "$0")/.." || exit 2
map=${1:-HACKING.md}
# shellcheck disable=SC2016 # backquotes are what is looked for
named=$(sed -n '/^| promise/,/^$/p' "$map" | grep -o '`[^`]*/[^`]*\.[a-z]*`' | tr -d '`' | sort -u)
missing=
count=0
for file in $named; do
	count=$((count + 1))
	[ -f "$file" ] || missing="$missing $file"
done
if [ "$count" -lt 40 ] || [ -n "$missing" ]; then
	echo "$count files are named; missing:${missing:- none}"
	exit 1
fi

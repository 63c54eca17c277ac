#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# layers.sh [TREE]: which code may include which, as HACKING.md says under Layers.  Prints a line for each violation
# and fails if there is one.
set -u
tree=${1:-$(cd "$(dirname "$0")/.." && pwd)}
cd "$tree" || exit 2

# The sentence that this script enforces; it fails when HACKING.md says something else.
sentence='base ← loop ← wire ← {policy ← plan ← store} ← provider ← broker ← guard; sdk and guest need base and wire only'

below()
{
	case $1 in
	base) echo base ;;
	loop) echo base loop ;;
	wire) echo base loop wire ;;
	policy) echo base loop wire policy ;;
	plan) echo base loop wire policy plan ;;
	store) echo base loop wire policy plan store ;;
	provider) echo base loop wire policy plan store provider ;;
	broker) echo base loop wire policy plan store provider broker ;;
	guard) echo base loop wire policy plan store provider broker guard guest/channel.h ;;
	# The channel's frames are one header, for the guest and for the guard which is its other end.
	guest) echo base wire guest ;;
	# A connection of wire is given a loop, so who uses the one uses the other.
	sdk) echo base loop wire sdk ;;
	esac
}

bad=0
violation()
{
	printf '%s\n' "$1"
	bad=1
}

# includes FILE…: "file:line:quoted-or-angled path" of each include.
includes()
{
	grep -nHoE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<][^">]+[">]' "$@" /dev/null | sed -E 's/[[:space:]]*#[[:space:]]*include[[:space:]]*//'
}

if [ -f HACKING.md ]; then
	tr '\n' ' ' <HACKING.md | grep -qF "$sentence" || violation "HACKING.md: Layers no longer says what tests/layers.sh checks"
fi

while IFS= read -r file; do
	layer=${file#lib/}
	layer=${layer%%/*}
	allowed=$(below "$layer")
	[ -n "$allowed" ] || { violation "$file: lib/$layer is no layer that tests/layers.sh knows"; continue; }
	while IFS=: read -r where line what; do
		case $what in
		'<openconduit/'* | '"openconduit/'* | '<'*) continue ;;
		*..*) violation "$where:$line: $what climbs out of its folder" ; continue ;;
		esac
		target=${what//\"/}
		# A bare name is the file's own folder.
		[[ $target == */* ]] || continue
		for ok in $allowed; do
			if [ "${target%%/*}" = "$ok" ] || [ "$target" = "$ok" ]; then
				continue 2
			fi
		done
		violation "$where:$line: $layer may not include $target"
	done < <(includes "$file")
done < <(find lib -name '*.[ch]' 2>/dev/null | sort)

# Hosts and providers are clients: the public headers, their own folder, the system.
while IFS= read -r file; do
	dir=$(dirname "$file")
	top=${file%%/*}
	while IFS=: read -r where line what; do
		target=${what//[\"<>]/}
		case $what in
		'<openconduit/'*) continue ;;
		# The decision about a host is one function: the gateway is built with that and nothing else of the library.
		'"policy/host.h"' | '"base/util.h"') [[ $file == providers/docker/gateway/* ]] || violation "$where:$line: $target is inside the library" ;;
		*..*) violation "$where:$line: $what climbs out of its folder" ;;
		'"'*) [ -f "$dir/$target" ] || [ -f "$top/$target" ] || violation "$where:$line: $target is not its own and not <openconduit/…>" ;;
		'<'*) [ ! -d "lib/${target%%/*}" ] || [[ $target != */* ]] || violation "$where:$line: $target is inside the library" ;;
		esac
	done < <(includes "$file")
done < <(find host providers examples -name '*.[ch]' 2>/dev/null | sort)

# Public headers include each other and C's own, nothing foreign: no type of a dependency in the interface.
while IFS= read -r file; do
	while IFS=: read -r where line what; do
		case $what in
		'<openconduit/'* | '<stddef.h>' | '<stdint.h>') ;;
		*) violation "$where:$line: a public header includes $what" ;;
		esac
	done < <(includes "$file")
done < <(find include -name '*.h' 2>/dev/null | sort)
exit $bad

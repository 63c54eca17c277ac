#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fetch.sh TO: a Docker Engine of 28 or later and a registry, unpacked into TO, for a Debian whose own release has none.
#
# They are Debian's packages of a later suite, from the mirror that this machine's apt uses.  Programs that lie in TO/bin
# run as plain processes of this machine, in no chroot, so that a path means to the engine what it means to a test.  One
# that needs a newer libc than this machine's gets its ELF interpreter and its RPATH set to the one in TO: started by way
# of a loader it couldn't execute itself again, as runc does.
set -eu
set -o pipefail
umask 022
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/engine/apt.sh
. "$here/apt.sh"
to=${1:?}
suite=${OC_ENGINE_SUITE:-forky}

packages=(docker.io docker-cli containerd runc tini-static docker-registry iptables patchelf)
programs=(dockerd docker-proxy docker containerd containerd-shim-runc-v2 runc docker-registry)

# program TREE NAME
program()
{
	local dir
	for dir in usr/sbin usr/bin; do
		[ ! -e "$1/$dir/$2" ] || { printf '%s\n' "$1/$dir/$2"; return; }
	done
	echo "There is no $2 in the packages of $suite." >&2
	return 1
}

# patch TREE FILE: TREE becomes $to/root when all is done.
patch()
{
	local loader missing
	# ldd names what is missing, a library or a version of symbols, and fails on what is static.
	missing=$(ldd "$2" 2>&1) || true
	[[ $missing == *'not found'* ]] || return 0
	loader=$(basename "$(patchelf_of "$1" --print-interpreter "$2")")
	patchelf_of "$1" --set-interpreter "$to/root/$libdir/$loader" --force-rpath --set-rpath "$to/root/$libdir" "$2"
}

# patchelf is of the later suite as well.
patchelf_of()
{
	local tree=$1
	shift
	"$(find "$tree/$libdir" -name 'ld-linux*.so.*' -print -quit)" --library-path "$tree/$libdir" "$tree/usr/bin/patchelf" "$@"
}

unpack()
{
	local tree=$1 deb file name
	for deb in "$work/debs"/*.deb; do
		apt_unpack "$deb" "$tree"
	done
	file=$(find "$tree/usr/lib" -name libc.so.6 -print -quit)
	libdir=$(dirname "${file#"$tree"/}")
	for name in "${programs[@]}" xtables-nft-multi; do
		file=$(program "$tree" "$name")
		patch "$tree" "$file"
	done
}

link()
{
	local name
	mkdir -p "$to/bin" "$to/fallback"
	for name in "${programs[@]}"; do
		ln -s "$(program "$to/root" "$name")" "$to/bin/$name"
	done
	ln -s "$(program "$to/root" tini-static)" "$to/bin/docker-init"
	# For a machine that has no iptables of its own.
	for name in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
		printf '#!/bin/sh\nexport XTABLES_LIBDIR=%q\nexec %q %s "$@"\n' "$to/root/$libdir/xtables" \
			"$(program "$to/root" xtables-nft-multi)" "$name" >"$to/fallback/$name"
		chmod 755 "$to/fallback/$name"
	done
}

runs()
{
	"$to/bin/runc" --version >/dev/null 2>&1 && "$to/bin/dockerd" --version >/dev/null 2>&1
}

# What is there is kept for as long as this script makes the same of it; a newer engine is not looked for.
now="$suite $(cat "$here/fetch.sh" "$here/apt.sh" | sha256sum)"
if [ "$(cat "$to/fetched" 2>/dev/null)" = "$now" ] && runs; then
	exit 0
fi
mkdir -p "$to"
work=$(mktemp -d "$to/new.XXXXXX")
trap 'rm -rf "$work"' EXIT
apt_begin "$work/apt" "$suite"
apt_fetch "$work/debs" "${packages[@]}"
unpack "$work/root"
rm -rf "${to:?}"/{fetched,root,bin,fallback}
mv "$work/root" "$to/root"
link
runs || { echo "What $suite has does not run on this machine." >&2; exit 1; }
printf '%s\n' "$now" >"$to/fetched"

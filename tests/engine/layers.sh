#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# layers.sh TO: the file systems of the tests' images as tar files in TO: small, tools, claude, named, setuid.
#
# Debian's packages of this machine's release, fetched by apt with its usual signature check and unpacked, not
# configured; Node, npm and Claude Code are those that tests/lib pins, from $OC_SRT and $OC_NPM.  Made again only where
# something that goes into them has changed.  The same input makes the same bytes, so digests stay as they are.
set -eu
set -o pipefail
umask 022
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/engine/apt.sh
. "$here/apt.sh"
to=$1
mkdir -p "$to"
work=$(mktemp -d "$to/new.XXXXXX")
trap 'rm -rf "$work"' EXIT

packages=(bash busybox-static ca-certificates coreutils curl dash findutils git grep libstdc++6 procps python3 sed tar wget)

# pack TREE NAME
pack()
{
	tar -C "$1" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$work/$2.tar" .
}

busybox_links()
{
	local name
	for name in $("$1/bin/busybox" --list); do
		[ -e "$1/bin/$name" ] || [ -e "$1/sbin/$name" ] || ln -s busybox "$1/bin/$name"
	done
}

small()
{
	mkdir -p "$work/small/bin" "$work/small/tmp"
	chmod 1777 "$work/small/tmp"
	apt_unpack "$work/debs"/busybox-static_*.deb "$work/busybox"
	cp "$work/busybox/bin/busybox" "$work/small/bin/"
	busybox_links "$work/small"
	pack "$work/small" small
}

debian_tree()
{
	local tree=$1 name deb
	for name in bin sbin lib lib64; do
		mkdir -p "$tree/usr/$name"
		ln -s "usr/$name" "$tree/$name"
	done
	for deb in "$work/debs"/*.deb; do
		apt_unpack "$deb" "$tree"
	done
	ln -sf dash "$tree/bin/sh" # busybox's prefers its own wget
	busybox_links "$tree"
	mkdir -p "$tree/etc/ssl/certs" "$tree/home" "$tree/root" "$tree/tmp" "$tree/var/tmp"
	chmod 1777 "$tree/tmp" "$tree/var/tmp"
	cat "$tree"/usr/share/ca-certificates/mozilla/*.crt >"$tree/etc/ssl/certs/ca-certificates.crt"
	printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n' >"$tree/etc/passwd"
	printf 'root:x:0:\nnogroup:x:65534:\n' >"$tree/etc/group"
}

tools()
{
	local tree=$work/tools local_bin=$work/tools/usr/local/bin
	debian_tree "$tree"
	mkdir -p "$local_bin" "$tree/usr/local/lib/node_modules"
	cp -L "$OC_SRT/bin/node" "$local_bin/node"
	cp -R "$OC_NPM/npm/node_modules/npm" "$tree/usr/local/lib/node_modules/npm"
	ln -s ../lib/node_modules/npm/bin/npm-cli.js "$local_bin/npm"
	ln -s ../lib/node_modules/npm/bin/npx-cli.js "$local_bin/npx"
	pack "$tree" tools
}

claude()
{
	local file
	mkdir -p "$work/claude/usr/local/bin"
	file=$(find "$OC_NPM/claude/node_modules/@anthropic-ai" -path '*claude-code-linux-*' -name claude -type f -not -path '*musl*')
	cp "$file" "$work/claude/usr/local/bin/claude"
	chmod 755 "$work/claude/usr/local/bin/claude"
	pack "$work/claude" claude
}

# What an image can say of users: the number 1000 as a root's name, and as a member of another's group.
named()
{
	mkdir -p "$work/named/etc"
	printf 'root:x:0:0:root:/root:/bin/sh\n1000:x:0:0:root too:/root:/bin/sh\n' >"$work/named/etc/passwd"
	printf 'root:x:0:\ndocker:x:999:1000\n' >"$work/named/etc/group"
	pack "$work/named" named
}

# Says euid=0 where the bit counts; busybox's id gives it up.
setuid()
{
	mkdir -p "$work/setuid/usr/local/bin"
	cp "$work/tools/usr/bin/id" "$work/setuid/usr/local/bin/root-id"
	chmod 4755 "$work/setuid/usr/local/bin/root-id"
	pack "$work/setuid" setuid
}

# All that goes in, as text.
inputs()
{
	apt_names "${packages[@]}"
	cat "$here/layers.sh" "$here/apt.sh" "$OC_SRT/package-lock.json" "$OC_NPM/npm/package-lock.json" "$OC_NPM/claude/package-lock.json"
}

apt_begin "$work/apt" ''
now=$(inputs | sha256sum)
[ "$(cat "$to/inputs" 2>/dev/null)" != "$now" ] || exit 0
rm -f "$to/inputs"
apt_fetch "$work/debs" "${packages[@]}"
small
tools
claude
named
setuid
mv "$work"/*.tar "$to/"
printf '%s\n' "$now" >"$to/inputs"

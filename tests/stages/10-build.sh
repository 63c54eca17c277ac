# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Build, every warning an error
# tier: quick
# always: yes
# packages: gcc libc6-dev meson ninja-build pkg-config libjansson-dev libsqlite3-dev libmbedtls-dev libgit2-dev libcurl4-openssl-dev check libsubunit-dev musl-tools bubblewrap socat ripgrep git
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

configure()
{
	local again=()
	[ ! -d "$OC_BUILD" ] || again=(--reconfigure)
	meson setup "${again[@]}" "$OC_BUILD" "$OC_SRC" -Dwerror_dev=true -Dfaults=true && return 0
	# What a build folder remembers can be too old for today's tree.
	rm -rf "$OC_BUILD"
	meson setup "$OC_BUILD" "$OC_SRC" -Dwerror_dev=true -Dfaults=true
}

expect 'configures' configure
expect 'builds without a warning' ninja -C "$OC_BUILD"
finish

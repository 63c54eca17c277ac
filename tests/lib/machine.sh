# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Getting a Debian or Ubuntu machine ready: packages by name, an ordinary user, a pinned srt.
# Used by tests/run.sh and examples/quickstart.sh.  The product itself never installs anything.

OC_SRT_VERSION=0.0.83
OC_NODE_VERSION=22.23.3
OC_USER_NAME=oc-test

say()
{
	printf '%s\n' "$*" >&2
}

die()
{
	say "$@"
	exit 2
}

as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo -n -- "$@"
	fi
}

missing_packages()
{
	local name
	for name in "$@"; do
		# npm comes with the nodejs package of other distributors, which conflicts with Debian's own.
		if [ "$name" = npm ] && command -v npm >/dev/null; then
			continue
		fi
		[ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || printf '%s\n' "$name"
	done
}

# need_packages NAME…: install what is missing; a user who can't is told the command, and nothing is changed.
need_packages()
{
	local missing log
	command -v apt-get >/dev/null || die "This set-up is for Debian 12 and Ubuntu 24.04: there is no apt-get here." \
		"Needed, under Debian's names: $*"
	mapfile -t missing < <(missing_packages "$@" | sort -u)
	[ "${#missing[@]}" -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
		die "These packages are missing, and installing them needs a password here. Paste this, then start again:" \
			"
    sudo apt-get update && sudo apt-get install --no-install-recommends ${missing[*]}"
	fi
	say "Installing ${#missing[@]} packages: ${missing[*]}"
	log=$(mktemp)
	if ! { as_root apt-get -o Acquire::Retries=3 update &&
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 \
			install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
		tail -n 25 "$log" >&2
		die "Installing packages failed; the whole output is in $log"
	fi
	rm -f "$log"
}

# need_user: who runs everything that an ordinary user must run.  Sets OC_USER, OC_USER_HOME, and OC_CACHE: where whoever
# started us keeps things, which under root that user can't write.
need_user()
{
	if [ "$(id -u)" = 0 ]; then
		OC_USER=$OC_USER_NAME
		if ! id "$OC_USER" >/dev/null 2>&1; then
			useradd --create-home --shell /bin/bash --comment 'Open Conduit tests' "$OC_USER" ||
				die "Making the ordinary user $OC_USER failed."
		fi
		[ "$(id -u "$OC_USER")" != 0 ] || die "The user $OC_USER is root under another name: remove it and start again."
	else
		OC_USER=$(id -un)
	fi
	OC_USER_HOME=$(getent passwd "$OC_USER" | cut -d: -f6)
	if [ "$(id -u)" = 0 ]; then
		OC_CACHE=/var/cache/open-conduit
	else
		OC_CACHE=${XDG_CACHE_HOME:-$OC_USER_HOME/.cache}/open-conduit
	fi
	mkdir -p "$OC_CACHE" || die "Can't make $OC_CACHE."
	[ -d "$OC_USER_HOME" ] || die "The user $OC_USER has no home directory ($OC_USER_HOME)."
}

# as_user COMMAND…: as that user, with a clean environment: nothing of the caller's reaches a test by accident.
as_user()
{
	local clean=(env -i "HOME=$OC_USER_HOME" "USER=$OC_USER" "LOGNAME=$OC_USER" SHELL=/bin/bash LANG=C.UTF-8
		"TERM=${TERM:-dumb}" "PATH=${OC_SRT:+$OC_SRT/bin:}/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin")
	[ -z "${CI:-}" ] || clean+=("CI=$CI")
	[ -z "${NO_COLOR:-}" ] || clean+=("NO_COLOR=$NO_COLOR")
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid "$OC_USER" --regid "$(id -g "$OC_USER")" --init-groups \
			--inh-caps=-all "${clean[@]}" "$@"
	else
		"${clean[@]}" "$@"
	fi
}

# npm_ci NAME TO: what tests/lib/NAME pins, with npm, in the new directory TO.  Without scripts: nothing of it runs here.
npm_ci()
{
	local here log
	here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
	log=$(mktemp)
	cp "$here/$1/package.json" "$here/$1/package-lock.json" "$2/"
	if ! (cd "$2" && npm ci --ignore-scripts --no-audit --no-fund) >"$log" 2>&1 </dev/null; then
		tail -n 25 "$log" >&2
		die "npm could not install what tests/lib/$1 pins; the whole output is in $log"
	fi
	rm -f "$log"
}

# need_srt: srt and the Node it wants, pinned, in a prefix of their own.  Sets OC_SRT; its bin/ has srt and node.
# Made by whoever starts us, so that the registry settings of that user apply, and so that the user of the tests
# can't change the tool that confines it.  The system's npm is the installer only.
need_srt()
{
	local arch tmp
	case $(uname -m) in
	x86_64) arch=x64 ;;
	aarch64) arch=arm64 ;;
	*) die "No pinned Node for the processor $(uname -m): only x86_64 and aarch64." ;;
	esac
	OC_SRT=$OC_CACHE/srt-$OC_SRT_VERSION-node-$OC_NODE_VERSION
	[ ! -x "$OC_SRT/bin/srt" ] || return 0
	say "Installing srt $OC_SRT_VERSION and Node $OC_NODE_VERSION with npm"
	tmp=$(mktemp -d "$OC_CACHE/new.XXXXXX")
	npm_ci srt "$tmp"
	mkdir "$tmp/bin"
	ln -s "../node_modules/node-linux-$arch/bin/node" "$tmp/bin/node"
	ln -s ../node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js "$tmp/bin/srt"
	[ "$("$tmp/bin/node" --version)" = "v$OC_NODE_VERSION" ] || die "The Node that npm installed does not run."
	chmod -R go+rX "$tmp"
	rm -rf "$OC_SRT"
	mv "$tmp" "$OC_SRT"
}

# need_npm NAME…: what tests/lib/NAME pins, in $OC_NPM/NAME/node_modules; made again where the pins differ.  Sets OC_NPM.
need_npm()
{
	local here name tmp
	here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
	OC_NPM=$OC_CACHE/npm
	mkdir -p "$OC_NPM" || die "Can't make $OC_NPM."
	for name in "$@"; do
		! cmp -s "$here/$name/package-lock.json" "$OC_NPM/$name/package-lock.json" || continue
		say "Installing with npm what tests/lib/$name pins"
		tmp=$(mktemp -d "$OC_CACHE/new.XXXXXX")
		npm_ci "$name" "$tmp"
		chmod -R go+rX "$tmp"
		rm -rf "${OC_NPM:?}/$name"
		mv "$tmp" "$OC_NPM/$name"
	done
}

# userns_fix: prints what to do, and fails, where this machine forbids what a process sandbox is made of.
userns_fix()
{
	as_user unshare --user --map-root-user --net true 2>/dev/null && return 0
	if [ "$(cat /proc/sys/kernel/apparmor_restrict_unprivileged_userns 2>/dev/null)" = 1 ]; then
		say "AppArmor forbids user namespaces to ordinary programs on this machine (the default of Ubuntu 24.04)." \
			"Allow them, then start again:
    sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
	elif [ "$(cat /proc/sys/kernel/unprivileged_userns_clone 2>/dev/null)" = 0 ]; then
		say "User namespaces are switched off on this machine. Allow them, then start again:
    sudo sysctl kernel.unprivileged_userns_clone=1"
	elif [ "$(cat /proc/sys/user/max_user_namespaces 2>/dev/null || echo 0)" -lt 3 ]; then
		say "A process sandbox needs three nested user namespaces; this machine allows fewer. Allow them, then start again:
    sudo sysctl user.max_user_namespaces=10000"
	else
		say "User namespaces can't be made here. In a container, start it with a seccomp profile that allows them:
    docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined …"
	fi
	return 1
}

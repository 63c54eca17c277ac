#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make.sh ROOT: put a minimal Debian 12 into ROOT from this machine's own package mirror, with this machine's way to
# the network: apt and npm settings, proxies and certificate authorities.  All of it is read here and now; the project
# knows no address.  Ends with 3 where no mirror can be reached, else 0 or 1.
set -u
root=$1

# The mirror that apt itself would use for this release.
# shellcheck disable=SC2016 # the $(…) are apt's own
mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
	awk '$1 == "bookworm" && $2 == "main" { print $3; exit }')
if [ -z "$mirror" ]; then
	echo "apt on this machine has no mirror of Debian 12 (bookworm)"
	exit 3
fi
if ! debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "$mirror" >"$root.log" 2>&1; then
	tail -n 20 "$root.log"
	# debootstrap's own words for a mirror that did not answer.
	grep -qE "Failed getting release file|Couldn't download|Couldn't resolve" "$root.log" && exit 3
	exit 1
fi

# The same mirror, with what apt was told about reaching it.
cp -a /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/" 2>/dev/null
[ ! -f /etc/apt/apt.conf ] || cp /etc/apt/apt.conf "$root/etc/apt/"
[ ! -d /etc/apt/auth.conf.d ] || cp -a /etc/apt/auth.conf.d "$root/etc/apt/"
# Only what concerns fetching may come along: hooks name programs that are not in there.
grep -lE 'Pre-|Post-|Hook|DPkg::' "$root"/etc/apt/apt.conf.d/* 2>/dev/null | xargs -r rm -f
for file in hosts resolv.conf; do
	cp -L "/etc/$file" "$root/etc/$file"
done
# As container images do: nothing here must survive a power cut.
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"

# Certificate authorities: as Debian wants them, and as the variables and npm's settings name them.
mkdir -p "$root/usr/local/share/ca-certificates" "$root/etc/ssl/machine"
cp -a /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/" 2>/dev/null
chroot "$root" update-ca-certificates >/dev/null 2>&1
settings=$root/etc/clean-machine.env
: >"$settings"
carry()
{
	printf '%s=%s\n' "$1" "$2" >>"$settings"
}
for name in NODE_EXTRA_CA_CERTS SSL_CERT_FILE CURL_CA_BUNDLE; do
	if [ -n "${!name:-}" ] && [ -f "${!name}" ]; then
		cp -L "${!name}" "$root/etc/ssl/machine/$name.pem"
		carry "$name" "/etc/ssl/machine/$name.pem"
	fi
done
for name in $(compgen -e | grep -iE '^(https?|ftp|all|no)_proxy$|^npm_config_(registry|.*proxy|strict_ssl|.*auth.*)$'); do
	carry "$name" "${!name}"
done
if command -v npm >/dev/null; then
	for name in globalconfig userconfig; do
		file=$(npm config get "$name" 2>/dev/null)
		[ ! -f "$file" ] || grep -vE '^(cafile|nodedir|prefix|cache)[[:space:]]*=' "$file"
	done >"$root/root/.npmrc"
	file=$(npm config get cafile 2>/dev/null)
	if [ -f "$file" ]; then
		cp -L "$file" "$root/etc/ssl/machine/npm.pem"
		carry npm_config_cafile /etc/ssl/machine/npm.pem
	fi
fi
exit 0

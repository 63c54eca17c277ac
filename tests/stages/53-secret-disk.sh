# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Secrets: a canary in no file, block, record, argument or other process, killed at each point
# tier: full
# packages: python3 git dbus gnome-keyring libsecret-tools libsecret-1-dev e2fsprogs
# timeout: 600
# user: root
# About a minute.  Root makes a disk, on which everything is that runs as the ordinary user, and reads its blocks after.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

user=$(stat -c %U "$OC_SRC")
home=$(getent passwd "$user" | cut -d: -f6)
place=$(mktemp -d /tmp/ocXXXXXX) # short: sockets lie in it
image=$(mktemp /var/tmp/oc-disk.XXXXXX)
told=$(mktemp)
clean()
{
	! mountpoint -q "$place" || umount "$place"
	rmdir "$place"
	rm -f "$image" "$told"
}
trap clean EXIT

# canary WHERE [IMAGE]: everything of the test in that directory, which is on that disk.
canary()
{
	local as=()
	[ "$(id -u)" != 0 ] || as=(setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups)
	(cd "$home" && "${as[@]}" env -i HOME="$home" USER="$user" LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin OC_BUILD="$OC_BUILD" \
		OC_SRT="$OC_SRT" OC_TEST_TMP="$1" OC_DISK="${2:-}" OC_CANARY="$told" /usr/bin/python3 "$OC_SRC/tests/host/canary.py")
}

truncate -s 128M "$image"
if [ "$(id -u)" = 0 ] && mkfs.ext4 -q -E "root_owner=$(id -u "$user"):$(id -g "$user")" "$image" && mount -o loop "$image" "$place"; then
	chown "$user" "$told"
	chmod 644 "$image"
	chmod 700 "$place"
	canary "$place" "$image" || oc_failed=1
	if umount "$place"; then
		OC_BUILD=$OC_BUILD OC_CANARY=$told python3 tests/host/canary.py --image "$image" || oc_failed=1
	else
		not_ok 'disk: it can be unmounted, so nothing holds on to it'
	fi
else
	skip 'secrets on a disk' 'only root can mount one here; without it no block is looked at'
	canary "$home" || oc_failed=1
fi
finish

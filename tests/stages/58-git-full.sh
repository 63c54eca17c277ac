# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Saving a workspace onto a full disk
# tier: ci
# packages: git libgit2-dev zlib1g-dev
# timeout: 300
# user: root
# About 5 s.  Root makes the small file system; what is tested runs as the ordinary user.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

if [ "$(id -u)" != 0 ]; then
	skip 'saving onto a full disk' 'only root can make a small file system'
	exit 0
fi
user=$(stat -c %U "$OC_SRC")
home=$(getent passwd "$user" | cut -d: -f6)
place=$(mktemp -d /var/tmp/oc-disk.XXXXXX)
clean()
{
	mountpoint -q "$place" && umount "$place"
	rmdir "$place"
}
trap clean EXIT

if mount -t tmpfs -o "size=24m,mode=0700,uid=$(id -u "$user"),gid=$(id -g "$user")" none "$place"; then
	(cd "$home" && setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups env HOME="$home" USER="$user" \
		OC_BUILD="$OC_BUILD" python3 "$OC_SRC/tests/git/test_save_full.py" "$place") || oc_failed=1
else
	skip 'saving onto a full disk' 'no tmpfs can be mounted here'
fi
finish

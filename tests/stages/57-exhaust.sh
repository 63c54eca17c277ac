# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: An agent that exhausts the disk and the memory that it shares with its guard
# tier: ci
# timeout: 300
# user: root
# About 10 s.  Root makes the small file system and the cgroup; what is tested runs as the ordinary user.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

if [ "$(id -u)" != 0 ]; then
	skip 'exhausting disk and memory' 'only root can make a small file system and a memory cgroup'
	exit 0
fi
user=$(stat -c %U "$OC_SRC")
home=$(getent passwd "$user" | cut -d: -f6)
place=$(mktemp -d /var/tmp/oc-disk.XXXXXX)
group=
clean()
{
	[ -z "$group" ] || rmdir "$group"
	mountpoint -q "$place" && umount "$place"
	rmdir "$place"
}
trap clean EXIT

# attack ARGUMENT…: test_attack.py as the ordinary user.
attack()
{
	(cd "$home" && setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups env HOME="$home" USER="$user" \
		OPEN_CONDUIT_LIBEXEC="$OC_BUILD/libexec" python3 "$OC_SRC/tests/isolation/test_attack.py" "$@") || oc_failed=1
}

# A memory cgroup, beneath our own where version 1 is in use: its path, or nothing and the reason on stderr.
memory_group()
{
	local own top dir
	own=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
	if [ -n "$own" ]; then
		top=/sys/fs/cgroup/memory
		[ -d "$top$own" ] || own=
		dir=$top${own%/}/open-conduit-test.$$
		mkdir "$dir" && echo 400M >"$dir/memory.limit_in_bytes" || return 1
		# Swap, where it is counted, is no way out either.
		[ ! -e "$dir/memory.memsw.limit_in_bytes" ] || echo 400M >"$dir/memory.memsw.limit_in_bytes"
	else
		top=/sys/fs/cgroup
		grep -qw memory "$top/cgroup.subtree_control" || echo +memory >"$top/cgroup.subtree_control" || return 1
		dir=$top/open-conduit-test.$$
		mkdir "$dir" && echo 400M >"$dir/memory.max" && echo 0 >"$dir/memory.swap.max" || return 1
	fi
	echo "$dir"
}

if mount -t tmpfs -o "size=24m,mode=0700,uid=$(id -u "$user"),gid=$(id -g "$user")" none "$place"; then
	attack disk "$place"
else
	skip 'a full disk' 'no tmpfs can be mounted here'
fi

if group=$(memory_group); then
	(echo "$BASHPID" >"$group/cgroup.procs" && attack memory; exit "$oc_failed") || oc_failed=1
else
	group=
	skip 'the end of memory' 'no memory cgroup can be made here'
fi
finish

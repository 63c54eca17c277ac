#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# enter.sh ROOT COMMAND…: run a command as root of a machine made of the folder ROOT, sharing the network.
# Not by chroot: the kernel lets no process in a chroot make a user namespace, and those are what is to be tested.
# pivot_root makes ROOT the root of a mount namespace instead.  Everything ends with the command.
set -eu

if [ "${1:-}" != --inside ]; then
	self=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
	exec unshare --mount --pid --ipc --uts --fork --kill-child --propagation private bash "$self" --inside "$@"
fi
shift
root=$1
shift

mount --bind "$root" "$root"
cd "$root"
# A fresh, whole /proc: a nested user namespace may mount its own only where this one hides nothing.
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t tmpfs -o mode=755,size=16m tmpfs dev
for node in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
	IFS=: read -r name major minor <<<"$node"
	mknod -m 666 "dev/$name" c "$major" "$minor"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s /proc/self/fd/0 dev/stdin
ln -s /proc/self/fd/1 dev/stdout
ln -s /proc/self/fd/2 dev/stderr
mount -t tmpfs -o mode=755,size=64m tmpfs run
hostname clean
mkdir -p .outside
pivot_root . .outside
cd /
umount -l /.outside
rmdir /.outside
exec "$@"

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Container runs: their engine killed and started again, and a full disk
# tier: soak
# engine: yes
# user: root
# packages: python3
# timeout: 7200
# The engine is a second one, in a network of its own; the disk is a file system that it sees as the operator does.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
# shellcheck source=tests/lib/machine.sh
. tests/lib/machine.sh
# shellcheck source=tests/engine/own.sh
. tests/engine/own.sh

if [ "$(id -u)" != 0 ]; then
	skip 'a second engine' 'only root can start one'
	finish
fi
need_user
cd "${OC_SRC:?}" || exit
control=$(mktemp -d /tmp/oc-control.XXXXXX)
full=$OC_USER_HOME/full.$$ server=
mkfifo "$control/ask" "$control/answer"
chown -R "$OC_USER" "$control"

# For a user who may neither kill nor start it.
serve()
{
	local what
	while read -r what <"$control/ask"; do
		case $what in
		kill | start) engine "$what" ;;
		*) false ;;
		esac
		echo $? >"$control/answer"
	done
}
end()
{
	[ -z "$server" ] || kill "$server"
	! mountpoint -q "$full" || umount "$full"
	own_engine_end
	rm -rf --one-file-system "$control" "$full"
}
trap end EXIT
own_engine "$OC_IMAGE_SMALL"
serve &
server=$!
with "OC_TEST_CONTROL=$control" timeout 3000 python3 tests/fault/test_container_crash.py || oc_failed=1

mkdir "$full"
mount -t tmpfs -o "size=24m,mode=0700,uid=$(id -u "$OC_USER"),gid=$(id -g "$OC_USER")" none "$full"
expect 'a file system to fill' mountpoint -q "$full"
with "OC_TEST_FULL=$full" "OC_TEST_TMP=$full" timeout 3600 python3 tests/fault/test_full.py box || oc_failed=1
finish

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: The daemon under a user manager of systemd; root and another user at its socket
# tier: full
# packages: python3 git systemd
# timeout: 600
# user: root
# Half a minute.  Where the machine was not booted with systemd, the manager gets a /run/systemd of its own that says so.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
# shellcheck source=tests/lib/machine.sh
. tests/lib/machine.sh

if [ "$(id -u)" != 0 ]; then
	skip 'a user manager, and other users' 'only root can give a user control groups, and be another'
	finish
fi
need_user
control=$(mktemp -d /tmp/oc-serve.XXXXXX)
chown "$OC_USER" "$control"
groups=()
for base in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
	[ -f "$base/cgroup.procs" ] || continue
	mkdir "$base/oc-serve.$$" 2>/dev/null && groups+=("$base/oc-serve.$$")
done
[ ${#groups[@]} = 0 ] || chown -R "$OC_USER" "${groups[@]}"
end()
{
	local group
	for group in "${groups[@]}"; do
		find "$group" -depth -type d -exec rmdir {} \;
	done
	rm -rf --one-file-system "$control"
}
trap end EXIT
# with COMMAND…: as the user, with the build.
with()
{
	as_user env "OC_BUILD=$OC_BUILD" "OC_SRT=$OC_SRT" "OC_TIER=$OC_TIER" "$@"
}
managed()
{
	local group
	[ -d /run/systemd/system ] || { mkdir -p /run/systemd && mount -t tmpfs none /run/systemd && mkdir /run/systemd/system; }
	for group in "${groups[@]}"; do
		echo "$BASHPID" >"$group/cgroup.procs"
	done
	with python3 tests/host/serve_unit.py manager
}
export -f with managed as_user
export OC_USER OC_USER_HOME OC_BUILD OC_SRT OC_TIER
if [ ${#groups[@]} = 0 ]; then
	skip 'unit: a user manager of systemd' 'no control group can be made here'
else
	# shellcheck disable=SC2016 # in the shell of that namespace
	unshare --mount bash -c 'groups=("$@"); managed' managed "${groups[@]}" || oc_failed=1
fi

with python3 tests/host/serve_unit.py others "$control" &
server=$!
for _ in $(seq 300); do
	[ ! -e "$control/where" ] || break
	sleep 0.2
done
python3 tests/host/serve_others.py "$control/where" || oc_failed=1
touch "$control/done"
wait "$server" || oc_failed=1
finish

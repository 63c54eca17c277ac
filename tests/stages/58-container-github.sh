# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Containers and GitHub: git by tokens that live as long as the run, and an issue from its label to the pull request
# tier: full
# engine: yes
# user: root
# packages: python3 git openssl
# timeout: 900
# Two minutes.  The engine is a second one, in a network of its own; the tests, as the ordinary user, are in it too, and are
# themselves the hosts that containers and our own program find there.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
# shellcheck source=tests/lib/machine.sh
. tests/lib/machine.sh
# shellcheck source=tests/engine/own.sh
. tests/engine/own.sh

if [ "$(id -u)" != 0 ]; then
	skip 'a network with hosts in it' 'only root can make one'
	finish
fi
need_user
cd "${OC_SRC:?}" || exit
place=$(mktemp -d /var/tmp/oc-github.XXXXXX)
chmod 755 "$place"

# shellcheck disable=SC2329 # by trap
end()
{
	own_engine_end
	rm -rf "$place"
}
trap end EXIT
printf '127.0.0.1 localhost\n20.0.0.7 api.claude.example\n20.0.0.8 github.example\n20.0.0.9 elsewhere.example\n' >"$place/hosts"
export OC_ENGINE_DNS=20.0.0.53
own_engine "$OC_IMAGE_CLAUDE" "$OC_IMAGE_TOOLS"
# Local, and no interface's own: those of its machine no container reaches.
engine in ip route add local 20.0.0.0/24 dev lo
# A port below 1024 is anybody's in there.
engine in sh -c 'echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start'

# inside COMMAND…: as the user, in the engine's network, where /etc/hosts has its names.
inside()
{
	export gateway OC_USER OC_USER_HOME
	# shellcheck disable=SC2016 # for that shell
	engine in unshare --mount bash -c 'mount --make-rprivate / && mount --bind "$1" /etc/hosts && shift && . tests/lib/machine.sh && . tests/engine/own.sh && with "$@"' \
		bash "$place/hosts" "$@"
}

expect 'names lead to their hosts in there' inside sh -c 'getent hosts github.example | grep -q ^20.0.0.8'
refute 'control: and nowhere else' getent hosts github.example
for test in ${OC_TEST_ONLY:-git issue}; do
	inside timeout 400 python3 "tests/host/container_$test.py" || oc_failed=1
done
finish

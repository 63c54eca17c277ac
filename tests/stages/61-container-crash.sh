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

if [ "$(id -u)" != 0 ]; then
	skip 'a second engine' 'only root can start one'
	finish
fi
need_user
OC_ENGINE_DIR=$(mktemp -d /var/tmp/oc-engine.XXXXXX)
OC_ENGINE_GROUP=$(id -g "$OC_USER")
export OC_ENGINE_DIR OC_ENGINE_GROUP OC_ENGINE_NET=own
unset DOCKER_CONTEXT
export OC_DOCKER_HOST=unix://$OC_ENGINE_DIR/docker.sock
control=$(mktemp -d /tmp/oc-control.XXXXXX)
full=$OC_USER_HOME/full.$$
mkfifo "$control/ask" "$control/answer"
chown -R "$OC_USER" "$control"

engine()
{
	bash tests/engine/engine.sh "$@"
}
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
	kill "$server"
	engine stop
	! mountpoint -q "$full" || umount "$full"
	rm -rf --one-file-system "$OC_ENGINE_DIR" "$control" "$full"
}
# with NAME=VALUE… COMMAND…: as the user, with the build and this engine.
with()
{
	as_user env "OC_BUILD=$OC_BUILD" "OC_TIER=$OC_TIER" "OC_DOCKER_HOST=$OC_DOCKER_HOST" "OC_DOCKER=$OC_DOCKER" "OC_IMAGE_SMALL=$OC_IMAGE_SMALL" \
		"OPEN_CONDUIT_GATEWAY_IMAGE=$gateway" "$@"
}

serve &
server=$!
trap end EXIT
gateway=
expect 'an engine of our own' engine start
expect 'an image is pulled' env "DOCKER_HOST=$OC_DOCKER_HOST" "$OC_DOCKER" pull -q "$OC_IMAGE_SMALL"
gateway=$(with "DOCKER_HOST=$OC_DOCKER_HOST" python3 providers/docker/gateway/image.py --docker "$OC_DOCKER" \
	"$OC_BUILD/providers/docker/gateway/open-conduit-gateway" test | tail -n 1)
expect 'there is a gateway image' grep -q '^sha256:' <<<"$gateway"
with "OC_TEST_CONTROL=$control" timeout 3000 python3 tests/fault/test_container_crash.py || oc_failed=1

mkdir "$full"
mount -t tmpfs -o "size=24m,mode=0700,uid=$(id -u "$OC_USER"),gid=$(id -g "$OC_USER")" none "$full"
expect 'a file system to fill' mountpoint -q "$full"
with "OC_TEST_FULL=$full" "OC_TEST_TMP=$full" timeout 3600 python3 tests/fault/test_full.py box || oc_failed=1
finish

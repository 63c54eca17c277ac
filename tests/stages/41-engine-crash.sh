# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: A second Docker Engine is killed, started again and stopped
# tier: full
# engine: yes
# user: root
# timeout: 600
# What tests of crashes count on, in an engine of their own: nothing of it touches the one that other stages use.
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
export DOCKER_HOST=unix://$OC_ENGINE_DIR/docker.sock
trap 'engine stop && rm -rf --one-file-system "$OC_ENGINE_DIR"' EXIT

engine()
{
	bash tests/engine/engine.sh "$@"
}
docker()
{
	timeout 120 "$OC_DOCKER" "$@"
}
# What of this engine runs, its containers included: they all have this in their command line.
processes()
{
	grep -laF -f <(printf '%s\n' "$OC_ENGINE_DIR/run/") /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3
}
start_container()
{
	docker run -d --init --network "$1" "$OC_IMAGE_SMALL" sh -c 'while :; do sleep 60; done' "$OC_ENGINE_DIR/run/"
}
# state ID: "running PID" or "exited 0".
state()
{
	docker inspect -f '{{.State.Status}} {{.State.Pid}}' "$1"
}
user_reaches()
{
	as_user curl -s -f --max-time 20 --unix-socket "$OC_ENGINE_DIR/docker.sock" http://engine/_ping
}

# begins STORE: sets isolated and bridged, two containers, and their processes' numbers.
begins()
{
	export OC_ENGINE_STORE=$1
	expect "$1: it starts" engine start
	expect "$1: the user of the tests reaches it" user_reaches
	refute "$1: control: another user does not" setpriv --reuid 65534 --regid 65534 --clear-groups \
		curl -s -f --max-time 20 --unix-socket "$OC_ENGINE_DIR/docker.sock" http://engine/_ping
	expect "$1: an image is pulled from its registry" docker pull -q "$OC_IMAGE_SMALL"
	isolated=$(start_container none) bridged=$(start_container bridge)
	expect "$1: a container runs" grep -q ^running <<<"$(state "$isolated")"
	expect "$1: and one with a network" grep -q ^running <<<"$(state "$bridged")"
}
ends()
{
	expect "$1: control: processes of it are seen" [ "$(processes | wc -l)" -gt 3 ]
	expect "$1: control: mounts of it are seen" grep -F "$OC_ENGINE_DIR/" /proc/mounts
	expect "$1: it stops" engine stop
	refute "$1: and leaves no process" grep . <(processes)
	refute "$1: nor a mount" grep -F "$OC_ENGINE_DIR/" /proc/mounts
}

refute 'control: before it is started it does not answer' engine status
begins overlay2
pid=$(state "$isolated")
pid=${pid#* }
expect 'it is killed' engine kill
refute 'killed it does not answer' engine status
expect 'its containers run on' kill -0 "$pid"
expect 'it is started again' engine start
expect 'without live restore it has stopped them' grep -q ^exited <<<"$(state "$isolated")"
refute 'and they are gone' kill -0 "$pid"

engine stop
export OC_ENGINE_LIVE=true
engine start
isolated=$(start_container none)
before=$(state "$isolated")
engine kill
expect 'with live restore it is started again' engine start
expect 'and has the same container' [ "$(state "$isolated")" = "$before" ]
unset OC_ENGINE_LIVE

for pid in $(processes); do
	kill -KILL "$pid" 2>/dev/null # or ended with another
done
refute 'control: all is killed' grep . <(processes)
expect 'all is killed, and it starts' engine start
expect 'a container runs' start_container bridge
ends overlay2

begins containerd
ends containerd
finish

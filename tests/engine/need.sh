# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# An engine and its images for stages whose head says "# engine: yes".  Used by tests/run.sh, after tests/lib/machine.sh.
#
# It is, in this order: the one that OC_DOCKER_HOST names; the machine's own; one of ours, which root starts and ends.
# It has to be of 28 or later, and the user of the tests has to reach it.  Where there is none the stages are skipped.

OC_ENGINE_HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# What stages with an engine need besides what they say.
# shellcheck disable=SC2034 # for tests/run.sh
OC_ENGINE_PACKAGES=(curl iproute2)
# shellcheck disable=SC2034 # for tests/run.sh
OC_ENGINE_NPM=(claude npm)
OC_ENGINE_SETTINGS=() OC_ENGINE_WHY=''

# need_engine: sets OC_ENGINE_SETTINGS, variables for a stage: OC_DOCKER_HOST, OC_DOCKER and OC_IMAGE_NAME of each image;
# and exports what engine.sh needs in root's stages.  Without an engine it sets OC_ENGINE_WHY, and fails.
need_engine()
{
	local log
	OC_ENGINE_SETTINGS=() OC_ENGINE_WHY='' OC_ENGINE_STARTED=''
	export OC_ENGINE_PROGRAMS=$OC_CACHE/engine OC_ENGINE_DIR=$OC_CACHE/engine-main OC_ENGINE_PORT=${OC_ENGINE_PORT:-5055}
	OC_DOCKER=$OC_ENGINE_PROGRAMS/bin/docker
	log=$(mktemp)
	if ! { engine_choose && engine_programs && engine_run && engine_images; } >"$log" 2>&1; then
		OC_ENGINE_WHY=${OC_ENGINE_WHY:-$(tail -n 1 "$log")}
		sed 's/^/    /' "$log" >&2
	fi
	rm -f "$log"
	[ -z "$OC_ENGINE_WHY" ]
}

# engine_end: what need_engine started, and nothing else.
engine_end()
{
	[ -z "${OC_ENGINE_STARTED:-}" ] || bash "$OC_ENGINE_HERE/engine.sh" stop
}

# engine_version HOST COMMAND…: by that command, as which user it is asked.
engine_version()
{
	local host=$1
	shift
	"$@" curl -s --max-time 20 --unix-socket "${host#unix://}" http://engine/version |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["Version"])' 2>/dev/null
}

# engine_usable HOST
engine_usable()
{
	local version
	version=$(engine_version "$1" as_user)
	if [ -z "$version" ]; then
		OC_ENGINE_WHY="no engine answers $OC_USER on $1"
	elif [ "${version%%.*}" -lt 28 ] 2>/dev/null; then
		OC_ENGINE_WHY="the engine on $1 is $version, and 28 or later is needed"
	else
		OC_ENGINE_WHY=''
	fi
	[ -z "$OC_ENGINE_WHY" ]
}

# Sets OC_DOCKER_HOST, and OC_ENGINE_OURS where it is one that has to be started.
engine_choose()
{
	local own=unix:///var/run/docker.sock
	OC_ENGINE_OURS=
	if [ -n "${OC_DOCKER_HOST:-}" ]; then
		engine_usable "$OC_DOCKER_HOST"
		return
	fi
	OC_DOCKER_HOST=$own
	! engine_usable "$own" || return 0
	# Beside another engine ours would share its bridge and undo its packet filters.
	[ -z "$(engine_version "$own" env)" ] || return 1
	if [ "$(id -u)" != 0 ]; then
		OC_ENGINE_WHY="$OC_ENGINE_WHY; root can start one: sudo $0"
	elif [ "$(. /etc/os-release && echo "$ID")" != debian ]; then
		OC_ENGINE_WHY="$OC_ENGINE_WHY; one can be started on Debian only"
	else
		OC_ENGINE_WHY='' OC_ENGINE_OURS=1 OC_DOCKER_HOST=unix://$OC_ENGINE_DIR/docker.sock
	fi
	[ -z "$OC_ENGINE_WHY" ]
}

# The engine where it is ours, and in any case the registry and the CLI; then what images are made of.
engine_programs()
{
	local layers=$OC_CACHE/engine-layers data=$OC_CACHE/engine-registry inputs
	bash "$OC_ENGINE_HERE/fetch.sh" "$OC_ENGINE_PROGRAMS" || return 1
	OC_SRT=$OC_SRT OC_NPM=$OC_NPM bash "$OC_ENGINE_HERE/layers.sh" "$layers" || return 1
	# A registry gives nothing back: one of other layers is deleted whole.
	inputs=$(cut -c1-16 "$layers/inputs")
	[ -d "$data/$inputs" ] || rm -rf "$data"
	export OC_ENGINE_REGISTRY=$data/$inputs
}

engine_run()
{
	local what=registry
	if [ -n "$OC_ENGINE_OURS" ]; then
		! bash "$OC_ENGINE_HERE/engine.sh" status || return 0
		what=start
		OC_ENGINE_GROUP=$(id -g "$OC_USER")
		export OC_ENGINE_GROUP
	fi
	OC_ENGINE_STARTED=1
	# What was killed earlier is ended first.
	bash "$OC_ENGINE_HERE/engine.sh" stop && bash "$OC_ENGINE_HERE/engine.sh" "$what" || return 1
	[ -z "$OC_ENGINE_OURS" ] || engine_usable "$OC_DOCKER_HOST"
}

engine_cli()
{
	env -u DOCKER_CONTEXT -u DOCKER_TLS_VERIFY "DOCKER_HOST=$OC_DOCKER_HOST" "$OC_DOCKER" "$@"
}

# The engine has each image by its digest, and no earlier one.
engine_images()
{
	local list name reference os old
	list=$(bash "$OC_ENGINE_HERE/engine.sh" in python3 "$OC_ENGINE_HERE/images.py" "127.0.0.1:$OC_ENGINE_PORT" "$OC_CACHE/engine-layers") || return 1
	OC_ENGINE_SETTINGS=("OC_DOCKER_HOST=$OC_DOCKER_HOST" "OC_DOCKER=$OC_DOCKER")
	while read -r name reference os; do
		engine_cli image inspect "$reference" >/dev/null 2>&1 || engine_cli pull -q --platform "$os" "$reference" || return 1
		OC_ENGINE_SETTINGS+=("OC_IMAGE_${name^^}=$reference")
	done <<<"$list"
	engine_cli images --digests --format '{{.Repository}}@{{.Digest}}' --filter "reference=127.0.0.1:$OC_ENGINE_PORT/oc-test/*" |
		while read -r old; do
			grep -qF " $old " <<<"$list" || engine_cli rmi "$old" >/dev/null 2>&1 || true
		done
}

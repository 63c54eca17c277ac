# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: A real Docker Engine, the tests' images, an old engine and a meddler
# tier: full
# engine: yes
# packages: jq
# timeout: 300
# What later stages count on: each image is what it says it is, and the stand-ins do what they say.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
export DOCKER_HOST=$OC_DOCKER_HOST

# new_enough HOST
new_enough()
{
	local version
	version=$(DOCKER_HOST=$1 "$OC_DOCKER" version --format '{{.Server.Version}}')
	echo "$version"
	[ "${version%%.*}" -ge 28 ]
}
folder=$(mktemp -d)
python3 tests/engine/old_engine.py "$folder/old" "$folder/log" >"$folder/said" &
old=$!
trap 'kill "$old"; rm -rf "$folder"' EXIT
expect 'the engine answers, with 28 or later' new_enough "$OC_DOCKER_HOST"
tail --pid="$old" -n +1 -f "$folder/said" | head -n 1 | grep -q ready
refute 'control: an engine that is older' new_enough "unix://$folder/old"

# run OPTIONS… IMAGE COMMAND…: without a network, and nothing is pulled.
run()
{
	timeout 120 "$OC_DOCKER" run --rm --pull never --network none "$@"
}
# says TEXT COMMAND…: it succeeds and prints just that.
says()
{
	local text=$1 said
	shift
	said=$("$@" 2>&1) || { echo "$said"; return 1; }
	echo "$said"
	[ "$said" = "$text" ]
}
# has IMAGE FILTER: of what docker says of an image, by jq.
has()
{
	"$OC_DOCKER" image inspect "$1" | jq -e ".[0] | $2"
}

expect 'small: runs by its digest' says hello run "$OC_IMAGE_SMALL" /bin/sh -c 'echo hello'
last=${OC_IMAGE_SMALL: -1}
refute 'small: control: another digest' run "${OC_IMAGE_SMALL%?}$([ "$last" = 0 ] && echo 1 || echo 0)" /bin/sh -c 'echo hello'
files()
{
	local id
	id=$("$OC_DOCKER" create --pull never "$1") || return 1
	"$OC_DOCKER" export "$id" | tar -t --exclude='dev*' --exclude='etc*' --exclude=.dockerenv | grep -v -e '/$' -e '^bin/'
	"$OC_DOCKER" rm "$id" >/dev/null
}
refute 'small: has nothing but what is in bin' grep . <(files "$OC_IMAGE_SMALL")
expect 'small: control: tools has more' grep -q '^usr/lib/' <(files "$OC_IMAGE_TOOLS")

# As runs are: another user, nothing to write but /tmp, no capability.
# shellcheck disable=SC2054 # a comma of docker's
hardened=(--user 1234:1234 --read-only --cap-drop ALL --tmpfs /tmp:rw,exec -e HOME=/tmp)
tool()
{
	run "${hardened[@]}" "$OC_IMAGE_TOOLS" "$@"
}
for tool in 'bash --version' 'git --version' 'curl --version' 'wget --version' 'python3 --version' 'ls --version' 'npm --version' 'ps --version'; do
	# shellcheck disable=SC2086 # two words
	expect "tools: $tool" tool $tool
done
refute 'tools: control: a program that is not there' tool ssh -V
expect 'tools: Node is the pinned one' says "$("$OC_SRT/bin/node" --version)" tool node --version
expect 'tools: Python and git trust the certificate authorities' tool python3 -c \
	'import ssl; assert ssl.create_default_context().cert_store_stats()["x509_ca"] > 50'
refute 'small: control: no Python there' run "$OC_IMAGE_SMALL" python3 -c ''
expect 'tools: git commits' tool sh -c 'cd /tmp && git init -q a && cd a && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git fsck'
pinned=$(jq -r '.dependencies["@anthropic-ai/claude-code"]' tests/lib/claude/package.json)
expect 'claude: Claude Code is the pinned one' says "$pinned (Claude Code)" run "${hardened[@]}" "$OC_IMAGE_CLAUDE" claude --version
refute 'claude: control: not in tools' tool claude --version

expect 'volume: three of them' has "$OC_IMAGE_VOLUME" '.Config.Volumes | keys == ["/data", "/tmp", "/var/lib/x"]'
refute 'volume: control: none in small' has "$OC_IMAGE_SMALL" '.Config.Volumes | length > 0'
expect 'volume: what is written to one is on a disk' run "$OC_IMAGE_VOLUME" sh -c 'touch /data/a && grep " /data ext4\| /data xfs\| /data btrfs\| /data overlay" /proc/mounts'
# shellcheck disable=SC2016 # for the container's shell
expect 'env: its variables arrive' says 'of the image' run --entrypoint /bin/busybox "$OC_IMAGE_ENV" sh -c 'echo "$MARK"'
# shellcheck disable=SC2016 # for the container's shell
refute 'env: control: not in small' says 'of the image' run "$OC_IMAGE_SMALL" sh -c 'echo "$MARK"'
expect 'label: it claims to be ours' has "$OC_IMAGE_LABEL" '.Config.Labels["oc.run"] == "theirs"'
refute 'label: control: small does not' has "$OC_IMAGE_SMALL" '.Config.Labels["oc.run"] == "theirs"'
expect 'root: by name' has "$OC_IMAGE_ROOT" '.Config.User == "root"'
expect 'entry: its entry point runs' says "the image's entry point ran
the image's command ran" run --workdir / "$OC_IMAGE_ENTRY"
refute 'entry: its working directory is no place' run "$OC_IMAGE_ENTRY"
expect 'entry: stop signal, ports, triggers' has "$OC_IMAGE_ENTRY" '.Config | .StopSignal == "SIGWINCH" and .ExposedPorts["2375/tcp"] and .OnBuild[0]'
expect 'health: a check of its own' has "$OC_IMAGE_HEALTH" '.Config.Healthcheck.Test[0] == "CMD-SHELL"'
expect 'named: 1000 is a name, and its group root' says 0 run "$OC_IMAGE_NAMED" id -g
expect 'named: control: with a group it is a number' says 1000 run --user 1000:1000 "$OC_IMAGE_NAMED" id -g
expect 'setuid: a bit that counts' says 0 run --user 1000:1000 "$OC_IMAGE_SETUID" root-id -u
expect 'setuid: control: not without new privileges' says 1000 run --user 1000:1000 --security-opt no-new-privileges "$OC_IMAGE_SETUID" root-id -u
other=$(jq -r .[0].Architecture <("$OC_DOCKER" image inspect "$OC_IMAGE_SMALL"))
refute 'other: of another platform' has "$OC_IMAGE_OTHER" ".Architecture == \"$other\""
expect 'index: stands for the image of this platform' has "$OC_IMAGE_INDEX" ".Architecture == \"$other\""

python3 tests/engine/test_stand_ins.py || oc_failed=1
finish

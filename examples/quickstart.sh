#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian 12 or Ubuntu 24.04 to a confined run, in one command and with all its own set-up:
#
#   examples/quickstart.sh
#   examples/quickstart.sh --container
#
# With --container everything that is confined runs in a container instead: it makes the gateway's image, and takes the Docker
# Engine and the small image of tests/engine, which are the machine's own, or as root on Debian ones of its own.
#
# It installs what is missing (apt and npm, by name), builds, lets a shell command in the process sandbox edit a file,
# then has two bindings of a config run in clones of a checkout: one edits and commits, and its commit comes back to the
# checkout; the other tries eight forbidden things, each of which is first done outside to show that it can be done.  It
# prints what was granted, what was refused, what each probe measured and how long it took.
# Started as root it makes and uses the ordinary user oc-test: nothing of Open Conduit runs as root.
# All it makes lies in two folders, which it names at the end.
set -u
set -o pipefail
umask 022

here=$(cd "$(dirname "$0")" && pwd)
tree=$(dirname "$here")
# shellcheck source=tests/lib/machine.sh
. "$tree/tests/lib/machine.sh"

container=
case ${1:-} in
'') ;;
--container) container=1 ;;
*)
	printf 'usage: %s [--container]\n' "$0" >&2
	exit 2
	;;
esac

bold='' green='' red='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$'\033[1m' green=$'\033[32m' red=$'\033[31m' plain=$'\033[0m'
fi
times=()
lap=$(date +%s%N)
# took WHAT: the time since the last, kept for the table at the end.
took()
{
	local now
	now=$(date +%s%N)
	times+=("$(printf '%9.2f s  %s' "$(((now - lap) / 10000000))e-2" "$1")")
	lap=$now
}
part()
{
	printf '\n%s%s%s\n' "$bold" "$1" "$plain"
}

part '1. Setting up'
need_packages gcc libc6-dev meson ninja-build pkg-config libjansson-dev libsqlite3-dev libmbedtls-dev libgit2-dev libcurl4-openssl-dev musl-tools \
	bubblewrap socat ripgrep git python3 npm ca-certificates
need_user
took 'packages and the ordinary user'
userns_fix || exit 1
need_srt
took 'srt and Node, from npm'
printf '   as the user %s, with srt %s on Node %s\n' "$OC_USER" "$OC_SRT_VERSION" "$OC_NODE_VERSION"

outside=''
# over: what was started for this is ended.
over()
{
	[ -z "$outside" ] || kill "$outside" 2>/dev/null
	[ -z "$container" ] || engine_end
}
trap over EXIT
if [ -n "$container" ]; then
	# shellcheck source=tests/engine/need.sh
	. "$tree/tests/engine/need.sh"
	need_packages "${OC_ENGINE_PACKAGES[@]}"
	need_npm "${OC_ENGINE_NPM[@]}"
	need_engine || die "There is no Docker Engine to use: $OC_ENGINE_WHY"
	for setting in "${OC_ENGINE_SETTINGS[@]}"; do
		[ "${setting%%=*}" != OC_IMAGE_TOOLS ] || image=${setting#*=}
	done
	printf '   the engine at %s, with the image\n   %s\n' "$OC_DOCKER_HOST" "$image"
	took 'the engine and an image'
fi

part '2. Building'
work=$OC_USER_HOME/open-conduit-quickstart
as_user mkdir -p "$work"
source=$tree
if [ "$(id -u)" = 0 ]; then
	# Root's tree may be out of that user's reach.
	source=$work/source
	as_user rm -rf "$source"
	as_user mkdir "$source"
	tar -C "$tree" --exclude=./.git --exclude='./build*' --no-same-owner -cf - . | as_user tar -C "$source" --no-same-owner -xf - ||
		die "Copying the tree to $source failed."
fi
log=$work/build.log
build()
{
	as_user rm -rf "$work/build" "$work/prefix"
	as_user meson setup "$work/build" "$source" --prefix="$work/prefix" --libdir=lib --libexecdir=libexec -Dtests=false &&
		as_user ninja -C "$work/build" && as_user meson install -C "$work/build" --no-rebuild
}
if ! text=$(build 2>&1 </dev/null); then
	tail -n 40 <<<"$text" >&2
	die 'Building failed.'
fi
as_user tee "$log" <<<"$text" >/dev/null
took 'the build'
printf '   %s\n' "$work/prefix/bin/open-conduit"
gateway=
if [ -n "$container" ]; then
	gateway=$(as_user env "DOCKER_HOST=$OC_DOCKER_HOST" python3 "$source/providers/docker/gateway/image.py" --docker "$OC_DOCKER" \
		"$work/build/providers/docker/gateway/open-conduit-gateway" quickstart | tail -n 1)
	[ "${gateway#sha256:}" != "$gateway" ] || die 'The image of the gateway could not be made.'
	printf '   the gateway, the way out of a container: %s\n' "$gateway"
	took "the gateway's image"
fi

# A home, a project and things of this machine worth protecting, all made for this; nobody's real key is touched.
demo=$work/demo
home=$OC_USER_HOME/oc-demo
project=$home/project
as_user rm -rf "$demo" "$home"
as_user mkdir "$demo"
# The sockets of srt need a short path; where the home's is long, the state goes elsewhere.
state=$home/.local/state
if [ "${#state}" -gt 40 ]; then
	state=/var/tmp/oc-demo-$(id -u "$OC_USER")
	as_user rm -rf "$state"
	as_user mkdir -m 700 "$state" || die "Can't make $state."
fi
as_user bash -s "$home" "$project" <<'MAKE'
set -e
home=$1 project=$2
mkdir -p "$home/.ssh" "$project"
chmod 700 "$home" "$home/.ssh"
printf 'not a real key, but it stands where one would\n' >"$home/.ssh/id_ed25519"
chmod 600 "$home/.ssh/id_ed25519"
printf 'alias ll="ls -l"\n' >"$home/.bashrc"
cd "$project"
git -c init.defaultBranch=main init -q
printf 'Hello, world.\n' >greeting.txt
git add greeting.txt
git -c user.name=Quickstart -c user.email=quickstart@example.org commit -qm 'A greeting'
MAKE

# conduit ARGUMENT…: open-conduit as that user, at home in the demonstration, in the project.
conduit()
{
	# shellcheck disable=SC2016 # constants for the inner shell
	as_user env "HOME=$home" "XDG_STATE_HOME=$state" ${container:+"DOCKER_HOST=$OC_DOCKER_HOST" "OPEN_CONDUIT_GATEWAY_IMAGE=$gateway"} sh -c 'cd "$1" && shift && exec "$@"' - "$project" "$work/prefix/bin/open-conduit" "$@"
}

# What confines a binding, and what of this machine it may read besides: in a container there is nothing else.
placement='"sandbox": {"provider": "srt", "config": {"write": ["{workspace}"], "network": {"allow": []}}}'
settings='{}'
if [ -n "$container" ]; then
	placement="\"container\": {\"provider\": \"docker\", \"config\": {\"image\": \"$image\", \"write\": [\"{workspace}\"],
      \"read\": [\"$source/examples/quickstart\", \"$demo/settings\"], \"network\": {\"allow\": []}}}"
	settings='{"extensions": {"docker": {"pass_env": ["DOCKER_HOST"]}}}'
fi
as_user mkdir -p "$home/.config/open-conduit"
as_user tee "$home/.config/open-conduit/config.json" >/dev/null <<<"{\"version\": 1, \"settings\": $settings, \"scopes\": []}"

part '3. A confined command edits a file'
printf '   open-conduit exec %s-- sh -c %s\n' "${container:+--container IMAGE }" "'sed -i \"s/world/confined world/\" greeting.txt && cat greeting.txt'"
# shellcheck disable=SC2016 # a constant for the inner shell
if ! conduit exec ${container:+--container "$image"} -- sh -c 'sed -i "s/world/confined world/" greeting.txt && cat greeting.txt' </dev/null | sed 's/^/   > /'; then
	conduit doctor >&2 </dev/null
	die 'The run failed; above is what the doctor finds.'
fi
edited=$(as_user cat "$project/greeting.txt")
if [ "$edited" != 'Hello, confined world.' ]; then
	die "The edit did not reach the file: it reads '$edited'."
fi
printf '   the file on this machine now reads: %s\n' "$edited"
took 'a confined run that edits a file'

part '4. A job of a binding commits in a clone, and its commit comes back'
as_user git -C "$project" checkout -q -- . || die "Can't undo the edit."
attempts_settings=$demo/settings/attempts.json
as_user mkdir "$demo/settings"
as_user tee "$home/.config/open-conduit/config.json" >/dev/null <<JSON
{"version": 1, "settings": $settings, "connections": [], "scopes": [{
  "id": "demo", "name": "The quickstart", "secret_refs": {},
  "authorization": {"connections": [], "operations": [], "read_scopes": []}, "extensions": [], "routes": [],
  "bindings": [
    {"name": "greet", "executor": "shell", "requires": {"workspace": true}, "operations": [], "secret_names": [],
     "config": {"command": "sed -i \"s/world/\$OPEN_CONDUIT_INPUT_NAME/\" greeting.txt && git commit -qam \"Greet \$OPEN_CONDUIT_INPUT_NAME\" && git log --oneline",
                "branch": "job/greet-{number}", "workspace_mode": "clone",
                "author": {"name": "A job", "email": "job@example.org"}},
     "resource": {"provider": "git", "config": {"checkout": "$project", "mode": "clone"}},
     $placement},
    {"name": "attempts", "executor": "shell", "requires": {"workspace": true}, "operations": [], "secret_names": [],
     "config": {"command": ["python3", "$source/examples/quickstart/attempts.py", "$attempts_settings"],
                "workspace_mode": "clone", "author": {"name": "A job", "email": "job@example.org"}},
     "resource": {"provider": "git", "config": {"checkout": "$project", "mode": "clone"}},
     $placement}
  ]}]}
JSON
conduit config check </dev/null | sed 's/^/   /' || die 'The config of the demonstration is refused.'
# shown COMMAND…: what a reader would type, then what it prints.
shown()
{
	printf '   %s\n' "$*"
	conduit "$@" </dev/null 2>&1 | sed 's/^/   > /'
}
shown run demo/greet --work greeting --input '{"number": 1, "name": "Ada"}' || die 'The job failed.'
[ "$(as_user cat "$project/greeting.txt")" = 'Hello, world.' ] || die 'The job wrote in the checkout itself.'
shown work show greeting
shown work finish greeting || die 'The Work could not be finished.'
printf '   git log --oneline --graph --all\n'
as_user git -C "$project" log --oneline --graph --all | sed 's/^/   > /'
saved=$(as_user git -C "$project" show job/greet-1:greeting.txt)
[ "$saved" = 'Hello, Ada.' ] || die "The commit did not come back: on job/greet-1 the file reads '$saved'."
as_user git -C "$project" fsck --strict 2>/dev/null || die 'The checkout is damaged.'
took 'a job in a clone, saved back and finished'

part '5. Eight forbidden things'
# What is to be protected of this machine while we try: a port, a unix socket and a process.  It counts who gets through.
coproc OUTSIDE { as_user python3 "$source/examples/quickstart/outside.py" "$demo/host.sock" 2>&1; }
outside=$OUTSIDE_PID
read -r -t 20 -u "${OUTSIDE[0]}" port pid || die 'The program to be protected did not start.'
as_user tee "$attempts_settings" >/dev/null <<JSON
{"home": "$home", "state": "$state/open-conduit",
 "port": $port, "pid": $pid, "socket": "$demo/host.sock"}
JSON
# count: "connections to the port, to the socket, signals" so far.
count()
{
	printf 'count\n' >&"${OUTSIDE[1]}"
	read -r -t 20 -u "${OUTSIDE[0]}" reply || die 'The program to be protected is gone.'
	printf '%s\n' "$reply"
}
attempts=(python3 "$source/examples/quickstart/attempts.py" "$attempts_settings")
# shellcheck disable=SC2016 # constants for the inner shell
control=$(as_user env "HOME=$home" sh -c 'cd "$1" && shift && exec "$@"' - "$project" "${attempts[@]}" </dev/null) || die "The attempts outside the sandbox failed: $control"
before=$(count)
record=$demo/run-answer.json
took 'the eight attempts without a sandbox'
kept=$(mktemp -d)
conduit run --json demo/attempts 2>"$kept/out" >"$kept/json" </dev/null
status=$?
after=$(count)
took 'the eight attempts in a confined job'
as_user tee "$record" <"$kept/json" >/dev/null
as_user tee "$demo/confined.txt" <"$kept/out" >/dev/null
rm -rf "$kept"
as_user tee "$demo/control.txt" <<<"$control" >/dev/null
run=$(as_user python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["run"])' "$record" 2>/dev/null)
if [ "$status" != 0 ] || [ -z "$run" ]; then
	as_user cat "$demo/confined.txt" >&2
	die "The confined run failed with status $status."
fi
conduit runs get --json "$run" </dev/null | as_user tee "$demo/run.json" >/dev/null
took 'reading the record'

as_user python3 "$source/examples/quickstart/report.py" "$demo" "$home" "$before" "$after" "$bold" "$green" "$red" "$plain"
verdict=$?

part '9. How long each part took'
printf '%s\n' "${times[@]}"
part 'Where things are'
printf '   the program     %s\n   this record     XDG_STATE_HOME=%s %s runs get %s\n   to remove all   rm -rf %s %s\n' \
	"$work/prefix/bin/open-conduit" "$state" "$work/prefix/bin/open-conduit" "$run" "$work" "$home"
if [ "$verdict" != 0 ]; then
	printf '\n%sNot everything went as it should: see above.%s\n' "$red" "$plain"
	exit 1
fi
printf '\n%sThe commit is back, all eight were refused, and the record says under which policy.%s\n' "$green" "$plain"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# engine.sh registry|start|kill|stop|status|in COMMAND…: a Docker Engine of the tests' own, with a registry on 127.0.0.1.
#
#   registry  start the registry alone
#   start     start the registry and the engine, and wait until both answer; what is to become of containers of an engine
#             that was killed is the engine's affair (without OC_ENGINE_LIVE it stops them, which takes 10 s)
#   kill      SIGKILL to the engine, as a crash; its containers run on
#   stop      end the engine, its containers and the registry, also where they were killed: no process is left
#   status    one line; ends with 0 where the engine answers, else with 3
#   in        run COMMAND where the registry's address is the registry's (see OC_ENGINE_NET)
#
#   OC_ENGINE_PROGRAMS  where fetch.sh put the programs
#   OC_ENGINE_DIR       where this engine is: docker.sock, images, logs.  A folder for each engine
#   OC_ENGINE_GROUP     the group that may use the socket (0)
#   OC_ENGINE_STORE     overlay2, or containerd: where images are kept
#   OC_ENGINE_LIVE      true: containers outlive the engine, which takes them up again (live-restore; false)
#   OC_ENGINE_REGISTRY  the registry's data (in OC_ENGINE_DIR)
#   OC_ENGINE_PORT      the registry's port (5055)
#   OC_ENGINE_DNS       the name server of its containers (the machine's)
#   OC_ENGINE_NET       host, or own: in a network namespace of its own, so that it shares no bridge, no packet filter and
#                       no port with another engine, nor reaches anything outside
#
# Nothing of it is where another engine of the machine has its things.  In the net "host" it makes docker0, switches
# forwarding on and adds packet filters, as any engine does: these stay until the next boot.  Needs root, but for registry.
set -eu
umask 022

programs=${OC_ENGINE_PROGRAMS:?}
dir=${OC_ENGINE_DIR:?}
store=${OC_ENGINE_STORE:-overlay2}
port=${OC_ENGINE_PORT:-5055}
net=${OC_ENGINE_NET:-host}
run=$dir/run
socket=$dir/docker.sock

die()
{
	printf '%s\n' "$@" >&2
	exit 1
}

# ours PID: is it a process of this engine?  Numbers are used again.
ours()
{
	case $(readlink "/proc/$1/exe" 2>/dev/null) in
	"$programs"/*) tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline" | grep -qF " $run/" ;;
	*) return 1 ;;
	esac
}

# pid_of NAME: prints the process that $run/NAME.pid tells, if it lives.
pid_of()
{
	local pid
	pid=$(cat "$run/$1.pid" 2>/dev/null) || return 1
	[ -n "$pid" ] && ours "$pid" && printf '%s\n' "$pid"
}

# await TENTHS COMMAND…: until it succeeds.
await()
{
	local left=$1
	shift
	until "$@"; do
		left=$((left - 1))
		[ "$left" -gt 0 ] || return 1
		sleep 0.1
	done
}

# gone PID: so it is, or only waits for its parent.
gone()
{
	! ours "$1"
}

# end PID TENTHS: TERM, then KILL.
end()
{
	kill -TERM "$1" 2>/dev/null || return 0
	await "$2" gone "$1" || kill -KILL "$1" 2>/dev/null || true
	await 100 gone "$1" || die "Process $1 does not end."
}

engine_answers()
{
	[ "$(curl -s --max-time 10 --unix-socket "$socket" http://engine/_ping)" = OK ]
}

registry_answers()
{
	find_net && "${enter[@]}" curl -s -f -o /dev/null --noproxy '*' --max-time 5 "http://127.0.0.1:$port/v2/"
}

# Sets enter, the words before a command that is to run in the engine's network namespace.  The registry's process keeps
# that, so that it outlives the engine.
find_net()
{
	local pid
	enter=()
	[ "$net" = own ] || return 0
	pid=$(pid_of registry) && enter=(nsenter --net="/proc/$pid/ns/net")
}

start_registry()
{
	local data=${OC_ENGINE_REGISTRY:-$dir/registry} before=()
	! pid_of registry >/dev/null || return 0
	mkdir -p "$run" "$data"
	if [ "$net" = own ]; then
		# shellcheck disable=SC2016 # for that shell
		before=(unshare --net sh -c 'ip link set lo up && exec "$@"' sh)
	elif registry_answers; then
		die "Something else listens on 127.0.0.1:$port. Give the tests' registry another port: OC_ENGINE_PORT=5056"
	fi
	printf 'version: 0.1\nlog: {level: warn, accesslog: {disabled: true}}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: "127.0.0.1:%s"}\n' \
		"$data" "$port" >"$run/registry.yml"
	# The shell's number is that of what it becomes.
	# shellcheck disable=SC2016 # for that shell
	setsid "${before[@]}" sh -c 'echo $$ >"$1" && exec "$2" serve "$3"' sh "$run/registry.pid" "$programs/bin/docker-registry" \
		"$run/registry.yml" 9>&- </dev/null >"$run/registry.log" 2>&1 &
	await 300 registry_answers || die "The registry does not answer; the end of its log:" "$(tail -n 20 "$run/registry.log")"
}

write_settings()
{
	local snapshotter
	case $store in
	overlay2) snapshotter=false ;;
	containerd) snapshotter=true ;;
	*) die "OC_ENGINE_STORE is overlay2 or containerd, not $store." ;;
	esac
	cat >"$run/daemon.json" <<EOF
{
  "hosts": ["unix://$socket"],
  "group": "${OC_ENGINE_GROUP:-0}",
  "dns": [${OC_ENGINE_DNS:+\"$OC_ENGINE_DNS\"}],
  "pidfile": "$run/dockerd.pid",
  "data-root": "$dir/data",
  "exec-root": "$run/exec",
  "exec-opts": ["native.cgroupdriver=cgroupfs"],
  "live-restore": ${OC_ENGINE_LIVE:-false},
  "features": {"containerd-snapshotter": $snapshotter}
}
EOF
}

# kill_children PID: of a shim: what runs in its container.
kill_children()
{
	local file
	grep -lE "^PPid:[[:space:]]$1\$" /proc/[0-9]*/status 2>/dev/null | while read -r file; do
		kill -KILL "${file//[!0-9]/}" 2>/dev/null || true
	done
}

# Prints what of this engine runs, but for the registry: of one that was killed that is its shims.
leftovers()
{
	local file pid keep
	keep=$(pid_of registry) || true
	grep -laF -f <(printf '%s\n' "$run/") /proc/[0-9]*/cmdline 2>/dev/null | while read -r file; do
		pid=${file//[!0-9]/}
		! ours "$pid" || [ "$pid" = "$keep" ] || printf '%s\n' "$pid"
	done
}

clear_leftovers()
{
	local pid
	leftovers | while read -r pid; do
		kill_children "$pid"
		end "$pid" 50
	done
	rm -f "$run/dockerd.pid" "$socket"
}

# What an engine that was killed leaves mounted, innermost first.
clear_mounts()
{
	local at
	awk -v dir="$dir/" 'index($2, dir) == 1 { print $2 }' /proc/mounts | sort -r | while read -r at; do
		umount "$at" || die "$at can't be unmounted."
	done
}

start_engine()
{
	start_registry
	chmod 711 "$dir" "$run"
	if ! pid_of dockerd >/dev/null; then
		rm -f "$run/dockerd.pid" "$socket"
		write_settings
		find_net
		# It starts a containerd of its own, which it finds in PATH and which ends with it.
		PATH=$programs/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$programs/fallback \
			setsid "${enter[@]}" "$programs/bin/dockerd" --config-file "$run/daemon.json" 9>&- </dev/null >>"$run/dockerd.log" 2>&1 &
	fi
	await 600 engine_answers || die "The engine does not answer; the end of its log:" "$(tail -n 20 "$run/dockerd.log")"
}

kill_engine()
{
	local pid
	pid=$(pid_of dockerd) || die "The engine in $dir does not run."
	kill -KILL "$pid"
	await 100 gone "$pid" || die "Process $pid does not end."
}

stop_all()
{
	local pid
	if pid=$(pid_of dockerd); then
		end "$pid" 600
	fi
	clear_leftovers
	clear_mounts
	if pid=$(pid_of registry); then
		end "$pid" 100
	fi
	rm -f "$run/registry.pid"
}

status()
{
	local pid
	if ! pid=$(pid_of dockerd) || ! engine_answers; then
		echo "no engine answers on $socket"
		exit 3
	fi
	echo "engine $pid answers on $socket"
}

case ${1:-} in
registry) start_registry ;;
start) start_engine ;;
kill) kill_engine ;;
stop) stop_all ;;
status) status ;;
in)
	shift
	find_net || die "The registry of the engine in $dir does not run."
	"${enter[@]}" "$@"
	;;
*)
	sed -n '3,/^set/s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Build Open Conduit and run its tests, doing all the set-up a fresh Debian 12 or Ubuntu 24.04 needs.
#
#   tests/run.sh [--quick|--soak|--ci] [--only PATTERN] [--list] [--verbose]
#
# --quick   the build, the unit tests and the checks that take seconds
# (none)    all that and everything else that fits into minutes
# --soak    all that and what takes hours: long fuzzing, large counts
# --ci      the default and the clean-machine stage (root, debootstrap)
# --only P  only the stages whose name matches the shell pattern *P* (and the build)
# --list    say which stages would run, and stop
# --verbose show every line that the stages print
#
# Started as root it makes and uses the ordinary user oc-test, since nothing of Open Conduit runs as root.
# A stage is one file, tests/stages/NN-name.sh, run in the order of tiers and then of names; see tests/stages/README.
# The last line is the sum over all stages: N passed, N failed, N skipped.
set -u
set -o pipefail
umask 022

here=$(cd "$(dirname "$0")" && pwd)
tree=$(dirname "$here")
# shellcheck source=tests/lib/machine.sh
. "$here/lib/machine.sh"
# shellcheck source=tests/engine/need.sh
. "$here/engine/need.sh"

tiers=(quick full)
only=
list=
verbose=
while [ $# -gt 0 ]; do
	case $1 in
	--quick) tiers=(quick) ;;
	--soak) tiers=(quick full soak) ;;
	--ci) tiers=(quick full ci) ;;
	--only)
		[ $# -gt 1 ] || die "--only wants a pattern"
		only=$2
		shift
		;;
	--list) list=1 ;;
	--verbose) verbose=1 ;;
	-h | --help)
		sed -n '3,18s/^# \{0,1\}//p' "$0"
		exit 0
		;;
	*) die "unknown option $1; see $0 --help" ;;
	esac
	shift
done

# header FILE KEY [DEFAULT]: a stage's "# key: value".
header()
{
	local value
	value=$(sed -n "1,/^[^#]/s/^# $2: *//p" "$1" | head -n 1)
	printf '%s\n' "${value:-${3:-}}"
}

stages=()
for tier in "${tiers[@]}"; do
	for file in "$here"/stages/[0-9][0-9]-*.sh; do
		[ "$(header "$file" tier full)" = "$tier" ] || continue
		name=$(basename "$file" .sh)
		if [ -n "$only" ]; then
			# shellcheck disable=SC2053 # a pattern is wanted
			[[ $name == *$only* || $(header "$file" always) = yes ]] || continue
		fi
		stages+=("$file")
	done
done
[ "${#stages[@]}" -gt 0 ] || die "No stage matches."
if [ -n "$list" ]; then
	for file in "${stages[@]}"; do
		printf '%-6s %-24s %s\n' "$(header "$file" tier full)" "$(basename "$file" .sh)" "$(header "$file" title)"
	done
	exit 0
fi

# Set-up: one installation for all stages that will run.
began=$SECONDS
packages=() npm=() engine=
for file in "${stages[@]}"; do
	read -r -a words <<<"$(header "$file" packages)"
	packages+=("${words[@]}")
	read -r -a words <<<"$(header "$file" npm)"
	npm+=("${words[@]}")
	[ "$(header "$file" engine)" != yes ] || engine=yes
done
if [ -n "$engine" ]; then
	packages+=("${OC_ENGINE_PACKAGES[@]}") npm+=("${OC_ENGINE_NPM[@]}")
fi
need_packages "${packages[@]}" npm ca-certificates python3
need_user
need_srt
need_npm "${npm[@]}"

# Root's own tree may be unreadable to the ordinary user: build a copy in that user's home.
if [ "$(id -u)" = 0 ]; then
	OC_WORK=$OC_USER_HOME/open-conduit
	as_user mkdir -p "$OC_WORK" || die "Can't make $OC_WORK."
else
	OC_WORK=$OC_CACHE/tests
	mkdir -p "$OC_WORK" || die "Can't make $OC_WORK."
fi
# What root writes is kept where only root can write.
exec 9>"$OC_CACHE/lock"
flock -n 9 || { say "Another tests/run.sh is at work in $OC_WORK: waiting for it."; flock 9; }
OC_SRC=$tree
if [ "$(id -u)" = 0 ]; then
	OC_SRC=$OC_WORK/src
	rm -rf "$OC_SRC"
	as_user mkdir "$OC_SRC"
	tar -C "$tree" --exclude=./.git --exclude='./build*' --no-same-owner -cf - . | as_user tar -C "$OC_SRC" --no-same-owner -xf - ||
		die "Copying the tree to $OC_SRC failed."
fi
if [ -n "$engine" ]; then
	trap engine_end EXIT
	need_engine || say "Stages that need a Docker Engine are skipped: $OC_ENGINE_WHY"
fi
logs=$OC_CACHE/logs
rm -rf "$logs"
mkdir "$logs"
jobs=$(nproc)
settings=("OC_SRC=$OC_SRC" "OC_WORK=$OC_WORK" "OC_BUILD=$OC_WORK/build" "OC_SRT=$OC_SRT" "OC_NPM=$OC_NPM" "OC_JOBS=$jobs"
	"OC_TIER=${tiers[-1]}" TMPDIR=/tmp "${OC_ENGINE_SETTINGS[@]}")
printf 'Set-up: %d s; as %s in %s; srt %s, Node %s\n\n' $((SECONDS - began)) "$OC_USER" "$OC_WORK" "$OC_SRT_VERSION" "$OC_NODE_VERSION"

# run_stage FILE LOG: a stage as the user that its header names, bounded in time, nothing of ours open in it.
run_stage()
{
	local file=$1 limit
	limit=$(header "$file" timeout 900)
	if [ "$(header "$file" engine)" = yes ] && [ -n "$OC_ENGINE_WHY" ]; then
		printf 'skip - %s: %s\n' "$(header "$file" title)" "$OC_ENGINE_WHY" >"$2"
	elif [ "$(header "$file" user)" = root ]; then
		(cd "$tree" && env "${settings[@]}" "OC_TREE=$tree" timeout -k 10 "$limit" bash "$file") 9>&-
	else
		# The user's copy of the stage, since the original may be out of that user's reach.
		(cd "$OC_SRC" && as_user env "${settings[@]}" timeout -k 10 "$limit" bash "$OC_SRC/tests/stages/$(basename "$file")") 9>&-
	fi </dev/null >"$2" 2>&1
}

# count LOG: "passed failed skipped" of a stage's lines.
count()
{
	awk '/^ok( [0-9]+)? - .*# SKIP/ { s++; next } /^ok( [0-9]+)? - / { p++ } /^not ok( [0-9]+)? - / { f++ } /^skip - / { s++ }
		END { print p + 0, f + 0, s + 0 }' "$1"
}

total_p=0 total_f=0 total_s=0
summary=()
# report FILE STATUS SECONDS: what a stage that is over came to.
report()
{
	local file=$1 status=$2 name title log p f s why='' verdict=passed line
	name=$(basename "$file" .sh)
	title=$(header "$file" title "$name")
	log=$logs/$name.log
	read -r p f s <<<"$(count "$log")"
	if [ "$status" = 124 ] || [ "$status" = 137 ]; then
		why="stopped after $(header "$file" timeout 900) s"
	elif [ "$status" != 0 ] && [ "$f" = 0 ]; then
		why="ended with status $status"
	elif [ $((p + f + s)) = 0 ]; then
		why="checked nothing"
	fi
	[ -z "$why" ] || f=$((f + 1))
	[ "$f" = 0 ] || verdict=FAILED
	[ "$verdict" = FAILED ] || [ "$p" != 0 ] || verdict=skipped
	if [ -n "$verbose" ]; then
		cat "$log"
	else
		grep -E '^skip - |^ok( [0-9]+)? - .*# SKIP|^note - ' "$log" | sed 's/^/   /'
		if [ "$verdict" = FAILED ]; then
			grep -E -m 5 -B 6 -A 20 '^not ok' "$log" | sed 's/^/   /'
			printf '   -- the end of %s:\n' "$log"
			tail -n 20 "$log" | sed 's/^/   | /'
		fi
	fi
	line=$(printf '%-8s %4d passed %3d failed %3d skipped %5d s  %s%s' "$verdict" "$p" "$f" "$s" "$3" "$title" "${why:+: $why}")
	printf '   %s\n' "$line"
	summary+=("$line")
	total_p=$((total_p + p)) total_f=$((total_f + f)) total_s=$((total_s + s))
	[ "$verdict" != FAILED ]
}

# A stage beside others takes what processor they leave.  At most one; its end is told where it is waited for.
beside='' beside_began=0
beside_end()
{
	local file=$beside status
	[ -n "$file" ] || return 0
	beside=''
	wait "$beside_pid"
	status=$?
	printf '== %s (%s), beside the others\n' "$(header "$file" title)" "$(basename "$file" .sh)"
	report "$file" "$status" $((SECONDS - beside_began))
}

for file in "${stages[@]}"; do
	name=$(basename "$file" .sh)
	log=$logs/$name.log
	: >"$log"
	[ "$(header "$file" alone)" != yes ] || beside_end
	if [ "$(header "$file" beside)" = yes ]; then
		beside_end
		beside=$file beside_began=$SECONDS
		(renice -n 19 -p "$BASHPID" >/dev/null && run_stage "$file" "$log") &
		beside_pid=$!
		continue
	fi
	begin=$SECONDS
	printf '== %s (%s)\n' "$(header "$file" title "$name")" "$name"
	run_stage "$file" "$log"
	if ! report "$file" $? $((SECONDS - begin)) && [ "$(header "$file" always)" = yes ]; then
		printf '   Nothing else can run without it.\n'
		break
	fi
done
beside_end

printf '\nSummary, %d s in all:\n' $((SECONDS - began))
printf '%s\n' "${summary[@]}"
printf '\n%d passed, %d failed, %d skipped\n' "$total_p" "$total_f" "$total_s"
[ "$total_f" = 0 ] && [ "$total_p" -gt 0 ]

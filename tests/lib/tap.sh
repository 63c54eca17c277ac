# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What every stage prints: one line a check, which tests/run.sh counts.
#   ok - NAME          not ok - NAME          skip - NAME: REASON
# Lines of a TAP producer ("ok 3 - NAME", "ok 3 - NAME # SKIP REASON") count the same.

oc_failed=0

ok()
{
	printf 'ok - %s\n' "$1"
}

not_ok()
{
	printf 'not ok - %s\n' "$1"
	oc_failed=1
}

skip()
{
	printf 'skip - %s: %s\n' "$1" "$2"
}

# expect NAME COMMAND…: passes when the command does; what it printed is shown when it doesn't.
expect()
{
	local name=$1 text
	shift
	if text=$("$@" 2>&1); then
		ok "$name"
	else
		printf '%s\n' "$text" | tail -n 60 | sed 's/^/    /'
		not_ok "$name"
	fi
}

# refute NAME COMMAND…: the control; passes when the command fails, as it must on a seeded fault.
refute()
{
	local name=$1
	shift
	if "$@" >/dev/null 2>&1; then
		not_ok "$name"
	else
		ok "$name"
	fi
}

finish()
{
	exit "$oc_failed"
}

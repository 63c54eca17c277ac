# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: The daemon: queue, socket, refusals, ends; killed again and again, at each point, over a queue; what it adopts
# tier: full
# packages: python3 git systemd
# timeout: 3600
# About two minutes.  soak: 50 daemons for one run, and 1,000 runs of kind none and 30 under srt adopted by one.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

seeded=$(mktemp -d)
trap 'rm -rf "$seeded"' EXIT
# As it is installed, but for the program's place: verify looks whether it is there.
sed "s|^ExecStart=[^ ]*|ExecStart=$OC_BUILD/host/open-conduit|" "$OC_BUILD/host/open-conduit.service" >"$seeded/open-conduit.service"
verify()
{
	local said
	said=$(XDG_RUNTIME_DIR=$seeded SYSTEMD_LOG_LEVEL=warning systemd-analyze --user --man=no verify "$1" 2>&1) || return 1
	[ -z "$said" ] || { printf '%s\n' "$said"; return 1; }
}
expect 'unit: systemd takes all of it' verify "$seeded/open-conduit.service"
sed 's/^KillMode=process/KillMode=nobody/' "$seeded/open-conduit.service" >"$seeded/wrong.service"
refute 'unit: control: a setting that is none' verify "$seeded/wrong.service"

python3 tests/host/serve.py || oc_failed=1
timeout 3000 python3 tests/fault/test_serve.py || oc_failed=1
finish

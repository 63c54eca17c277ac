# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: The toolbelt with the official MCP clients and conformance suite, alone and through a run; calls and killed hosts
# tier: full
# packages: python3
# npm: mcp
# timeout: 1500
# About two minutes on two cores that have nothing else to do.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

export OC_NPM_MCP=$OC_NPM/mcp OPEN_CONDUIT_LIBEXEC=$OC_BUILD/libexec
server=$OC_BUILD/tests/protocol/mcp_stdio
mcp=$PWD/tests/protocol/mcp
modes='v1 legacy auto 2026-07-28'
for mode in $modes; do
	expect "SDK client $mode: the server alone" timeout 100 node "$mcp/sdk_client.mjs" "$mode" "$server"
done
refute 'control: SDK client 2026-07-28: a server whose results are of no type' \
	timeout 100 node "$mcp/sdk_client.mjs" 2026-07-28 "$server" --without '"resultType":"complete",'

conformance()
{
	OC_TEST_LABEL=$1 node "$mcp/conformance.mjs" "${@:2}" || oc_failed=1
}
conformance 'conformance of the server alone' "$server"
refute 'control: conformance: a server without ttlMs' \
	node "$mcp/conformance.mjs" --only 2026-07-28:caching "$server" --without '"ttlMs":3600000,'
refute 'control: conformance: a server whose results are of no type' \
	node "$mcp/conformance.mjs" --only 2026-07-28:tools-list "$server" --without '"resultType":"complete",'

# The same through a run: client, open-conduit-guest mcp, guest, guard, host.
world=$(mktemp -d "$HOME/m.XXXXXX")
trap 'chmod -R u+rwX "$world"; rm -rf "$world"' EXIT
mkdir "$world/ws"
# in_run KIND SCRIPT [ARGUMENT…]
in_run()
{
	(cd "$world/ws" && HOME=$world timeout 300 "$OC_BUILD/tests/protocol/belt_host" start "$world/state" "$1" -- \
		"$(command -v node)" "$mcp/inside.mjs" "$mcp/$2" "${@:3}")
}
for kind in none sandbox; do
	for mode in $modes; do
		expect "SDK client $mode: through a run of kind $kind" in_run "$kind" sdk_client.mjs "$mode"
	done
done
OC_TEST_LABEL='conformance through a run under srt' in_run sandbox conformance.mjs || oc_failed=1

python3 tests/protocol/test_calls.py || oc_failed=1
python3 tests/protocol/test_git_credential.py || oc_failed=1
finish

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Messages into turns that the daemon hosts: given, over daemons that are killed, never twice; nobody waits for none
# tier: full
# packages: python3 git procps
# npm: claude
# timeout: 300
# About a minute.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

export OPEN_CONDUIT_LIBEXEC=$OC_BUILD/libexec
OC_CLAUDE=$(find "$OC_NPM/claude/node_modules/@anthropic-ai" -path '*claude-code-linux-*' -name claude -type f -not -path '*musl*')
export OC_CLAUDE
timeout 280 python3 tests/host/serve_messages.py || oc_failed=1
finish

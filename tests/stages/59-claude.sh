# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Claude Code: the real one, offline, in the real srt and without; what its reader and its driver make of anything else
# tier: full
# packages: python3 git procps
# npm: claude
# timeout: 900
# About five minutes on two cores; 400 MB are fetched where the program isn't there yet.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

export OPEN_CONDUIT_LIBEXEC=$OC_BUILD/libexec
python3 tests/host/claude_driver.py || oc_failed=1
OC_CLAUDE=$(find "$OC_NPM/claude/node_modules/@anthropic-ai" -path '*claude-code-linux-*' -name claude -type f -not -path '*musl*')
export OC_CLAUDE
pinned=$(sed -n 's/.*claude-code": "\(.*\)"/\1/p' tests/lib/claude/package.json)
expect "Claude Code is the version that was pinned: $pinned" test "$("$OC_CLAUDE" --version)" = "$pinned (Claude Code)"
timeout 800 python3 tests/host/claude.py || oc_failed=1
timeout 100 /usr/bin/python3 tests/host/attach.py real || oc_failed=1
finish

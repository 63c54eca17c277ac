# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: The promised figures, side by side
# tier: full
# alone: yes
# packages: tinyproxy-bin
# npm: claude
# timeout: 3600
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

# Alone: other work on the machine would be measured along.  The workspaces in CI with fewer files.
files=10000 rounds=3 quick=--quick
[ "$OC_TIER" = soak ] && files=50000 rounds=3 quick=
# shellcheck disable=SC2086 # no word where there is none
python3 tests/bench/bench.py $quick || oc_failed=1
python3 tests/bench/bench_git.py "$files" "$rounds" || oc_failed=1
python3 tests/bench/bench_save.py "$files" "$rounds" || oc_failed=1
python3 tests/bench/bench_gateway.py || oc_failed=1
OC_CLAUDE=$OC_NPM/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude python3 tests/bench/bench_claude.py || oc_failed=1
finish

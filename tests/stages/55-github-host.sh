# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: git as the bot and the toolbelt's operations on GitHub, by the host: real git, a real MCP client, a fake GitHub
# tier: full
# packages: python3 git openssl ca-certificates
# timeout: 400
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

python3 tests/github/test_perform.py || oc_failed=1
python3 tests/host/github.py || oc_failed=1
finish

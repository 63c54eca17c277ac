# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Tokens of git: the run ended, host, daemon and guard killed around their making and revoking
# tier: full
# packages: python3 git openssl
# timeout: 600
# A minute: most of it is waiting for guards that notice that their host is gone.
set -u
exec timeout 500 python3 tests/fault/test_git_token.py

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Works: turns, busy and detached ones, clones, refusals, SIGKILL of the host at each step
# tier: full
# packages: python3 git
# timeout: 600
set -u
exec python3 tests/host/work.py

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: explain and doctor for a binding: its real policy, and what a run of it gets
# tier: full
# packages: python3 git
# timeout: 300
set -u
exec /usr/bin/python3 tests/host/binding.py

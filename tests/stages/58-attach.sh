# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: A person at a Work's terminal: keys, sizes, bytes, statuses; given back however it ends; attach
# tier: full
# packages: python3 git
# timeout: 600
set -u
exec /usr/bin/python3 tests/host/attach.py

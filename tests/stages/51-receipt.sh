# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Receipts: each holds, what is changed shows; a policy that is changed meanwhile
# tier: full
# packages: python3 git
# timeout: 600
set -u
exec /usr/bin/python3 tests/host/receipt.py

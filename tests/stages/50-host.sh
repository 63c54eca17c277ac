# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: open-conduit: usage, statuses, JSON, terminals, signals, two hosts
# tier: full
# packages: python3
set -u
exec bash tests/host/cli.sh

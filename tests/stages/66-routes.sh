# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Routes: issues become Works, comments reach agents, once; over daemons that are killed; GitHub slow, limited, away
# tier: full
# packages: python3 git openssl
# timeout: 600
# About a minute and a half.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

export OPEN_CONDUIT_LIBEXEC=$OC_BUILD/libexec
timeout 500 python3 tests/host/serve_routes.py || oc_failed=1
finish

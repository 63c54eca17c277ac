# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: The daemon and containers: out of their reach, and adopted with the rest
# tier: full
# packages: python3 git
# engine: yes
# timeout: 3600
# Under a minute.  soak: 20 of them, among 1,000 runs of kind none and 30 under srt.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
# shellcheck source=tests/engine/gateway.sh
. tests/engine/gateway.sh

export OPEN_CONDUIT_LIBEXEC=$OC_BUILD/libexec DOCKER_HOST=$OC_DOCKER_HOST
gateway_image
python3 tests/host/serve.py boxes || oc_failed=1
kinds=srt,box
[ "$OC_TIER" != soak ] || kinds=none,srt,box
timeout 3000 python3 tests/fault/test_serve.py "many:$kinds" || oc_failed=1
finish

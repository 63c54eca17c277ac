# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Container runs: host, guard, launch command, gateway and guest killed, the engine away, refusals, twenty at once
# tier: full
# engine: yes
# packages: python3
# timeout: 7200
# A third of the kills by turns (its seed is printed: OC_TEST_SEED); soak: all of them, and sixty runs at once.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
# shellcheck source=tests/engine/gateway.sh
. tests/engine/gateway.sh

export OPEN_CONDUIT_LIBEXEC=$OC_BUILD/libexec
gateway_image
# A third of them leaves room for a machine three times as slow.
limit=900
[ "${OC_TIER:-}" != soak ] || limit=6000
timeout $limit python3 tests/fault/test_container.py || oc_failed=1
timeout 600 python3 tests/fault/test_container_refused.py || oc_failed=1
finish

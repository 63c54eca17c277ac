# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Live container runs against their pin: engines, configurations, providers, namesakes; and their end all the same
# tier: full
# engine: yes
# packages: python3
# timeout: 1200
# About two minutes: most of it waits for an engine that doesn't answer.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
# shellcheck source=tests/engine/gateway.sh
. tests/engine/gateway.sh

export OPEN_CONDUIT_LIBEXEC=$OC_BUILD/libexec
gateway_image
timeout 900 python3 tests/fault/test_container_pin.py || oc_failed=1
finish

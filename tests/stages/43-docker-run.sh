# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Containers: what a run has in the engine, that it is what was planned, and that nothing is left
# tier: full
# engine: yes
# timeout: 900
# About 5 minutes: ten checks and some sixty launches against the real engine, eight of them killed and eight ended on their way.
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
# shellcheck source=tests/engine/gateway.sh
. tests/engine/gateway.sh

gateway_image
for test in test_check test_run test_meddled; do
	python3 "tests/docker/$test.py" || oc_failed=1
done
finish

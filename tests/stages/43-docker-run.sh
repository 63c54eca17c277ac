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

OPEN_CONDUIT_GATEWAY_IMAGE=$(DOCKER_HOST=$OC_DOCKER_HOST PATH=$(dirname "$OC_DOCKER"):$PATH meson compile -C "$OC_BUILD" gateway-image | tail -n 1)
export OPEN_CONDUIT_GATEWAY_IMAGE
expect 'there is a gateway image' grep -q '^sha256:' <<<"$OPEN_CONDUIT_GATEWAY_IMAGE"
for test in test_check test_run test_meddled; do
	python3 "tests/docker/$test.py" || oc_failed=1
done
finish

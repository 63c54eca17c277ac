# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: The isolation battery in containers of the real engine, with every control
# tier: full
# engine: yes
# packages: python3 git
# timeout: 1800
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

OPEN_CONDUIT_GATEWAY_IMAGE=$(DOCKER_HOST=$OC_DOCKER_HOST PATH=$(dirname "$OC_DOCKER"):$PATH meson compile -C "$OC_BUILD" gateway-image | tail -n 1)
export OPEN_CONDUIT_GATEWAY_IMAGE
expect 'there is a gateway image' grep -q '^sha256:' <<<"$OPEN_CONDUIT_GATEWAY_IMAGE"
for test in test_container test_container_held test_container_ends; do
	python3 -B "tests/isolation/$test.py" || oc_failed=1
done
finish

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
# shellcheck source=tests/engine/gateway.sh
. tests/engine/gateway.sh

gateway_image
for test in test_container test_container_held test_container_ends; do
	python3 -B "tests/isolation/$test.py" || oc_failed=1
done
finish

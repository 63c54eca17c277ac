# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Containers by the command line: exec, turns and homes, attach, doctor, secrets, on a real engine
# tier: full
# engine: yes
# packages: python3 git
# timeout: 1500
set -u
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
export OPEN_CONDUIT_LIBEXEC=$OC_BUILD/libexec
OPEN_CONDUIT_GATEWAY_IMAGE=$(DOCKER_HOST=$OC_DOCKER_HOST python3 providers/docker/gateway/image.py --docker "$OC_DOCKER" \
	"$OC_BUILD/providers/docker/gateway/open-conduit-gateway" test | tail -n 1)
export OPEN_CONDUIT_GATEWAY_IMAGE
expect "the gateway's image is made: $OPEN_CONDUIT_GATEWAY_IMAGE" test "${OPEN_CONDUIT_GATEWAY_IMAGE#sha256:}" != "$OPEN_CONDUIT_GATEWAY_IMAGE"
/usr/bin/python3 tests/host/container.py || oc_failed=1
finish

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The gateway's image in the tests' engine.  Not by `meson compile`, which says something of its own after the ID where its output is no
# terminal.  Sets OPEN_CONDUIT_GATEWAY_IMAGE, and says whether it is one.
gateway_image()
{
	OPEN_CONDUIT_GATEWAY_IMAGE=$(DOCKER_HOST=$OC_DOCKER_HOST python3 providers/docker/gateway/image.py --docker "$OC_DOCKER" \
		"$OC_BUILD/providers/docker/gateway/open-conduit-gateway" test | tail -n 1)
	export OPEN_CONDUIT_GATEWAY_IMAGE
	expect 'there is a gateway image' grep -q '^sha256:' <<<"$OPEN_CONDUIT_GATEWAY_IMAGE"
}

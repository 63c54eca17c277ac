# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A second engine, for a stage of root's that kills it or needs a network around it: in a network namespace of its own, so that
# it and what it reaches share nothing with the machine.

# own_engine IMAGE…: starts it; OC_ENGINE_DIR, OC_DOCKER_HOST; the images in it, and our gateway's as gateway.
own_engine()
{
	local image
	OC_ENGINE_DIR=$(mktemp -d /var/tmp/oc-engine.XXXXXX)
	OC_ENGINE_GROUP=$(id -g "$OC_USER")
	export OC_ENGINE_DIR OC_ENGINE_GROUP OC_ENGINE_NET=own
	unset DOCKER_CONTEXT
	export OC_DOCKER_HOST=unix://$OC_ENGINE_DIR/docker.sock
	gateway=
	expect 'an engine of our own' engine start
	for image; do
		expect 'an image is pulled' env "DOCKER_HOST=$OC_DOCKER_HOST" "$OC_DOCKER" pull -q "$image"
	done
	gateway=$(with "DOCKER_HOST=$OC_DOCKER_HOST" python3 providers/docker/gateway/image.py --docker "$OC_DOCKER" \
		"$OC_BUILD/providers/docker/gateway/open-conduit-gateway" test | tail -n 1)
	expect 'there is a gateway image' grep -q '^sha256:' <<<"$gateway"
}

own_engine_end()
{
	[ "${OC_ENGINE_NET:-}" = own ] || return 0
	engine stop
	rm -rf --one-file-system "$OC_ENGINE_DIR"
}

engine()
{
	bash tests/engine/engine.sh "$@"
}

# with NAME=VALUE… COMMAND…: as the user, with the build and this engine.
with()
{
	as_user env "OC_BUILD=$OC_BUILD" "OC_SRT=$OC_SRT" "OC_TIER=$OC_TIER" "OC_DOCKER_HOST=$OC_DOCKER_HOST" "OC_DOCKER=$OC_DOCKER" "OC_IMAGE_SMALL=$OC_IMAGE_SMALL" \
		"OC_IMAGE_TOOLS=$OC_IMAGE_TOOLS" "OC_IMAGE_CLAUDE=$OC_IMAGE_CLAUDE" "OPEN_CONDUIT_GATEWAY_IMAGE=${gateway:-}" "$@"
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The images of a run, as the engine has them.  Nothing is pulled: a plan changes nothing, and needs what the image says
 * of itself, so an image that isn't there is refused with the command that pulls it. */
#ifndef DOCKER_IMAGE_H
#define DOCKER_IMAGE_H

#include "engine.h"

#define IMAGE_LABELS   "io.openconduit." /* ours alone: by them our objects are known */
#define IMAGE_VARIABLE "OPEN_CONDUIT_GATEWAY_IMAGE"
#define IMAGE_NAME_MAX 512

/* name@sha256:…, without a tag. */
bool image_name_valid(const char *name);
/* The engine's platform, by its names ("amd64"), or NULL: none that we run on.  Static. */
const char *image_architecture(void);
/* *inspect: new, the whole of GET /images/X/json; Linux, of this machine's architecture, without our labels. */
int image_find(struct engine *e, const char *name, json_t **inspect, struct refusal *r);
/* Of OPEN_CONDUIT_GATEWAY_IMAGE (an image ID or name@sha256:…), else the one this build pins. */
int gateway_find(struct engine *e, json_t **inspect, struct refusal *r);

#endif

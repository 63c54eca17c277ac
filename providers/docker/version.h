/* SPDX-License-Identifier: Apache-2.0 */
/* Which version of the API is spoken with an engine. */
#ifndef DOCKER_VERSION_H
#define DOCKER_VERSION_H

#include <jansson.h>

#include "common/util.h"

struct api {
	int major, minor;
};
/* From the reply to GET /version.  *version: new. */
int version_take(const json_t *reply, const char *context, struct api *api, char **version, struct refusal *r);

#endif

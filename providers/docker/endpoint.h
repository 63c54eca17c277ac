/* SPDX-License-Identifier: Apache-2.0 */
/* Where a Docker context leads, read from the CLI's own files. */
#ifndef DOCKER_ENDPOINT_H
#define DOCKER_ENDPOINT_H

#include <jansson.h>
#include <stdbool.h>

#include "common/util.h"

/* All owned. */
struct endpoint {
	char *context;         /* as the binding names it */
	char *host;            /* "unix:///run/docker.sock", "tcp://127.0.0.1:2376" */
	char *ca, *cert, *key; /* files of a TLS endpoint, or NULL */
	bool skip_verify;
};
/* From DOCKER_CONFIG or ~/.docker and, for "default", DOCKER_HOST of our environment where pass_env grants it, else
 * /var/run/docker.sock or, with XDG_RUNTIME_DIR granted and none there, the socket of rootless Docker.
 * sandbox_unavailable names a context that isn't there, and one that leads off this machine: no path could be mounted
 * from it. */
int endpoint_find(const char *context, struct endpoint *out, struct refusal *r);
json_t *endpoint_json(const struct endpoint *e); /* new: what a plan pins */
int endpoint_from_json(const json_t *json, struct endpoint *out, struct refusal *r);
void endpoint_clear(struct endpoint *e);
/* The socket's path, or NULL where the host is no unix socket.  Borrowed. */
const char *endpoint_socket(const struct endpoint *e);

#endif

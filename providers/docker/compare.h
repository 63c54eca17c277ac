/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine says it made, against what was asked: an engine takes misspelt members in silence, images add to containers, and
 * between us and the engine somebody may sit.  Whatever the request doesn't name has to be empty (null, false, 0, "", [] or {}), and
 * nothing starts where it isn't.  Pure. */
#ifndef DOCKER_COMPARE_H
#define DOCKER_COMPARE_H

#include "common/util.h"

/* networks: {id: name} of those in the request.  facts: what the image adds, {"Labels","ExposedPorts","Volumes"}.  got: the answer to
 * GET /containers/ID/json before it is started.  0, or sandbox_unavailable that names the member, what was asked and what is there. */
int compare_container(const json_t *request, const json_t *facts, const json_t *networks, const char *name,
                      const json_t *got, struct refusal *r);
/* The same of one that runs, for what it was made of: pin_mismatch. */
int compare_running(const json_t *request, const json_t *facts, const json_t *networks, const char *name,
                    const json_t *got, struct refusal *r);
/* got: GET /networks/ID.  fresh: nothing is on it yet. */
int compare_network(const json_t *request, bool fresh, const json_t *got, struct refusal *r);
int compare_network_running(const json_t *request, const json_t *got, struct refusal *r); /* pin_mismatch */

#endif

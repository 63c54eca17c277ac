/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan leaves open in a request: only what the engine gives when the run is there.  One spelling: {"$": "text {name} text"}
 * stands for a text, and a member named "$text {name} text" for a member of that name. */
#ifndef DOCKER_FILL_H
#define DOCKER_FILL_H

#include "common/util.h"

/* New, or NULL: a name that values (texts by name) lacks is refused. */
json_t *fill(const json_t *template, const json_t *values, struct refusal *r);

#endif

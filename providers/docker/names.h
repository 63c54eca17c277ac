/* SPDX-License-Identifier: Apache-2.0 */
/* Names on the list of hosts that lead to private addresses when the run is planned.  Only these may do so for its gateway. */
#ifndef DOCKER_NAMES_H
#define DOCKER_NAMES_H

#include "common/files.h"

/* network: resolved.network.  Names are looked up at the same time; one that isn't found, or not in time, is not private. */
int names_private(const json_t *network, struct list *out, struct refusal *r);

#endif

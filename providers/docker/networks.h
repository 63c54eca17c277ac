/* SPDX-License-Identifier: Apache-2.0 */
/* The two networks of a run: its own, isolated, and the way out, which the instance's runs share. */
#ifndef DOCKER_NETWORKS_H
#define DOCKER_NETWORKS_H

#include "engine.h"
#include "objects.h"
#include "subnet.h"

struct networks_input {
	struct engine *engine;
	const json_t *network, *egress; /* requests, with what is open in them; egress may be NULL: none is wanted */
	const char *instance, *range;
	struct objects *objects;
};
/* Makes, or finds, and compares them.  values (fill.h): "attempt" and "plan" are read; "network", "egress", "subnet", "gateway" and
 * "address" are set. */
int networks_make(const struct networks_input *in, json_t *values, struct refusal *r);

/* Who has which address on a run's network: "subnet", "gateway", "address".  False: no memory. */
bool networks_addresses(json_t *values, const struct subnet *own);

/* May be held by many: who uses the way out of an instance holds it, who removes it holds it alone.  A descriptor, or -1. */
int networks_lock(const char *path, struct refusal *r);
bool networks_lock_alone(int lock);

/* A new name for an attempt, and for what it makes. */
#define NETWORKS_ATTEMPT 13
int networks_attempt(char out[NETWORKS_ATTEMPT], struct refusal *r);

#endif

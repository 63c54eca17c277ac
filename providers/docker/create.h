/* SPDX-License-Identifier: Apache-2.0 */
/* The whole requests that make what a run has in the engine, with what only the engine gives left open (fill.h). */
#ifndef DOCKER_CREATE_H
#define DOCKER_CREATE_H

#include "common/util.h"

#define CREATE_LABEL      "io.openconduit."
#define CREATE_PROXY_PORT 3128

/* What is left open, by name. */
#define CREATE_ATTEMPT "attempt" /* random: names are never used twice */
#define CREATE_PLAN    "plan"    /* the plan's digest */
#define CREATE_SUBNET  "subnet"
#define CREATE_NETWORK "network" /* ids */
#define CREATE_EGRESS  "egress"
#define CREATE_GATEWAY "gateway" /* addresses on the run's network */
#define CREATE_ADDRESS "address"

struct create_input {
	const char *run, *instance, *live;
	const char *image, *gateway; /* ids */
	const char *runtime;         /* the engine's default one: said, since what isn't said can't be compared */
	const json_t *image_env, *gateway_env; /* Config.Env of the images */
	const json_t *mounts, *limits;
	unsigned uid, gid;
};
/* New, or NULL: no memory. */
json_t *create_container(const struct create_input *in);
json_t *create_gateway(const struct create_input *in);
json_t *create_network(const char *run, const char *instance);
json_t *create_egress(const char *instance);
/* The name of the instance's egress network; of an attempt's objects. */
char *create_egress_name(const char *instance);
char *create_name(const char *attempt, const char *what); /* what: "" or "-gateway", "-run" */

#endif

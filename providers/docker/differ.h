/* SPDX-License-Identifier: Apache-2.0 */
/* Two documents, what was wanted and what is there, member by member: what isn't wanted has to be empty. */
#ifndef DOCKER_DIFFER_H
#define DOCKER_DIFFER_H

#include "common/util.h"

struct comparing {
	struct refusal *r;
	const char *what;
	char path[256]; /* of the member that is looked at */
	bool network;   /* the rules are a container's */
	bool running;   /* it was right when it was made: pin_mismatch, not sandbox_unavailable */
};
/* The engine leaves members out that are empty, and names what it wasn't told: so null, false, 0, "", [] and {} are the same as
 * the absent. */
bool differ_empty(const json_t *v);
int differ_walk(struct comparing *c, const json_t *want, const json_t *got);
/* -1, and the refusal that names c->path. */
int differ_refuse(struct comparing *c, const json_t *want, const json_t *got);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The check's own run: planned, launched and removed as any other, but for its program, which is the guest's `try`, and the place
 * of its record.  What it told is judged from outside. */
#ifndef DOCKER_ACT_H
#define DOCKER_ACT_H

#include <sys/stat.h>

#include "common/files.h"

struct act_result {
	char *told;            /* the guest's lines */
	char *nonce;           /* what it should have read */
	char *tried;           /* for people: how much was tried */
	struct stat file;      /* of its file, on this side */
	struct list forbidden; /* tries that have to fail */
	char *read_try, *proxy_try;
};

/* Sweeps what earlier checks left, then does one.  params: as of check. */
int act_run(const json_t *params, struct act_result *out, struct refusal *r);
int act_judge_owner(const struct act_result *a, struct refusal *r);
int act_judge_network(const struct act_result *a, struct refusal *r);
void act_clear(struct act_result *a);

#endif

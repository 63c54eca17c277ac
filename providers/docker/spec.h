/* SPDX-License-Identifier: Apache-2.0 */
/* What is pinned of a container's run: the text of the launch command's descriptor 3. */
#ifndef DOCKER_SPEC_H
#define DOCKER_SPEC_H

#include "common/util.h"

#define SPEC_MAX     (4u << 20)
#define SPEC_VERSION 1
/* The digest of the plan that the guard and recovery start us with. */
#define DIGEST_VARIABLE "OPEN_CONDUIT_DIGEST"

/* The reply to `plan`, new; nothing is changed by it. */
json_t *spec_plan(const json_t *params, struct refusal *r);

struct spec { /* all borrowed from json */
	json_t *json;
	const char *run, *live, *log, *lock, *instance, *engine, *range, *policy;
	const json_t *endpoint;
	const json_t *network, *egress, *gateway, *container; /* requests */
	const json_t *facts;                                  /* of the images: {"gateway":{…},"container":{…}} */
	const json_t *files, *sources;
};
int spec_parse(const char *text, size_t len, struct spec *out, struct refusal *r);
int spec_read(int fd, struct spec *out, struct refusal *r);
void spec_clear(struct spec *s);

/* "<state>/live/<run>" is the run's directory: the length of <state>; 0: it is none. */
size_t spec_state(const char *live, const char *run);
bool spec_run_valid(const char *run);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What of this machine a container must not reach: a port that we listen on, at each of the machine's addresses. */
#ifndef DOCKER_REACH_H
#define DOCKER_REACH_H

#include "common/files.h"

struct reach {
	int listener;
	unsigned port;
	struct list
	        addresses; /* those at which the port was seen to answer: at any other a failure would show nothing */
};
int reach_open(struct reach *out, struct refusal *r);
void reach_close(struct reach *reach);

#endif

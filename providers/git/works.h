/* SPDX-License-Identifier: Apache-2.0 */
/* A Work's directory, as far as it is this provider's:
 *
 *   workspace       the clone: an agent's after its first run
 *   workspace.new   one that is being made; whoever holds the Work's lock may remove it */
#ifndef GIT_WORKS_H
#define GIT_WORKS_H

#include "util.h"

#define WORKS_NEW "workspace.new"

struct works {
	char *parent; /* absolute and clean */
	const char *name;
	int fd; /* of the parent; -1: it isn't there */
};
/* dir is the workspace's path as the host said it. */
int works_open(struct works *w, const char *dir, struct refusal *r);
void works_close(struct works *w);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* live/<id>/objects: what a run has in the engine, so that it can be removed whatever happens.  A line each, on the disk before the
 * engine is asked and after it answered: "intend KIND NAME", "made KIND ID", "gone KIND ID".  Of a kind there is at most one at a
 * time; what was intended and never made is known by its name. */
#ifndef DOCKER_OBJECTS_H
#define DOCKER_OBJECTS_H

#include "common/util.h"

enum kind { KIND_CONTAINER, KIND_GATEWAY, KIND_NETWORK, KIND_EGRESS, KINDS };
const char *kind_name(enum kind kind);

struct objects {
	int fd;
	bool looked; /* its run may be writing it */
	struct {
		char *name, *id; /* both NULL: there is none.  id NULL: only intended */
	} v[KINDS];
};
/* create: of a run that begins; without it a file that isn't there is an empty one, and fd is -1.  A last line without its end was
 * never acted upon, and is taken off. */
int objects_open(const char *live, bool create, struct objects *out, struct refusal *r);
/* To read only: of a run that lives. */
int objects_look(const char *live, struct objects *out, struct refusal *r);
void objects_close(struct objects *o);
bool objects_empty(const struct objects *o);

int objects_intend(struct objects *o, enum kind kind, const char *name, struct refusal *r);
int objects_made(struct objects *o, enum kind kind, const char *id, struct refusal *r);
int objects_gone(struct objects *o, enum kind kind, struct refusal *r);
/* The engine said that it won't make what was intended: 4xx.  Any other status leaves that open. */
int objects_refused(struct objects *o, enum kind kind, long status, struct refusal *r);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a run made in the engine is removed: by its id, and what was only intended by its name and our labels. */
#ifndef DOCKER_CLEANUP_H
#define DOCKER_CLEANUP_H

#include "engine.h"
#include "objects.h"
#include "turn.h"

struct cleanup_input {
	struct engine *engine;
	struct objects *objects;
	const char *run, *instance;
	struct turn *turn; /* as it is: it takes a place, and leaves it */
	int lock;          /* networks.h: held; it is tried to hold it alone.  -1: the way out is let be */
	int64_t late;      /* cleanup_all()'s own */
};
/* 0: nothing is left.  May be done again, from wherever it ended. */
int cleanup_all(const struct cleanup_input *in, struct refusal *r);

/* `cleanup`, with the plan on descriptor 3: 0 nothing is left, 1 something may be, 3 the engine can't be asked. */
int cleanup_main(void);
/* The same of a plan's text.  *unasked: it was the engine that could not be reached. */
int cleanup_spec(const char *text, size_t len, bool *unasked, struct refusal *r);
/* One line on stderr, which the guard reads: `refused {"reason",…}`. */
void cleanup_report(struct refusal *r);

#endif

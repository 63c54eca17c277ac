/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is at an engine.  Of what makes, starts and removes things there as many are at it at once as the engine has
 * processors; the others wait, in the order in which they came, what ends before what begins.  Who queues is told by locks on bytes of
 * docker-<engine>.lock alone (of the open file, F_OFD_SETLK; flock() on it is another thing): nothing is written, and the kernel ends
 * the place of who dies.  Runs of other state directories are not seen. */
#ifndef DOCKER_TURN_H
#define DOCKER_TURN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TURN_MS       600000 /* of a run that is to be made; the guard's limit for hello is longer */
#define TURN_END_MS   20000  /* of what ends: it goes on without a place then */
#define TURN_NOW_MS   5000   /* of a check, in the same way */
#define TURN_STUCK_MS 5000   /* who sees a place free for so long goes by those before it: they are stopped */
#define TURN_PLACES   256

struct turn {
	int fd;             /* of the engine's lock file; its own open file.  Borrowed */
	int places;         /* how many at once */
	int place;          /* -1: none */
	off_t ticket;       /* a byte that this one holds while it waits; 0: none */
	int64_t free_since; /* a place was free at each look from then on; 0: none was at the last one */
};

/* info: what GET /info answered. */
void turn_init(struct turn *t, int fd, const json_t *info);
/* Behind all that queue; what ends, behind all that end.  0, or -1 with errno. */
int turn_queue(struct turn *t, bool ends);
/* 1: it is its turn, and it has a place.  0: not yet; look again after *pause_ms.  -1: errno. */
int turn_look(struct turn *t, int *pause_ms);
/* How many are before it, counted up to max. */
int turn_before(const struct turn *t, int max);
/* As what ends.  Waits so long at most, and goes on without a place. */
void turn_hurry(struct turn *t, int at_most_ms);
/* Leaves the place, or the queue. */
void turn_leave(struct turn *t);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What would take long, done by a process of its own that answers once: `open-conduit-github` and its like.  A host has one
 * list of them and polls it with everything else; one that nobody waits for any more goes on, and ends what it began. */
#ifndef HOST_ERRAND_H
#define HOST_ERRAND_H

#include <poll.h>

#include "host.h"

#define ERRANDS_MAX 64

struct errand;
/* answer: an object, borrowed; one that is no answer has the member "error". */
typedef void (*errand_fn)(struct host *h, const json_t *answer, void *userdata);

/* program: of our own, by its name.  request: taken; what its member "auth" holds is wiped.  NULL: fn was called, with why it can't be done. */
struct errand *errand_start(struct host *h, const char *program, json_t *request, errand_fn fn, void *userdata);
/* What a request's member "auth" holds, where it is not given on. */
void errand_wipe(json_t *request);
/* Nobody waits for it: fn is not called.  NULL allowed. */
void errand_leave(struct errand *e);
/* Entries to poll, at most 2 * ERRANDS_MAX; what has come is told by errands_turn(), which may be called at any time. */
size_t errands_poll(struct host *h, struct pollfd *v);
void errands_turn(struct host *h);
/* Leave all. */
void errands_end(struct host *h);

/* Start one and wait for it: its answer, new. */
json_t *errand_wait(struct host *h, const char *program, json_t *request);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that an errand answers.  They outlive who took them: the run's object may go, then an answer is recorded only. */
#ifndef HOST_TOOLBELT_LATER_H
#define HOST_TOOLBELT_LATER_H

#include "toolbelt.h"

/* Answer one call (taken) with what the errand said, which has no member "error". */
typedef void (*later_fn)(struct host *h, oc_toolcall *call, const json_t *answer);

/* Start the errand (request: taken) for the call (taken).  changes: what it does is not to be done twice, so where its answer
 * is lost that is said as what it is. */
void later_start(const struct toolbelt *t, oc_toolcall *call, json_t *request, later_fn fn, bool changes);
/* Wait with those of the same run that wait for the same: call is taken then. */
bool later_join(const struct toolbelt *t, oc_toolcall *call, later_fn fn);
/* The host ends: each is told that nobody knows.  The errands go on. */
void later_end(struct host *h);

#endif

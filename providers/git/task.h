/* SPDX-License-Identifier: Apache-2.0 */
/* One step in a child of its own, with few rights.  What the child read is an agent's work, so what it says is too: the
 * parent takes a JSON object or a refusal with a reason it knows, and no more of it than fits. */
#ifndef GIT_TASK_H
#define GIT_TASK_H

#include "confine.h"

/* In the child.  Fills *reply (a new object) or refuses; memory is the child's own and goes with it. */
typedef int (*task_fn)(void *arg, json_t **reply, struct refusal *r);

/* Runs fn(arg) confined to paths, waits for it.  0 with *reply new, or -1 with a refusal. */
int task_run(const char *name, const struct confine_path *paths, size_t n, task_fn fn, void *arg, json_t **reply,
             struct refusal *r);

#endif

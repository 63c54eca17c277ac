/* SPDX-License-Identifier: Apache-2.0 */
/* The lock on the Work in whose clone the run is: the guard's for its life, so that no two runs, and no host that saves or
 * removes, are in one workspace at a time. */
#ifndef OC_GUARD_WORK_H
#define OC_GUARD_WORK_H

#include "guard/plan_view.h"
#include "loop/loop.h"

struct oc_guard;

struct oc_work_lock {
	int fd;
	int64_t until; /* hosts hold it for a moment at times: waited for a little, then the run is refused */
	struct oc_source *timer;
	char id[OC_WORK_ID_SIZE];
};

/* Take it and go on to the preflight, now or soon; a run without a Work goes on at once. */
int oc_work_begin(struct oc_guard *g, oc_error **err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The launch command: forked first, executed when its identity is on the disk. */
#ifndef OC_GUARD_LAUNCH_H
#define OC_GUARD_LAUNCH_H

#include <sys/types.h>

#include "base/error.h"
#include "guard/plan_view.h"
#include "loop/loop.h"

#define OC_LAUNCH_LOG 4096u

struct oc_launch {
	pid_t pid;          /* 0: none; also its process group */
	bool exited, clean; /* clean: with status 0 */
	int gate;           /* written: execute; closed: don't */
	int channel, log;
	struct oc_source *log_source;
	void (*said)(void *userdata); /* there is more in text */
	void *userdata;
	char text[OC_LAUNCH_LOG];
	size_t text_len;
};

void oc_launch_init(struct oc_launch *l);
/* Fork, with everything prepared; the child waits at the gate.  l->channel is the guard's end. */
int oc_launch_fork(struct oc_launch *l, const struct oc_plan_view *plan, mode_t mask, oc_error **err);
int oc_launch_open_gate(struct oc_launch *l, oc_error **err);
int oc_launch_watch_log(struct oc_launch *l, struct oc_loop *loop, void (*said)(void *userdata), void *userdata,
                        oc_error **err);
void oc_launch_read_log(struct oc_launch *l);
/* By its last line of those: "waiting", or "waiting over". */
bool oc_launch_waits(const struct oc_launch *l);
void oc_launch_close(struct oc_launch *l); /* descriptors only */

#endif

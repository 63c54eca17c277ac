/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt at the launch: fork, record, execute, instruct, judge.  Before the guest's hello a failure is tried again,
 * within the plan's bounds; after it nothing is. */
#ifndef OC_GUARD_ATTEMPT_H
#define OC_GUARD_ATTEMPT_H

#include <signal.h>

#include "base/error.h"

struct oc_guard;

void oc_attempt_begin(struct oc_guard *g);
void oc_attempt_launch_exited(struct oc_guard *g, const siginfo_t *info);
/* News of the session. */
void oc_attempt_hello(struct oc_guard *g);
void oc_attempt_ready(struct oc_guard *g);
void oc_attempt_exit(struct oc_guard *g, bool signaled, int value);
void oc_attempt_broken(struct oc_guard *g, oc_error *error_taken);  /* protocol error */
void oc_attempt_refused(struct oc_guard *g, oc_error *error_taken); /* the guest says that nothing was started */
void oc_attempt_silent(struct oc_guard *g, const char *why);        /* end of the channel, or no answer */

#endif

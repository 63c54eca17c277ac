/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRT_STATE_H
#define SRT_STATE_H

#include "common/files.h"

/* "none", "running" or "unknown": is any process of the run alive on this host? */
const char *state_of(const char *run);
/* Remove what srt left in live/<run>: all that is in t, cwd and home.  Again is no error. */
int state_cleanup(const char *run, const char *live, struct refusal *r);
bool run_valid(const char *run);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCKER_STATE_H
#define DOCKER_STATE_H

#include "common/util.h"

/* "none", "running", "exited" or "unknown", static.  live: the run's directory; without it only the engine of the default context
 * can be asked, and what it doesn't know is unknown. */
const char *state_of(const char *run, const char *live);
/* What the run left in the engine, by the plan beside its directory. */
int state_cleanup(const char *run, const char *live, struct refusal *r);

#endif

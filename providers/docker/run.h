/* SPDX-License-Identifier: Apache-2.0 */
/* `run`: the launch command.  Descriptor 0 is the guard's channel, descriptor 3 the plan. */
#ifndef DOCKER_RUN_H
#define DOCKER_RUN_H

#include <stdbool.h>

/* now: a check's, which has no time to queue. */
int run_main(bool now);

#endif

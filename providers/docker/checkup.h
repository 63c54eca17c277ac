/* SPDX-License-Identifier: Apache-2.0 */
/* Not "check.h", which is a library of the tests. */
#ifndef DOCKER_CHECKUP_H
#define DOCKER_CHECKUP_H

#include "common/util.h"

/* The reply to `check`, new, or NULL: no memory.  params: state_dir, guest, live_dir, context, image. */
json_t *check_all(const json_t *params);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to `check`. */
#ifndef COMMON_CHECKS_H
#define COMMON_CHECKS_H

#include <stdint.h>

#include "common/util.h"

int64_t now_ms(void); /* monotonic */

/* One more; what is fine needs no fix.  False: no memory. */
bool checks_add(json_t *checks, const char *id, const char *title, bool ok, const char *detail, const char *fix,
                int64_t ms);
/* By a step that returned rc and, where it is negative, what it refused.  Clears it. */
bool checks_add_step(json_t *checks, const char *id, const char *title, int rc, struct refusal *r, const char *detail,
                     int64_t begin);

#endif

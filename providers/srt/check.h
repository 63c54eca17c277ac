/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRT_CHECK_H
#define SRT_CHECK_H

#include "common/files.h"

/* The answer to check, new; NULL: no memory. */
json_t *check_all(const char *state_dir, const char *guest, const char *live_dir);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A process as recorded in guard.json or started: pid, start time and boot together. */
#ifndef OC_GUARD_IDENTITY_H
#define OC_GUARD_IDENTITY_H

#include <sys/types.h>

#include "base/error.h"
#include "base/os.h"

struct oc_identity {
	pid_t pid, pgrp, session; /* the last two 0 where the file has none */
	uint64_t start;
	int64_t speaks[2]; /* versions of the protocol, of a guard */
	char boot[OC_BOOT_SIZE];
};
int oc_identity_read(int run_dir, const char *file, struct oc_identity *out,
                     oc_error **err); /* OC_ENOTFOUND: no file */

#endif

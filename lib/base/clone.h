/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a workspace's .git: what makes git look elsewhere is there from the start as harmless real files, so that a
 * run finds it read-only instead of missing.  Asked when a run is planned, and by its guard again. */
#ifndef OC_BASE_CLONE_H
#define OC_BASE_CLONE_H

#include <sys/types.h>

#include "base/util.h"

struct oc_clone_part {
	const char *name; /* beneath .git */
	mode_t type;
	const char *content; /* NULL: any */
	const char *fix;     /* a command, before the quoted path; or NULL */
	bool read_only;
};
const struct oc_clone_part *oc_clone_part(size_t i); /* NULL after the last */
/* Whether the path is what such a part has to be: NULL, or why not (static). */
const char *oc_clone_check(const char *path, mode_t type, const char *content);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a step of the provider may still do: reads and writes beneath the paths it names, and nothing else: no network, no
 * other program, no other process.  For good, and for the calling process: so it is a step's own child that is confined
 * (task.h). */
#ifndef GIT_CONFINE_H
#define GIT_CONFINE_H

#include "util.h"

enum { CONFINE_READ = 1, CONFINE_WRITE = 2 }; /* to write is to make, change and remove; it includes to read */

struct confine_path {
	const char *path; /* a directory or a file; no link in its last component; must be there */
	unsigned rights;
};

/* 0, or refused (sandbox_unavailable): the caller has to end then, as a part may be in force already. */
int confine(const struct confine_path *paths, size_t n, struct refusal *r);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The repository's own files, all written afresh. */
#ifndef GIT_LAYOUT_H
#define GIT_LAYOUT_H

#include "select.h"

struct layout {
	int root; /* of the workspace that is being made */
	const char *branch, *name, *email;
	const struct checkout *checkout;
	const struct selection *selection;
};

/* Directories, configuration, references: what a repository needs to be opened. */
int layout_write(const struct layout *l, struct refusal *r);
/* What makes git look elsewhere, as files that lead nowhere: a run finds them there and can't write them. */
int layout_close(const struct layout *l, struct refusal *r);

#endif

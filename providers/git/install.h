/* SPDX-License-Identifier: Apache-2.0 */
/* From the take to a pack of the checkout.  The take was written by a process that had read an agent's files: here every
 * object is inflated, hashed and checked in form once more, and everything that one names has to be in it or in the
 * checkout. */
#ifndef GIT_INSTALL_H
#define GIT_INSTALL_H

#include <git2/odb.h>

#include "util.h"

struct installed {
	uint32_t objects;
	char name[64]; /* "pack-<hash>", or "" when there was nothing to install */
};
/* take: the file; pack_dir: objects/pack of the checkout; odb: its objects as they are.  0, or refused. */
int install_take(int take, int pack_dir, git_odb *odb, struct installed *out, struct refusal *r);

#endif

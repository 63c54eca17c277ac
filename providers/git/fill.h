/* SPDX-License-Identifier: Apache-2.0 */
/* The working tree and the index of a repository that layout.c made. */
#ifndef GIT_FILL_H
#define GIT_FILL_H

#include "checkout.h"

/* Each file as it is in the commit, byte for byte: no filter, no line ends changed, no hook.  Notes for c what that
 * leaves out (submodules, LFS). */
int fill_worktree(struct checkout *c, const char *root, const git_oid *commit, struct refusal *r);

#endif

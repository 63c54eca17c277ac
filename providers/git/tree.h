/* SPDX-License-Identifier: Apache-2.0 */
/* Directories by descriptor: what is in them may be an agent's, and may change under us. */
#ifndef GIT_TREE_H
#define GIT_TREE_H

#include "util.h"

struct stat;

/* name, one component, in dir: a directory, no link, no mount point; -1 with errno. */
int open_beneath(int dir, const char *name, int flags);
/* Remove dir/name and all beneath it; nothing there is fine.  No link is followed, no mount crossed (EXDEV), closed
 * directories of ours are opened up, memory and descriptors are bounded whatever the depth.  0, or -1 with errno. */
int remove_tree(int dir, const char *name);

/* Numbers as JSON holds them: the lower 53 bits. */
json_t *numbers_json(const struct stat *st);
bool numbers_match(const json_t *numbers, const struct stat *st);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the workspace that git would commit with `git add -A`, read as data. */
#ifndef GIT_WORKTREE_H
#define GIT_WORKTREE_H

#include "files.h"

/* What could not be saved, and what is only worth saying.  Names may be any bytes. */
struct report {
	void (*lost)(void *arg, const char *what, const char *why);
	void (*note)(void *arg, const char *text);
	void *arg;
};

/* root: the workspace's folder, at dir; gitdir: its .git; tracked: paths that count whatever is ignored.  Blobs go into the take.
 * 0 or -errno: the save can't go on. */
int worktree_read(struct walk *w, const char *dir, int root, int gitdir, const struct files *tracked,
                  const struct report *report, struct files *out);

#endif

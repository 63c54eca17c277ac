/* SPDX-License-Identifier: Apache-2.0 */
/* What is in a workspace beside commits: files, what is staged, what a merge left open.  Each becomes a commit. */
#ifndef GIT_LEFTOVER_H
#define GIT_LEFTOVER_H

#include "worktree.h"

struct leftover {
	struct walk *w;
	const char *dir, *work;
	int root, gitdir;
	struct report report;
	/* A commit that was made, and the end of its reference's name. */
	int (*made)(void *arg, const char *what, const char *suffix, const git_oid *commit);
};

/* head: the commit that is checked out, or NULL.  0 or -errno. */
int leftover_save(struct leftover *l, const git_oid *head);
/* What is staged in a further index, `index` beneath .git ("worktrees/x/index"). */
int leftover_index(struct leftover *l, const git_oid *head, const char *index, const char *suffix);

/* A commit that keeps others: as many as there are, in steps of a thousand.  tree and date are the first one's. */
int keep_together(struct walk *w, const char *message, const git_oid *commits, size_t n, git_oid *out);

#endif

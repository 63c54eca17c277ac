/* SPDX-License-Identifier: Apache-2.0 */
/* A flat list of what is in a tree, and the trees made of it. */
#ifndef GIT_FILES_H
#define GIT_FILES_H

#include "walk.h"

struct file {
	char *path;
	unsigned mode;
	git_oid id;
};
struct files {
	struct file *v;
	size_t n, cap;
};
#define FILES_MAX 4000000u

void files_free(struct files *f);
#define cleanup_files __attribute__((cleanup(files_free)))
int files_add(struct files *f, const char *path, size_t len, unsigned mode, const git_oid *id); /* 0 or -errno */
void files_sort(struct files *f); /* by path, bytewise; of two with one path one stays */
const struct file *files_find(const struct files *f, const char *path); /* sorted */
bool files_beneath(const struct files *f, const char *folder);          /* sorted; folder without '/' at its end */

/* Everything beneath a tree that is good.  0 or -errno. */
int files_of_tree(struct walk *w, const git_oid *tree, struct files *out);

/* The trees, of a sorted list.  A path that git can't have is reported to lost() and left out. */
int files_write(struct walk *w, const struct files *f, void (*lost)(void *arg, const char *path, const char *why),
                void *arg, git_oid *out);

/* An index, from its text: all entries of a stage; stage 0 without what is only intended to be added.  0 or -EBADMSG. */
struct index_entries {
	struct files stage[4];
	struct files skipped; /* of stage 0: not in the working tree, on purpose (sparse checkout) */
	git_oid shared;       /* the other half of a split index, or zero */
};
int index_read(const void *text, size_t len, struct index_entries *out);
void index_free(struct index_entries *e);

#endif

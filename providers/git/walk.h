/* SPDX-License-Identifier: Apache-2.0 */
/* From what a reference names down to what the checkout has: every object on the way is read, hashed, checked in form, and
 * written to the take.  Commits are taken oldest first, so that one that can't be saved keeps back only itself and what is
 * built on it. */
#ifndef GIT_WALK_H
#define GIT_WALK_H

#include "known.h"
#include "take.h"

struct problem {
	git_oid id;
	const char *what; /* static: "is missing" */
};

enum commit_state { COMMIT_OPEN, COMMIT_GOOD, COMMIT_BAD, COMMIT_KNOWN };
struct commit {
	git_oid id, tree;
	uint32_t *parents;
	uint32_t nparents;
	unsigned char state;
	bool present; /* the checkout has it, but leads nowhere to it */
	bool covered; /* a saved reference leads to it */
	struct problem problem;
};

struct walk {
	struct store *store;
	struct known *known;
	struct take *take;
	struct oids seen; /* 1 to 4: good, of this kind; from SEEN_BAD: index of a problem; 0: not seen after all */
	struct problem *problems;
	size_t nproblems, cap_problems;
	git_oid *added; /* since the last whole commit */
	size_t nadded, cap_added;
	struct oids index; /* of commits */
	struct commit *commits;
	uint32_t ncommits, cap_commits;
};
#define SEEN_BAD 16u

void walk_init(struct walk *w, struct store *store, struct known *known, struct take *take);
void walk_free(struct walk *w);

/* 0: good, and in the take or the checkout; 1: not to be had, *p says why; else -errno: the save can't go on. */
int walk_commit(struct walk *w, const git_oid *id, struct problem *p);
int walk_blob(struct walk *w, const git_oid *id, struct problem *p);
/* Whatever it is, tags and their targets too. */
int walk_any(struct walk *w, const git_oid *id, struct problem *p);

/* The commit, or NULL where it was never come by. */
struct commit *walk_find(const struct walk *w, const git_oid *id);
/* Whether a commit that was walked would be lost without a reference of its own. */
bool walk_uncovered(const struct walk *w, const git_oid *id);
void walk_cover(struct walk *w, const git_oid *id);
/* Behind a commit that is bad: the good ones that it stands on.  Calls fn for each, first parents first. */
int walk_rescue(struct walk *w, const git_oid *id, int (*fn)(void *arg, const git_oid *good), void *arg);

/* An object of our own making: into the take unless it is there.  0 or -errno. */
int walk_put(struct walk *w, git_object_t type, const void *data, size_t len, git_oid *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a reference needs: every object that it leads to, each commit and tree read and its hash checked, each file's
 * object known to be there.  Nothing else of a checkout's objects is copied: what was staged, stashed or dropped there
 * is not for an agent. */
#ifndef GIT_CLOSURE_H
#define GIT_CLOSURE_H

#include "checkout.h"
#include "oids.h"

enum { CLOSURE_PART = 8 /* of one whose walk failed */, CLOSURE_COPIED = 16, CLOSURE_TYPE = 7 };

struct closure {
	git_odb *odb;
	struct oids set; /* git_object_t, and the above */
	git_oid *todo;   /* a stack; of what is on it, all is in the set */
	size_t ntodo, cap_todo;
	git_oid *walked; /* since the last reference */
	size_t nwalked, cap_walked;
	struct oids shallow; /* commits whose parents were never fetched */
	/* Of the last walk that failed: */
	git_oid missing;
	const char *why; /* static */
	bool beyond;     /* it is what a shallow repository lacks */
};

int closure_open(struct closure *k, const struct checkout *c, struct refusal *r);
void closure_close(struct closure *k);
/* 0: all of it is in the set, and whole; 1: it isn't, see missing; -1: refused. */
int closure_add(struct closure *k, const git_oid *id, struct refusal *r);
/* What is behind a tag, and its kind; GIT_OBJECT_INVALID: missing tells. */
git_object_t closure_target(struct closure *k, const git_oid *id, git_oid *target);
/* The commit that a reference leads to, through tags; 1: none. */
int closure_peel(struct closure *k, const git_oid *id, git_oid *commit);
bool closure_has(const struct closure *k, const git_oid *id); /* walked, and whole */
size_t closure_count(const struct closure *k);
/* Whether the first is an ancestor of the second, or the same; both walked. */
int closure_leads(struct closure *k, const git_oid *ancestor, const git_oid *from, bool *leads);

#endif

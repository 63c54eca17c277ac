/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a checkout's references a workspace gets, and under which names. */
#ifndef GIT_SELECT_H
#define GIT_SELECT_H

#include "closure.h"
#include "refs.h"

struct selected {
	char *name; /* in the workspace */
	git_oid id, peeled;
	bool tag; /* peeled is another object */
};
struct selection {
	struct refs refs;   /* the checkout's */
	git_oid base;       /* the Work begins here */
	char *head;         /* the branch that is checked out in the checkout ("refs/heads/main"), or NULL */
	struct selected *v; /* by name */
	size_t n, cap;
	char *origin_head; /* "refs/remotes/origin/main", or NULL */
};

/* The references, and the commit that base names (NULL: HEAD); all it needs is then in the closure. */
int select_base(struct selection *s, struct closure *k, struct checkout *c, const char *base, struct refusal *r);
/* Whether saving to this branch could work. */
int select_branch(struct selection *s, struct closure *k, struct checkout *c, const char *branch, struct refusal *r);
/* Branches and tags: those that are whole. */
int select_others(struct selection *s, struct closure *k, struct checkout *c, struct refusal *r);
void select_close(struct selection *s);

/* A name for the Work's branch: git's rules, and none that could be taken for an option, an expression or another text. */
bool branch_valid(const char *branch);

#endif

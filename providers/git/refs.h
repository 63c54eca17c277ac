/* SPDX-License-Identifier: Apache-2.0 */
/* References, read as data: HEAD, loose and packed references, reflogs.  For the agent's clone, where every byte may be a
 * lie, and for the checkout, whose files are read the same way. */
#ifndef GIT_REFS_H
#define GIT_REFS_H

#include <git2/oid.h>
#include <stdbool.h>
#include <stddef.h>

#define REF_NAME_MAX 1024u

struct ref {
	char *name;     /* "refs/heads/x" */
	git_oid id;     /* when symbolic is NULL */
	char *symbolic; /* what it refers to */
};
struct refs {
	struct ref *v; /* by name, each once */
	size_t n, cap, max;
	/* What could not be read, for a person: at most REFS_BAD of them. */
	struct ref_bad {
		char *name;
		const char *why;
	} bad[64];
	size_t nbad, bad_more;
};

/* The text of HEAD or of a loose reference: 0, or -1 when it is neither.  *symbolic is new text or NULL. */
int ref_parse(const char *text, size_t len, git_oid *id, char **symbolic);

struct packed_iter {
	const char *p, *end;
};
/* 1: a reference; 0: the end; -1: a line that is none (go on for the next).  name is not terminated. */
int packed_next(struct packed_iter *it, const char **name, size_t *name_len, git_oid *id);

/* The two ids of a line of a reflog: 1, 0 at the end, -1 for a line that is none. */
int reflog_next(struct packed_iter *it, git_oid *old, git_oid *new);

/* Read all of a git directory's references, at most max of them; a loose one hides the packed one of its name.  0 or
 * -errno: -E2BIG when there are more than max (what was read is there). */
int refs_load(int gitdir, size_t max, struct refs *out);
void refs_free(struct refs *r);
#define cleanup_refs __attribute__((cleanup(refs_free)))
const struct ref *refs_find(const struct refs *r, const char *name);
/* Follow symbolic references within the set: 0, or -1 where they lead nowhere or in a circle. */
int refs_resolve(const struct refs *r, const struct ref *ref, git_oid *out);

#endif

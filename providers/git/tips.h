/* SPDX-License-Identifier: Apache-2.0 */
/* What a save found, as it is told to the second phase: references to set, what is lost, notes. */
#ifndef GIT_TIPS_H
#define GIT_TIPS_H

#include "walk.h"

struct tips {
	struct walk *w;
	const struct refs *known; /* the checkout's */
	const char *work;
	json_t *refs, *lost, *notes;
	struct oids used; /* hashes of suffixes, folded: 1 a reference, 2 a folder of one */
	git_oid *over;    /* commits beyond what gets a name */
	size_t nover, cap_over;
	size_t named, lost_more;
	git_oid rescued; /* the first good commit behind the last bad tip, or zero */
};

int tips_init(struct tips *t, struct walk *w, const struct refs *known, const char *work);
void tips_free(struct tips *t);

/* A reference to save: `what` is its name in the clone, kind and name make the suffix ("branches", "x"; name may be NULL).
 * It is left out where nothing would be lost with it, unless always.  1: it is bad; what is good behind it is kept. */
int tips_add(struct tips *t, const char *what, const char *kind, const char *name, const git_oid *id, bool left,
             bool always);
/* A commit of our own making. */
int tips_emit(struct tips *t, const char *what, const char *kind, const char *name, const git_oid *id, bool left);
/* Keep what got no name. */
int tips_finish(struct tips *t);

void tips_lost(struct tips *t, const char *what, const char *why);
void tips_note(struct tips *t, const char *text);

#endif

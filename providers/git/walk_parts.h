/* SPDX-License-Identifier: Apache-2.0 */
/* Between walk.c and walk_commits.c. */
#ifndef GIT_WALK_PARTS_H
#define GIT_WALK_PARTS_H

#include "walk.h"

/* Note a problem: 1, or -ENOMEM. */
int walk_bad(struct walk *w, const git_oid *id, const char *what, struct problem *p);
int walk_mark_bad(struct walk *w, const git_oid *id, const struct problem *p);
/* Looked at before: 0 good, 1 bad (*p); -1: not yet. */
int walk_seen(struct walk *w, const git_oid *id, git_object_t type, struct problem *p);
/* 0, 1 with *p, or -ENOMEM.  present: it came from the checkout. */
int walk_read(struct walk *w, const git_oid *id, git_object_t type, struct object *out, bool *present,
              struct problem *p);
int walk_keep(struct walk *w, const git_oid *id, const struct object *o, bool present);
int walk_tree(struct walk *w, const git_oid *id, const git_oid *other_id, int depth, struct problem *p);
/* Forget what was kept since nadded was 0 and the mark was taken. */
int walk_undo(struct walk *w, struct take_mark mark);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of commits.  Its depth is an agent's choice, so nothing here recurses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verify.h"
#include "walk_parts.h"

struct frame {
	uint32_t commit, next;
};
struct stack {
	struct frame *v;
	size_t n, cap;
};

static int push(struct stack *s, uint32_t commit)
{
	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 256;
		struct frame *v = realloc(s->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		s->v = v;
		s->cap = cap;
	}
	s->v[s->n++] = (struct frame){ commit, 0 };
	return 0;
}

static int new_commit(struct walk *w, const git_oid *id, uint32_t *out)
{
	if (w->ncommits == w->cap_commits) {
		uint32_t cap = w->cap_commits ? 2 * w->cap_commits : 256;
		struct commit *v = realloc(w->commits, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		w->commits = v;
		w->cap_commits = cap;
	}
	w->commits[w->ncommits] = (struct commit){ .id = *id };
	*out = w->ncommits++;
	return oids_put(&w->index, id, *out);
}

static void is_bad(struct commit *c, const git_oid *id, const char *what)
{
	c->state = COMMIT_BAD;
	c->problem = (struct problem){ *id, what };
}

static int commit_of(struct walk *w, const git_oid *id, uint32_t *out)
{
	*out = oids_get(&w->index, id);
	return *out == OIDS_NONE ? new_commit(w, id, out) : 0;
}

/* The parents become commits of the walk too, still closed; *more tells that they have to be gone through. */
static int open_commit(struct walk *w, uint32_t at, bool *more)
{
	struct commit *c = &w->commits[at];
	cleanup_object struct object o = { 0 };
	struct commit_view view;
	const char *wrong = NULL;
	uint32_t *parents;
	struct problem p;
	bool present;
	int result = walk_read(w, &c->id, GIT_OBJECT_COMMIT, &o, &present, &p);

	*more = false;
	if (result == 1)
		is_bad(c, &p.id, p.what);
	if (result)
		return result < 0 ? result : 0;
	if (present && read_commit(o.data, o.len, &view) < 0)
		wrong = "is no commit";
	else if (!present)
		wrong = verify_commit(o.data, o.len, &view);
	if (wrong) {
		is_bad(c, &c->id, wrong);
		return 0;
	}
	c->tree = view.tree;
	c->present = present;
	if (present && known_reaches(w->known, &c->id)) {
		c->state = COMMIT_KNOWN;
		return 0;
	}
	if (view.parents > 100000) {
		is_bad(c, &c->id, "has more than 100,000 parents");
		return 0;
	}
	parents = calloc(view.parents + 1, sizeof(*parents));
	for (size_t i = 0; parents && i < view.parents && !result; i++) {
		git_oid parent;

		commit_parent(&view, i, &parent);
		result = commit_of(w, &parent, &parents[i]);
	}
	/* The list of commits may have moved. */
	c = &w->commits[at];
	c->parents = parents;
	c->nparents = parents && !result ? (uint32_t)view.parents : 0;
	if (!parents)
		return -ENOMEM;
	*more = !result;
	return result;
}

/* All parents are decided: the commit's own tree, beside the first parent's. */
static int close_commit(struct walk *w, uint32_t at)
{
	struct commit *c = &w->commits[at];
	const git_oid *beside = c->nparents ? &w->commits[c->parents[0]].tree : NULL;
	struct take_mark mark = take_here(w->take);
	struct problem p;
	int result;

	for (uint32_t i = 0; i < c->nparents; i++) {
		const struct commit *parent = &w->commits[c->parents[i]];

		if (parent->state == COMMIT_BAD) {
			is_bad(c, &parent->problem.id, parent->problem.what);
			return 0;
		}
	}
	w->nadded = 0;
	result = walk_tree(w, &c->tree, beside, 0, &p);
	if (result == 1) {
		is_bad(c, &p.id, p.what);
		return walk_undo(w, mark);
	}
	if (!result && !c->present) {
		cleanup_object struct object o = { 0 };
		bool present;

		result = walk_read(w, &c->id, GIT_OBJECT_COMMIT, &o, &present, &p);
		if (result == 1) {
			is_bad(c, &p.id, p.what);
			return walk_undo(w, mark);
		}
		if (!result)
			result = walk_keep(w, &c->id, &o, present);
	}
	c->state = COMMIT_GOOD;
	return result;
}

static int step(struct walk *w, struct stack *s)
{
	struct frame *f = &s->v[s->n - 1];
	struct commit *c = &w->commits[f->commit];
	uint32_t at = f->commit;
	bool more = true;
	int result = 0;

	if (c->state == COMMIT_OPEN && !c->parents)
		result = open_commit(w, at, &more);
	c = &w->commits[at];
	if (result)
		return result;
	if (more && c->state == COMMIT_OPEN && f->next < c->nparents) {
		uint32_t parent = c->parents[f->next++];

		return w->commits[parent].state == COMMIT_OPEN ? push(s, parent) : 0;
	}
	s->n--;
	return c->state == COMMIT_OPEN ? close_commit(w, at) : 0;
}

int walk_commit(struct walk *w, const git_oid *id, struct problem *p)
{
	struct stack s = { 0 };
	uint32_t at;
	int result = commit_of(w, id, &at);

	if (!result && w->commits[at].state == COMMIT_OPEN)
		result = push(&s, at);
	while (!result && s.n)
		result = step(w, &s);
	free(s.v);
	if (result)
		return result;
	*p = w->commits[at].problem;
	return w->commits[at].state == COMMIT_BAD;
}

struct commit *walk_find(const struct walk *w, const git_oid *id)
{
	uint32_t at = oids_get(&w->index, id);

	return at == OIDS_NONE ? NULL : &w->commits[at];
}

bool walk_uncovered(const struct walk *w, const git_oid *id)
{
	const struct commit *c = walk_find(w, id);

	return c && c->state == COMMIT_GOOD && !c->covered;
}

/* The next parent of the commit on top that was not looked at, going down where there is none; NULL: all were. */
static struct commit *next_parent(struct walk *w, struct stack *s)
{
	while (s->n) {
		struct frame *f = &s->v[s->n - 1];
		const struct commit *c = &w->commits[f->commit];

		if (f->next < c->nparents)
			return &w->commits[c->parents[f->next++]];
		s->n--;
	}
	return NULL;
}

/* Without memory less is covered, and so more is saved. */
void walk_cover(struct walk *w, const git_oid *id)
{
	struct commit *c = walk_find(w, id), *parent;
	struct stack s = { 0 };

	if (!c || c->state != COMMIT_GOOD || c->covered)
		return;
	c->covered = true;
	(void)push(&s, (uint32_t)(c - w->commits));
	while ((parent = next_parent(w, &s))) {
		if (parent->covered || parent->state != COMMIT_GOOD)
			continue;
		parent->covered = true;
		if (push(&s, (uint32_t)(parent - w->commits)) < 0)
			break;
	}
	free(s.v);
}

int walk_rescue(struct walk *w, const git_oid *id, int (*fn)(void *arg, const git_oid *good), void *arg)
{
	const struct commit *c = walk_find(w, id), *parent;
	struct stack s = { 0 };
	struct oids been;
	int result = 0;

	oids_init(&been, w->ncommits);
	if (c && c->state == COMMIT_BAD && c->parents)
		result = push(&s, (uint32_t)(c - w->commits));
	while (!result && (parent = next_parent(w, &s))) {
		if (oids_get(&been, &parent->id) != OIDS_NONE)
			continue;
		result = oids_put(&been, &parent->id, 1);
		if (!result && parent->state == COMMIT_BAD && parent->parents)
			result = push(&s, (uint32_t)(parent - w->commits));
		else if (!result && parent->state != COMMIT_BAD)
			result = fn(arg, &parent->id);
	}
	oids_free(&been);
	free(s.v);
	return result;
}

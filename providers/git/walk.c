/* SPDX-License-Identifier: Apache-2.0 */
/* Trees, blobs and tags; commits are in walk_commits.c.  A tree is gone through beside the tree of the same place in the
 * parent commit, which is whole: what both name is not looked at, so that the work is that of the change. */
#include "walk.h"

#include <errno.h>
#include <git2/odb.h>
#include <stdlib.h>
#include <string.h>

#include "verify.h"
#include "walk_parts.h"

#define DEPTH_MAX   1024
#define SEEN_MAX    20000000u
#define COMMITS_MAX 4000000u
#define TAG_DEPTH   16

void walk_init(struct walk *w, struct store *store, struct known *known, struct take *take)
{
	*w = (struct walk){ .store = store, .known = known, .take = take };
	oids_init(&w->seen, SEEN_MAX);
	oids_init(&w->index, COMMITS_MAX);
}

void walk_free(struct walk *w)
{
	uint32_t i;

	for (i = 0; i < w->ncommits; i++)
		free(w->commits[i].parents);
	free(w->commits);
	free(w->problems);
	free(w->added);
	oids_free(&w->seen);
	oids_free(&w->index);
}

int walk_bad(struct walk *w, const git_oid *id, const char *what, struct problem *p)
{
	*p = (struct problem){ *id, what };
	if (w->nproblems == w->cap_problems) {
		size_t cap = w->cap_problems ? 2 * w->cap_problems : 64;
		struct problem *more = realloc(w->problems, cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		w->problems = more;
		w->cap_problems = cap;
	}
	w->problems[w->nproblems++] = *p;
	return 1;
}

/* What a tree has in it that is bad makes the tree bad, with the same problem. */
int walk_mark_bad(struct walk *w, const git_oid *id, const struct problem *p)
{
	struct problem copy;
	int result = walk_bad(w, &p->id, p->what, &copy);

	if (result < 0)
		return result;
	result = oids_put(&w->seen, id, (uint32_t)(SEEN_BAD + w->nproblems - 1));
	return result < 0 ? result : 1;
}

int walk_seen(struct walk *w, const git_oid *id, git_object_t type, struct problem *p)
{
	uint32_t value = oids_get(&w->seen, id);

	if (value == OIDS_NONE || value == 0)
		return -1;
	if (value >= SEEN_BAD) {
		*p = w->problems[value - SEEN_BAD];
		return 1;
	}
	if (value == (uint32_t)type)
		return 0;
	*p = (struct problem){ *id, "is of another kind than what names it says" };
	return 1;
}

static const char *why_not(int error)
{
	switch (error) {
	case -ENOENT:
		return "is missing";
	case -EBADMSG:
		return "is corrupt";
	case -EFBIG:
		return "is longer than 512 MiB";
	case -ENOMEM:
		return "is too large for the memory";
	case -EINVAL:
	case -ELOOP:
	case -EXDEV:
		return "is not in a regular file of the workspace";
	case -EACCES:
		return "is in a file that can't be read";
	default:
		return "can't be read";
	}
}

static int read_known(struct walk *w, const git_oid *id, struct object *out)
{
	git_odb_object *o;

	if (git_odb_read(&o, w->known->odb, id) < 0)
		return -EBADMSG;
	*out = (struct object){ .type = git_odb_object_type(o), .len = git_odb_object_size(o) };
	out->data = malloc(out->len + 1);
	if (out->data) {
		memcpy(out->data, git_odb_object_data(o), out->len);
		out->data[out->len] = 0;
	}
	git_odb_object_free(o);
	return out->data ? 0 : -ENOMEM;
}

int walk_read(struct walk *w, const git_oid *id, git_object_t type, struct object *out, bool *present,
              struct problem *p)
{
	int result;

	*present = known_has(w->known, id);
	result = *present ? read_known(w, id, out) : -ENOENT;
	if (result < 0) {
		/* What the checkout has and can't read is no reason to lose it. */
		*present = false;
		result = store_read(w->store, id, out);
	}
	if (result < 0)
		return walk_bad(w, id, why_not(result), p);
	if (type == GIT_OBJECT_ANY || out->type == type)
		return 0;
	object_free(out);
	return walk_bad(w, id, "is of another kind than what names it says", p);
}

/* Whole and good: into the take, if the checkout lacks it. */
int walk_keep(struct walk *w, const git_oid *id, const struct object *o, bool present)
{
	int result = present ? 0 : take_add(w->take, o);

	if (!result && w->nadded == w->cap_added) {
		size_t cap = w->cap_added ? 2 * w->cap_added : 1024;
		git_oid *more = realloc(w->added, cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		w->added = more;
		w->cap_added = cap;
	}
	if (result)
		return result;
	w->added[w->nadded++] = *id;
	return oids_put(&w->seen, id, (uint32_t)o->type);
}

static int fault_of(struct walk *w, const git_oid *id, const char *wrong, struct problem *p)
{
	*p = (struct problem){ *id, wrong };
	return walk_mark_bad(w, id, p);
}

/* name NULL: whatever it is called. */
static int content(struct walk *w, const git_oid *id, const char *name, struct problem *p)
{
	bool modules = name && is_gitmodules(name), attributes = name && is_gitattributes(name);
	bool present, kept;
	int result = walk_seen(w, id, GIT_OBJECT_BLOB, p);
	cleanup_object struct object o = { 0 };
	const char *wrong;
	git_object_t type;
	size_t len;

	if (result == 1 || (result == 0 && !modules && !attributes))
		return result;
	if (result < 0 && !modules && !attributes && known_has(w->known, id) &&
	    git_odb_read_header(&len, &type, w->known->odb, id) == 0) {
		o.type = type;
		return type == GIT_OBJECT_BLOB ? walk_keep(w, id, &o, true)
		                               : fault_of(w, id, "is of another kind than what names it says", p);
	}
	kept = result == 0;
	result = walk_read(w, id, GIT_OBJECT_BLOB, &o, &present, p);
	if (result)
		return result == 1 ? walk_mark_bad(w, id, p) : result;
	wrong = modules ? verify_gitmodules(o.data, o.len) : attributes ? verify_gitattributes(o.data, o.len) : NULL;
	if (wrong) {
		/* As a file of another name it would be good: it is what names it that is bad. */
		*p = (struct problem){ *id, wrong };
		return 1;
	}
	return kept ? 0 : walk_keep(w, id, &o, present);
}

int walk_blob(struct walk *w, const git_oid *id, struct problem *p)
{
	return content(w, id, NULL, p);
}

/* The entry of the same name and kind in the tree beside, which is in the same order. */
static bool beside(struct tree_iter *it, struct tree_entry *at, bool *have, const struct tree_entry *e)
{
	while (*have) {
		int c = tree_compare(at->name, at->mode == MODE_TREE, e->name, e->mode == MODE_TREE);

		if (c >= 0)
			return c == 0 && (at->mode == MODE_TREE) == (e->mode == MODE_TREE);
		*have = tree_next(it, at) == 1;
	}
	return false;
}

static int entries(struct walk *w, const struct object *o, const struct object *other, int depth, struct problem *p)
{
	struct tree_iter it = { (const unsigned char *)o->data, (const unsigned char *)o->data + o->len };
	struct tree_iter other_it = { (const unsigned char *)other->data,
		                      (const unsigned char *)other->data + other->len };
	struct tree_entry e, at;
	bool have = other->data && tree_next(&other_it, &at) == 1;
	int more, result = 0;

	while (!result && (more = tree_next(&it, &e)) != 0) {
		bool same;

		if (more < 0) {
			*p = (struct problem){ { { 0 } }, "is cut short or no tree" };
			return 1;
		}
		same = beside(&other_it, &at, &have, &e);
		if (e.mode == MODE_COMMIT || (same && git_oid_equal(&e.id, &at.id) && e.mode == at.mode))
			continue;
		if (e.mode == MODE_TREE)
			result = walk_tree(w, &e.id, same ? &at.id : NULL, depth + 1, p);
		else
			result = content(w, &e.id, e.name, p);
	}
	return result;
}

int walk_tree(struct walk *w, const git_oid *id, const git_oid *other_id, int depth, struct problem *p)
{
	cleanup_object struct object o = { 0 }, other = { 0 };
	struct problem ignored;
	bool present, elsewhere;
	const char *wrong;
	int result = walk_seen(w, id, GIT_OBJECT_TREE, p);

	if (result >= 0)
		return result;
	if (depth > DEPTH_MAX)
		return fault_of(w, id, "is too deep within other folders", p);
	result = walk_read(w, id, GIT_OBJECT_TREE, &o, &present, p);
	if (result)
		return result == 1 ? walk_mark_bad(w, id, p) : result;
	/* What the checkout has already is not judged: it is older than this save. */
	wrong = present ? NULL : verify_tree(o.data, o.len);
	if (wrong)
		return fault_of(w, id, wrong, p);
	if (other_id && walk_read(w, other_id, GIT_OBJECT_TREE, &other, &elsewhere, &ignored) < 0)
		return -ENOMEM;
	result = entries(w, &o, &other, depth, p);
	if (result == 1) {
		if (git_oid_is_zero(&p->id))
			p->id = *id;
		return walk_mark_bad(w, id, p);
	}
	return result ? result : walk_keep(w, id, &o, present);
}

static int tag(struct walk *w, const git_oid *id, int depth, struct problem *p)
{
	cleanup_object struct object o = { 0 };
	git_object_t type = GIT_OBJECT_INVALID;
	const char *wrong = NULL;
	git_oid target;
	bool present;
	int result = walk_seen(w, id, GIT_OBJECT_TAG, p);

	if (result >= 0)
		return result;
	result = walk_read(w, id, GIT_OBJECT_TAG, &o, &present, p);
	if (result)
		return result;
	if (depth > TAG_DEPTH)
		wrong = "is a tag of too many tags";
	else if (!present)
		wrong = verify_tag(o.data, o.len, &target, &type);
	else if (read_tag(o.data, o.len, &target, &type) < 0)
		wrong = "is no tag";
	if (wrong)
		return fault_of(w, id, wrong, p);
	if (type == GIT_OBJECT_COMMIT)
		result = walk_commit(w, &target, p);
	else if (type == GIT_OBJECT_TREE)
		result = walk_tree(w, &target, NULL, 0, p);
	else if (type == GIT_OBJECT_BLOB)
		result = walk_blob(w, &target, p);
	else
		result = tag(w, &target, depth + 1, p);
	return result ? result : walk_keep(w, id, &o, present);
}

int walk_undo(struct walk *w, struct take_mark mark)
{
	size_t i;
	int result = 0;

	for (i = 0; i < w->nadded && !result; i++)
		result = oids_put(&w->seen, &w->added[i], 0);
	w->nadded = 0;
	return result ? result : take_back(w->take, mark);
}

int walk_any(struct walk *w, const git_oid *id, struct problem *p)
{
	cleanup_object struct object o = { 0 };
	struct take_mark mark;
	bool present;
	int result, undone;

	if (oids_get(&w->index, id) != OIDS_NONE)
		return walk_commit(w, id, p);
	result = walk_read(w, id, GIT_OBJECT_ANY, &o, &present, p);
	if (result)
		return result;
	if (o.type == GIT_OBJECT_COMMIT)
		return walk_commit(w, id, p);
	if (o.type == GIT_OBJECT_TAG)
		return tag(w, id, 0, p);
	w->nadded = 0;
	mark = take_here(w->take);
	result = o.type == GIT_OBJECT_TREE ? walk_tree(w, id, NULL, 0, p) : walk_blob(w, id, p);
	undone = result == 1 ? walk_undo(w, mark) : 0;
	return undone < 0 ? undone : result;
}

int walk_put(struct walk *w, git_object_t type, const void *data, size_t len, git_oid *out)
{
	struct object o = { .type = type, .data = (char *)(uintptr_t)data, .len = len };
	struct problem p;
	int seen;

	if (git_odb_hash(out, data, len, type) < 0)
		return -EBADMSG;
	seen = walk_seen(w, out, type, &p);
	if (seen == 0)
		return 0;
	/* Bad as the clone had it: this is the same object, whole. */
	return walk_keep(w, out, &o, known_has(w->known, out));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* One stack, one set; an object is read once, whatever leads to it.  A walk that fails leaves what it came by marked as
 * part of something broken: a later reference that leads into it is left out as well, which may be one too many and is
 * never one too few. */
#include "closure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "odb.h"
#include "verify.h"

#define OBJECTS_MAX (50u << 20)
#define SHALLOW_MAX (64u << 20)
#define TAGS_MAX    16 /* one around the other */

static int load_shallow(struct closure *k, const struct checkout *c, struct refusal *r)
{
	cleanup_fd int fd = open(c->common, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_text struct text text = { 0 };
	git_oid id;

	oids_init(&k->shallow, OBJECTS_MAX);
	if (fd < 0)
		return refuse_errno(r, c->common, "the repository can't be opened");
	if (read_small(fd, "shallow", SHALLOW_MAX, &text) < 0)
		return errno == ENOENT ? 0 : refuse_errno(r, c->common, "its list of shallow commits can't be read");
	for (size_t at = 0; at + GIT_OID_HEXSZ <= text.len; at += GIT_OID_HEXSZ + 1)
		if (oid_parse(text.data + at, GIT_OID_HEXSZ, &id) == 0 && oids_put(&k->shallow, &id, 0) < 0)
			return no_memory(r);
	return 0;
}

int closure_open(struct closure *k, const struct checkout *c, struct refusal *r)
{
	*k = (struct closure){ 0 };
	oids_init(&k->set, OBJECTS_MAX);
	if (odb_open(&k->odb, c->objects, c->nobjects) < 0)
		return checkout_refuse(c, r, "fsck --full", "has objects that can't be opened: %s",
		                       git_error_last() ? git_error_last()->message : "unknown");
	return load_shallow(k, c, r);
}

void closure_close(struct closure *k)
{
	git_odb_free(k->odb);
	oids_free(&k->set);
	oids_free(&k->shallow);
	free(k->todo);
	free(k->walked);
	*k = (struct closure){ 0 };
}

static bool push(git_oid **list, size_t *n, size_t *cap, const git_oid *id)
{
	if (*n == *cap) {
		size_t more = *cap ? 2 * *cap : 1024;
		git_oid *grown = realloc(*list, more * sizeof(*grown));

		if (!grown)
			return false;
		*list = grown;
		*cap = more;
	}
	(*list)[(*n)++] = *id;
	return true;
}

static int broken(struct closure *k, const git_oid *id, const char *why)
{
	k->missing = *id;
	k->why = why;
	return 1;
}

/* Type 0: not known before it is read. */
static int meet(struct closure *k, const git_oid *id, git_object_t type)
{
	uint32_t known = oids_get(&k->set, id);
	int rc;

	if (known != OIDS_NONE)
		return known & CLOSURE_PART ? broken(k, id, "belongs to what is not whole") : 0;
	if (type == GIT_OBJECT_BLOB && !git_odb_exists_ext(k->odb, id, GIT_ODB_LOOKUP_NO_REFRESH))
		return broken(k, id, "is missing");
	rc = oids_put(&k->set, id, (uint32_t)type);
	if (rc < 0)
		return rc;
	if (!push(&k->walked, &k->nwalked, &k->cap_walked, id))
		return -ENOMEM;
	if (type != GIT_OBJECT_BLOB && !push(&k->todo, &k->ntodo, &k->cap_todo, id))
		return -ENOMEM;
	return 0;
}

static int enter_tree(struct closure *k, const git_oid *id, const void *data, size_t len)
{
	struct tree_iter it = { data, (const unsigned char *)data + len };
	struct tree_entry e;
	int more, rc;

	while ((more = tree_next(&it, &e)) == 1) {
		if (e.mode == MODE_COMMIT)
			continue; /* a submodule's: in another repository */
		rc = meet(k, &e.id, (e.mode & 0170000u) == MODE_TREE ? GIT_OBJECT_TREE : GIT_OBJECT_BLOB);
		if (rc)
			return rc;
	}
	return more < 0 ? broken(k, id, "is no tree") : 0;
}

static int enter_commit(struct closure *k, const git_oid *id, const void *data, size_t len)
{
	struct commit_view view;
	int rc;

	if (read_commit(data, len, &view) < 0)
		return broken(k, id, "is no commit");
	rc = meet(k, &view.tree, GIT_OBJECT_TREE);
	for (size_t i = 0; !rc && i < view.parents; i++) {
		git_oid parent;

		commit_parent(&view, i, &parent);
		if (oids_get(&k->shallow, id) != OIDS_NONE &&
		    !git_odb_exists_ext(k->odb, &parent, GIT_ODB_LOOKUP_NO_REFRESH)) {
			k->beyond = true;
			return broken(k, &parent, "was never fetched");
		}
		rc = meet(k, &parent, GIT_OBJECT_COMMIT);
	}
	return rc;
}

static int enter_tag(struct closure *k, const git_oid *id, const void *data, size_t len)
{
	git_object_t type;
	git_oid target;

	return read_tag(data, len, &target, &type) < 0 ? broken(k, id, "is no tag") : meet(k, &target, type);
}

static int enter(struct closure *k, const git_oid *id)
{
	uint32_t expected = oids_get(&k->set, id) & CLOSURE_TYPE;
	git_odb_object *object = NULL;
	const void *data;
	git_object_t type;
	size_t len;
	int rc = git_odb_read(&object, k->odb, id);

	if (rc < 0)
		return broken(k, id, rc == GIT_ENOTFOUND ? "is missing" : "is corrupt");
	data = git_odb_object_data(object);
	len = git_odb_object_size(object);
	type = git_odb_object_type(object);
	if (expected && expected != (uint32_t)type)
		rc = broken(k, id, "is of another kind than what leads to it says");
	else if (oids_put(&k->set, id, (uint32_t)type) < 0)
		rc = -ENOMEM;
	else if (type == GIT_OBJECT_COMMIT)
		rc = enter_commit(k, id, data, len);
	else if (type == GIT_OBJECT_TREE)
		rc = enter_tree(k, id, data, len);
	else if (type == GIT_OBJECT_TAG)
		rc = enter_tag(k, id, data, len);
	git_odb_object_free(object);
	return rc;
}

static int forget_walk(struct closure *k)
{
	for (size_t i = 0; i < k->nwalked; i++) {
		uint32_t value = oids_get(&k->set, &k->walked[i]);

		if (oids_put(&k->set, &k->walked[i], value | CLOSURE_PART) < 0)
			return -ENOMEM;
	}
	return 0;
}

int closure_add(struct closure *k, const git_oid *id, struct refusal *r)
{
	int rc;

	k->nwalked = k->ntodo = 0;
	k->beyond = false;
	rc = meet(k, id, 0);
	while (!rc && k->ntodo) {
		git_oid next = k->todo[--k->ntodo];

		rc = enter(k, &next);
	}
	if (rc > 0 && forget_walk(k) < 0)
		rc = -ENOMEM;
	if (rc == -E2BIG)
		return refuse(r, "sandbox_workspace", "objects", "git clone --single-branch, and name that one",
		              "the checkout has more than %u objects", OBJECTS_MAX);
	return rc < 0 ? no_memory(r) : rc;
}

git_object_t closure_target(struct closure *k, const git_oid *id, git_oid *target)
{
	*target = *id;
	for (int depth = 0; depth < TAGS_MAX; depth++) {
		git_odb_object *object = NULL;
		git_object_t type, behind;
		int rc = git_odb_read(&object, k->odb, target);

		if (rc < 0) {
			(void)broken(k, target, rc == GIT_ENOTFOUND ? "is missing" : "is corrupt");
			return GIT_OBJECT_INVALID;
		}
		type = git_odb_object_type(object);
		if (type == GIT_OBJECT_TAG)
			rc = read_tag(git_odb_object_data(object), git_odb_object_size(object), target, &behind);
		git_odb_object_free(object);
		if (type != GIT_OBJECT_TAG)
			return type;
		if (rc < 0)
			break;
	}
	(void)broken(k, target, "is no tag");
	return GIT_OBJECT_INVALID;
}

int closure_peel(struct closure *k, const git_oid *id, git_oid *commit)
{
	git_object_t type = closure_target(k, id, commit);

	if (type == GIT_OBJECT_COMMIT)
		return 0;
	return type == GIT_OBJECT_INVALID ? 1 : broken(k, commit, "is no commit");
}

bool closure_has(const struct closure *k, const git_oid *id)
{
	uint32_t value = oids_get(&k->set, id);

	return value != OIDS_NONE && !(value & CLOSURE_PART);
}

size_t closure_count(const struct closure *k)
{
	size_t n = 0;

	for (size_t i = 0; i < k->set.cap; i++)
		n += k->set.table[i].value != OIDS_NONE && !(k->set.table[i].value & CLOSURE_PART);
	return n;
}

static int look_at_parents(struct closure *k, const git_oid *id, struct oids *seen)
{
	git_odb_object *object = NULL;
	struct commit_view view;
	int rc = 0;

	if (git_odb_read(&object, k->odb, id) < 0)
		return broken(k, id, "is missing");
	if (read_commit(git_odb_object_data(object), git_odb_object_size(object), &view) < 0)
		rc = broken(k, id, "is no commit");
	for (size_t i = 0; !rc && i < view.parents; i++) {
		git_oid parent;

		commit_parent(&view, i, &parent);
		if (oids_get(seen, &parent) != OIDS_NONE)
			continue;
		if (oids_put(seen, &parent, 0) < 0 || !push(&k->todo, &k->ntodo, &k->cap_todo, &parent))
			rc = -ENOMEM;
	}
	git_odb_object_free(object);
	return rc;
}

int closure_leads(struct closure *k, const git_oid *ancestor, const git_oid *from, bool *leads)
{
	struct oids seen;
	int rc = 0;

	oids_init(&seen, OBJECTS_MAX);
	k->ntodo = 0;
	*leads = git_oid_equal(ancestor, from);
	if (!*leads && !push(&k->todo, &k->ntodo, &k->cap_todo, from))
		rc = -ENOMEM;
	while (!rc && !*leads && k->ntodo) {
		git_oid next = k->todo[--k->ntodo];

		*leads = git_oid_equal(ancestor, &next);
		if (!*leads)
			rc = look_at_parents(k, &next, &seen);
	}
	oids_free(&seen);
	return rc;
}

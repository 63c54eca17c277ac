/* SPDX-License-Identifier: Apache-2.0 */
#include "known.h"

#include <errno.h>
#include <git2.h>
#include <stdlib.h>
#include <string.h>

#include "odb.h"

#define TIPS_MAX 4000000u
#define ALL_MAX  50000000u
/* After so many walks of their own, one walk over everything is cheaper. */
#define ASK_MAX 16u

static int read_shallow(struct known *k, const struct text *shallow)
{
	const char *p = shallow->data, *end = p + shallow->len, *nl;
	git_oid id;

	for (; p && p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			nl = end;
		if (oid_parse(p, (size_t)(nl - p), &id) == 0 && oids_put(&k->shallow, &id, 1) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

/* A reference to a tag leads to what the tag is of. */
static int add_tip(struct known *k, const git_oid *id)
{
	git_odb_object *o;
	git_object_t type;
	git_oid at = *id, to;
	int i, result = 0;

	for (i = 0; i < 16 && !result; i++) {
		bool tag;

		if (oids_get(&k->tips, &at) != OIDS_NONE)
			return 0;
		result = oids_put(&k->tips, &at, 1);
		if (result || git_odb_read(&o, k->odb, &at) < 0)
			return result;
		type = git_odb_object_type(o);
		tag = type == GIT_OBJECT_TAG &&
		      git_oid_fromstrn(&to, (const char *)git_odb_object_data(o) + strlen("object "), 40) == 0;
		git_odb_object_free(o);
		if (type == GIT_OBJECT_COMMIT)
			k->tip[k->ntips++] = at;
		if (!tag)
			return 0;
		at = to;
	}
	return result;
}

int known_open(struct known *k, const struct checkout *from, const struct refs *refs, const struct text *shallow)
{
	git_oid id;
	size_t i;
	int result;

	*k = (struct known){ 0 };
	oids_init(&k->tips, TIPS_MAX);
	oids_init(&k->shallow, TIPS_MAX);
	oids_init(&k->reached, ALL_MAX);
	if (odb_open(&k->odb, from->objects, from->nobjects) < 0 || git_repository_wrap_odb(&k->repo, k->odb) < 0)
		return -EIO;
	k->tip = calloc(refs->n + 1, sizeof(*k->tip));
	if (!k->tip)
		return -ENOMEM;
	result = read_shallow(k, shallow);
	for (i = 0; i < refs->n && !result; i++)
		if (refs_resolve(refs, &refs->v[i], &id) == 0)
			result = add_tip(k, &id);
	return result;
}

void known_close(struct known *k)
{
	git_repository_free(k->repo);
	git_odb_free(k->odb);
	free(k->tip);
	oids_free(&k->tips);
	oids_free(&k->shallow);
	oids_free(&k->reached);
}

bool known_has(const struct known *k, const git_oid *id)
{
	return git_odb_exists_ext(k->odb, id, GIT_ODB_LOOKUP_NO_REFRESH) == 1;
}

static void reach_all(struct known *k)
{
	git_revwalk *walk = NULL;
	git_oid id;
	size_t i;

	k->all = true;
	oids_free(&k->reached);
	if (git_revwalk_new(&walk, k->repo) < 0)
		return;
	for (i = 0; i < k->ntips; i++)
		(void)git_revwalk_push(walk, &k->tip[i]);
	while (git_revwalk_next(&id, walk) == 0)
		if (oids_put(&k->reached, &id, 1) < 0)
			break;
	git_revwalk_free(walk);
}

bool known_reaches(struct known *k, const git_oid *commit)
{
	uint32_t before;
	bool yes;

	if (!known_has(k, commit))
		return false;
	if (oids_get(&k->tips, commit) != OIDS_NONE || oids_get(&k->shallow, commit) != OIDS_NONE)
		return true;
	before = oids_get(&k->reached, commit);
	if (before != OIDS_NONE || k->all)
		return before == 1;
	if (k->asked++ == ASK_MAX) {
		reach_all(k);
		return oids_get(&k->reached, commit) == 1;
	}
	/* A walk that fails (a shallow history) says no: then it is looked at piece by piece. */
	yes = k->ntips && git_graph_reachable_from_any(k->repo, commit, k->tip, k->ntips) == 1;
	(void)oids_put(&k->reached, commit, yes);
	return yes;
}

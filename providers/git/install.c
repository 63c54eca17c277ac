/* SPDX-License-Identifier: Apache-2.0 */
#include "install.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "be32.h"
#include "oids.h"
#include "packfile.h"
#include "take.h"
#include "verify.h"

#define NEEDS_MAX 40000000u

struct install {
	int take;
	uint64_t size;
	git_odb *odb;
	z_stream z;
	struct packfile pack;
	struct oids have;  /* id: kind */
	struct oids needs; /* id: kind that it has to be of */
	struct {           /* blobs that git acts on */
		git_oid id;
		bool modules;
	} * special;
	size_t nspecial, cap_special;
	struct oids where; /* of the blobs in the take: the entry's number */
	uint64_t *at;
	const char *wrong; /* static */
	git_oid culprit;
};

static int bad(struct install *in, const git_oid *id, const char *wrong)
{
	in->culprit = *id;
	in->wrong = wrong;
	return -EBADMSG;
}

static int need(struct install *in, const git_oid *id, git_object_t type)
{
	uint32_t before = oids_get(&in->needs, id);

	if (before != OIDS_NONE)
		return before == (uint32_t)type ? 0 : bad(in, id, "is named as two kinds of object");
	return oids_put(&in->needs, id, (uint32_t)type);
}

static int note_special(struct install *in, const git_oid *id, bool modules)
{
	if (in->nspecial == in->cap_special) {
		size_t cap = in->cap_special ? 2 * in->cap_special : 16;
		void *v = realloc(in->special, cap * sizeof(*in->special));

		if (!v)
			return -ENOMEM;
		in->special = v;
		in->cap_special = cap;
	}
	in->special[in->nspecial].id = *id;
	in->special[in->nspecial++].modules = modules;
	return 0;
}

static int needs_of_tree(struct install *in, const struct object *o)
{
	struct tree_iter it = { (const unsigned char *)o->data, (const unsigned char *)o->data + o->len };
	struct tree_entry e;
	int result = 0;

	while (!result && tree_next(&it, &e) == 1) {
		if (e.mode == MODE_COMMIT)
			continue;
		result = need(in, &e.id, e.mode == MODE_TREE ? GIT_OBJECT_TREE : GIT_OBJECT_BLOB);
		if (result || e.mode == MODE_TREE)
			continue;
		if (is_gitmodules(e.name))
			result = note_special(in, &e.id, true);
		else if (is_gitattributes(e.name))
			result = note_special(in, &e.id, false);
	}
	return result;
}

static int check_object(struct install *in, const git_oid *id, const struct object *o)
{
	struct commit_view view;
	git_oid target;
	git_object_t type;
	const char *wrong = NULL;
	int result;

	switch (o->type) {
	case GIT_OBJECT_BLOB:
		return 0;
	case GIT_OBJECT_TREE:
		wrong = verify_tree(o->data, o->len);
		return wrong ? bad(in, id, wrong) : needs_of_tree(in, o);
	case GIT_OBJECT_COMMIT:
		wrong = verify_commit(o->data, o->len, &view);
		result = wrong ? bad(in, id, wrong) : need(in, &view.tree, GIT_OBJECT_TREE);
		for (size_t i = 0; i < view.parents && !result; i++) {
			commit_parent(&view, i, &target);
			result = need(in, &target, GIT_OBJECT_COMMIT);
		}
		return result;
	default:
		wrong = verify_tag(o->data, o->len, &target, &type);
		return wrong ? bad(in, id, wrong) : need(in, &target, type);
	}
}

/* As it was compressed: the bytes that were looked at. */
static int write_entry(struct install *in, const git_oid *id, const struct object *o)
{
	unsigned char head[16];
	size_t len = pack_head(head, (unsigned)o->type, o->len);
	int result = packfile_entry(&in->pack, id);

	if (!result)
		result = packfile_write(&in->pack, head, len);
	return result ? result : packfile_write(&in->pack, o->raw.data, o->raw.len);
}

static int read_whole_entry(struct install *in, uint64_t offset, struct object *o, uint64_t *end)
{
	struct pack_entry e;
	git_oid none = { { 0 } };
	int result = pack_entry_at(in->take, in->size, offset, &e);

	if (!result && e.kind >= PACK_OFFSET_DELTA)
		return bad(in, &none, "is not whole");
	if (!result && e.len > OBJECT_MAX)
		return -EFBIG;
	if (result)
		return result;
	*o = (struct object){ .type = (git_object_t)e.kind, .data = malloc((size_t)e.len + 1), .len = (size_t)e.len };
	if (!o->data)
		return -ENOMEM;
	o->data[o->len] = 0;
	return inflate_at(&in->z, in->take, in->size, e.data, o->data, o->len, end, &o->raw);
}

static int take_entry(struct install *in, uint32_t number, uint64_t offset, uint64_t *end)
{
	cleanup_object struct object o = { 0 };
	git_oid id;
	int result = read_whole_entry(in, offset, &o, end);

	if (result)
		return result;
	if (git_odb_hash(&id, o.data, o.len, o.type) < 0)
		return bad(in, &id, "is made to collide under SHA-1");
	if (oids_get(&in->have, &id) != OIDS_NONE)
		return bad(in, &id, "is there twice");
	in->at[number] = offset;
	result = oids_put(&in->have, &id, (uint32_t)o.type);
	if (!result)
		result = oids_put(&in->where, &id, number);
	if (!result)
		result = check_object(in, &id, &o);
	return result ? result : write_entry(in, &id, &o);
}

static int take_entries(struct install *in, uint32_t count)
{
	uint64_t offset = TAKE_HEADER;
	int result = 0;

	for (uint32_t i = 0; i < count && !result; i++)
		result = take_entry(in, i, offset, &offset);
	return !result && offset != in->size ? -EBADMSG : result;
}

static int check_needs(struct install *in)
{
	for (size_t i = 0; i < in->needs.cap; i++) {
		const struct oid_entry *e = &in->needs.table[i];
		uint32_t have;
		git_object_t type;
		size_t len;

		if (e->value == OIDS_NONE)
			continue;
		have = oids_get(&in->have, &e->id);
		if (have == OIDS_NONE && git_odb_exists_ext(in->odb, &e->id, GIT_ODB_LOOKUP_NO_REFRESH) == 1 &&
		    git_odb_read_header(&len, &type, in->odb, &e->id) == 0)
			have = (uint32_t)type;
		if (have != e->value)
			return bad(in, &e->id,
			           have == OIDS_NONE ? "is missing" : "is of another kind than what names it says");
	}
	return 0;
}

static int check_special(struct install *in, const git_oid *id, bool modules)
{
	cleanup_object struct object o = { 0 };
	git_odb_object *known = NULL;
	uint32_t number = oids_get(&in->where, id);
	const char *wrong, *data;
	uint64_t end;
	size_t len;
	int result;

	if (number != OIDS_NONE) {
		result = read_whole_entry(in, in->at[number], &o, &end);
		if (result)
			return result;
		data = o.data;
		len = o.len;
	} else {
		if (git_odb_read(&known, in->odb, id) < 0)
			return bad(in, id, "is missing");
		data = git_odb_object_data(known);
		len = git_odb_object_size(known);
	}
	wrong = modules ? verify_gitmodules(data, len) : verify_gitattributes(data, len);
	git_odb_object_free(known);
	return wrong ? bad(in, id, wrong) : 0;
}

static int read_head(struct install *in, uint32_t *count)
{
	unsigned char head[TAKE_HEADER];
	struct stat st;

	if (fstat(in->take, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > TAKE_MAX + OBJECT_MAX + (1u << 20) ||
	    pread(in->take, head, sizeof(head), 0) != (ssize_t)sizeof(head) || memcmp(head, "PACK\0\0\0\2", 8) != 0)
		return -EBADMSG;
	*count = be32(head + 8);
	in->size = (uint64_t)st.st_size;
	return *count <= TAKE_COUNT ? 0 : -EBADMSG;
}

static int install(struct install *in, int pack_dir, uint32_t count, char name[64])
{
	int result;

	in->at = calloc(count, sizeof(*in->at));
	if (!in->at || inflateInit(&in->z) != Z_OK)
		return -ENOMEM;
	oids_init(&in->have, count);
	oids_init(&in->where, count);
	oids_init(&in->needs, NEEDS_MAX);
	result = packfile_open(&in->pack, pack_dir, count);
	if (!result)
		result = take_entries(in, count);
	if (!result)
		result = check_needs(in);
	for (size_t i = 0; i < in->nspecial && !result; i++)
		result = check_special(in, &in->special[i].id, in->special[i].modules);
	if (!result)
		result = packfile_finish(&in->pack, name);
	packfile_close(&in->pack);
	inflateEnd(&in->z);
	return result;
}

int install_take(int take, int pack_dir, git_odb *odb, struct installed *out, struct refusal *r)
{
	struct install in = { .take = take, .odb = odb, .pack = { .fd = -1 } };
	uint32_t count = 0;
	int result = read_head(&in, &count);

	*out = (struct installed){ .objects = count };
	if (!result && count)
		result = install(&in, pack_dir, count, out->name);
	free(in.at);
	free(in.special);
	oids_free(&in.have);
	oids_free(&in.where);
	oids_free(&in.needs);
	if (!result)
		return 0;
	if (in.wrong)
		return refuse(r, "workspace_conflict", git_oid_tostr_s(&in.culprit),
		              "finish the Work with --keep, and report this",
		              "what was taken out of the workspace does not pass the second check: object %s %s",
		              git_oid_tostr_s(&in.culprit), in.wrong);
	if (result == -EBADMSG || result == -EFBIG || result == -E2BIG)
		return refuse(r, "workspace_conflict", "take.pack", "finish the Work with --keep, and report this",
		              "what was taken out of the workspace does not pass the second check");
	errno = -result;
	return refuse_errno(r, "objects/pack", "the objects can't be written into the checkout");
}

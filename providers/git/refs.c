/* SPDX-License-Identifier: Apache-2.0 */
#include "refs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "beneath.h"
#include "oids.h"
#include "verify.h"

#define PACKED_MAX (256u << 20)
#define LOOSE_MAX  4096u
#define DEPTH_MAX  32 /* of folders beneath refs */
#define FOLLOW_MAX 5  /* as git */

static bool component_valid(const char *name, size_t len)
{
	if (!len || name[0] == '.')
		return false;
	return !(len >= 5 && !memcmp(name + len - 5, ".lock", 5));
}

bool ref_name_valid(const char *name, size_t len)
{
	size_t start = 0, i;

	if (len < 6 || len > REF_NAME_MAX || memcmp(name, "refs/", 5) != 0 || name[len - 1] == '.')
		return false;
	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c < 0x20 || c == 0x7f || strchr(" ~^:?*[\\", c))
			return false;
		if ((c == '.' && name[i + 1 < len ? i + 1 : i] == '.' && i + 1 < len) ||
		    (c == '@' && i + 1 < len && name[i + 1] == '{'))
			return false;
		if (c != '/')
			continue;
		if (!component_valid(name + start, i - start))
			return false;
		start = i + 1;
	}
	return component_valid(name + start, len - start);
}

static bool blank(char c)
{
	return c == '\n' || c == ' ' || c == '\t' || c == '\r';
}

int ref_parse(const char *text, size_t len, git_oid *id, char **symbolic)
{
	*symbolic = NULL;
	while (len && blank(text[len - 1]))
		len--;
	if (len > 4 && !memcmp(text, "ref:", 4)) {
		for (text += 4, len -= 4; len && blank(*text); text++, len--)
			;
		if (!ref_name_valid(text, len))
			return -1;
		*symbolic = strndup(text, len);
		return *symbolic ? 0 : -1;
	}
	if (oid_parse(text, len, id) < 0 || (len > GIT_OID_HEXSZ && !blank(text[GIT_OID_HEXSZ])))
		return -1;
	return 0;
}

static const char *line_end(struct packed_iter *it)
{
	const char *nl = memchr(it->p, '\n', (size_t)(it->end - it->p));
	const char *end = nl ? nl : it->end;

	it->p = nl ? nl + 1 : it->end;
	return end;
}

int packed_next(struct packed_iter *it, const char **name, size_t *name_len, git_oid *id)
{
	const char *line, *end;

	do {
		if (it->p >= it->end)
			return 0;
		line = it->p;
		end = line_end(it);
	} while (*line == '#' || *line == '^');
	if (end - line < (long)GIT_OID_HEXSZ + 2 || oid_parse(line, (size_t)(end - line), id) < 0 ||
	    line[GIT_OID_HEXSZ] != ' ')
		return -1;
	*name = line + GIT_OID_HEXSZ + 1;
	*name_len = (size_t)(end - *name);
	return ref_name_valid(*name, *name_len) ? 1 : -1;
}

int reflog_next(struct packed_iter *it, git_oid *old, git_oid *new)
{
	const char *line = it->p, *end;

	if (line >= it->end)
		return 0;
	end = line_end(it);
	if (end - line < 2 * (long)GIT_OID_HEXSZ + 1 || line[GIT_OID_HEXSZ] != ' ' ||
	    oid_parse(line, GIT_OID_HEXSZ, old) < 0 || oid_parse(line + GIT_OID_HEXSZ + 1, GIT_OID_HEXSZ, new) < 0)
		return -1;
	return 1;
}

static void add_bad(struct refs *r, const char *name, size_t len, const char *why)
{
	char *copy = r->nbad < sizeof(r->bad) / sizeof(r->bad[0]) ? strndup(name, len) : NULL;

	if (!copy) {
		r->bad_more++;
		return;
	}
	r->bad[r->nbad++] = (struct ref_bad){ copy, why };
}

static int add(struct refs *r, const char *name, size_t len, const git_oid *id, char *symbolic)
{
	char *copy;

	if (r->n == r->max) {
		free(symbolic);
		return -E2BIG;
	}
	if (r->n == r->cap) {
		size_t cap = r->cap ? 2 * r->cap : 64;
		struct ref *v = realloc(r->v, cap * sizeof(*v));

		if (!v) {
			free(symbolic);
			return -ENOMEM;
		}
		r->v = v;
		r->cap = cap;
	}
	copy = strndup(name, len);
	if (!copy) {
		free(symbolic);
		return -ENOMEM;
	}
	r->v[r->n++] = (struct ref){ copy, *id, symbolic };
	return 0;
}

static int load_packed(int gitdir, struct refs *r)
{
	cleanup_text struct text text = { 0 };
	int result = beneath_read(gitdir, "packed-refs", PACKED_MAX, &text), more;
	struct packed_iter it;
	const char *name;
	size_t len;
	git_oid id;

	if (result == -ENOENT)
		return 0;
	if (result == -ENOMEM)
		return result;
	if (result < 0) {
		add_bad(r, "packed-refs", 11,
		        result == -EFBIG ? "it is larger than 256 MiB" : "it can't be read as a file");
		return 0;
	}
	it = (struct packed_iter){ text.data, text.data + text.len };
	while ((more = packed_next(&it, &name, &len, &id)) != 0) {
		if (more < 0) {
			add_bad(r, "packed-refs", 11, "it has a line that is no reference");
			continue;
		}
		result = add(r, name, len, &id, NULL);
		if (result < 0)
			return result;
	}
	return 0;
}

static int load_one(int gitdir, const char *path, struct refs *r)
{
	cleanup_text struct text text = { 0 };
	char *symbolic = NULL;
	git_oid id = { { 0 } };
	size_t len = strlen(path);
	int result;

	if (len > 5 && !strcmp(path + len - 5, ".lock"))
		return 0;
	result = beneath_read(gitdir, path, LOOSE_MAX, &text);
	if (result == -ENOENT || result == -ENOMEM)
		return result == -ENOENT ? 0 : result;
	if (result < 0)
		add_bad(r, path, len, "it is no small regular file that can be read");
	else if (!ref_name_valid(path, len))
		add_bad(r, path, len, "its name is not one of a reference");
	else if (ref_parse(text.data, text.len, &id, &symbolic) < 0)
		add_bad(r, path, len, "it is neither an object's id nor another reference's name");
	else
		return add(r, path, len, &id, symbolic);
	return 0;
}

static int load_folder(int gitdir, const char *path, int depth, struct refs *r)
{
	cleanup_names struct names names = { 0 };
	int result = beneath_list(gitdir, path, r->max, &names);
	size_t i;

	if (result == -ENOENT)
		return 0;
	if (result == -ENOMEM || result == -E2BIG)
		return result;
	if (result < 0 || depth > DEPTH_MAX) {
		add_bad(r, path, strlen(path), result < 0 ? "the folder can't be read" : "its folders are too deep");
		return 0;
	}
	for (i = 0, result = 0; i < names.n && result == 0; i++) {
		char child[REF_NAME_MAX + 300];
		size_t len = strlen(path), more = strlen(names.v[i]);

		if (len + 1 + more > REF_NAME_MAX) {
			add_bad(r, path, len, "a name in it is too long");
			continue;
		}
		memcpy(child, path, len);
		child[len] = '/';
		memcpy(child + len + 1, names.v[i], more + 1);
		if (names.type[i] == DT_DIR)
			result = load_folder(gitdir, child, depth + 1, r);
		else
			result = load_one(gitdir, child, r);
	}
	return result;
}

/* Packed ones were added first, so of two with one name the later in the list is the loose one. */
struct order {
	struct ref ref;
	size_t at;
};

static int by_name(const void *a, const void *b)
{
	const struct order *x = a, *y = b;
	int c = strcmp(x->ref.name, y->ref.name);

	return c ? c : (x->at > y->at) - (x->at < y->at);
}

static int sort(struct refs *r)
{
	struct order *o = malloc((r->n + 1) * sizeof(*o));
	size_t i, kept = 0;

	if (!o)
		return -ENOMEM;
	for (i = 0; i < r->n; i++)
		o[i] = (struct order){ r->v[i], i };
	qsort(o, r->n, sizeof(*o), by_name);
	for (i = 0; i < r->n; i++) {
		if (kept && !strcmp(r->v[kept - 1].name, o[i].ref.name)) {
			kept--;
			free(r->v[kept].name);
			free(r->v[kept].symbolic);
		}
		r->v[kept++] = o[i].ref;
	}
	r->n = kept;
	free(o);
	return 0;
}

int refs_load(int gitdir, size_t max, struct refs *out)
{
	int result, sorted;

	*out = (struct refs){ .max = max };
	result = load_packed(gitdir, out);
	if (result == 0)
		result = load_folder(gitdir, "refs", 0, out);
	sorted = sort(out);
	return sorted < 0 ? sorted : result;
}

void refs_free(struct refs *r)
{
	size_t i;

	for (i = 0; i < r->n; i++) {
		free(r->v[i].name);
		free(r->v[i].symbolic);
	}
	free(r->v);
	for (i = 0; i < r->nbad; i++)
		free(r->bad[i].name);
	*r = (struct refs){ 0 };
}

static int named(const void *key, const void *ref)
{
	return strcmp(key, ((const struct ref *)ref)->name);
}

const struct ref *refs_find(const struct refs *r, const char *name)
{
	return r->n ? bsearch(name, r->v, r->n, sizeof(*r->v), named) : NULL;
}

int refs_resolve(const struct refs *r, const struct ref *ref, git_oid *out)
{
	int i;

	for (i = 0; ref && i <= FOLLOW_MAX; i++) {
		if (!ref->symbolic) {
			*out = ref->id;
			return 0;
		}
		ref = refs_find(r, ref->symbolic);
	}
	return -1;
}

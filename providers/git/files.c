/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verify.h"
#include "walk_parts.h"

#define DEPTH_MAX 1024

void files_free(struct files *f)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		free(f->v[i].path);
	free(f->v);
	*f = (struct files){ 0 };
}

int files_add(struct files *f, const char *path, size_t len, unsigned mode, const git_oid *id)
{
	char *copy;

	if (f->n == FILES_MAX)
		return -E2BIG;
	if (f->n == f->cap) {
		size_t cap = f->cap ? 2 * f->cap : 256;
		struct file *v = realloc(f->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		f->v = v;
		f->cap = cap;
	}
	copy = strndup(path, len);
	if (!copy)
		return -ENOMEM;
	f->v[f->n++] = (struct file){ copy, mode, *id };
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

void files_sort(struct files *f)
{
	size_t i, kept = 0;

	if (f->n > 1)
		qsort(f->v, f->n, sizeof(*f->v), by_path);
	for (i = 0; i < f->n; i++) {
		if (kept && !strcmp(f->v[kept - 1].path, f->v[i].path))
			free(f->v[i].path);
		else
			f->v[kept++] = f->v[i];
	}
	f->n = kept;
}

/* The first that is not before key. */
static size_t lower_bound(const struct files *f, const char *key)
{
	size_t low = 0, high = f->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(f->v[mid].path, key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct file *files_find(const struct files *f, const char *path)
{
	size_t at = lower_bound(f, path);

	return at < f->n && !strcmp(f->v[at].path, path) ? &f->v[at] : NULL;
}

bool files_beneath(const struct files *f, const char *folder)
{
	size_t len = strlen(folder), at;
	cleanup_free char *key = format("%s/", folder);

	if (!key)
		return true; /* looked into, to be sure */
	at = lower_bound(f, key);
	return at < f->n && !strncmp(f->v[at].path, key, len + 1);
}

static int add_tree(struct walk *w, const git_oid *id, struct text *path, int depth, struct files *out)
{
	cleanup_object struct object o = { 0 };
	struct tree_entry e;
	struct tree_iter it;
	struct problem p;
	bool present;
	int result = walk_read(w, id, GIT_OBJECT_TREE, &o, &present, &p);
	size_t len = path->len;

	if (result || depth > DEPTH_MAX)
		return result < 0 ? result : 0;
	it = (struct tree_iter){ (const unsigned char *)o.data, (const unsigned char *)o.data + o.len };
	while (!result && tree_next(&it, &e) == 1) {
		if (!text_puts(path, e.name))
			result = -ENOMEM;
		else if (e.mode != MODE_TREE)
			result = files_add(out, path->data, path->len, e.mode, &e.id);
		else
			result = text_puts(path, "/") ? add_tree(w, &e.id, path, depth + 1, out) : -ENOMEM;
		path->len = len;
		path->data[len] = 0;
	}
	return result;
}

int files_of_tree(struct walk *w, const git_oid *tree, struct files *out)
{
	cleanup_text struct text path = { 0 };
	int result = text_puts(&path, "") ? add_tree(w, tree, &path, 0, out) : -ENOMEM;

	files_sort(out);
	return result;
}

struct entry {
	const char *name;
	size_t len;
	unsigned mode;
	git_oid id;
};
struct maker {
	struct walk *w;
	const struct files *f;
	void (*lost)(void *arg, const char *path, const char *why);
	void *arg;
};

/* Git's order; names end with '/' or NUL in their paths, so their lengths say where. */
static int by_entry(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	size_t len = x->len < y->len ? x->len : y->len;
	int c = memcmp(x->name, y->name, len);
	unsigned char cx, cy;

	if (c)
		return c;
	cx = x->len > len ? (unsigned char)x->name[len] : x->mode == MODE_TREE ? '/' : 0;
	cy = y->len > len ? (unsigned char)y->name[len] : y->mode == MODE_TREE ? '/' : 0;
	return cx < cy ? -1 : cx > cy;
}

static int write_entries(struct maker *m, struct entry *v, size_t n, git_oid *out)
{
	cleanup_text struct text data = { 0 };
	size_t i;

	if (n > 1)
		qsort(v, n, sizeof(*v), by_entry);
	for (i = 0; i < n; i++) {
		cleanup_free char *head = format("%o %.*s", v[i].mode, (int)v[i].len, v[i].name);

		if (!head || !text_add(&data, head, strlen(head) + 1) || !text_add(&data, v[i].id.id, GIT_OID_RAWSZ))
			return -ENOMEM;
	}
	return walk_put(m->w, GIT_OBJECT_TREE, data.data ? data.data : "", data.len, out);
}

static int write_range(struct maker *m, size_t from, size_t to, size_t prefix, int depth, git_oid *out);

/* The name from prefix on, of files from..to: one entry; 0, 1 when it is left out, or -errno. */
static int make_entry(struct maker *m, size_t from, size_t to, size_t prefix, int depth, struct entry *e)
{
	const struct file *f = &m->f->v[from];
	const char *name = f->path + prefix, *wrong;
	size_t len = strcspn(name, "/");
	cleanup_free char *copy = strndup(name, len);

	if (!copy)
		return -ENOMEM;
	wrong = verify_name(copy, len);
	if (!wrong && name[len] && depth == DEPTH_MAX)
		wrong = "it is too deep within other folders";
	if (!wrong && is_gitmodules(copy) && f->mode == MODE_LINK)
		wrong = "git forbids a .gitmodules that is a link";
	if (wrong) {
		m->lost(m->arg, f->path, wrong);
		return 1;
	}
	*e = (struct entry){ name, len, name[len] ? MODE_TREE : f->mode, f->id };
	return name[len] ? write_range(m, from, to, prefix + len + 1, depth + 1, &e->id) : 0;
}

/* How many files from `from` on share the next part of their path; a file and a folder of one name are apart. */
static size_t group_end(const struct files *f, size_t from, size_t to, size_t prefix)
{
	const char *name = f->v[from].path + prefix;
	size_t len = strcspn(name, "/"), at = from + 1;

	if (!name[len])
		return at;
	while (at < to && !strncmp(f->v[at].path + prefix, name, len + 1))
		at++;
	return at;
}

static int write_range(struct maker *m, size_t from, size_t to, size_t prefix, int depth, git_oid *out)
{
	struct entry *v = NULL;
	size_t n = 0, cap = 0, end;
	int result = 0;

	for (; from < to && result >= 0; from = end) {
		end = group_end(m->f, from, to, prefix);
		if (n == cap) {
			struct entry *more = realloc(v, (cap ? 2 * cap : 32) * sizeof(*more));

			if (!more) {
				result = -ENOMEM;
				break;
			}
			v = more;
			cap = cap ? 2 * cap : 32;
		}
		result = make_entry(m, from, end, prefix, depth, &v[n]);
		n += result == 0;
	}
	/* Git has no empty folders. */
	if (result >= 0)
		result = n || !depth ? write_entries(m, v, n, out) : 1;
	free(v);
	return result;
}

/* A list that came from an index may have a file "a" and a file "a/b"; the bytes between '\0' and '/' sort between them. */
static bool has_file_above(const struct files *f, size_t at)
{
	const char *path = f->v[at].path;
	const char *slash;

	for (slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		cleanup_free char *above = strndup(path, (size_t)(slash - path));

		if (!above || files_find(f, above))
			return true;
	}
	return false;
}

int files_write(struct walk *w, const struct files *f, void (*lost)(void *arg, const char *path, const char *why),
                void *arg, git_oid *out)
{
	cleanup_files struct files clean = { 0 };
	struct maker m = { w, &clean, lost, arg };
	size_t i;
	int result = 0;

	for (i = 0; i < f->n && !result; i++) {
		if (has_file_above(f, i))
			lost(arg, f->v[i].path, "a part of its path is a file");
		else
			result = files_add(&clean, f->v[i].path, strlen(f->v[i].path), f->v[i].mode, &f->v[i].id);
	}
	return result ? result : write_range(&m, 0, clean.n, 0, 0, out);
}

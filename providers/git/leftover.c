/* SPDX-License-Identifier: Apache-2.0 */
/* The commits made here have the date of the commit they stand on: saved again, they are the same. */
#include "leftover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "beneath.h"
#include "verify.h"
#include "walk_parts.h"

#define INDEX_MAX   (512u << 20)
#define PARENTS_MAX 1000u

struct base { /* what a new commit stands on */
	bool have;
	git_oid commit, tree;
	unsigned long long date;
};

static int read_base(struct walk *w, const git_oid *head, struct base *b)
{
	cleanup_object struct object o = { 0 };
	struct commit_view view;
	struct problem p;
	bool present;
	const char *line, *mail;
	int result;

	*b = (struct base){ 0 };
	if (!head)
		return 0;
	result = walk_read(w, head, GIT_OBJECT_COMMIT, &o, &present, &p);
	if (result || read_commit(o.data, o.len, &view) < 0)
		return result < 0 ? result : 0;
	b->have = true;
	b->commit = *head;
	b->tree = view.tree;
	line = strstr(o.data, "\ncommitter ");
	mail = line ? strchr(line + 1, '>') : NULL;
	if (mail)
		b->date = strtoull(mail + 1, NULL, 10);
	if (b->date > INT64_MAX / 2)
		b->date = 0;
	return 0;
}

static int make_commit(struct walk *w, const struct base *b, const git_oid *tree, const git_oid *parents, size_t n,
                       const char *message, git_oid *out)
{
	static const char who[] = "Open Conduit <open-conduit@localhost>";
	cleanup_text struct text text = { 0 };
	cleanup_free char *head = format("tree %s\n", git_oid_tostr_s(tree)),
	                  *tail = format("author %s %llu +0000\ncommitter %s %llu +0000\n\n%s\n", who, b->date, who,
	                                 b->date, message);
	size_t i;

	if (!head || !tail || !text_puts(&text, head))
		return -ENOMEM;
	for (i = 0; i < n; i++)
		if (!text_puts(&text, "parent ") || !text_puts(&text, git_oid_tostr_s(&parents[i])) ||
		    !text_puts(&text, "\n"))
			return -ENOMEM;
	return text_puts(&text, tail) ? walk_put(w, GIT_OBJECT_COMMIT, text.data, text.len, out) : -ENOMEM;
}

int keep_together(struct walk *w, const char *message, const git_oid *commits, size_t n, git_oid *out)
{
	git_oid *parents = calloc(PARENTS_MAX + 1, sizeof(*parents));
	struct base b;
	size_t done = 0, some;
	int result = parents ? read_base(w, &commits[0], &b) : -ENOMEM;

	while (!result && done < n) {
		some = n - done < PARENTS_MAX ? n - done : PARENTS_MAX;
		memcpy(parents, commits + done, some * sizeof(*parents));
		if (done)
			parents[some] = *out;
		result = make_commit(w, &b, &b.tree, parents, some + (done != 0), message, out);
		done += some;
	}
	free(parents);
	return result;
}

static int load_index(struct leftover *l, const char *path, struct index_entries *e)
{
	cleanup_text struct text text = { 0 }, other = { 0 };
	cleanup_free char *shared = NULL;
	int result = beneath_read(l->gitdir, path, INDEX_MAX, &text);
	size_t folder = strlen(path) - strlen("index");

	if (result == -ENOENT)
		return 0;
	if (!result)
		result = index_read(text.data, text.len, e);
	if (!result && !git_oid_is_zero(&e->shared)) {
		shared = format("%.*ssharedindex.%s", (int)folder, path, git_oid_tostr_s(&e->shared));
		result = shared ? beneath_read(l->gitdir, shared, INDEX_MAX, &other) : -ENOMEM;
		if (!result)
			result = index_read(other.data, other.len, e);
	}
	for (size_t i = 0; i < COUNT(e->stage); i++)
		files_sort(&e->stage[i]);
	files_sort(&e->skipped);
	if (result && result != -ENOMEM && result != -E2BIG) {
		cleanup_free char *what = format(".git/%s", path);

		l->report.lost(l->report.arg, what ? what : path, "it can't be read: what is staged is not known");
		result = 0;
	}
	return result;
}

/* Of a list from an index what is whole; the rest is reported. */
static int check_staged(struct leftover *l, const struct files *in, struct files *out)
{
	int result = 0;

	for (size_t i = 0; i < in->n && !result; i++) {
		const struct file *f = &in->v[i];
		struct problem p;
		int bad = 0;

		if (f->mode != MODE_COMMIT)
			bad = f->mode == MODE_TREE ? walk_any(l->w, &f->id, &p) : walk_blob(l->w, &f->id, &p);
		if (bad < 0)
			return bad;
		if (bad) {
			cleanup_free char *why = format("what is staged for it %s", p.what);

			l->report.lost(l->report.arg, f->path, why ? why : "what is staged for it can't be read");
			continue;
		}
		result = files_add(out, f->path, strlen(f->path), f->mode, &f->id);
	}
	return result;
}

static int write_list(struct leftover *l, const struct files *in, git_oid *tree)
{
	cleanup_files struct files good = { 0 };
	int result = check_staged(l, in, &good);

	return result ? result : files_write(l->w, &good, l->report.lost, l->report.arg, tree);
}

/* Stages 1 to 3, each a commit of its own that the index's commit has for a parent. */
static int write_unmerged(struct leftover *l, const struct base *b, const struct index_entries *e, git_oid *parents,
                          size_t *n)
{
	static const char *const names[] = { "", "common ancestor", "ours", "theirs" };
	int result = 0;

	for (size_t i = 1; i < 4 && !result; i++) {
		cleanup_free char *message = format("Unmerged files: %s", names[i]);
		git_oid tree;

		if (!e->stage[i].n)
			continue;
		result = message ? write_list(l, &e->stage[i], &tree) : -ENOMEM;
		if (!result)
			result = make_commit(l->w, b, &tree, NULL, 0, message, &parents[*n]);
		++*n;
	}
	return result;
}

/* files: the working tree's tree, which need not be kept twice; or NULL. */
static int save_index(struct leftover *l, const struct base *b, const struct index_entries *e, const git_oid *files,
                      const char *suffix)
{
	git_oid parents[4], tree, commit;
	size_t n = 0;
	int result;

	if (!e->stage[0].n && !e->stage[1].n && !e->stage[2].n && !e->stage[3].n)
		return 0;
	if (b->have)
		parents[n++] = b->commit;
	result = write_list(l, &e->stage[0], &tree);
	if (!result)
		result = write_unmerged(l, b, e, parents, &n);
	if (result)
		return result;
	if (n <= 1 && ((b->have && git_oid_equal(&tree, &b->tree)) || (files && git_oid_equal(&tree, files))))
		return 0;
	result = make_commit(l->w, b, &tree, parents, n, "What was staged when the workspace was finished", &commit);
	return result ? result : l->made(l->report.arg, "index", suffix, &commit);
}

static int add_all(struct files *to, const struct files *from)
{
	int result = 0;

	for (size_t i = 0; i < from->n && !result; i++)
		result = files_add(to, from->v[i].path, strlen(from->v[i].path), from->v[i].mode, &from->v[i].id);
	return result;
}

static int find_tracked(struct leftover *l, const struct base *b, const struct index_entries *e, struct files *out)
{
	cleanup_files struct files head = { 0 };
	int result = 0;

	for (size_t i = 0; i < COUNT(e->stage) && !result; i++)
		result = add_all(out, &e->stage[i]);
	if (!result && b->have)
		result = files_of_tree(l->w, &b->tree, &head);
	if (!result)
		result = add_all(out, &head);
	files_sort(out);
	return result;
}

/* What a sparse checkout leaves out is not deleted. */
static int add_skipped(struct leftover *l, const struct index_entries *e, struct files *list)
{
	cleanup_files struct files good = { 0 }, missing = { 0 };
	int result = 0;

	for (size_t i = 0; i < e->skipped.n && !result; i++) {
		const struct file *f = &e->skipped.v[i];

		if (!files_find(list, f->path))
			result = files_add(&missing, f->path, strlen(f->path), f->mode, &f->id);
	}
	if (!result)
		result = check_staged(l, &missing, &good);
	if (!result)
		result = add_all(list, &good);
	files_sort(list);
	return result;
}

static int save_files(struct leftover *l, const struct base *b, const struct index_entries *e, git_oid *tree)
{
	cleanup_files struct files tracked = { 0 }, list = { 0 };
	cleanup_free char *message = format("Files that were not committed in the workspace of %s", l->work);
	git_oid commit;
	int result = message ? find_tracked(l, b, e, &tracked) : -ENOMEM;

	if (!result)
		result = worktree_read(l->w, l->dir, l->root, l->gitdir, &tracked, &l->report, &list);
	if (!result)
		result = add_skipped(l, e, &list);
	if (!result)
		result = files_write(l->w, &list, l->report.lost, l->report.arg, tree);
	if (result || (b->have ? git_oid_equal(tree, &b->tree) : !list.n))
		return result;
	result = make_commit(l->w, b, tree, &b->commit, b->have, message, &commit);
	return result ? result : l->made(l->report.arg, "worktree", "leftover", &commit);
}

int leftover_save(struct leftover *l, const git_oid *head)
{
	struct index_entries e = { 0 };
	struct base b;
	git_oid tree;
	int result = read_base(l->w, head, &b);

	if (!result)
		result = load_index(l, "index", &e);
	if (!result)
		result = save_files(l, &b, &e, &tree);
	if (!result)
		result = save_index(l, &b, &e, &tree, "index");
	index_free(&e);
	return result;
}

int leftover_index(struct leftover *l, const git_oid *head, const char *index, const char *suffix)
{
	struct index_entries e = { 0 };
	struct base b;
	int result = read_base(l->w, head, &b);

	if (!result)
		result = load_index(l, index, &e);
	if (!result)
		result = save_index(l, &b, &e, NULL, suffix);
	index_free(&e);
	return result;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The first child: it may read the workspace and the checkout's objects, and write the quarantine.  Every reference of the
 * clone is looked at, the Work's branch first; then what is in no reference but would be missed: where HEAD is, what a
 * merge or a rebase stands at, and at the end the reflogs and the files. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beneath.h"
#include "leftover.h"
#include "save.h"
#include "tips.h"
#include "tree.h"

#define REFS_MAX    100000u
#define STATE_MAX   65536u
#define REFLOG_MAX  (64u << 20)
#define REFLOGS_MAX 200000u /* ids */

struct taking {
	struct save *s;
	int root, git;
	struct known known;
	struct store store;
	struct take take;
	struct walk walk;
	struct tips tips;
	struct refs refs;
	git_oid tip, head;
	bool has_tip, has_head, whole;
};

static int open_clone(struct taking *t, struct refusal *r)
{
	const char *dir = t->s->dir;
	struct stat st;

	t->root = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (t->root < 0 || fstat(t->root, &st) < 0)
		return refuse_errno(r, dir, "the workspace can't be opened");
	if (!numbers_match(t->s->root, &st))
		return refuse(r, "workspace_conflict", dir, "put back what was there, or finish the Work with --keep",
		              "%s is not the folder that was made for this Work: nothing in it is saved", dir);
	t->git = beneath_open(t->root, ".git", O_DIRECTORY);
	if (t->git < 0 || fstat(t->git, &st) < 0 || !numbers_match(t->s->git, &st))
		return refuse(r, "workspace_conflict", dir,
		              "look into it without running git there, then finish the Work with --keep",
		              "%s/.git is not the one that was made for this Work: nothing in it is saved", dir);
	return 0;
}

static int open_all(struct taking *t, struct refusal *r)
{
	cleanup_fd int quarantine = open(t->s->quarantine, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int result;

	if (quarantine < 0)
		return refuse_errno(r, t->s->quarantine, "the quarantine can't be opened");
	if (open_clone(t, r))
		return -1;
	result = known_open(&t->known, &t->s->checkout, &t->s->refs, &t->s->shallow);
	if (result)
		return errno = -result,
		       refuse_errno(r, t->s->checkout.objects[0], "the checkout's objects can't be read");
	result = store_open(&t->store, t->git, t->known.odb);
	if (result)
		return refuse(r, "workspace_conflict", t->s->dir,
		              "look into its .git/objects, or finish the Work with --keep",
		              "the objects of the workspace can't be read: %s", strerror(-result));
	result = take_open(&t->take, quarantine);
	if (result)
		return errno = -result, refuse_errno(r, t->s->quarantine, "the quarantine can't be written");
	walk_init(&t->walk, &t->store, &t->known, &t->take);
	return tips_init(&t->tips, &t->walk, &t->s->refs, t->s->work) ? no_memory(r) : 0;
}

static int load_refs(struct taking *t)
{
	int result = refs_load(t->git, REFS_MAX, &t->refs);
	size_t i;

	if (result == -E2BIG) {
		tips_lost(&t->tips, ".git/refs",
		          "there are more than 100,000 references, or entries in a folder of them");
		result = 0;
	}
	for (i = 0; i < t->refs.nbad; i++)
		if (strncmp(t->refs.bad[i].name, "refs/remotes/", 13) != 0)
			tips_lost(&t->tips, t->refs.bad[i].name, t->refs.bad[i].why);
	if (t->refs.bad_more)
		tips_lost(&t->tips, ".git/refs", "there are more references that can't be read");
	if (t->store.packs_left)
		tips_note(&t->tips, "the workspace has more packs than are looked into");
	return result;
}

/* HEAD: the commit that is checked out.  *branch is new text where HEAD is on one. */
static void find_head(struct taking *t, char **branch)
{
	cleanup_text struct text text = { 0 };
	const struct ref *ref;
	git_oid id;

	*branch = NULL;
	if (beneath_read(t->git, "HEAD", 4096, &text) < 0 || ref_parse(text.data, text.len, &id, branch) < 0) {
		tips_lost(&t->tips, "HEAD", "it is neither an object's id nor a reference's name");
		return;
	}
	ref = *branch ? refs_find(&t->refs, *branch) : NULL;
	if (*branch && (!ref || refs_resolve(&t->refs, ref, &id) < 0))
		return;
	t->head = id;
	t->has_head = true;
}

static int take_tip(struct taking *t, const char *what, const git_oid *id, bool whole)
{
	git_oid baseline = { { 0 } };
	cleanup_free char *name = format(SAVE_REFS "%s/head", t->s->work);
	bool moved = !t->s->baseline || oid_parse(t->s->baseline, strlen(t->s->baseline), &baseline) < 0 ||
	             !git_oid_equal(&baseline, id);
	bool before = !name || refs_find(&t->s->refs, name);
	int result = tips_add(&t->tips, what, "head", NULL, id, false, moved || before);

	if (result == 0) {
		t->tip = *id;
		t->has_tip = true;
		t->whole = whole;
	} else if (result == 1 && !git_oid_is_zero(&t->tips.rescued)) {
		t->tip = t->tips.rescued;
		t->has_tip = true;
		result = tips_emit(&t->tips, what, "head", NULL, &t->tip, false);
	}
	return result < 0 ? result : 0;
}

/* The Work's branch; without it where HEAD is. */
static int take_branch(struct taking *t, const char *head_branch)
{
	cleanup_free char *name = format("refs/heads/%s", t->s->branch);
	const struct ref *ref = name ? refs_find(&t->refs, name) : NULL;
	git_oid id;
	int result = name ? 0 : -ENOMEM;

	if (!result && ref && refs_resolve(&t->refs, ref, &id) == 0)
		result = take_tip(t, name, &id, true);
	else if (!result) {
		cleanup_free char *text = format("the branch %s is gone in the workspace", t->s->branch);

		if (ref)
			tips_lost(&t->tips, name, "it refers to nothing, or to itself");
		else if (text)
			tips_note(&t->tips, text);
		if (t->has_head)
			result = take_tip(t, head_branch ? head_branch : "HEAD", &t->head, false);
	}
	if (!result && t->has_head && !head_branch)
		result = tips_add(&t->tips, "HEAD", "detached", NULL, &t->head, false, false);
	return result < 0 ? result : 0;
}

static bool starts(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static bool same_in_checkout(struct taking *t, const char *name, const git_oid *id)
{
	const struct ref *ref = refs_find(&t->s->refs, name);
	git_oid value;

	return ref && refs_resolve(&t->s->refs, ref, &value) == 0 && git_oid_equal(&value, id);
}

static int take_ref(struct taking *t, const struct ref *ref)
{
	static const struct {
		const char *start, *kind;
	} kinds[] = { { "refs/heads/", "branches" }, { "refs/tags/", "tags" }, { "refs/", "other" } };
	git_oid id;
	int result;

	/* What was fetched is where it was fetched from; the Work's branch was first. */
	if (starts(ref->name, "refs/remotes/") ||
	    (starts(ref->name, "refs/heads/") && !strcmp(ref->name + strlen("refs/heads/"), t->s->branch)))
		return 0;
	if (refs_resolve(&t->refs, ref, &id) < 0) {
		tips_lost(&t->tips, ref->name, "it refers to nothing, or to itself");
		return 0;
	}
	if (same_in_checkout(t, ref->name, &id))
		return 0;
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (starts(ref->name, kinds[i].start)) {
			result = tips_add(&t->tips, ref->name, kinds[i].kind, ref->name + strlen(kinds[i].start), &id,
			                  false, false);
			return result < 0 ? result : 0;
		}
	return 0;
}

/* Branches before tags and others: what gets a name is then what a person looks for. */
static int take_refs(struct taking *t)
{
	const struct ref *stash = refs_find(&t->refs, "refs/stash");
	git_oid id;
	int result = 0;

	for (int heads = 1; heads >= 0; heads--) {
		for (size_t i = 0; i < t->refs.n && !result; i++)
			if (starts(t->refs.v[i].name, "refs/heads/") == (heads == 1) && &t->refs.v[i] != stash)
				result = take_ref(t, &t->refs.v[i]);
		if (heads && !result && stash && refs_resolve(&t->refs, stash, &id) == 0) {
			result = tips_add(&t->tips, "refs/stash", "stash", NULL, &id, true, false);
			result = result < 0 ? result : 0;
		}
	}
	return result;
}

/* A file that names commits, one a line; what is no id in it is not looked at. */
static int take_state(struct taking *t, const char *file, const char *kind, const char *name)
{
	cleanup_text struct text text = { 0 };
	git_oid id;
	int result = 0;
	unsigned number = 0;

	if (beneath_read(t->git, file, STATE_MAX, &text) < 0)
		return 0;
	for (const char *p = text.data, *end = p + text.len, *nl; p < end && !result; p = nl + 1) {
		cleanup_free char *numbered = number ? format("%s-%u", name, number) : strdup(name);

		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			nl = end;
		if (!numbered)
			return -ENOMEM;
		if (oid_parse(p, (size_t)(nl - p), &id) < 0 || git_oid_is_zero(&id))
			continue;
		number++;
		result = tips_add(&t->tips, file, kind, numbered, &id, true, false);
		result = result < 0 ? result : 0;
	}
	return result;
}

/* folder: "" or "worktrees/x/". */
static int take_states(struct taking *t, const char *folder, const char *kind)
{
	static const char *const files[] = { "ORIG_HEAD",
		                             "MERGE_HEAD",
		                             "CHERRY_PICK_HEAD",
		                             "REVERT_HEAD",
		                             "REBASE_HEAD",
		                             "BISECT_EXPECTED_REV",
		                             "MERGE_AUTOSTASH",
		                             "rebase-merge/orig-head",
		                             "rebase-merge/onto",
		                             "rebase-merge/stopped-sha",
		                             "rebase-merge/autostash",
		                             "rebase-apply/orig-head",
		                             "rebase-apply/onto",
		                             "rebase-apply/autostash",
		                             "rebase-apply/original-commit",
		                             "sequencer/head" };
	int result = 0;

	for (size_t i = 0; i < COUNT(files) && !result; i++) {
		cleanup_free char *file = format("%s%s", folder, files[i]);

		result = file ? take_state(t, file, kind, files[i]) : -ENOMEM;
	}
	return result;
}

/* Working trees that the agent made beside its first one: each has a HEAD, and what is staged. */
static int take_worktree(struct taking *t, const char *name, struct leftover *left)
{
	cleanup_free char *folder = format("worktrees/%s/", name), *file = format("worktrees/%s/HEAD", name),
	                  *kind = format("worktrees/%s", name), *index = format("worktrees/%s/index", name);
	cleanup_free char *suffix = kind ? format("%s/index", kind) : NULL, *branch = NULL;
	cleanup_text struct text text = { 0 };
	git_oid id = { { 0 } };
	int result;

	if (!folder || !file || !kind || !index || !suffix)
		return -ENOMEM;
	if (beneath_read(t->git, file, 4096, &text) < 0 || ref_parse(text.data, text.len, &id, &branch) < 0)
		return 0;
	result = branch ? 0 : tips_add(&t->tips, file, kind, "HEAD", &id, true, false);
	if (result >= 0)
		result = take_states(t, folder, kind);
	if (branch) {
		const struct ref *ref = refs_find(&t->refs, branch);

		if (!ref || refs_resolve(&t->refs, ref, &id) < 0)
			id = (git_oid){ { 0 } };
	}
	if (result < 0 || !left)
		return result < 0 ? result : 0;
	return leftover_index(left, walk_find(&t->walk, &id) ? &id : NULL, index, suffix);
}

static int take_worktrees(struct taking *t, struct leftover *left)
{
	cleanup_names struct names names = { 0 };
	int result = beneath_list(t->git, "worktrees", 1000, &names);

	if (result < 0)
		return result == -ENOMEM ? result : 0;
	for (size_t i = 0; i < names.n && !result; i++)
		result = take_worktree(t, names.v[i], left);
	return result;
}

struct logged {
	git_oid *v;
	size_t n, cap;
	struct oids once;
};

static int log_add(struct logged *l, const git_oid *id)
{
	if (git_oid_is_zero(id) || oids_get(&l->once, id) != OIDS_NONE)
		return 0;
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 256;
		git_oid *v = realloc(l->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n++] = *id;
	return oids_put(&l->once, id, 1);
}

static int read_log(struct taking *t, const char *path, struct logged *l)
{
	cleanup_text struct text text = { 0 };
	struct packed_iter it;
	git_oid old, new;
	int more, result = 0;

	if (beneath_read(t->git, path, REFLOG_MAX, &text) < 0)
		return 0;
	it = (struct packed_iter){ text.data, text.data + text.len };
	while (!result && (more = reflog_next(&it, &old, &new)) != 0) {
		if (more < 0)
			continue;
		result = log_add(l, &old);
		if (!result)
			result = log_add(l, &new);
	}
	return result;
}

static int read_logs(struct taking *t, const char *folder, int depth, struct logged *l)
{
	cleanup_names struct names names = { 0 };
	int result = beneath_list(t->git, folder, REFS_MAX, &names);

	if (result < 0 || depth > 32)
		return result == -ENOMEM ? result : 0;
	for (size_t i = 0; i < names.n && !result; i++) {
		cleanup_free char *path = format("%s/%s", folder, names.v[i]);

		if (!path)
			return -ENOMEM;
		if (strcmp(path, "logs/refs/remotes") != 0)
			result = names.type[i] == 4 /* DT_DIR */ ? read_logs(t, path, depth + 1, l)
			                                         : read_log(t, path, l);
	}
	return result;
}

/* What an earlier save kept of the reflogs: the new commit leads to it, or it is told of again. */
static bool logged_before(struct taking *t, git_oid *out)
{
	cleanup_free char *name = format(SAVE_REFS "%s/reflog", t->s->work);
	const struct ref *ref = name ? refs_find(&t->s->refs, name) : NULL;

	return ref && refs_resolve(&t->s->refs, ref, out) == 0;
}

/* What only a reflog leads to: amended, rebased, dropped.  The newest come first, which cover most of the older. */
static int take_logged(struct taking *t, const struct logged *l)
{
	git_oid *keep = calloc(l->n + 2, sizeof(*keep)), id;
	size_t n = 0, missing = 0;
	struct problem p;
	int result = keep ? 0 : -ENOMEM;

	for (size_t i = l->n; i-- > 0 && result >= 0;) {
		result = walk_any(&t->walk, &l->v[i], &p);
		missing += result == 1;
		if (result == 0 && walk_uncovered(&t->walk, &l->v[i])) {
			keep[n++] = l->v[i];
			walk_cover(&t->walk, &l->v[i]);
		}
	}
	result = result < 0 ? result : 0;
	if (!result && logged_before(t, &id)) {
		if (n)
			keep[n++] = id;
		else
			result = tips_emit(&t->tips, "reflogs", "reflog", NULL, &id, true);
	}
	if (!result && n) {
		result = keep_together(&t->walk, "Commits that only the workspace's reflogs led to", keep, n, &id);
		if (!result)
			result = tips_emit(&t->tips, "reflogs", "reflog", NULL, &id, true);
	}
	if (!result && missing) {
		cleanup_free char *text = format("%zu commits that reflogs name are not there, or not whole", missing);

		if (text)
			tips_note(&t->tips, text);
	}
	free(keep);
	return result;
}

static int take_logs(struct taking *t)
{
	struct logged l = { 0 };
	int result;

	oids_init(&l.once, REFLOGS_MAX);
	result = read_logs(t, "logs", 0, &l);
	if (result == -E2BIG) {
		tips_note(&t->tips, "the reflogs name more than 200,000 commits; the rest was not looked at");
		result = 0;
	}
	if (!result)
		result = take_logged(t, &l);
	oids_free(&l.once);
	free(l.v);
	return result;
}

static void on_lost(void *arg, const char *what, const char *why)
{
	tips_lost(arg, what, why);
}

static void on_note(void *arg, const char *text)
{
	tips_note(arg, text);
}

static int on_made(void *arg, const char *what, const char *suffix, const git_oid *commit)
{
	return tips_emit(arg, what, suffix, NULL, commit, true);
}

static int take_all(struct taking *t)
{
	struct leftover left = { .w = &t->walk,
		                 .dir = t->s->dir,
		                 .work = t->s->work,
		                 .root = t->root,
		                 .gitdir = t->git,
		                 .report = { on_lost, on_note, &t->tips },
		                 .made = on_made };
	cleanup_free char *head_branch = NULL;
	bool good_head;
	int result = load_refs(t);

	if (result)
		return result;
	find_head(t, &head_branch);
	result = take_branch(t, head_branch);
	if (!result)
		result = take_refs(t);
	good_head = t->has_head && walk_find(&t->walk, &t->head) && walk_find(&t->walk, &t->head)->state != COMMIT_BAD;
	if (!result)
		result = take_states(t, "", "state");
	if (!result)
		result = take_worktrees(t, t->s->final ? &left : NULL);
	if (!result && t->s->final)
		result = leftover_save(&left, good_head ? &t->head : NULL);
	if (!result && t->s->final)
		result = take_logs(t);
	if (!result)
		result = tips_finish(&t->tips);
	return result ? result : take_finish(&t->take);
}

static int failed(struct taking *t, int error, struct refusal *r)
{
	if (error == -E2BIG)
		return refuse(r, "workspace_conflict", t->s->dir,
		              "commit less at a time, or finish the Work with --keep",
		              "there is more to save in the workspace than a save may hold");
	if (error == -ENOMEM)
		return no_memory(r);
	errno = -error;
	return refuse_errno(r, t->s->quarantine, "the workspace can't be saved");
}

static void close_all(struct taking *t)
{
	tips_free(&t->tips);
	walk_free(&t->walk);
	take_close(&t->take);
	store_close(&t->store);
	known_close(&t->known);
	refs_free(&t->refs);
	closep(&t->git);
	closep(&t->root);
}

int save_take(void *arg, json_t **reply, struct refusal *r)
{
	struct taking *t = calloc(1, sizeof(*t));
	int result;

	if (!t)
		return no_memory(r);
	t->s = arg;
	t->root = t->git = t->take.fd = t->store.objects = -1;
	result = open_all(t, r);
	if (!result) {
		result = take_all(t);
		if (result)
			result = failed(t, result, r);
	}
	if (!result) {
		*reply = json_pack("{s:o?, s:b, s:O, s:O, s:O, s:I}", "tip",
		                   t->has_tip ? json_string(git_oid_tostr_s(&t->tip)) : NULL, "whole", t->whole, "refs",
		                   t->tips.refs, "lost", t->tips.lost, "notes", t->tips.notes, "objects",
		                   (json_int_t)t->take.count);
		result = *reply ? 0 : no_memory(r);
	}
	close_all(t);
	free(t);
	return result;
}

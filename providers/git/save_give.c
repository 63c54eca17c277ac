/* SPDX-License-Identifier: Apache-2.0 */
/* The second child: it may read the quarantine and the checkout, and write the checkout's objects, references and logs.
 * First the pack, on the disk; then references, each against its value under its lock. */
#include <errno.h>
#include <fcntl.h>
#include <git2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beneath.h"
#include "install.h"
#include "odb.h"
#include "oids.h"
#include "save.h"
#include "setref.h"
#include "take.h"

struct giving {
	struct save *s;
	int common;
	git_odb *odb;
	git_repository *repo; /* around odb: no configuration, no references */
	json_t *saved, *leftover, *notes;
	const char *outcome;
};

static int note(struct giving *g, struct refusal *r, char *text)
{
	cleanup_free char *clean = text ? shown(text) : NULL;
	int rc = clean && json_array_append_new(g->notes, json_string(clean)) == 0 ? 0 : no_memory(r);

	free(text);
	return rc;
}

static int open_odb(struct giving *g, struct refusal *r)
{
	git_repository_free(g->repo);
	git_odb_free(g->odb);
	g->repo = NULL;
	g->odb = NULL;
	if (odb_open(&g->odb, g->s->checkout.objects, g->s->checkout.nobjects) < 0 ||
	    git_repository_wrap_odb(&g->repo, g->odb) < 0)
		return refuse(r, "workspace_conflict", g->s->checkout.objects[0], "git fsck",
		              "the checkout's objects can't be opened");
	return 0;
}

static int install_objects(struct giving *g, struct refusal *r)
{
	cleanup_free char *take = format("%s/" TAKE_NAME, g->s->quarantine);
	cleanup_fd int fd = take ? open(take, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	cleanup_fd int objects = open(g->s->checkout.objects[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int packs = -1;
	struct installed done;
	struct stat st;

	if (!take)
		return no_memory(r);
	if (fd < 0)
		return refuse_errno(r, take, "what was taken out of the workspace can't be read");
	if (objects >= 0 && fstat(objects, &st) == 0 && mkdirat(objects, "pack", 0700) == 0)
		(void)fchmodat(objects, "pack", st.st_mode & 03777, 0);
	packs = objects < 0 ? -1 : openat(objects, "pack", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (packs < 0)
		return refuse_errno(r, g->s->checkout.objects[0], "the checkout's objects can't be written");
	if (open_odb(g, r) || install_take(fd, packs, g->odb, &done, r))
		return -1;
	fault("save:installed");
	return done.objects ? open_odb(g, r) : 0;
}

/* Whether from is to, or leads to it. */
static bool leads_to(struct giving *g, const git_oid *from, const git_oid *to)
{
	return git_oid_equal(from, to) || git_graph_descendant_of(g->repo, from, to) == 1;
}

static int refuse_set(struct giving *g, const char *name, enum set_result result, struct refusal *r)
{
	cleanup_free char *path = format("%s/%s", g->s->checkout.common, name),
	                  *lock = format("%s.lock", path ? path : name);
	cleanup_free char *word = lock ? quoted(lock) : NULL, *fix = word ? format("rm %s", word) : NULL;

	if (result == SET_LOCKED)
		return refuse(r, "workspace_conflict", lock, fix,
		              "another git command holds %s; if none is running, the lock is left over",
		              lock ? lock : name);
	if (result == SET_FAILED)
		return refuse_errno(r, path, "a reference of the checkout can't be written");
	return refuse(r, "workspace_conflict", path, "save again", "%s changed while it was being saved", name);
}

/* A reference of ours gets a value whatever it had; 1: its name can't be. */
static int set_ours(struct giving *g, const char *name, const git_oid *value, struct refusal *r)
{
	git_oid now = { { 0 } }, before;
	enum set_result result = SET_CHANGED;
	int have = ref_value(g->common, name, &now), tries;

	if (have < 0)
		return 1;
	for (tries = 0; tries < 4 && result == SET_CHANGED; tries++) {
		if (have > 0 && git_oid_equal(&now, value))
			return 0;
		before = now;
		result = ref_set(g->common, name, &before, value, "save: from the workspace", &now);
		have = !git_oid_is_zero(&now);
	}
	if (result == SET_CLASH)
		return 1;
	return result == SET_DONE ? 0 : refuse_set(g, name, result, r);
}

/* What a rewritten history leaves behind stays reachable. */
static int keep_earlier(struct giving *g, const char *name, const git_oid *value, struct refusal *r)
{
	cleanup_free char *earlier = NULL;
	git_oid old;

	if (ref_value(g->common, name, &old) != 1 || leads_to(g, value, &old))
		return 0;
	earlier = format(SAVE_REFS "%s/earlier/%.16s", g->s->work, git_oid_tostr_s(&old));
	if (!earlier)
		return no_memory(r);
	if (set_ours(g, earlier, &old, r) < 0)
		return -1;
	return note(g, r, format("%s was rewritten; what it was before is %s", name, earlier));
}

static int add_saved(struct giving *g, const json_t *found, const char *name, const git_oid *id, struct refusal *r)
{
	const char *what = text_of(found, "what"), *hex = git_oid_tostr_s(id);
	json_t *entry = json_is_true(json_object_get(found, "left")) && g->s->final
	                        ? json_pack("{s:s, s:s, s:s}", "what", what, "ref", name, "commit", hex)
	                        : json_pack("{s:s, s:s}", "ref", name, "commit", hex);
	bool left = json_object_get(entry, "what") != NULL;

	return json_array_append_new(left ? g->leftover : g->saved, entry) < 0 ? no_memory(r) : 0;
}

static int give_ref(struct giving *g, const json_t *found, struct refusal *r)
{
	const char *suffix = text_of(found, "suffix");
	char *name = format(SAVE_REFS "%s/%s", g->s->work, suffix);
	git_oid id;
	int rc;

	if (!name)
		return no_memory(r);
	(void)oid_parse(text_of(found, "id"), GIT_OID_HEXSZ, &id);
	if (!git_odb_exists(g->odb, &id)) {
		free(name);
		return refuse(r, "workspace_conflict", suffix, "save again", "%s was not saved: its object is missing",
		              suffix);
	}
	rc = keep_earlier(g, name, &id, r);
	if (!rc)
		rc = set_ours(g, name, &id, r);
	if (rc == 1) {
		/* An earlier save has a name above or beneath it. */
		free(name);
		name = format(SAVE_REFS "%s/%.*s/odd-%.16s", g->s->work, (int)strcspn(suffix, "/"), suffix,
		              git_oid_tostr_s(&id));
		rc = name ? set_ours(g, name, &id, r) : no_memory(r);
		if (rc == 1)
			rc = refuse(r, "workspace_conflict", name, "git pack-refs --all",
			            "%s can't be made in the checkout", name);
	}
	if (!rc)
		rc = add_saved(g, found, name, &id, r);
	free(name);
	return rc;
}

static int locked(struct giving *g, struct refusal *r)
{
	cleanup_free char *file = checkout_locked(g->common), *path = NULL, *word = NULL, *fix = NULL;

	if (!file)
		return 0;
	path = format("%s/%s", g->s->checkout.common, file);
	word = path ? quoted(path) : NULL;
	fix = word ? format("rm %s", word) : NULL;
	return refuse(r, "workspace_conflict", path, fix,
	              "another git command is at work in the checkout (%s); if none is running, the lock is left over",
	              file);
}

static bool is_bare(const struct checkout *c)
{
	size_t len = strlen(c->common);

	/* Someone may name the .git of a checkout. */
	return c->bare && !(len >= 5 && !strcmp(c->common + len - 5, "/.git"));
}

static int set_branch(struct giving *g, const char *name, const git_oid *old, const git_oid *tip, struct refusal *r)
{
	cleanup_free char *where = branch_in_use(g->common, is_bare(&g->s->checkout), name);
	git_oid now;
	enum set_result result;

	if (where) {
		g->outcome = "checked_out";
		return note(g, r, format("%s is in use in the checkout (%s) and was not moved", name, where));
	}
	if (locked(g, r))
		return -1;
	result = ref_set(g->common, name, old, tip,
	                 git_oid_is_zero(old) ? "save: created from the workspace" : "save: fast-forward", &now);
	if (result == SET_DONE) {
		g->outcome = "moved";
		return 0;
	}
	if (result == SET_CLASH)
		return note(g, r,
		            format("%s can't be made in the checkout: a name above or beneath it is taken", name));
	return refuse_set(g, name, result, r);
}

static int give_branch(struct giving *g, const git_oid *tip, struct refusal *r)
{
	cleanup_free char *name = format("refs/heads/%s", g->s->branch);
	git_oid old = { { 0 } };
	int have = name ? ref_value(g->common, name, &old) : -1;

	if (!name)
		return no_memory(r);
	if (have < 0)
		return note(g, r,
		            format("%s can't be moved in the checkout: it is symbolic, or a name above or beneath it "
		                   "is taken",
		                   name));
	if (have && leads_to(g, &old, tip)) {
		g->outcome = "moved";
		return 0;
	}
	if (have && !leads_to(g, tip, &old)) {
		g->outcome = "diverged";
		return note(g, r,
		            format("%s has commits in the checkout that the workspace's branch doesn't have", name));
	}
	return set_branch(g, name, &old, tip, r);
}

static int give_all(struct giving *g, struct refusal *r)
{
	const char *tip = text_of(g->s->found, "tip");
	const json_t *ref;
	git_oid id;
	size_t i;

	g->common = open(g->s->checkout.common, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (g->common < 0)
		return refuse_errno(r, g->s->checkout.common, "the checkout can't be opened");
	if (install_objects(g, r))
		return -1;
	json_array_foreach(json_object_get(g->s->found, "refs"), i, ref)
	{
		if (give_ref(g, ref, r))
			return -1;
		fault("save:ref");
	}
	fault("save:refs");
	g->outcome = !tip || (g->s->baseline && !strcmp(tip, g->s->baseline)) ? "unchanged" : "kept";
	if (strcmp(g->outcome, "kept") != 0 || !g->s->final || !json_is_true(json_object_get(g->s->found, "whole")))
		return 0;
	(void)oid_parse(tip, GIT_OID_HEXSZ, &id);
	return give_branch(g, &id, r);
}

int save_give(void *arg, json_t **reply, struct refusal *r)
{
	struct giving g = {
		.s = arg, .common = -1, .saved = json_array(), .leftover = json_array(), .notes = json_array()
	};
	int rc = g.saved && g.leftover && g.notes ? give_all(&g, r) : no_memory(r);

	if (!rc)
		*reply = json_pack("{s:s, s:O, s:O, s:O}", "outcome", g.outcome, "saved", g.saved, "leftover",
		                   g.leftover, "notes", g.notes);
	json_decref(g.saved);
	json_decref(g.leftover);
	json_decref(g.notes);
	git_repository_free(g.repo);
	git_odb_free(g.odb);
	closep(&g.common);
	return rc ? -1 : *reply ? 0 : no_memory(r);
}

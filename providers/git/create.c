/* SPDX-License-Identifier: Apache-2.0 */
/* The method create.  The checkout is the operator's, so its configuration is believed; the objects in it may come from
 * anywhere, so all that reads them is confined.  It is built beside its place and renamed when every block of it is on
 * the disk: what is there under its name is whole. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy.h"
#include "fill.h"
#include "layout.h"
#include "methods.h"
#include "task.h"
#include "tree.h"
#include "works.h"

struct creating {
	const char *dir, *branch, *base;
	const char *name, *email;
	char *root; /* of what is being made */
	struct checkout c;
	struct works w;
};

static int build(struct creating *a, struct closure *k, struct selection *s, struct refusal *r)
{
	cleanup_fd int root = open(a->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	cleanup_free char *objects = format("%s/.git/objects", a->root);
	const struct layout l = { root, a->branch, a->name, a->email, &a->c, s };

	if (root < 0)
		return refuse_errno(r, a->root, "the workspace can't be written");
	if (!objects)
		return no_memory(r);
	if (layout_write(&l, r))
		return -1;
	fault("git:layout");
	if (copy_objects(k, &a->c, objects, r))
		return -1;
	fault("git:objects");
	if (fill_worktree(&a->c, a->root, &s->base, r))
		return -1;
	fault("git:files");
	return layout_close(&l, r);
}

static int create_step(void *arg, json_t **reply, struct refusal *r)
{
	struct creating *a = arg;
	struct selection s = { 0 };
	struct closure k;
	char hex[GIT_OID_HEXSZ + 1];
	int rc = closure_open(&k, &a->c, r);

	(void)umask(022);
	if (!rc)
		rc = select_base(&s, &k, &a->c, a->base, r);
	if (!rc)
		rc = select_branch(&s, &k, &a->c, a->branch, r);
	if (!rc)
		rc = select_others(&s, &k, &a->c, r);
	if (!rc)
		rc = build(a, &k, &s, r);
	if (!rc) {
		(void)git_oid_tostr(hex, sizeof(hex), &s.base);
		*reply = json_pack("{s:s, s:O}", "baseline", hex, "notes", a->c.notes);
		rc = *reply ? 0 : no_memory(r);
	}
	select_close(&s);
	closure_close(&k);
	return rc;
}

static int refuse_there(const struct creating *a, struct refusal *r)
{
	cleanup_free char *word = quoted(a->dir), *fix = word ? format("look at it, then: rm -rf %s", word) : NULL;

	return refuse(r, "workspace_conflict", a->dir, fix, "%s is there already", a->dir);
}

/* Before anything is made. */
static int check_place(struct creating *a, struct refusal *r)
{
	struct stat st;

	if (works_open(&a->w, a->dir, r))
		return -1;
	if (a->w.fd < 0) {
		errno = ENOENT;
		return refuse_errno(r, a->w.parent, "the Work's directory is not there");
	}
	if (fstatat(a->w.fd, a->w.name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return refuse_there(a, r);
	return errno == ENOENT ? 0 : refuse_errno(r, a->dir, "it can't be looked at");
}

/* Another Work's clone, or ours, is an agent's: not a repository to be opened. */
static int check_not_works(const struct creating *a, struct refusal *r)
{
	cleanup_free char *works = format("%s/..", a->w.parent), *real = works ? realpath(works, NULL) : NULL;
	size_t len = real ? strlen(real) : 0;

	if (!real)
		return refuse_errno(r, a->w.parent, "the Work's directory can't be found");
	if (!strncmp(a->c.path, real, len) && (a->c.path[len] == '/' || a->c.path[len] == '\0'))
		return refuse(r, "sandbox_workspace", a->c.path, "name the checkout that the workspace was made from",
		              "%s lies among the workspaces of Works: an agent's clone is never opened as a repository",
		              a->c.path);
	return 0;
}

static int check_author(struct creating *a, const json_t *author, struct refusal *r)
{
	cleanup_free char *word = quoted(a->c.path), *fix = NULL;

	a->name = json_is_object(author) ? text_of(author, "name") : a->c.name;
	a->email = json_is_object(author) ? text_of(author, "email") : a->c.email;
	if (a->name && a->email && strspn(a->name, " <>\t\r\n") < strlen(a->name) && *a->email)
		return 0;
	fix = word ? format("git -C %s config user.name \"Your Name\" && git -C %s config user.email you@example.com",
	                    word, word)
	           : NULL;
	return refuse(r, "sandbox_workspace", a->c.path, fix,
	              "git's configuration for %s doesn't say who commits (user.name, user.email), so no commit could "
	              "be made in "
	              "the workspace",
	              a->c.path);
}

static int check_branch(const struct creating *a, struct refusal *r)
{
	if (branch_valid(a->branch))
		return 0;
	return refuse(r, "sandbox_workspace", *a->branch ? a->branch : "branch",
	              "git check-ref-format --branch NAME, of letters, digits, and ./_-",
	              "\"%s\" can't be the name of a Work's branch", a->branch);
}

static int prepare(struct creating *a, const json_t *params, struct refusal *r)
{
	if (check_branch(a, r) || check_place(a, r) || checkout_open(&a->c, text_of(params, "checkout"), r))
		return -1;
	if (check_not_works(a, r) || checkout_configure(&a->c, r) ||
	    check_author(a, json_object_get(params, "author"), r))
		return -1;
	a->root = format("%s/%s", a->w.parent, WORKS_NEW);
	if (!a->root)
		return no_memory(r);
	if (remove_tree(a->w.fd, WORKS_NEW) || mkdirat(a->w.fd, WORKS_NEW, 0755))
		return refuse_errno(r, a->root, "the workspace can't be made");
	fault("git:begun");
	return 0;
}

static json_t *run_step(struct creating *a, struct refusal *r)
{
	struct confine_path paths[3 + OBJECT_DIRS] = { { a->root, CONFINE_WRITE },
		                                       { a->c.gitdir, CONFINE_READ },
		                                       { a->c.common, CONFINE_READ } };
	json_t *reply = NULL;

	for (size_t i = 0; i < a->c.nobjects; i++)
		paths[3 + i] = (struct confine_path){ a->c.objects[i], CONFINE_READ };
	(void)task_run("create", paths, 3 + a->c.nobjects, create_step, a, &reply, r);
	return reply;
}

static bool good_reply(const json_t *made)
{
	const char *baseline = text_of(made, "baseline");

	return baseline && strlen(baseline) == GIT_OID_HEXSZ && strspn(baseline, "0123456789abcdef") == GIT_OID_HEXSZ &&
	       json_is_array(json_object_get(made, "notes"));
}

/* To the disk, then to its place. */
static json_t *settle(struct creating *a, const json_t *made, struct refusal *r)
{
	cleanup_fd int root = open_beneath(a->w.fd, WORKS_NEW, O_RDONLY);
	cleanup_fd int git = root < 0 ? -1 : open_beneath(root, ".git", O_RDONLY);
	struct stat root_st, git_st;
	json_t *reply = NULL;

	if (git < 0 || fstat(root, &root_st) < 0 || fstat(git, &git_st) < 0 || syncfs(root) < 0)
		return (void)refuse_errno(r, a->root, "the workspace can't be brought to the disk"), NULL;
	fault("git:built");
	if (!good_reply(made))
		return (void)refuse(r, "provider_failed", "create", NULL, "what was made is not what was to be made"),
		       NULL;
	reply = json_pack("{s:o, s:o, s:s, s:s, s:s?, s:O}", "root", numbers_json(&root_st), "git",
	                  numbers_json(&git_st), "branch", a->branch, "baseline", text_of(made, "baseline"), "origin",
	                  a->c.origin, "notes", json_object_get(made, "notes"));
	if (!reply)
		return (void)no_memory(r), NULL;
	if (renameat2(a->w.fd, WORKS_NEW, a->w.fd, a->w.name, 1 /* RENAME_NOREPLACE */) < 0 || fsync(a->w.fd) < 0) {
		json_decref(reply);
		return (void)refuse_errno(r, a->dir, "the workspace can't be put in its place"), NULL;
	}
	fault("git:renamed");
	return reply;
}

json_t *create_workspace(const json_t *params, struct refusal *r)
{
	struct creating a = { .dir = text_of(params, "dir"),
		              .branch = text_of(params, "branch"),
		              .base = text_of(params, "base") };
	json_t *made = NULL, *reply = NULL;

	a.w.fd = -1;
	if (prepare(&a, params, r) == 0) {
		made = run_step(&a, r);
		reply = made ? settle(&a, made, r) : NULL;
		/* Nothing half made that a later run would find; where this fails too, the next create removes it. */
		if (!reply)
			(void)remove_tree(a.w.fd, WORKS_NEW);
	}
	json_decref(made);
	free(a.root);
	checkout_close(&a.c);
	works_close(&a.w);
	return reply;
}

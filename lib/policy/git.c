/* SPDX-License-Identifier: Apache-2.0 */
/* What of a repository a run may not write.  Where a repository's parts are is read as text, never by git: the
 * repository may be an agent's work. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clone.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/utf8.h"
#include "policy/paths.h"
#include "policy/resolve.h"

#define POINTER_MAX 4096 /* a .git file, a commondir */

static const struct oc_grant *grant_over(const struct oc_resolving *r, const char *path)
{
	for (size_t i = 0; i < r->n_grants; i++)
		if (oc_path_within(r->grants[i].place.path, path))
			return &r->grants[i];
	return NULL;
}

static void read_only(struct oc_resolving *r, const char *path)
{
	if (grant_over(r, path) && !oc_resolving_listed(r, "readonly", path))
		oc_resolving_emit(r, "readonly", json_pack("{s:s, s:s}", "path", path, "what", "git"));
}

static bool has(struct oc_resolving *r, const char *dir, const char *name, mode_t type)
{
	oc_cleanup(oc_freep) char *path = oc_path_join(dir, name);
	struct stat st;

	if (!path)
		oc_violations_nomem(&r->bad);
	if (!path || (type == S_IFLNK ? lstat(path, &st) : stat(path, &st)) != 0)
		return false;
	return (st.st_mode & S_IFMT) == type;
}

/* As git itself tells: HEAD may be a link to a branch not born yet, the rest may be in a common directory. */
static bool is_repository(struct oc_resolving *r, const char *dir)
{
	if (!has(r, dir, "HEAD", S_IFREG) && !has(r, dir, "HEAD", S_IFLNK))
		return false;
	return has(r, dir, "commondir", S_IFREG) || (has(r, dir, "objects", S_IFDIR) && has(r, dir, "refs", S_IFDIR));
}

static void refuse_git(struct oc_resolving *r, const char *path, const char *fix, const char *what)
{
	oc_violate(&r->bad, "sandbox_denied", path, fix, "%s %s", path, what);
}

/* A grant that is, or lies in, a repository's own directory would make its hooks and configuration writable. */
static void outside(struct oc_resolving *r, const struct oc_grant *g, const char *repository)
{
	if (oc_path_within(repository, g->place.path))
		oc_violate(&r->bad, "sandbox_denied", g->place.path, "grant the working tree instead",
		           "%s grants %s (%s), which lies in the git directory %s", g->rule, g->place.path, g->as,
		           repository);
}

/* One line of text that names a directory, relative to `base`; its real path or NULL (told where it matters). */
static char *pointer(struct oc_resolving *r, const char *base, const char *file, const char *prefix)
{
	oc_cleanup(oc_freep) char *joined = NULL;
	struct oc_buf text;
	char *real = NULL, *name;
	bool missing = false;
	size_t skip = strlen(prefix);
	int rc;

	oc_buf_init(&text, POINTER_MAX);
	rc = oc_read_file(AT_FDCWD, file, POINTER_MAX, &text);
	if (rc == -ENOMEM)
		oc_violations_nomem(&r->bad);
	else if (rc < 0 && rc != -ENOENT)
		refuse_git(r, file, "mend or remove it", "is no small regular file, so where it leads can't be told");
	if (rc < 0 || !text.data || strlen(text.data) != text.len || strncmp(text.data, prefix, skip) != 0)
		goto out;
	name = text.data + skip;
	name[strcspn(name, "\r\n")] = '\0';
	if (*name == '\0')
		goto out;
	joined = name[0] == '/' ? strdup(name) : oc_path_join(base, name);
	if (!joined)
		oc_violations_nomem(&r->bad);
	else if (!oc_resolving_walk(r, file, joined, &real, &missing, NULL))
		real = NULL;
out:
	oc_buf_free(&text);
	return real;
}

static void add_repository(struct oc_resolving *r, const struct oc_grant *g, const char *gitdir)
{
	oc_cleanup(oc_freep) char *file = oc_path_join(gitdir, "commondir");
	oc_cleanup(oc_freep) char *common = file ? pointer(r, gitdir, file, "") : NULL;

	if (!file)
		oc_violations_nomem(&r->bad);
	outside(r, g, gitdir);
	read_only(r, gitdir);
	if (common && strcmp(common, gitdir) != 0) {
		outside(r, g, common);
		read_only(r, common);
	}
}

static void look(struct oc_resolving *r, const struct oc_grant *g, const char *dir)
{
	oc_cleanup(oc_freep) char *dot = oc_path_join(dir, ".git");
	oc_cleanup(oc_freep) char *gitdir = NULL;
	struct stat st;

	if (!dot) {
		oc_violations_nomem(&r->bad);
		return;
	}
	if (is_repository(r, dir))
		add_repository(r, g, dir);
	if (lstat(dot, &st) != 0)
		return;
	/* The clone's own .git has rules of its own. */
	if (r->in->git == OC_GIT_CLONE && strcmp(dir, r->workspace) == 0)
		return;
	if (S_ISDIR(st.st_mode)) {
		add_repository(r, g, dot);
	} else if (S_ISREG(st.st_mode)) {
		read_only(r, dot);
		gitdir = pointer(r, dir, dot, "gitdir: ");
		if (gitdir)
			add_repository(r, g, gitdir);
		else if (grant_over(r, dot))
			refuse_git(r, dot, "mend or remove it", "is no file that names a git directory");
	} else if (grant_over(r, dot)) {
		refuse_git(r, dot, "put a real directory, or a .git file, in its place",
		           S_ISLNK(st.st_mode) ? "is a link, which a run could replace"
		                               : "is neither a directory nor a file");
	}
}

static void protect_repositories(struct oc_resolving *r)
{
	for (size_t i = 0; i < r->n_grants; i++) {
		oc_cleanup(oc_freep) char *at = strdup(r->grants[i].place.path);

		if (!at)
			oc_violations_nomem(&r->bad);
		while (at) {
			bool top = strcmp(at, "/") == 0;
			char *up = top ? NULL : oc_path_parent(at);

			if (!up && !top)
				oc_violations_nomem(&r->bad);
			look(r, &r->grants[i], at);
			free(at);
			at = up;
		}
	}
}

static void refuse_part(struct oc_resolving *r, const char *path, const char *fix, const char *why)
{
	struct oc_buf text;

	oc_buf_init(&text, 8 * OC_POLICY_PATH_MAX);
	if (fix && (oc_buf_puts(&text, fix) || oc_shell_quote(&text, path)))
		oc_violations_nomem(&r->bad);
	else
		oc_violate(&r->bad, "sandbox_workspace", path, text.data ? text.data : "make the clone anew",
		           "the workspace is no clone of ours: %s %s", path, why);
	oc_buf_free(&text);
}

static void check_clone(struct oc_resolving *r)
{
	oc_cleanup(oc_freep) char *git = oc_path_join(r->workspace, ".git");
	const char *why = git ? oc_clone_check(git, S_IFDIR, NULL) : NULL;
	const struct oc_clone_part *part;
	struct stat st;

	if (!git) {
		oc_violations_nomem(&r->bad);
		return;
	}
	if (why) {
		refuse_part(r, git, NULL, why);
		return;
	}
	for (size_t i = 0; (part = oc_clone_part(i)); i++) {
		oc_cleanup(oc_freep) char *path = oc_path_join(git, part->name);

		why = path ? oc_clone_check(path, part->type, part->content) : "";
		if (!path)
			oc_violations_nomem(&r->bad);
		else if (why)
			refuse_part(r, path, part->fix, why);
		else if (part->read_only)
			read_only(r, path);
	}
	if (grant_over(r, git) && lstat(git, &st) == 0 &&
	    !oc_json_set(r->out, "git",
	                 json_pack("{s:s, s:s, s:o, s:o}", "path", git, "mode", "clone", "dev", oc_policy_id(st.st_dev),
	                           "ino", oc_policy_id(st.st_ino))))
		oc_violations_nomem(&r->bad);
}

void oc_resolve_git(struct oc_resolving *r)
{
	protect_repositories(r);
	if (r->in->git == OC_GIT_CLONE)
		check_clone(r);
}

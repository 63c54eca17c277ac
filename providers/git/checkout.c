/* SPDX-License-Identifier: Apache-2.0 */
/* What git itself accepts as a repository, read the way git reads it: a directory ".git", a file ".git" that names one
 * (linked worktrees, submodules, a separate git directory), or the repository itself (bare). */
#include "checkout.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define POINTER_MAX 4096

int checkout_note(struct checkout *c, struct refusal *r, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	char *clean;
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (rc < 0)
		text = NULL;
	clean = text ? shown(text) : NULL;
	rc = clean && json_array_append_new(c->notes, json_string(clean)) == 0 ? 0 : no_memory(r);
	free(clean);
	return rc;
}

int checkout_refuse(const struct checkout *c, struct refusal *r, const char *command, const char *fmt, ...)
{
	cleanup_free char *word = quoted(c->path), *fix = word ? format("git -C %s %s", word, command) : NULL;
	cleanup_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	return fix && text ? refuse(r, "sandbox_workspace", c->path, fix, "%s %s", c->path, text) : no_memory(r);
}

static int refuse_kind(struct refusal *r, const char *path, const char *command, const char *fmt, const char *more)
{
	cleanup_free char *word = quoted(path), *fix = word ? format(command, word) : NULL;
	cleanup_free char *what = format(fmt, more);

	return fix && what ? refuse(r, "sandbox_workspace", path, fix, "%s %s", path, what) : no_memory(r);
}

static bool is(const char *dir, const char *name, mode_t type)
{
	cleanup_free char *path = format("%s/%s", dir, name);
	struct stat st;

	return path && stat(path, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

static bool is_gitdir(const char *dir)
{
	struct stat st;
	cleanup_free char *head = format("%s/HEAD", dir);

	if (!head || lstat(head, &st) < 0 || !(S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)))
		return false;
	return is(dir, "commondir", S_IFREG) || (is(dir, "objects", S_IFDIR) && is(dir, "refs", S_IFDIR));
}

/* The one line of a file that names a directory, relative to base; real; NULL when it doesn't. */
static char *follow(const char *file, const char *prefix, const char *base)
{
	cleanup_text struct text text = { 0 };
	cleanup_free char *path = NULL;
	const char *name;

	if (read_small(AT_FDCWD, file, POINTER_MAX, &text) < 0 || strlen(text.data) != text.len ||
	    strncmp(text.data, prefix, strlen(prefix)) != 0)
		return NULL;
	while (text.len && (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == '\r'))
		text.data[--text.len] = '\0';
	name = text.data + strlen(prefix);
	path = *name == '/' ? strdup(name) : format("%s/%s", base, name);
	return path && *name ? realpath(path, NULL) : NULL;
}

/* A directory above that is a repository: then the path lies in one. */
static int refuse_plain(const char *path, struct refusal *r)
{
	cleanup_free char *at = strdup(path);
	char *slash;

	while (at && (slash = strrchr(at, '/')) && slash > at) {
		*slash = '\0';
		if (is(at, ".git", S_IFDIR) || is(at, ".git", S_IFREG) || is_gitdir(at)) {
			cleanup_free char *fix = format("\"checkout\": \"%s\"", at);

			return refuse(r, "sandbox_workspace", path, fix,
			              "%s is not the top of a repository but lies in the one at %s", path, at);
		}
	}
	return refuse_kind(r, path, "git -C %s init", "is not a git repository%s", "");
}

static int find_gitdir(struct checkout *c, struct refusal *r)
{
	cleanup_free char *dot = format("%s/.git", c->path);

	if (!dot)
		return no_memory(r);
	if (is(c->path, ".git", S_IFDIR)) {
		c->gitdir = realpath(dot, NULL);
	} else if (is(c->path, ".git", S_IFREG)) {
		c->gitdir = follow(dot, "gitdir: ", c->path);
		if (!c->gitdir)
			return refuse_kind(r, c->path, "git -C %s worktree repair",
			                   "has a .git file that leads nowhere%s", "");
	} else if (is_gitdir(c->path)) {
		c->gitdir = strdup(c->path);
		c->bare = true;
	} else {
		return refuse_plain(c->path, r);
	}
	if (!c->gitdir)
		return refuse_errno(r, dot, "the repository can't be found");
	if (!is_gitdir(c->gitdir))
		return refuse_kind(r, c->path, "git -C %s init", "has a git directory that is none (%s)", c->gitdir);
	return 0;
}

static int find_common(struct checkout *c, struct refusal *r)
{
	cleanup_free char *file = format("%s/commondir", c->gitdir);

	if (!file)
		return no_memory(r);
	if (!is(c->gitdir, "commondir", S_IFREG)) {
		c->common = strdup(c->gitdir);
		return c->common ? 0 : no_memory(r);
	}
	c->common = follow(file, "", c->gitdir);
	if (!c->common || !is_gitdir(c->common))
		return refuse_kind(r, c->path, "git -C %s worktree repair",
		                   "is a linked worktree whose repository is gone%s", "");
	c->linked = strcmp(c->common, c->gitdir) != 0;
	return 0;
}

static int check_owner(const char *path, struct refusal *r)
{
	cleanup_free char *word = quoted(path);
	cleanup_free char *fix =
	        word ? format("sudo chown -R %lu %s; or clone it: git clone %s", (unsigned long)geteuid(), word, word)
	             : NULL;
	struct stat st;

	if (stat(path, &st) < 0)
		return refuse_errno(r, path, "it can't be looked at");
	if (st.st_uid != geteuid())
		return refuse(r, "sandbox_workspace", path, fix,
		              "%s belongs to another user (%lu), whose configuration git would follow", path,
		              (unsigned long)st.st_uid);
	return 0;
}

int checkout_open(struct checkout *c, const char *path, struct refusal *r)
{
	cleanup_free char *shallow = NULL;
	struct stat st;

	*c = (struct checkout){ .notes = json_array() };
	if (path[0] != '/' || strlen(path) >= PATH_MAX)
		return refuse(r, "sandbox_workspace", path, "name it from / on", "the checkout %s is no absolute path",
		              path);
	c->path = realpath(path, NULL);
	if (!c->path || !c->notes)
		return !c->notes ? no_memory(r)
		       : errno == ENOENT || errno == ENOTDIR
		               ? refuse_kind(r, path, "git clone URL %s", "is not there%s", "")
		               : refuse_errno(r, path, "the checkout can't be looked at");
	if (stat(c->path, &st) < 0 || !S_ISDIR(st.st_mode))
		return refuse_kind(r, path, "name the directory that holds it, not %s", "is no directory%s", "");
	if (find_gitdir(c, r) || find_common(c, r))
		return -1;
	if (check_owner(c->path, r) || check_owner(c->gitdir, r) || check_owner(c->common, r))
		return -1;
	shallow = format("%s/shallow", c->common);
	if (!shallow)
		return no_memory(r);
	c->shallow = stat(shallow, &st) == 0 && st.st_size > 0;
	return alternates_load(c, r);
}

void checkout_close(struct checkout *c)
{
	free(c->path);
	free(c->gitdir);
	free(c->common);
	for (size_t i = 0; i < c->nobjects; i++)
		free(c->objects[i]);
	free(c->origin);
	free(c->remote);
	free(c->name);
	free(c->email);
	json_decref(c->notes);
	*c = (struct checkout){ 0 };
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int unwritten(struct refusal *r, const char *what)
{
	return refuse_errno(r, what, "the workspace can't be written");
}

static int put(const struct layout *l, const char *name, const char *text, struct refusal *r)
{
	return text && write_new(l->root, name, 0644, text, strlen(text)) == 0 ? 0
	       : text                                                          ? unwritten(r, name)
	                                                                       : no_memory(r);
}

/* A value in quotes.  Line ends were left out before: no one would see them. */
static bool add_value(struct text *t, const char *before, const char *value, const char *after)
{
	bool good = text_puts(t, before) && text_puts(t, "\"");

	for (; good && *value; value++)
		good = (*value != '"' && *value != '\\' ? true : text_puts(t, "\\")) && text_add(t, value, 1);
	return good && text_puts(t, "\"") && text_puts(t, after);
}

/* What git would leave out of a commit's header anyway, and what ends a line. */
static char *plain_name(const char *name)
{
	char *out = strdup(name), *to = out;

	for (; out && *name; name++)
		if ((unsigned char)*name >= 0x20 && *name != 0x7f && *name != '<' && *name != '>')
			*to++ = *name;
	if (out)
		*to = '\0';
	return out;
}

static int write_config(const struct layout *l, struct refusal *r)
{
	cleanup_free char *name = plain_name(l->name), *email = plain_name(l->email);
	cleanup_text struct text t = { 0 };
	struct stat st;
	bool good = name && email &&
	            text_puts(&t, "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"
	                          "\tlogallrefupdates = true\n");

	/* HEAD is there already. */
	if (good && fstatat(l->root, ".git/hEAD", &st, 0) == 0)
		good = text_puts(&t, "\tignorecase = true\n");
	/* Else gc would write .git/info/refs, which is read-only for a run, and say that it can't. */
	good = good && text_puts(&t, "[repack]\n\tupdateServerInfo = false\n");
	if (good && l->checkout->origin) {
		good = add_value(&t, "[remote \"origin\"]\n\turl = ", l->checkout->origin,
		                 "\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n") &&
		       add_value(&t, "[branch ", l->branch, "]\n\tremote = origin\n") &&
		       add_value(&t, "\tmerge = ", "refs/heads/", "\n");
		if (good) { /* into the quotes */
			t.len -= 2;
			good = text_puts(&t, l->branch) && text_puts(&t, "\"\n");
		}
	}
	good = good && add_value(&t, "[user]\n\tname = ", name, "\n") && add_value(&t, "\temail = ", email, "\n");
	return good ? put(l, ".git/config", t.data, r) : no_memory(r);
}

static bool add_ref(struct text *t, const git_oid *id, const char *before, const char *name, const char *after)
{
	char hex[GIT_OID_HEXSZ + 1];

	(void)git_oid_tostr(hex, sizeof(hex), id);
	return text_puts(t, before) && text_puts(t, hex) && text_puts(t, name) && text_puts(t, after);
}

static int write_packed_refs(const struct layout *l, struct refusal *r)
{
	cleanup_text struct text t = { 0 };
	bool good = text_puts(&t, "# pack-refs with: peeled fully-peeled sorted \n");

	for (size_t i = 0; good && i < l->selection->n; i++) {
		const struct selected *v = &l->selection->v[i];

		good = add_ref(&t, &v->id, "", " ", v->name) && text_puts(&t, "\n");
		if (good && v->tag)
			good = add_ref(&t, &v->peeled, "^", "", "\n");
	}
	return good ? put(l, ".git/packed-refs", t.data, r) : no_memory(r);
}

/* The folders of a branch's name. */
static int make_parents(const struct layout *l, const char *path, struct refusal *r)
{
	cleanup_free char *at = strdup(path);

	if (!at)
		return no_memory(r);
	for (char *slash = at + strlen(".git/refs/"); (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (mkdirat(l->root, at, 0755) < 0 && errno != EEXIST)
			return unwritten(r, at);
		*slash = '/';
	}
	return 0;
}

static int write_branch(const struct layout *l, struct refusal *r)
{
	cleanup_free char *path = format(".git/refs/heads/%s", l->branch);
	cleanup_text struct text t = { 0 };

	if (!path || !add_ref(&t, &l->selection->base, "", "", "\n"))
		return no_memory(r);
	return make_parents(l, path, r) ? -1 : put(l, path, t.data, r);
}

static int write_origin_head(const struct layout *l, struct refusal *r)
{
	cleanup_free char *text = NULL;

	if (!l->selection->origin_head)
		return 0;
	text = format("ref: %s\n", l->selection->origin_head);
	return make_parents(l, ".git/refs/remotes/origin/HEAD", r) ? -1
	                                                           : put(l, ".git/refs/remotes/origin/HEAD", text, r);
}

int layout_write(const struct layout *l, struct refusal *r)
{
	static const char *const folders[] = { ".git",      ".git/objects",    ".git/objects/pack", ".git/objects/info",
		                               ".git/refs", ".git/refs/heads", ".git/refs/tags",    ".git/info",
		                               ".git/hooks" };
	cleanup_free char *head = format("ref: refs/heads/%s\n", l->branch);

	for (size_t i = 0; i < COUNT(folders); i++)
		if (mkdirat(l->root, folders[i], 0755) < 0)
			return unwritten(r, folders[i]);
	if (put(l, ".git/HEAD", head, r) || write_config(l, r) || put(l, ".git/info/exclude", "", r))
		return -1;
	return write_packed_refs(l, r) || write_branch(l, r) || write_origin_head(l, r) ? -1 : 0;
}

int layout_close(const struct layout *l, struct refusal *r)
{
	return put(l, ".git/commondir", "../.git\n", r) || put(l, ".git/config.worktree", "", r) ||
	                       put(l, ".git/objects/info/alternates", "", r)
	               ? -1
	               : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What of the operator's configuration a workspace needs: who commits, and where origin is.  It is read from the files that
 * git reads, includes and their conditions too; nothing of it is carried over but these two. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "checkout.h"
#include "url.h"

static int refuse_config(struct checkout *c, struct refusal *r)
{
	const git_error *e = git_error_last();

	return checkout_refuse(c, r, "config --list", "has a configuration that can't be read: %s",
	                       e && e->message ? e->message : "unknown");
}

static int refuse_format(struct checkout *c, const char *fix, const char *what, const char *value, struct refusal *r)
{
	cleanup_free char *word = quoted(c->path), *command = word ? format(fix, word) : NULL;

	return refuse(r, "sandbox_workspace", c->path, command, "%s is of a format that can't be cloned: %s%s", c->path,
	              what, value);
}

struct extensions {
	struct checkout *c;
	struct refusal *r;
};

static int on_extension(const git_config_entry *e, void *payload)
{
	static const char *const fine[] = { "noop", "noop-v1", "preciousobjects", "worktreeconfig",
		                            "relativeworktrees" };
	struct extensions *x = payload;
	const char *name = strchr(e->name, '.') + 1, *value = e->value ? e->value : "";

	for (size_t i = 0; i < COUNT(fine); i++)
		if (!strcasecmp(name, fine[i]))
			return 0;
	if (!strcasecmp(name, "partialclone"))
		return x->c->partial = true, 0;
	if (!strcasecmp(name, "objectformat"))
		return !strcasecmp(value, "sha1") ? 0
		                                  : refuse_format(x->c,
		                                                  "use a checkout of a repository with SHA-1 objects; "
		                                                  "%s can't be converted in place",
		                                                  "its objects are named by ", value, x->r);
	if (!strcasecmp(name, "refstorage"))
		return !strcasecmp(value, "files") ? 0
		                                   : refuse_format(x->c, "git -C %s refs migrate --ref-format=files",
		                                                   "its references are kept as ", value, x->r);
	return refuse_format(x->c, "git clone --bare %s a-fresh-clone", "it has the extension ", name, x->r);
}

static int on_promisor(const git_config_entry *e, void *payload)
{
	struct checkout *c = payload;

	c->partial = c->partial || !e->value || strcasecmp(e->value, "false") != 0;
	return 0;
}

/* The repository's own file first, alone: whether it can be opened at all. */
static int check_format(struct checkout *c, struct refusal *r)
{
	cleanup_free char *path = format("%s/config", c->common);
	struct extensions x = { c, r };
	git_config *config = NULL;
	int version = 0, rc = 0;

	if (!path)
		return no_memory(r);
	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	if (git_config_open_ondisk(&config, path) < 0)
		return refuse_config(c, r);
	if (git_config_get_int32(&version, config, "core.repositoryformatversion") == 0 && (version < 0 || version > 1))
		rc = refuse_format(c, "git clone --bare %s a-fresh-clone", "its version is unknown", "", r);
	if (!rc && git_config_foreach_match(config, "^extensions\\.", on_extension, &x) < 0 && !r->reason)
		rc = refuse_config(c, r);
	if (!rc)
		(void)git_config_foreach_match(config, "^remote\\..*\\.promisor$", on_promisor, c);
	git_config_free(config);
	return rc || r->reason ? -1 : 0;
}

static int add_file(struct checkout *c, git_config *config, git_repository *repo, char *path, git_config_level_t level,
                    struct refusal *r)
{
	int rc = 0;

	if (!path)
		return no_memory(r);
	if (access(path, R_OK) == 0 && git_config_add_file_ondisk(config, path, level, repo, 0) < 0)
		rc = refuse_config(c, r);
	free(path);
	return rc;
}

static int load_files(struct checkout *c, git_config *config, git_repository *repo, struct refusal *r)
{
	const char *home = getenv("HOME"), *xdg = getenv("XDG_CONFIG_HOME");
	git_config *own = NULL;
	int worktrees = 0, rc;

	rc = add_file(c, config, repo, strdup("/etc/gitconfig"), GIT_CONFIG_LEVEL_SYSTEM, r);
	if (!rc && (xdg && *xdg ? true : home && *home))
		rc = add_file(c, config, repo,
		              xdg && *xdg ? format("%s/git/config", xdg) : format("%s/.config/git/config", home),
		              GIT_CONFIG_LEVEL_XDG, r);
	if (!rc && home && *home)
		rc = add_file(c, config, repo, format("%s/.gitconfig", home), GIT_CONFIG_LEVEL_GLOBAL, r);
	if (!rc)
		rc = add_file(c, config, repo, format("%s/config", c->common), GIT_CONFIG_LEVEL_LOCAL, r);
	if (!rc && git_config_open_level(&own, config, GIT_CONFIG_LEVEL_LOCAL) == 0)
		(void)git_config_get_bool(&worktrees, own, "extensions.worktreeconfig");
	git_config_free(own);
	if (!rc && worktrees)
		rc = add_file(c, config, repo, format("%s/config.worktree", c->gitdir), GIT_CONFIG_LEVEL_APP, r);
	return rc;
}

/* New text, or NULL when it isn't set: control characters can't be part of a commit's header, nor these two of a name. */
static char *get_text(git_config *config, const char *name)
{
	git_buf value = { 0 };
	char *out = NULL;

	if (git_config_get_string_buf(&value, config, name) == 0 && value.ptr)
		out = strdup(value.ptr);
	git_buf_dispose(&value);
	return out;
}

struct instead {
	const char *url;
	char *base; /* of the longest that matches */
	size_t len;
};

static int on_instead(const git_config_entry *e, void *payload)
{
	struct instead *x = payload;
	size_t len = e->value ? strlen(e->value) : 0, name = strlen(e->name);

	/* "url.<base>.insteadof" */
	if (len <= x->len || strncmp(x->url, e->value, len) != 0 || name <= 4 + 10)
		return 0;
	free(x->base);
	x->base = strndup(e->name + 4, name - 4 - 10);
	x->len = len;
	return x->base ? 0 : -1;
}

/* The operator's abbreviations mean nothing inside. */
static char *full_url(git_config *config, const char *url)
{
	struct instead x = { .url = url };
	char *out = NULL;

	if (git_config_foreach_match(config, "^url\\..*\\.insteadof$", on_instead, &x) == 0)
		out = x.base ? format("%s%s", x.base, url + x.len) : strdup(url);
	free(x.base);
	return out;
}

struct sole {
	char *name;
	int n;
};

static int on_remote(const git_config_entry *e, void *payload)
{
	struct sole *s = payload;

	s->n++;
	free(s->name);
	s->name = strdup(e->name);
	return s->name ? 0 : -1;
}

/* Origin, else the only remote there is. */
static int find_remote(struct checkout *c, git_config *config, char **url, struct refusal *r)
{
	struct sole sole = { 0 };
	size_t len;

	*url = get_text(config, "remote.origin.url");
	if (!*url && git_config_foreach_match(config, "^remote\\..*\\.url$", on_remote, &sole) == 0 && sole.n == 1) {
		*url = get_text(config, sole.name);
		len = strlen(sole.name);
		/* "remote.<name>.url" */
		c->remote = strndup(sole.name + 7, len - 7 - 4);
	} else {
		c->remote = strdup("origin");
	}
	free(sole.name);
	if (!c->remote)
		return no_memory(r);
	if (!*url)
		return checkout_note(c, r, "the checkout has no remote \"origin\": the workspace has none either");
	return strcmp(c->remote, "origin")
	               ? checkout_note(c, r, "the checkout's only remote, \"%s\", is the workspace's \"origin\"",
	                               c->remote)
	               : 0;
}

static int take_origin(struct checkout *c, git_config *config, struct refusal *r)
{
	cleanup_free char *said = NULL, *url = NULL;

	if (find_remote(c, config, &said, r))
		return -1;
	if (!said)
		return 0;
	url = full_url(config, said);
	if (!url)
		return no_memory(r);
	switch (url_strip(url, c->bare ? c->gitdir : c->path, &c->origin)) {
	case URL_NOMEM:
		return no_memory(r);
	case URL_SAME:
		return 0;
	case URL_STRIPPED:
		return checkout_note(
		        c, r, "the URL of the checkout's origin holds what may be credentials: they were left out");
	default:
		return checkout_note(
		        c, r,
		        "the URL of the checkout's origin is of no form that is known to hold no credentials: the "
		        "workspace has no origin");
	}
}

/* What "~/" in a path of the configuration is; nowhere, but while that is read. */
static bool set_home(const char *home)
{
	return git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_GLOBAL, home) == 0;
}

int checkout_configure(struct checkout *c, struct refusal *r)
{
	const char *home = getenv("HOME");
	git_repository *repo = NULL;
	git_config *config = NULL;
	int value = 0, rc = check_format(c, r);

	if (rc)
		return rc;
	if (home && *home && !set_home(home))
		return no_memory(r);
	/* Only for the conditions of includes, which ask where the repository is. */
	if (git_repository_open_ext(&repo, c->path, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL) < 0 ||
	    git_config_new(&config) < 0)
		rc = refuse_config(c, r);
	if (!rc)
		rc = load_files(c, config, repo, r);
	if (!rc) {
		c->name = get_text(config, "user.name");
		c->email = get_text(config, "user.email");
		if (git_config_get_bool(&value, config, "core.ignorecase") == 0)
			c->ignores_case = value;
		rc = take_origin(c, config, r);
	}
	git_config_free(config);
	git_repository_free(repo);
	return set_home("/nonexistent") ? rc : no_memory(r);
}

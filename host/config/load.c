/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opt.h"
#include "read.h"
#include "text.h"

struct config_private {
	struct arena arena;
	struct doc doc;
};

static const char *under(struct arena *a, const char *variable, const char *home, const char *otherwise)
{
	const char *base = getenv(variable);

	if (base && base[0] == '/') /* a relative one is ignored: XDG */
		return arena_printf(a, "%s/open-conduit", base);
	return arena_printf(a, "%s/%s/open-conduit", home, otherwise);
}

/* What the caller left out. */
static void fill_world(struct config_world *w, struct arena *a)
{
	const char *home = getenv("HOME");
	const struct passwd *user;

	if (!w->home && home && home[0] == '/')
		w->home = arena_text(a, home);
	if (!w->home) {
		user = getpwuid(getuid());
		w->home = user && user->pw_dir ? arena_text(a, user->pw_dir) : "/nonexistent";
	}
	if (!w->config_dir)
		w->config_dir = under(a, "XDG_CONFIG_HOME", w->home, ".config");
	if (!w->state_dir)
		w->state_dir = under(a, "XDG_STATE_HOME", w->home, ".local/state");
	if (!w->claude_config_dir)
		w->claude_config_dir = getenv("CLAUDE_CONFIG_DIR");
}

char *config_default_path(const struct config_world *world)
{
	struct config_world w = world ? *world : (struct config_world){ 0 };
	struct arena a = { 0 };
	char *path = NULL;

	fill_world(&w, &a);
	if (!a.failed && asprintf(&path, "%s/config.json", w.config_dir) < 0)
		path = NULL;
	arena_free(&a);
	return path;
}

static void bad_file(struct report *report, const char *path, const char *fix, const char *why)
{
	const struct report_place place = { .field = "", .subject = path };

	report_add(report, &place, "sandbox_config", fix, "%s: %s", path, why);
}

static void bad_json(struct report *report, const struct doc *doc, const char *path)
{
	struct report_place place = { .field = "", .subject = path };

	doc_place(doc, doc->wrong_at, &place.line, &place.column);
	report_add(report, &place, "sandbox_config", "mend the JSON there", "line %zu, column %zu: %s", place.line,
	           place.column, doc->wrong);
}

static void check(struct reading *r)
{
	read_record(r, &table_config, r->doc->root, "", r->config);
	check_connections(r);
	check_scopes(r);
	check_settings(r);
	check_seeds(r);
	if (report_good(r->report) && !r->world.no_disk)
		check_sharing(r);
}

int config_read(const char *text, size_t len, const char *path, const struct config_world *world, struct config **out,
                struct report *report)
{
	struct reading r = { .report = report };
	struct config_private *own = calloc(1, sizeof(*own));
	size_t errors = report->errors;

	if (!own) {
		report->nomem = true;
		return -1;
	}
	if (world)
		r.world = *world;
	r.arena = &own->arena;
	r.doc = &own->doc;
	fill_world(&r.world, r.arena);
	r.config = arena_get(r.arena, sizeof(*r.config));
	if (r.config) {
		r.config->own = own;
		r.config->path = arena_text(r.arena, path);
		r.config->dir = r.world.config_dir ? arena_text(r.arena, r.world.config_dir) : NULL;
	}
	if (doc_parse(&own->doc, r.arena, text, len) < 0 && own->doc.wrong)
		bad_json(report, &own->doc, path);
	else if (own->doc.root && !r.arena->failed)
		check(&r);
	read_end(&r);
	report->nomem = report->nomem || r.arena->failed;
	if (report->nomem || report->errors > errors) {
		arena_free(&own->arena);
		free(own);
		return -1;
	}
	*out = r.config;
	return 0;
}

/* Whoever may write the file decides what runs may do. */
static const char *trusted(const struct stat *st, const char **fix)
{
	*fix = "name a file";
	if (!S_ISREG(st->st_mode))
		return "it is no file";
	*fix = "chown it to yourself";
	if (st->st_uid != getuid() && st->st_uid != 0)
		return "it belongs to another user, who could change what runs may do";
	*fix = "chmod go-w it";
	return st->st_mode & (S_IWGRP | S_IWOTH) ? "others may write it, and so change what runs may do" : NULL;
}

static char *read_open(int fd, size_t *len, const char **why, const char **fix)
{
	struct stat st;
	char *text = NULL;
	size_t cap = 0;
	ssize_t n = 1;

	*len = 0;
	*fix = "look at the file's disk";
	if (fstat(fd, &st) < 0) {
		*why = strerror(errno);
		return NULL;
	}
	*why = trusted(&st, fix);
	if (*why)
		return NULL;
	cap = DOC_MAX + 2;
	text = malloc(cap);
	while (text && n > 0 && *len < cap) {
		n = read(fd, text + *len, cap - *len);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			*len += (size_t)n;
	}
	if (text && n >= 0)
		return text;
	*why = text ? strerror(errno) : "out of memory";
	free(text);
	return NULL;
}

int config_load(const char *path, const struct config_world *world, struct config **out, struct report *report)
{
	char *standard = path ? NULL : config_default_path(world), *text = NULL;
	const char *why = NULL, *fix = NULL, *name = path ? path : standard;
	size_t len = 0;
	int fd, rc = -1;

	if (!name) {
		report->nomem = true;
		return -1;
	}
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd >= 0) {
		text = read_open(fd, &len, &why, &fix);
		close(fd);
	} else {
		why = strerror(errno);
		fix = errno == ENOENT ? "write it as open-conduit-config(5) says, or name another file"
		                      : "make it readable for yourself";
	}
	if (text)
		rc = config_read(text, len, name, world, out, report);
	else
		bad_file(report, name, fix, why);
	free(text);
	free(standard);
	return rc;
}

void config_free(struct config *config)
{
	struct config_private *own = config ? config->own : NULL;

	if (!own)
		return;
	arena_free(&own->arena);
	free(own);
}

const struct config_binding *config_binding(const struct config *config, const char *name, const char **nearest)
{
	const char *names[257];
	size_t n = 0;

	for (size_t s = 0; s < config->n_scopes; s++)
		for (size_t b = 0; b < config->scopes[s].n_bindings; b++) {
			const struct config_binding *one = &config->scopes[s].bindings[b];

			if (!strcmp(one->full, name))
				return one;
			if (n < 256)
				names[n++] = one->full;
		}
	names[n] = NULL;
	if (nearest)
		*nearest = opt_nearest(name, names);
	return NULL;
}

bool config_find(const struct config *config, const char *field, size_t *line, size_t *column)
{
	const struct doc *doc = &config->own->doc;
	const char *rest = field;
	const struct node *n = doc_find(doc->root, &rest);

	doc_place(doc, n->key ? n->key_at : n->at, line, column);
	return !*rest;
}

const char *const *config_pass_env(const struct config *config, const char *provider)
{
	static const char *const none[] = { NULL };
	const struct config_settings *s = config->settings;

	for (size_t i = 0; s && i < s->n_extensions; i++)
		if (!strcmp(s->extensions[i].name, provider) && s->extensions[i].pass_env.v)
			return s->extensions[i].pass_env.v;
	return none;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Protected state, and tools: what decides how runs are confined, or runs as the operator later.  If a run could
 * write any of it, that run would decide how the next is confined. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/utf8.h"
#include "policy/paths.h"
#include "policy/protect.h"
#include "policy/resolve.h"

static void emit_protected(struct oc_resolving *r, const char *path, const char *what, bool exists, bool dir)
{
	if (!oc_resolving_utf8(r, what, path) || oc_resolving_listed(r, "protected", path))
		return;
	oc_resolving_emit(r, "protected",
	                  json_pack("{s:s, s:s, s:b, s:b}", "path", path, "what", what, "exists", exists, "dir", dir));
}

static void protect(struct oc_resolving *r, const char *path, const char *what)
{
	struct oc_guarded *v = reallocarray(r->guarded, r->n_guarded + 1, sizeof(*v));
	struct oc_strv aliases;
	struct oc_place *place;
	char *real = NULL;
	bool missing = false;

	if (!v) {
		oc_violations_nomem(&r->bad);
		return;
	}
	r->guarded = v;
	if (!oc_resolving_walk(r, what, path, &real, &missing, NULL))
		return;
	place = &v[r->n_guarded].place;
	if (oc_place_init(place, &r->mounts, real)) {
		oc_violations_nomem(&r->bad);
		return;
	}
	v[r->n_guarded++].what = what;
	emit_protected(r, place->path, what, place->exists, place->dir);
	if (strcmp(path, place->path) != 0)
		emit_protected(r, path, what, place->exists, place->dir);
	oc_strv_init(&aliases, 1000);
	if (oc_place_aliases(place, &r->mounts, &aliases))
		oc_violate(&r->bad, "sandbox_denied", place->path, "unmount the copies of it",
		           "%s is mounted in more than a thousand places", place->path);
	for (size_t i = 0; i < aliases.n; i++)
		emit_protected(r, aliases.v[i], what, true, place->dir);
	oc_strv_free(&aliases);
}

void oc_resolve_protected(struct oc_resolving *r)
{
	const char *own = oc_resolving_env(r, "CLAUDE_CONFIG_DIR");
	static const char *const names[] = { ".claude", ".claude.json" };

	protect(r, r->in->state_dir, "state");
	if (r->in->config_dir)
		protect(r, r->in->config_dir, "config");
	for (size_t i = 0; i < OC_COUNT(names); i++) {
		oc_cleanup(oc_freep) char *path = oc_path_join(r->in->home, names[i]);

		if (path)
			protect(r, path, "claude");
		else
			oc_violations_nomem(&r->bad);
	}
	if (own && own[0] == '/')
		protect(r, own, "claude");
	else if (own && own[0])
		oc_violate(&r->bad, "sandbox_denied", "CLAUDE_CONFIG_DIR", "export CLAUDE_CONFIG_DIR=/absolute/path",
		           "your own CLAUDE_CONFIG_DIR is not absolute, so what it names can't be protected");
}

/* What the host itself hands to a run, inside its own state: the workspace and the home that it made. */
static bool is_own(const struct oc_resolving *r, const struct oc_guarded *p, const char *real)
{
	return strcmp(p->what, "state") == 0 && ((r->own_workspace && oc_path_within(r->workspace, real)) ||
	                                         (r->agent_home && strcmp(r->agent_home, real) == 0));
}

static void guard_grants(struct oc_resolving *r, const struct oc_grant *grants, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < r->n_guarded; k++) {
			const struct oc_grant *g = &grants[i];
			const struct oc_guarded *p = &r->guarded[k];

			if (is_own(r, p, g->place.path) || !oc_place_overlap(&g->place, &p->place))
				continue;
			oc_violate(&r->bad, "sandbox_denied", g->place.path,
			           "grant a directory that neither holds it nor lies in it",
			           "%s grants %s (%s), which reaches into the protected %s %s", g->rule, g->place.path,
			           g->as, p->what, p->place.path);
		}
}

void oc_resolve_guard_grants(struct oc_resolving *r)
{
	guard_grants(r, r->grants, r->n_grants);
	guard_grants(r, r->reads, r->n_reads);
}

bool oc_resolve_guard_path(struct oc_resolving *r, const char *rule, const char *real)
{
	struct oc_place place;
	bool hit = false;

	if (oc_path_within(r->run_dir, real))
		return false;
	if (oc_place_init(&place, &r->mounts, strdup(real))) {
		oc_violations_nomem(&r->bad);
		return true;
	}
	for (size_t k = 0; k < r->n_guarded && !hit; k++) {
		const struct oc_guarded *p = &r->guarded[k];

		if (is_own(r, p, real) || !oc_place_within(&place, &p->place))
			continue;
		hit = true;
		oc_violate(&r->bad, "sandbox_denied", real, "remove it from the policy",
		           "%s names %s, which lies in the protected %s %s", rule, real, p->what, p->place.path);
	}
	oc_place_free(&place);
	return hit;
}

/* Can somebody else change it?  Root can anyway. */
static const char *others_write(const struct stat *st, bool above)
{
	bool sticky = above && (st->st_mode & S_ISVTX);
	/* A user's own group, where user and group have one number, has no other member by convention. */
	bool own_group = st->st_gid == 0 || (st->st_gid == getegid() && (uintmax_t)st->st_gid == (uintmax_t)geteuid());

	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "belongs to another user";
	if (!S_ISLNK(st->st_mode) && (st->st_mode & S_IWOTH) && !sticky)
		return "is writable by every user";
	if (!S_ISLNK(st->st_mode) && (st->st_mode & S_IWGRP) && !sticky && !own_group)
		return "is writable by its group";
	return NULL;
}

static void refuse_writable(struct oc_violations *bad, const char *tool, const char *at, const char *why)
{
	struct oc_buf fix;

	oc_buf_init(&fix, 8 * OC_POLICY_PATH_MAX);
	if (oc_buf_puts(&fix, strncmp(why, "belongs", 7) == 0 ? "sudo chown root " : "chmod go-w ") ||
	    oc_shell_quote(&fix, at))
		oc_violations_nomem(bad);
	else
		oc_violate(bad, "sandbox_denied", tool, fix.data, "%s decides how programs of yours run, and %s %s",
		           tool, at, why);
	oc_buf_free(&fix);
}

static void check_modes(struct oc_violations *bad, struct oc_seen *seen, const char *path)
{
	char at[OC_POLICY_PATH_MAX];
	struct stat st;
	const char *why;

	if (strlen(path) >= sizeof(at))
		return;
	memcpy(at, path, strlen(path) + 1);
	for (bool above = false;; above = true) {
		char *slash = strrchr(at, '/');

		if (oc_seen_lstat(seen, at[0] ? at : "/", &st) == 0 && (why = others_write(&st, above))) {
			refuse_writable(bad, path, at[0] ? at : "/", why);
			return;
		}
		if (!slash || at[0] == '\0' || path[1] == '\0')
			return;
		*slash = '\0';
	}
}

struct tool_check {
	struct oc_violations *bad;
	const struct oc_mounts *mounts;
	const struct oc_grant *grants;
	size_t n;
};

/* Each link on the way to a tool is a part of it: whoever can replace the link chooses the tool. */
static void check_place(const struct tool_check *c, const char *name, const char *path, bool is_link)
{
	struct oc_place place;

	if (oc_place_init(&place, c->mounts, strdup(path))) {
		oc_violations_nomem(c->bad);
		return;
	}
	for (size_t i = 0; i < c->n; i++) {
		const struct oc_grant *g = &c->grants[i];

		if (is_link ? !oc_place_within(&place, &g->place) : !oc_place_overlap(&place, &g->place))
			continue;
		oc_violate(c->bad, "sandbox_denied", g->place.path,
		           "grant a directory that neither holds it nor lies in it",
		           "%s grants %s (%s), and %s%s%s decides how programs of yours run", g->rule, g->place.path,
		           g->as, name, strcmp(name, path) ? ", by way of " : "", strcmp(name, path) ? path : "");
	}
	if (place.exists)
		check_modes(c->bad, c->mounts->seen, path);
	oc_place_free(&place);
}

static void check_tool(const struct tool_check *c, const char *name)
{
	struct oc_strv links;
	oc_cleanup(oc_freep) char *real = NULL;
	bool missing = false;
	int rc;

	oc_strv_init(&links, 64);
	rc = oc_policy_walk_seen(c->mounts->seen, name, &real, &missing, &links);
	if (rc == -ENOMEM)
		oc_violations_nomem(c->bad);
	else if (rc < 0)
		oc_violate(c->bad, "sandbox_denied", name, "mend its links", "%s can't be resolved", name);
	else
		check_place(c, name, real, false);
	for (size_t i = 0; rc == 0 && i < links.n; i++)
		check_place(c, name, links.v[i], true);
	oc_strv_free(&links);
}

static void add_tool(struct oc_resolving *r, const struct tool_check *c, const char *path)
{
	oc_cleanup(oc_freep) char *real = NULL;
	bool missing = false;

	if (path[0] != '/' || !oc_resolving_walk(r, "tools", path, &real, &missing, NULL) || missing)
		return;
	if (!oc_json_append(json_object_get(r->out, "tools"), json_string(real)))
		oc_violations_nomem(&r->bad);
	check_tool(c, path);
}

static bool named(const struct oc_grant *g, const char *path)
{
	return oc_path_within(g->place.path, path) || oc_path_within(path, g->place.path);
}

/* Does a grant reach the home under another name?  Only then must every missing name in it be looked at closely. */
static bool home_aliased(struct oc_resolving *r)
{
	struct oc_place home;
	bool aliased = false;

	if (oc_place_init(&home, &r->mounts, strdup(r->home))) {
		oc_violations_nomem(&r->bad);
		return true;
	}
	for (size_t i = 0; i < r->n_grants && !aliased; i++)
		aliased = !named(&r->grants[i], r->home) && oc_place_overlap(&r->grants[i].place, &home);
	oc_place_free(&home);
	return aliased;
}

/* Missing, reached by no link, and no grant near it by name: nothing of it can be written. */
static bool beside_grants(const struct oc_resolving *r, const char *path, const char *real, bool missing)
{
	bool near = !missing || strcmp(path, real) != 0;

	for (size_t i = 0; i < r->n_grants && !near; i++)
		near = named(&r->grants[i], path);
	return !near;
}

void oc_resolve_tools(struct oc_resolving *r)
{
	bool aliased = home_aliased(r);
	const struct tool_check c = { &r->bad, &r->mounts, r->grants, r->n_grants };
	const char *name;

	if (r->in->libexec_dir)
		add_tool(r, &c, r->in->libexec_dir);
	for (size_t i = 0; r->in->tools && i < r->in->tools->n; i++)
		add_tool(r, &c, r->in->tools->v[i]);
	/* A start-up file that is missing could be made: it counts as long as a grant reaches it.  One that can't be
	 * read, as what lies among the credentials, can't be written either. */
	for (size_t i = 0; (name = oc_protect_startup(i)); i++) {
		oc_cleanup(oc_freep) char *path = oc_path_join(r->home, name + 2);
		oc_cleanup(oc_freep) char *real = NULL;
		bool missing = false;

		if (!path)
			oc_violations_nomem(&r->bad);
		else if (oc_resolving_find(r, path, &real, &missing) &&
		         (aliased || !beside_grants(r, path, real, missing)) && oc_resolved_read(r->out, real).allowed)
			check_tool(&c, path);
	}
}

static bool load_grants(const json_t *resolved, const struct oc_mounts *mounts, struct oc_grant *grants, size_t *n)
{
	json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(resolved, "write"), i, entry)
	{
		struct oc_grant *g = &grants[*n];
		const char *path = oc_json_text(entry, "path"), *rule = oc_json_text(entry, "rule");

		if (!path || !rule || oc_place_init(&g->place, mounts, strdup(path)))
			return false;
		snprintf(g->rule, sizeof(g->rule), "%s", rule);
		g->as = oc_json_text(entry, "as") ? oc_json_text(entry, "as") : path;
		(*n)++;
	}
	return true;
}

int oc_resolved_tools(const json_t *resolved, const json_t *tools, oc_error **err)
{
	struct oc_violations bad = { 0 };
	struct oc_mounts mounts;
	struct oc_grant *grants = calloc(json_array_size(json_object_get(resolved, "write")) + 1, sizeof(*grants));
	struct tool_check c = { &bad, &mounts, grants, 0 };
	json_t *item;
	size_t i;
	int rc = grants ? oc_mounts_load(&mounts, err) : oc_nomem(err);

	if (rc) {
		free(grants);
		return rc;
	}
	if (!load_grants(resolved, &mounts, grants, &c.n))
		oc_violations_nomem(&bad);
	json_array_foreach(tools, i, item)
	{
		const char *path = json_string_value(item);

		if (path && path[0] == '/' && strlen(path) < OC_POLICY_PATH_MAX)
			check_tool(&c, path);
		else
			oc_violate(&bad, "sandbox_config", "tools", NULL, "tools[%zu] is not an absolute path", i);
	}
	for (i = 0; i < c.n; i++)
		oc_place_free(&grants[i].place);
	free(grants);
	oc_mounts_free(&mounts);
	return oc_violations_end(&bad, err);
}

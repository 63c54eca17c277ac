/* SPDX-License-Identifier: Apache-2.0 */
/* The read rules: default denies, read.deny, read.allow, each under its own name and under what it leads to. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/utf8.h"
#include "policy/paths.h"
#include "policy/protect.h"
#include "policy/resolve.h"

#define SCAN_MAX 10000 /* entries of one credential directory */

static bool known_rule(const struct oc_resolving *r, const char *path, bool allow)
{
	json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(r->out, "read"), i,
	                   entry) if (json_boolean_value(json_object_get(entry, "allow")) == (int)allow &&
	                              strcmp(oc_json_text(entry, "path"), path) == 0) return true;
	return false;
}

static void add_rule(struct oc_resolving *r, const char *path, bool allow, const char *rule, const char *as)
{
	struct stat st;
	bool exists = stat(path, &st) == 0;

	if (known_rule(r, path, allow))
		return;
	oc_resolving_emit(r, "read",
	                  json_pack("{s:s, s:b, s:s, s:s, s:b, s:b}", "path", path, "allow", allow, "rule", rule, "as",
	                            as, "exists", exists, "dir", exists && S_ISDIR(st.st_mode)));
}

/* Nothing can hide a name that isn't there where the run may write: it, or the host meanwhile, would make it. */
static void check_absent(struct oc_resolving *r, const char *path, const char *rule, const char *as)
{
	if (strchr(as, '['))
		oc_violate(&r->bad, "sandbox_config", rule, "name what is to be denied, or its directory",
		           "%s denies %s, which does not exist; paths are literal, globs are not expanded", rule, as);
	for (size_t i = 0; i < r->n_grants; i++)
		if (oc_path_within(r->grants[i].place.path, path)) {
			oc_violate(&r->bad, "sandbox_denied", path,
			           "make it first, or deny the directory it would be in",
			           "%s denies %s, which does not exist, in the write grant %s: what appears there "
			           "can't be hidden",
			           rule, path, r->grants[i].place.path);
			return;
		}
}

static void deny(struct oc_resolving *r, const char *rule, const char *as)
{
	oc_cleanup(oc_freep) char *path = oc_resolving_expand(r, rule, as);
	oc_cleanup(oc_freep) char *real = NULL;
	struct oc_strv links;
	bool missing = false;

	if (!path)
		return;
	if (oc_path_within(r->run_dir, path)) {
		oc_violate(&r->bad, "sandbox_config", rule, "remove it", "%s denies %s, but {run} is the run's own",
		           rule, as);
		return;
	}
	oc_strv_init(&links, 64);
	if (oc_resolving_walk(r, rule, path, &real, &missing, &links) && !oc_resolving_planted(r, rule, &links)) {
		add_rule(r, real, false, rule, as);
		add_rule(r, path, false, rule, as);
		if (missing)
			check_absent(r, real, rule, as);
	}
	oc_strv_free(&links);
}

static void allow(struct oc_resolving *r, const char *rule, const char *as)
{
	oc_cleanup(oc_freep) char *path = oc_resolving_expand(r, rule, as);
	oc_cleanup(oc_freep) char *real = NULL;
	struct oc_strv links;
	struct oc_buf fix;
	bool missing = false;

	if (!path || oc_path_within(r->run_dir, path))
		return;
	oc_strv_init(&links, 64);
	oc_buf_init(&fix, 8 * OC_POLICY_PATH_MAX);
	if (oc_resolving_walk(r, rule, path, &real, &missing, &links) && !oc_resolving_planted(r, rule, &links) &&
	    !oc_resolve_guard_path(r, rule, real)) {
		if (missing && (oc_buf_puts(&fix, "mkdir -p ") || oc_shell_quote(&fix, real)))
			oc_violations_nomem(&r->bad);
		else if (missing)
			oc_violate(&r->bad, "sandbox_denied", real, fix.data, "%s grants %s, which does not exist",
			           rule, real);
		add_rule(r, real, true, rule, as);
		add_rule(r, path, true, rule, as);
	}
	oc_buf_free(&fix);
	oc_strv_free(&links);
}

/* ~/.aws/credentials -> ~/dotfiles/aws: a deny of the name alone would leave the target readable. */
static void deny_link(struct oc_resolving *r, const char *dir, const char *name, const char *as)
{
	oc_cleanup(oc_freep) char *path = oc_path_join(dir, name);
	oc_cleanup(oc_freep) char *real = NULL;
	oc_cleanup(oc_freep) char *shown = oc_path_join(as, name);
	bool missing = false;
	struct stat st;

	if (!path || !shown) {
		oc_violations_nomem(&r->bad);
		return;
	}
	if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode) || !oc_resolving_utf8(r, as, shown))
		return;
	if (!oc_resolving_find(r, path, &real, &missing) || oc_path_within(dir, real))
		return; /* a circle leads nowhere */
	if (oc_resolving_utf8(r, as, real))
		add_rule(r, real, false, "default", shown);
}

static void scan(struct oc_resolving *r, const char *as)
{
	oc_cleanup(oc_freep) char *path = oc_resolving_expand(r, "default", as);
	oc_cleanup(oc_freep) char *real = NULL;
	bool missing = false;
	struct dirent *e;
	size_t n = 0;
	DIR *d;

	/* A directory that read.allow lifts whole hides nothing. */
	if (!path || !oc_resolving_find(r, path, &real, &missing) || missing || known_rule(r, real, true))
		return;
	d = opendir(real);
	if (!d && (errno == ENOTDIR || errno == EACCES))
		return; /* a file, or closed to us and so to the run */
	while (d && (errno = 0, e = readdir(d)) && ++n <= SCAN_MAX)
		if (e->d_type == DT_LNK || e->d_type == DT_UNKNOWN)
			deny_link(r, real, e->d_name, as);
	if (!d || (n <= SCAN_MAX && errno))
		oc_violate(&r->bad, "sandbox_denied", real, "make it readable, or closed to you altogether",
		           "%s can't be read, so its links can't be denied: %s", real, strerror(errno));
	if (d)
		closedir(d);
	if (n > SCAN_MAX)
		oc_violate(&r->bad, "sandbox_denied", real, "remove what doesn't belong there",
		           "%s has more than %d entries, so its links can't all be followed", real, SCAN_MAX);
}

static void each(struct oc_resolving *r, const char *list,
                 void (*fn)(struct oc_resolving *, const char *, const char *))
{
	json_t *item;
	size_t i;
	char rule[OC_RULE_SIZE];

	json_array_foreach(json_object_get(json_object_get(r->in->policy->normal, "read"), list), i, item)
	{
		snprintf(rule, sizeof(rule), "read.%s[%zu]", list, i);
		fn(r, rule, json_string_value(item));
	}
}

/* The deny that decides about `path`, which the run must be able to use. */
static void refuse_deny(struct oc_resolving *r, const json_t *entry, const char *who, const char *path, const char *as)
{
	const char *rule = oc_json_text(entry, "rule"), *name = oc_json_text(entry, "as");
	const char *target = oc_json_text(entry, "path");
	oc_cleanup(oc_freep) char *direct = oc_resolving_expand(r, rule, name);
	oc_cleanup(oc_freep) char *fix = oc_policy_quote("\"read\": {\"allow\": [", as, "]}");

	if (!fix)
		oc_violations_nomem(&r->bad);
	else if (direct && strcmp(direct, target) != 0)
		oc_violate(&r->bad, "sandbox_denied", path, fix,
		           "%s (%s) leads to %s, which can't be denied without taking away %s %s", name, rule, target,
		           who, path);
	else
		oc_violate(&r->bad, "sandbox_config", who, fix,
		           "%s is %s (%s), at or beneath %s, which %s denies: write never lifts a deny", who, path, as,
		           target, strcmp(rule, "default") == 0 ? "the default" : rule);
}

static void check_denied(struct oc_resolving *r)
{
	const json_t *entry;

	for (size_t i = 0; i < r->n_grants; i++) {
		const struct oc_grant *g = &r->grants[i];

		entry = oc_resolved_rule(r->out, g->place.path);
		if (entry && !json_is_true(json_object_get(entry, "allow")))
			refuse_deny(r, entry, g->rule, g->place.path, g->as);
	}
	for (size_t i = 0; i < r->n_grants; i++)
		if (strcmp(r->grants[i].place.path, r->workspace) == 0)
			return;
	entry = oc_resolved_rule(r->out, r->workspace);
	if (entry && !json_is_true(json_object_get(entry, "allow")))
		refuse_deny(r, entry, "the workspace", r->workspace, "{workspace}");
	for (size_t i = 0; i < r->n_guarded; i++)
		if (!r->own_workspace && oc_path_within(r->guarded[i].place.path, r->workspace))
			oc_violate(&r->bad, "sandbox_denied", r->workspace, "choose another workspace",
			           "the workspace %s lies in the protected %s %s", r->workspace, r->guarded[i].what,
			           r->guarded[i].place.path);
}

void oc_resolve_reading(struct oc_resolving *r)
{
	const char *name;

	for (size_t i = 0; (name = oc_protect_deny(i)); i++)
		deny(r, "default", name);
	each(r, "deny", deny);
	each(r, "allow", allow);
	for (size_t i = 0; (name = oc_protect_deny(i)); i++)
		scan(r, name);
	check_denied(r);
}

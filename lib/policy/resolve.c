/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/utf8.h"
#include "policy/host.h"
#include "policy/paths.h"

json_t *oc_policy_id(uint64_t value)
{
	return json_integer((json_int_t)(value & ((1ull << 53) - 1)));
}

bool oc_resolving_utf8(struct oc_resolving *r, const char *subject, const char *path)
{
	struct oc_buf shown;

	if (oc_utf8_valid(path, strlen(path)))
		return true;
	oc_buf_init(&shown, 8 * OC_POLICY_PATH_MAX);
	if (oc_text_escape(&shown, path, strlen(path), false))
		oc_violations_nomem(&r->bad);
	else
		oc_violate(&r->bad, "sandbox_denied", subject, "rename it, or choose another path",
		           "the path %s can't be written as UTF-8, so it can't be recorded",
		           shown.data ? shown.data : "");
	oc_buf_free(&shown);
	return false;
}

bool oc_resolving_walk(struct oc_resolving *r, const char *subject, const char *path, char **real, bool *missing,
                       struct oc_strv *links)
{
	int rc = oc_policy_walk_seen(r->mounts.seen, path, real, missing, links);

	if (rc == -ENOMEM)
		oc_violations_nomem(&r->bad);
	else if (rc < 0)
		oc_violate(&r->bad, "sandbox_denied", subject, "mend the links, or write the real path",
		           "%s can't be resolved: %s", path, rc == -ELOOP ? "its links go in a circle" : strerror(-rc));
	if (rc < 0)
		return false;
	if (oc_resolving_utf8(r, subject, *real))
		return true;
	free(*real);
	*real = NULL;
	return false;
}

bool oc_resolving_find(struct oc_resolving *r, const char *path, char **real, bool *missing)
{
	int rc = oc_policy_walk_seen(r->mounts.seen, path, real, missing, NULL);

	if (rc == -ENOMEM)
		oc_violations_nomem(&r->bad);
	else if (rc < 0 && rc != -ELOOP)
		oc_violate(&r->bad, "sandbox_denied", path, "remove the link", "%s can't be resolved: %s", path,
		           strerror(-rc));
	return rc == 0;
}

char *oc_resolving_expand(struct oc_resolving *r, const char *subject, const char *text)
{
	char *path = oc_policy_path_expand(text, r->in->home, r->in->workspace, r->run_dir);

	if (!path)
		oc_violate(&r->bad, "sandbox_config", subject, "write a shorter path",
		           "\"%s\" is longer than %d bytes when its placeholder is put in", text,
		           OC_POLICY_PATH_MAX - 1);
	return path;
}

void oc_resolving_emit(struct oc_resolving *r, const char *list, json_t *entry_taken)
{
	if (!oc_json_append(json_object_get(r->out, list), entry_taken))
		oc_violations_nomem(&r->bad);
}

bool oc_resolving_listed(const struct oc_resolving *r, const char *list, const char *path)
{
	json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(r->out, list), i,
	                   entry) if (strcmp(oc_json_text(entry, "path") ? oc_json_text(entry, "path") : "", path) ==
	                              0) return true;
	return false;
}

const char *oc_resolving_env(const struct oc_resolving *r, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; r->in->environ && r->in->environ[i]; i++)
		if (strncmp(r->in->environ[i], name, len) == 0 && r->in->environ[i][len] == '=')
			return r->in->environ[i] + len + 1;
	return NULL;
}

bool oc_resolving_planted(struct oc_resolving *r, const char *rule, const struct oc_strv *links)
{
	for (size_t i = 0; i < links->n; i++)
		for (size_t k = 0; k < r->n_grants; k++) {
			const struct oc_grant *g = &r->grants[k];

			if (!oc_path_within(g->place.path, links->v[i]) || strcmp(g->place.path, links->v[i]) == 0)
				continue;
			oc_violate(&r->bad, "sandbox_denied", links->v[i],
			           "name the real path in the policy, or remove the link",
			           "%s goes through the link %s, which lies in the write grant %s (%s): a run could "
			           "point it elsewhere",
			           rule, links->v[i], g->place.path, g->as);
			return true;
		}
	return false;
}

static void missing_grant(struct oc_resolving *r, const char *rule, const char *path)
{
	struct oc_buf fix;

	oc_buf_init(&fix, 8 * OC_POLICY_PATH_MAX);
	if (oc_buf_puts(&fix, "mkdir -p ") || oc_shell_quote(&fix, path))
		oc_violations_nomem(&r->bad);
	else
		oc_violate(&r->bad, "sandbox_denied", path, fix.data, "%s grants %s, which does not exist", rule, path);
	oc_buf_free(&fix);
}

bool oc_resolving_grant(struct oc_resolving *r, struct oc_grant *list, size_t *n, const char *rule, const char *as)
{
	struct oc_grant *g = &list[*n];
	oc_cleanup(oc_freep) char *path = oc_resolving_expand(r, rule, as);
	char *real = NULL;
	bool missing = false;

	/* {run} is always writable, and what is in it exists only in the run. */
	if (!path || oc_path_within(r->run_dir, path))
		return false;
	memset(g, 0, sizeof(*g));
	oc_strv_init(&g->links, 64);
	if (!oc_resolving_walk(r, rule, path, &real, &missing, &g->links)) {
		oc_strv_free(&g->links);
		return false;
	}
	if (missing)
		missing_grant(r, rule, real);
	for (size_t i = 0; i < *n && !missing; i++)
		missing = strcmp(list[i].place.path, real) == 0;
	if (missing) {
		free(real);
		oc_strv_free(&g->links);
		return false;
	}
	if (oc_place_init(&g->place, &r->mounts, real)) {
		oc_violations_nomem(&r->bad);
		oc_strv_free(&g->links);
		return false;
	}
	snprintf(g->rule, sizeof(g->rule), "%s", rule);
	g->as = as;
	++*n;
	return true;
}

static void add_write(struct oc_resolving *r, const char *rule, const char *as)
{
	const struct oc_grant *g = &r->grants[r->n_grants];

	if (oc_resolving_grant(r, r->grants, &r->n_grants, rule, as))
		oc_resolving_emit(r, "write",
		                  json_pack("{s:s, s:s, s:s, s:o, s:o, s:b}", "path", g->place.path, "rule", g->rule,
		                            "as", as, "dev", oc_policy_id(g->place.dev), "ino",
		                            oc_policy_id(g->place.ino), "dir", g->place.dir));
}

static void resolve_writing(struct oc_resolving *r)
{
	const json_t *list = json_object_get(r->in->policy->normal, "write");
	json_t *item;
	size_t i;
	char rule[OC_RULE_SIZE];

	r->grants = calloc(json_array_size(list) + 2, sizeof(*r->grants));
	if (!r->grants) {
		oc_violations_nomem(&r->bad);
		return;
	}
	json_array_foreach(list, i, item)
	{
		snprintf(rule, sizeof(rule), "write[%zu]", i);
		add_write(r, rule, json_string_value(item));
	}
	if (r->agent_home)
		add_write(r, "{home}", r->agent_home);
	for (i = 0; i < r->n_grants; i++)
		(void)oc_resolving_planted(r, r->grants[i].rule, &r->grants[i].links);
	oc_resolving_emit(r, "write",
	                  json_pack("{s:s, s:s, s:s, s:i, s:i, s:b}", "path", r->run_dir, "rule", "{run}", "as",
	                            "{run}", "dev", 0, "ino", 0, "dir", 1));
}

static void resolve_network(struct oc_resolving *r)
{
	const json_t *list = json_object_get(json_object_get(r->in->policy->normal, "network"), "allow");
	struct oc_host_rule rule;
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *entry = json_string_value(item);

		if (oc_host_rule_parse(entry, strlen(entry), true, &rule))
			continue; /* the policy was parsed: can't happen */
		oc_resolving_emit(r, "network",
		                  json_pack("{s:s, s:s, s:i, s:b}", "entry", entry, "host", rule.host, "port",
		                            (int)rule.port, "wildcard", rule.wildcard));
	}
}

/* A workspace in our state directory is only ever the one that we made for the run's own Work: the host says which, and
 * no policy and no current directory does. */
static bool is_own_workspace(struct oc_resolving *r)
{
	oc_cleanup(oc_freep) char *state = NULL;
	bool missing = false;
	struct oc_buf own;
	bool is;

	if (!r->in->work || !oc_work_id_valid(r->in->work) ||
	    !oc_resolving_find(r, r->in->state_dir, &state, &missing) || missing)
		return false;
	oc_buf_init(&own, 2 * OC_POLICY_PATH_MAX);
	if (oc_buf_printf(&own, "%s/works/%s/workspace", state, r->in->work) < 0)
		oc_violations_nomem(&r->bad);
	is = own.data && strcmp(own.data, r->workspace) == 0;
	oc_buf_free(&own);
	return is;
}

/* In a container: HOME, beneath {run} or the Work's own. */
static bool resolve_agent_home(struct oc_resolving *r)
{
	bool missing = false;

	return !r->in->agent_home || oc_resolving_walk(r, "{home}", r->in->agent_home, &r->agent_home, &missing, NULL);
}

static bool resolve_bases(struct oc_resolving *r)
{
	const struct oc_resolve_input *in = r->in;
	struct oc_place ws;
	bool missing = false;

	if (!oc_resolving_utf8(r, "home", in->home) || !oc_resolving_utf8(r, "workspace", in->workspace) ||
	    !oc_resolving_utf8(r, "run", in->run_dir))
		return false;
	if (!oc_resolving_walk(r, "run", in->run_dir, &r->run_dir, &missing, NULL) ||
	    !oc_resolving_walk(r, "home", in->home, &r->home, &missing, NULL) ||
	    !oc_resolving_walk(r, "workspace", in->workspace, &r->workspace, &missing, NULL))
		return false;
	if (missing) {
		missing_grant(r, "the workspace", r->workspace);
		return false;
	}
	if (oc_place_init(&ws, &r->mounts, strdup(r->workspace))) {
		oc_violations_nomem(&r->bad);
		return false;
	}
	if (!ws.dir)
		oc_violate(&r->bad, "sandbox_workspace", r->workspace, "name a directory",
		           "the workspace %s is not a directory", r->workspace);
	missing = ws.dir;
	oc_place_free(&ws);
	r->own_workspace = is_own_workspace(r);
	return missing && resolve_agent_home(r);
}

static json_t *skeleton(const struct oc_resolving *r)
{
	const json_t *normal = r->in->policy->normal;
	json_t *out =
	        json_pack("{s:s, s:s, s:s, s:[], s:[], s:[], s:[], s:n, s:[], s:s, s:[], s:[], s:[]}", "home", r->home,
	                  "workspace", r->workspace, "run_dir", r->run_dir, "write", "read", "protected", "readonly",
	                  "git", "network", "unix_sockets", r->container ? "all" : oc_json_text(normal, "unix_sockets"),
	                  "sockets", "hidden", "tools");

	if (out && r->container &&
	    (!oc_json_set_string(out, "agent_home", r->agent_home) ||
	     !oc_json_set_string(out, "image", oc_json_text(normal, "image")) ||
	     !oc_json_set_string(out, "context", oc_json_text(json_object_get(normal, "provider"), "context")) ||
	     !oc_json_set(out, "limits", json_incref(json_object_get(normal, "limits"))))) {
		json_decref(out);
		return NULL;
	}
	return out;
}

static void resolve_all(struct oc_resolving *r)
{
	if (!resolve_bases(r))
		return;
	r->out = skeleton(r);
	if (!r->out) {
		oc_violations_nomem(&r->bad);
		return;
	}
	resolve_writing(r);
	oc_resolve_protected(r);
	if (r->container)
		oc_resolve_granted(r);
	oc_resolve_guard_grants(r);
	if (!r->container)
		oc_resolve_reading(r);
	oc_resolve_tools(r);
	if (!r->container)
		oc_resolve_sockets(r);
	oc_resolve_git(r);
	resolve_network(r);
}

static void grants_free(struct oc_grant *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		oc_place_free(&list[i].place);
		oc_strv_free(&list[i].links);
	}
	free(list);
}

static void end(struct oc_resolving *r)
{
	grants_free(r->grants, r->n_grants);
	grants_free(r->reads, r->n_reads);
	for (size_t i = 0; i < r->n_guarded; i++)
		oc_place_free(&r->guarded[i].place);
	free(r->guarded);
	free(r->home);
	free(r->workspace);
	free(r->run_dir);
	free(r->agent_home);
	oc_mounts_free(&r->mounts);
	json_decref(r->out);
}

static bool absolute(const char *path)
{
	return path && path[0] == '/' && strlen(path) < OC_POLICY_PATH_MAX && oc_path_clean(path);
}

int oc_resolve(const struct oc_resolve_input *in, json_t **resolved, oc_error **err)
{
	bool container = in->policy && oc_kind_container(in->policy->kind);
	struct oc_resolving r;
	int rc;

	if (!in->policy || (strcmp(in->policy->kind, "sandbox") != 0 && !container))
		return oc_fail(err, OC_EINVAL, 0,
		               "only the policy of a process sandbox or a container can be resolved");
	if (container != (in->agent_home != NULL))
		return oc_fail(err, OC_EINVAL, 0, "a container's run has a home of its own, and no other has");
	if (!absolute(in->home) || !absolute(in->workspace) || !absolute(in->run_dir) || !absolute(in->state_dir) ||
	    (in->config_dir && !absolute(in->config_dir)) || (in->libexec_dir && !absolute(in->libexec_dir)) ||
	    (in->agent_home && !absolute(in->agent_home)))
		return oc_fail(err, OC_EINVAL, 0,
		               "home, workspace, run, state, config, libexec and agent directories must be "
		               "absolute, without . and .. and a slash at the end");
	memset(&r, 0, sizeof(r));
	r.in = in;
	r.container = container;
	rc = oc_mounts_load(&r.mounts, err);
	if (rc)
		return rc;
	resolve_all(&r);
	rc = oc_violations_end(&r.bad, err);
	if (rc == 0)
		*resolved = oc_steal(r.out);
	end(&r);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A container has nothing of this machine but what is granted: the rule for everything is no, and each grant is a mount.  A grant
 * that holds protected state, or a socket that leads out, would mount that too, so it is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "policy/paths.h"
#include "policy/protect.h"
#include "policy/resolve.h"

static void emit_read(struct oc_resolving *r, const struct oc_grant *g)
{
	oc_resolving_emit(r, "read",
	                  json_pack("{s:s, s:b, s:s, s:s, s:b, s:b, s:o, s:o}", "path", g->place.path, "allow", 1,
	                            "rule", g->rule, "as", g->as, "exists", 1, "dir", g->place.dir, "dev",
	                            oc_policy_id(g->place.dev), "ino", oc_policy_id(g->place.ino)));
}

static void nothing_else(struct oc_resolving *r)
{
	oc_resolving_emit(r, "read",
	                  json_pack("{s:s, s:b, s:s, s:s, s:b, s:b, s:i, s:i}", "path", "/", "allow", 0, "rule",
	                            "container", "as", "/", "exists", 1, "dir", 1, "dev", 0, "ino", 0));
}

static bool granted(const struct oc_grant *list, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (oc_path_within(list[i].place.path, path))
			return true;
	return false;
}

static void add_read(struct oc_resolving *r, const char *rule, const char *as)
{
	const struct oc_grant *g = &r->reads[r->n_reads];

	if (!oc_resolving_grant(r, r->reads, &r->n_reads, rule, as))
		return;
	(void)oc_resolving_planted(r, rule, &g->links);
	/* What may be written and is to be read only is for the narrower of the two to decide. */
	if (granted(r->grants, r->n_grants, g->place.path))
		oc_resolving_emit(r, "readonly", json_pack("{s:s, s:s}", "path", g->place.path, "what", "read"));
	for (size_t i = 0; i < r->n_grants; i++)
		if (strcmp(r->grants[i].place.path, g->place.path) == 0)
			oc_violate(&r->bad, "sandbox_config", rule, "name it once",
			           "%s is %s too: to write and to read", as, r->grants[i].rule);
	emit_read(r, g);
}

static void resolve_reads(struct oc_resolving *r)
{
	const json_t *list = json_object_get(r->in->policy->normal, "read");
	char rule[OC_RULE_SIZE];
	json_t *item;
	size_t i;

	r->reads = calloc(json_array_size(list) + 2, sizeof(*r->reads));
	if (!r->reads) {
		oc_violations_nomem(&r->bad);
		return;
	}
	json_array_foreach(list, i, item)
	{
		snprintf(rule, sizeof(rule), "read[%zu]", i);
		add_read(r, rule, json_string_value(item));
	}
	/* What may be written may be read; a workspace that may not be written is there all the same. */
	for (i = 0; i < r->n_grants; i++)
		emit_read(r, &r->grants[i]);
	if (!granted(r->grants, r->n_grants, r->workspace) && !granted(r->reads, r->n_reads, r->workspace))
		add_read(r, "{workspace}", "{workspace}");
}

static bool holds(const struct oc_grant *g, const char *path)
{
	return oc_path_within(g->place.path, path) || oc_path_within(path, g->place.path);
}

/* An engine, a bus or an agent that listens in a grant could be asked to act outside. */
static void refuse_way_out(struct oc_resolving *r, const struct oc_grant *list, size_t n, const char *path)
{
	oc_cleanup(oc_freep) char *real = NULL;
	bool missing = false;

	if (path[0] != '/' || !oc_resolving_find(r, path, &real, &missing) || missing)
		return;
	for (size_t i = 0; i < n; i++)
		if (holds(&list[i], real))
			oc_violate(&r->bad, "sandbox_denied", list[i].place.path,
			           "grant a directory that neither holds it nor lies in it",
			           "%s grants %s (%s), where %s leads out of the container", list[i].rule,
			           list[i].place.path, list[i].as, real);
}

static void ways_out(struct oc_resolving *r, const char *path)
{
	refuse_way_out(r, r->grants, r->n_grants, path);
	refuse_way_out(r, r->reads, r->n_reads, path);
}

static void resolve_ways_out(struct oc_resolving *r)
{
	static const char *const sockets[] = { "/run/docker.sock", "/run/containerd", "/run/systemd/private",
		                               "/run/snapd.socket" };
	const char *runtime = oc_resolving_env(r, "XDG_RUNTIME_DIR"), *agent = oc_resolving_env(r, "SSH_AUTH_SOCK");
	const char *name;

	for (size_t i = 0; i < OC_COUNT(sockets); i++)
		ways_out(r, sockets[i]);
	if (runtime)
		ways_out(r, runtime);
	if (agent)
		ways_out(r, agent);
	for (size_t i = 0; (name = oc_protect_socket_dir(i)); i++) {
		oc_cleanup(oc_freep) char *home = name[0] == '~' ? oc_path_join(r->in->home, name + 2) : NULL;

		if (name[0] == '~' && !home)
			oc_violations_nomem(&r->bad);
		else
			ways_out(r, home ? home : name);
	}
}

void oc_resolve_granted(struct oc_resolving *r)
{
	nothing_else(r);
	resolve_reads(r);
	resolve_ways_out(r);
	/* Made inside, so that no socket of the host is needed for it. */
	oc_resolving_emit(r, "sockets", json_pack("{s:n, s:s, s:s}", "path", "rule", "container", "as", "{toolbelt}"));
}

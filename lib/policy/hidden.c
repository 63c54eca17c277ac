/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets.  With unix_sockets "all" whatever a run can see it can use, so the directories of all sockets that lead
 * out are hidden, directories because a socket hidden as a file comes back when its owner binds it again: /tmp and
 * /run whole, the runtime directory, the ssh agent's, the engines', the buses', and each in which something listens
 * now.  `sockets` lifts one by its exact path. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/os.h"
#include "base/path.h"
#include "base/utf8.h"
#include "policy/paths.h"
#include "policy/protect.h"
#include "policy/resolve.h"

#define HIDDEN_MAX  1000
#define SOCKETS_MAX 65536

static bool all(const struct oc_resolving *r)
{
	return strcmp(oc_json_text(r->out, "unix_sockets"), "all") == 0;
}

static void add_socket(struct oc_resolving *r, const char *rule, const char *as)
{
	oc_cleanup(oc_freep) char *path = NULL;
	oc_cleanup(oc_freep) char *real = NULL;
	struct oc_strv links;
	bool missing = false;
	struct stat st;

	if (strcmp(as, "{toolbelt}") == 0) {
		oc_resolving_emit(r, "sockets", json_pack("{s:n, s:s, s:s}", "path", "rule", rule, "as", as));
		return;
	}
	path = oc_resolving_expand(r, rule, as);
	if (!path || oc_path_within(r->run_dir, path))
		return; /* all of {run} is the run's */
	oc_strv_init(&links, 64);
	if (!oc_resolving_walk(r, rule, path, &real, &missing, &links) || oc_resolving_planted(r, rule, &links) ||
	    oc_resolve_guard_path(r, rule, real))
		goto out;
	if (missing || lstat(real, &st) != 0)
		oc_violate(&r->bad, "sandbox_denied", real, "start what listens there, or remove the entry",
		           "%s names %s, which does not exist", rule, real);
	else if (!S_ISSOCK(st.st_mode))
		oc_violate(&r->bad, "sandbox_config", rule, "name the socket itself",
		           "%s names %s, which is not a socket", rule, real);
	else if (!oc_resolving_listed(r, "sockets", real))
		oc_resolving_emit(r, "sockets", json_pack("{s:s, s:s, s:s}", "path", real, "rule", rule, "as", as));
out:
	oc_strv_free(&links);
}

static void hide(struct oc_resolving *r, const char *path, const char *why)
{
	json_t *list = json_object_get(r->out, "hidden");

	if (oc_resolving_listed(r, "hidden", path))
		return;
	if (json_array_size(list) == HIDDEN_MAX)
		oc_violate(&r->bad, "sandbox_denied", path, "leave out \"unix_sockets\": \"all\"",
		           "sockets listen in more than %d directories, so they can't all be hidden", HIDDEN_MAX);
	if (json_array_size(list) >= HIDDEN_MAX)
		return;
	oc_resolving_emit(r, "hidden", json_pack("{s:s, s:s}", "path", path, "why", why));
}

/* A name that could be something: its real path, and where else it is mounted. */
static void hide_place(struct oc_resolving *r, const char *path, const char *why)
{
	struct oc_strv aliases;
	struct oc_place place;
	char *real = NULL;
	bool missing = false;

	if (path[0] != '/' || !oc_resolving_find(r, path, &real, &missing) || missing) {
		free(real);
		return;
	}
	if (!oc_resolving_utf8(r, why, real)) {
		free(real);
		return;
	}
	if (oc_place_init(&place, &r->mounts, real)) {
		oc_violations_nomem(&r->bad);
		return;
	}
	oc_strv_init(&aliases, HIDDEN_MAX);
	if (place.dir) {
		hide(r, place.path, why);
		if (oc_place_aliases(&place, &r->mounts, &aliases))
			oc_violations_nomem(&r->bad);
	}
	for (size_t i = 0; i < aliases.n; i++)
		if (oc_resolving_utf8(r, why, aliases.v[i]))
			hide(r, aliases.v[i], why);
	oc_strv_free(&aliases);
	oc_place_free(&place);
}

/* Is it out of reach already, whatever is hidden besides? */
static bool unreachable(const struct oc_resolving *r, const char *path)
{
	/* A sandbox has /dev, /proc and /sys of its own. */
	static const char *const own[] = { "/dev", "/proc", "/sys" };

	for (size_t i = 0; i < OC_COUNT(own); i++)
		if (oc_path_within(own[i], path))
			return true;
	return oc_path_within(r->run_dir, path) || !oc_resolved_read(r->out, path).allowed;
}

/* Directories that can't be taken away without taking the machine, the home or a grant with them. */
static const char *indispensable(const struct oc_resolving *r, const char *dir)
{
	static const char *const system[] = { "/usr", "/bin", "/lib", "/etc", "/var", "/opt", "/home", "/nix/store" };

	for (size_t i = 0; i < OC_COUNT(system); i++)
		if (oc_path_within(dir, system[i]))
			return system[i];
	if (oc_path_within(dir, r->home))
		return r->home;
	if (oc_path_within(dir, r->workspace))
		return r->workspace;
	for (size_t i = 0; i < r->n_grants; i++)
		if (oc_path_within(r->grants[i].place.path, dir))
			return r->grants[i].place.path;
	return NULL;
}

static void refuse_socket(struct oc_resolving *r, const char *socket, const char *why)
{
	oc_cleanup(oc_freep) char *fix = oc_policy_quote("\"sockets\": [", socket, "]");

	if (!fix)
		oc_violations_nomem(&r->bad);
	else
		oc_violate(&r->bad, "sandbox_denied", socket, fix,
		           "something listens on %s, which can't be hidden without hiding %s: stop it, or allow it",
		           socket, why);
}

static void hide_listener(struct oc_resolving *r, const char *path)
{
	oc_cleanup(oc_freep) char *real = NULL;
	oc_cleanup(oc_freep) char *dir = NULL;
	const char *why;
	bool missing = false;
	struct stat st;

	/* What isn't there, or where we may not look, is out of the run's reach too. */
	if (!oc_resolving_find(r, path, &real, &missing) || missing || lstat(real, &st) != 0 || !S_ISSOCK(st.st_mode))
		return;
	if (unreachable(r, real) || oc_resolving_listed(r, "sockets", real) || !oc_resolving_utf8(r, "sockets", real))
		return;
	dir = oc_path_parent(real);
	if (!dir) {
		oc_violations_nomem(&r->bad);
		return;
	}
	why = indispensable(r, dir);
	if (why)
		refuse_socket(r, real, why);
	else
		hide_place(r, dir, "listening");
}

/* The whole directories come before the single ones: what lies in them needs no entry of its own. */
static void hide_known(struct oc_resolving *r)
{
	const char *runtime = oc_resolving_env(r, "XDG_RUNTIME_DIR"), *agent = oc_resolving_env(r, "SSH_AUTH_SOCK");
	const char *name;

	hide_place(r, "/tmp", "tmp");
	hide_place(r, "/run", "runtime");
	hide_place(r, "/var/run", "runtime");
	if (runtime)
		hide_place(r, runtime, "runtime");
	if (agent && agent[0] == '/')
		hide_listener(r, agent);
	for (size_t i = 0; (name = oc_protect_socket_dir(i)); i++) {
		oc_cleanup(oc_freep) char *home = name[0] == '~' ? oc_path_join(r->in->home, name + 2) : NULL;

		if (name[0] == '~' && !home)
			oc_violations_nomem(&r->bad);
		else
			hide_place(r, home ? home : name, "engine");
	}
}

/* /tmp granted whole would give back what is hidden there. */
static void check_grants(struct oc_resolving *r)
{
	json_t *entry;
	size_t i;

	for (size_t k = 0; k < r->n_grants; k++)
		json_array_foreach(json_object_get(r->out, "hidden"), i, entry)
		{
			const struct oc_grant *g = &r->grants[k];
			const char *path = oc_json_text(entry, "path");

			if (!oc_path_within(g->place.path, path))
				continue;
			oc_violate(&r->bad, "sandbox_denied", g->place.path,
			           "grant a directory beneath it, or leave out \"unix_sockets\": \"all\"",
			           "%s grants %s (%s), but with \"unix_sockets\": \"all\" %s is hidden for its sockets",
			           g->rule, g->place.path, g->as, path);
		}
}

void oc_resolve_sockets(struct oc_resolving *r)
{
	struct oc_strv paths;
	json_t *item;
	size_t i;
	char rule[OC_RULE_SIZE];
	int rc;

	json_array_foreach(json_object_get(r->in->policy->normal, "sockets"), i, item)
	{
		snprintf(rule, sizeof(rule), "sockets[%zu]", i);
		add_socket(r, rule, json_string_value(item));
	}
	if (!all(r))
		return;
	hide_known(r);
	oc_strv_init(&paths, SOCKETS_MAX);
	rc = oc_os_listening_sockets(&paths);
	if (rc == -ENOMEM)
		oc_violations_nomem(&r->bad);
	else if (rc < 0)
		oc_violate(&r->bad, "sandbox_unavailable", "unix_sockets", "leave out \"unix_sockets\": \"all\"",
		           "the sockets that listen on this machine can't be listed: %s", strerror(-rc));
	for (i = 0; i < paths.n; i++)
		hide_listener(r, paths.v[i]);
	oc_strv_free(&paths);
	check_grants(r);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The settings srt is given: every key ours, every path literal.  srt drops what it doesn't
 * understand in silence (a link, a missing path, a misspelt key), so what it could drop is refused
 * here. */
#include "settings.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hide.h"
#include "network.h"

/* srt grants itself a write here wherever it exists. */
#define SRT_OWN_WRITE "/tmp/claude"

static bool add_path(json_t *array, const char *path)
{
	json_t *entry = json_pack("{s:s, s:b}", "path", path, "literal", 1);

	return entry && json_array_append_new(array, entry) == 0;
}

static json_t *paths_json(const struct list *list)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; array && i < list->n; i++)
		if (!add_path(array, list->v[i])) {
			json_decref(array);
			return NULL;
		}
	return array;
}

static bool is_real(const char *path)
{
	cleanup_free char *real = realpath(path, NULL);

	return real && !strcmp(real, path);
}

/* The host makes {run} after the plan. */
static bool made_later(const json_t *resolved, const char *path)
{
	const char *run = text_of(resolved, "run_dir");

	return run && !strcmp(run, path);
}

static int add_writes(const json_t *resolved, struct list *write, struct refusal *r)
{
	const json_t *e, *git = json_object_get(resolved, "git");
	const char *git_path = text_of(git, "path"), *mode = text_of(git, "mode");
	bool in_grant = false;
	size_t i;

	json_array_foreach(json_object_get(resolved, "write"), i, e)
	{
		const char *path = text_of(e, "path");

		if (!path || path[0] != '/')
			return refuse(r, "provider_failed", "resolved.write", NULL, "a write grant lacks its path");
		if (path_within("/dev", path) || path_within("/proc", path) || path_within("/sys", path))
			return refuse(r, "sandbox_config", path, NULL, "srt can't grant writes in %s", path);
		if (!made_later(resolved, path) && !is_real(path))
			return refuse(r, "sandbox_denied", path, NULL,
			              "the write grant %s isn't there, or is reached through a link: srt would drop it",
			              path);
		if (!list_add(write, path))
			return no_memory(r);
		in_grant = in_grant || (git_path && path_within(path, git_path));
	}
	/* A mount of its own, so that the directory can't be moved away from its read-only parts. */
	if (in_grant && mode && !strcmp(mode, "clone") && !list_add(write, git_path))
		return no_memory(r);
	list_sort_unique(write);
	return 0;
}

/* A missing name would become an empty file on the host for as long as the run lasts, and an
 * empty `commondir` breaks git. */
static int add_readonly(const json_t *resolved, const struct list *write, struct list *readonly, struct refusal *r)
{
	const json_t *e;
	bool tmp_granted = false;
	size_t i;

	json_array_foreach(json_object_get(resolved, "readonly"), i, e)
	{
		const char *path = text_of(e, "path");

		if (!path || path[0] != '/')
			return refuse(r, "provider_failed", "resolved.readonly", NULL,
			              "a read-only entry lacks its path");
		if (!is_real(path))
			return refuse(r, "sandbox_workspace", path, NULL,
			              "%s has to be read-only to the run, and it isn't there, or is a link", path);
		if (!list_add(readonly, path))
			return no_memory(r);
	}
	for (i = 0; i < write->n; i++)
		tmp_granted = tmp_granted || path_within(write->v[i], SRT_OWN_WRITE);
	if (!tmp_granted && !list_add(readonly, SRT_OWN_WRITE))
		return no_memory(r);
	return 0;
}

static int add_lifts(const struct srt *srt, const char *guest, const char *live, struct list *lifts, struct refusal *r)
{
	const char *const inside[] = {
		srt->vendor, srt->programs[BASH].real, srt->programs[SOCAT].real, srt->programs[BASH].found, srt->relay,
		guest
	};
	cleanup_free char *tmp = format("%s/t", live);
	size_t i;

	/* Without its sockets there the network is silently dead. */
	if (!tmp || !list_add(lifts, tmp))
		return no_memory(r);
	for (i = 0; i < COUNT(inside); i++)
		if (!list_add(lifts, inside[i]))
			return no_memory(r);
	return 0;
}

static json_t *filesystem_json(const struct hidden *hidden, const struct list *write, const struct list *readonly)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:b}", "denyRead", paths_json(&hidden->deny), "allowRead",
	                 paths_json(&hidden->allow), "allowWrite", paths_json(write), "denyWrite", paths_json(readonly),
	                 "allowGitConfig", 0);
}

static json_t *settings_json(const struct srt *srt, bool all, const struct network *n, json_t *filesystem)
{
	json_t *network =
	        json_pack("{s:O, s:[], s:b, s:O, s:b}", "allowedDomains", n->allowed, "deniedDomains",
	                  "strictAllowlist", 1, "deniedResolvedAddresses", n->never, "allowAllUnixSockets", all);

	return json_pack("{s:o, s:o, s:b, s:b, s:i, s:{s:s}, s:{s:s}, s:s, s:s}", "network", network, "filesystem",
	                 filesystem, "allowNestedUserNamespaces", all, "enableWeakerNestedSandbox", 0,
	                 "mandatoryDenySearchDepth", 1, "ripgrep", "command", srt->programs[RG].real, "seccomp",
	                 "applyPath", srt->apply_seccomp, "bwrapPath", srt->programs[BWRAP].real, "socatPath",
	                 srt->relay);
}

/* In one order, whatever the directory's is: the plan's digest is of it. */
static json_t *links_json(json_t *links)
{
	json_t *array = json_array(), *target;
	struct list paths = { 0 };
	const char *path;
	bool ok = array;
	size_t i;

	json_object_foreach(links, path, target)
	{
		ok = ok && list_add(&paths, path);
	}
	list_sort_unique(&paths);
	for (i = 0; ok && i < paths.n; i++)
		ok = json_array_append_new(array, json_pack("{s:s, s:O}", "path", paths.v[i], "target",
		                                            json_object_get(links, paths.v[i]))) == 0;
	list_free(&paths);
	if (ok)
		return array;
	json_decref(array);
	return NULL;
}

/* The run's TMPDIR is made with the launch; while planning it may not be there, and is hidden with
 * what holds it.  So it is lifted by name, not by looking. */
static int lift_tmp(const char *live, struct hidden *hidden, struct refusal *r)
{
	cleanup_free char *tmp = format("%s/t", live);
	size_t i;

	if (!tmp)
		return no_memory(r);
	for (i = 0; i < hidden->deny.n; i++)
		if (path_within(hidden->deny.v[i], tmp) && !list_has(&hidden->allow, tmp))
			return list_add(&hidden->allow, tmp) ? 0 : no_memory(r);
	return 0;
}

/* srt gives back what a grant of its own names, and not what lies in a greater one. */
static int add_given_back(const struct hidden *hidden, struct list *write, struct refusal *r)
{
	size_t i;

	for (i = 0; i < hidden->write.n; i++)
		if (!list_add(write, hidden->write.v[i]))
			return no_memory(r);
	list_sort_unique(write);
	return 0;
}

static bool any_beneath(const struct list *paths, const char *dir)
{
	size_t i;

	for (i = 0; i < paths->n; i++)
		if (strcmp(paths->v[i], dir) != 0 && path_within(dir, paths->v[i]))
			return true;
	return false;
}

static bool lies_in_another(const struct list *paths, const char *dir)
{
	size_t i;

	for (i = 0; i < paths->n; i++)
		if (strcmp(paths->v[i], dir) != 0 && path_within(paths->v[i], dir))
			return true;
	return false;
}

/* The outermost denied directories with something beneath them that isn't: only a mount of the sandbox's own can do
 * that, so the probes look for one.  Each denied entry may be denied once more; names that come later are not. */
static json_t *hides_json(const struct hidden *hidden, const struct list *write)
{
	json_t *hides = json_array();
	size_t i;

	for (i = 0; hides && i < hidden->deny.n; i++) {
		const char *dir = hidden->deny.v[i];

		if (!lies_in_another(&hidden->deny, dir) &&
		    (any_beneath(&hidden->allow, dir) || any_beneath(write, dir)) &&
		    json_array_append_new(hides, json_string(dir)) < 0) {
			json_decref(hides);
			return NULL;
		}
	}
	return hides;
}

int settings_make(const struct srt *srt, const json_t *resolved, const char *guest, const char *live,
                  struct settings *out, struct refusal *r)
{
	struct list write = { 0 }, readonly = { 0 }, lifts = { 0 };
	struct hidden hidden = { 0 };
	struct network network = { 0 };
	const char *sockets = text_of(resolved, "unix_sockets");
	cleanup_json json_t *settings = NULL;
	int rc;

	out->all = sockets && !strcmp(sockets, "all");
	rc = add_lifts(srt, guest, live, &lifts, r);
	if (!rc)
		rc = network_settings(resolved, &network, &out->notes, r);
	if (!rc)
		rc = add_writes(resolved, &write, r);
	if (!rc)
		rc = add_readonly(resolved, &write, &readonly, r);
	if (!rc)
		rc = hide(resolved, &lifts, &hidden, r);
	if (!rc)
		rc = lift_tmp(live, &hidden, r);
	if (!rc)
		rc = add_given_back(&hidden, &write, r);
	if (!rc) {
		size_t i;

		out->links = links_json(hidden.links);
		out->hides = hides_json(&hidden, &write);
		for (i = 0; !rc && i < hidden.notes.n; i++)
			rc = list_add(&out->notes, hidden.notes.v[i]) ? 0 : no_memory(r);
		settings = settings_json(srt, out->all, &network, filesystem_json(&hidden, &write, &readonly));
		out->text = settings ? json_dumps(settings, JSON_COMPACT) : NULL;
		out->private_literal = network.private_literal;
		if (!out->text || !out->links || !out->hides)
			rc = no_memory(r);
	}
	list_free(&write);
	list_free(&readonly);
	list_free(&lifts);
	hidden_clear(&hidden);
	network_clear(&network);
	return rc;
}

void settings_clear(struct settings *s)
{
	free(s->text);
	list_free(&s->notes);
	json_decref(s->links);
	json_decref(s->hides);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "plan/check.h"
#include "plan/toolbelt.h"

#define ENV_NAME_MAX 256
#define TIME_MAX     (366LL * 24 * 3600 * 1000)

bool oc_env_name_valid(const char *name)
{
	size_t n = name ? strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") : 0;

	return n > 0 && n <= ENV_NAME_MAX && !name[n] && !(name[0] >= '0' && name[0] <= '9');
}

bool oc_plan_digest_valid(const char *digest)
{
	return digest && strncmp(digest, "sha256:", 7) == 0 && strspn(digest + 7, "0123456789abcdef") == 64 &&
	       !digest[71];
}

bool oc_plan_file_name_valid(const char *name)
{
	size_t n = name ? strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789.-") : 0;

	/* tmp is the run's TMPDIR. */
	return n > 0 && n <= 64 && !name[n] && name[0] != '.' && name[0] != '-' && strcmp(name, "tmp") != 0;
}

int oc_plan_bad(oc_error **err, const char *path, const char *why)
{
	return oc_error_makef(err, OC_EPROTO, 0, NULL, path, NULL, "%s: %s", path, why);
}

int oc_plan_each(const json_t *array, const char *path, const struct oc_json_key *keys, size_t n, oc_error **err)
{
	const json_t *value;
	char at[160];
	size_t i;
	int rc = 0;

	if (json_array_size(array) > OC_PLAN_LIST_MAX)
		return oc_plan_bad(err, path, "is too long a list");
	json_array_foreach(array, i, value)
	{
		snprintf(at, sizeof(at), "%s[%zu]", path, i);
		rc = json_is_object(value) ? oc_json_unpack(value, at, NULL, keys, n, err)
		                           : oc_plan_bad(err, at, "is not an object");
		if (rc < 0)
			return rc;
	}
	return 0;
}

int oc_plan_text_or_null(const json_t *value, const char *path, oc_error **err)
{
	return json_is_null(value) || json_is_string(value) ? 0 : oc_plan_bad(err, path, "is neither text nor null");
}

static int check_map(const json_t *map, const char *path, bool names, oc_error **err)
{
	const char *key;
	json_t *value;
	char at[ENV_NAME_MAX + 64];

	json_object_foreach((json_t *)map, key, value)
	{
		snprintf(at, sizeof(at), "%s.%s", path, key);
		if (names && !oc_env_name_valid(key))
			return oc_plan_bad(err, at, "is no name of an environment variable");
		if (!json_is_string(value))
			return oc_plan_bad(err, at, "is not text");
	}
	return 0;
}

static int check_files(const json_t *files, oc_error **err)
{
	const struct oc_json_key keys[] = { { "fd", OC_JSON_INT, true, NULL }, { "text", OC_JSON_STRING, true, NULL } };
	const json_t *file;
	unsigned seen = 0;
	size_t i;
	int rc = oc_plan_each(files, "launch.files", keys, OC_COUNT(keys), err);

	if (rc < 0)
		return rc;
	json_array_foreach(files, i, file)
	{
		int64_t fd = oc_json_integer(file, "fd", -1);

		if (fd < 3 || fd > 15 ||
		    (seen & (1u << fd))) /* from 16 on not every engine closes what it shouldn't pass on */
			return oc_plan_bad(err, "launch.files", "descriptors are 3 to 15, each once");
		seen |= 1u << fd;
	}
	return 0;
}

static bool program(const json_t *argv)
{
	return json_array_size(argv) > 0 && json_array_size(argv) <= OC_PLAN_LIST_MAX &&
	       json_string_value(json_array_get(argv, 0))[0] == '/';
}

static int check_launch(const json_t *launch, oc_error **err)
{
	json_t *argv = NULL, *env = NULL, *files = NULL, *cleanup = NULL, *inspect = NULL;
	const char *cwd = NULL;
	int64_t retries = 0;
	const struct oc_json_key keys[] = {
		{ "argv", OC_JSON_STRINGS, true, &argv },
		{ "env", OC_JSON_OBJECT, true, &env },
		{ "cwd", OC_JSON_STRING, true, &cwd },
		{ "files", OC_JSON_ARRAY, true, &files },
		{ "hello_retries", OC_JSON_INT, true, &retries },
		{ "cleanup", OC_JSON_STRINGS, false, &cleanup },
		{ "inspect", OC_JSON_STRINGS, false, &inspect },
	};
	int rc = oc_json_unpack(launch, "launch", NULL, keys, OC_COUNT(keys), err);

	if (rc < 0)
		return rc;
	if (!program(argv))
		return oc_plan_bad(err, "launch.argv", "must begin with an absolute path");
	if (cleanup && !program(cleanup))
		return oc_plan_bad(err, "launch.cleanup", "must begin with an absolute path");
	if (inspect && !program(inspect))
		return oc_plan_bad(err, "launch.inspect", "must begin with an absolute path");
	if (!oc_path_clean(cwd))
		return oc_plan_bad(err, "launch.cwd", "is not an absolute, clean path");
	if (retries < 0 || retries > 10)
		return oc_plan_bad(err, "launch.hello_retries", "is not from 0 to 10");
	rc = check_map(env, "launch.env", true, err);
	return rc < 0 ? rc : check_files(files, err);
}

static int check_paths(const json_t *list, const char *path, oc_error **err)
{
	const json_t *value;
	char at[160];
	size_t i;

	json_array_foreach(list, i, value)
	{
		snprintf(at, sizeof(at), "%s[%zu]", path, i);
		if (!oc_path_clean(json_string_value(value)))
			return oc_plan_bad(err, at, "is not an absolute, clean path");
	}
	return 0;
}

static int check_links(const json_t *links, bool confined, oc_error **err)
{
	const struct oc_json_key keys[] = {
		{ "path", OC_JSON_STRING, true, NULL },
		{ "target", OC_JSON_STRING, true, NULL },
	};
	const json_t *link;
	char at[64];
	size_t i;
	int rc = oc_plan_each(links, "guest.links", keys, OC_COUNT(keys), err);

	if (rc < 0)
		return rc;
	if (!confined && json_array_size(links) > 0)
		return oc_plan_bad(err, "guest.links", "are made in a sandbox only");
	json_array_foreach(links, i, link)
	{
		snprintf(at, sizeof(at), "guest.links[%zu]", i);
		if (!oc_path_clean(oc_json_text(link, "path")))
			return oc_plan_bad(err, at, "has a path that is not absolute and clean");
		if (!oc_json_text(link, "target")[0] || strlen(oc_json_text(link, "target")) >= PATH_MAX)
			return oc_plan_bad(err, at, "leads nowhere");
	}
	return 0;
}

static int check_guest(const json_t *guest, const char *kind, oc_error **err)
{
	const char *path = NULL, *digest = NULL;
	bool confined = false, landlock = false, nest = false, ipc = false, trace = false, local = false;
	json_t *writable = NULL, *links = NULL;
	const struct oc_json_key keys[] = {
		{ "path", OC_JSON_STRING, true, &path },
		{ "digest", OC_JSON_STRING, true, &digest },
		{ "confined", OC_JSON_BOOL, true, &confined },
		{ "landlock", OC_JSON_BOOL, true, &landlock },
		{ "nest", OC_JSON_BOOL, true, &nest },
		{ "deny_ipc", OC_JSON_BOOL, true, &ipc },
		{ "deny_trace", OC_JSON_BOOL, true, &trace },
		{ "unix", OC_JSON_BOOL, true, &local },
		{ "writable", OC_JSON_STRINGS, true, &writable },
		{ "links", OC_JSON_ARRAY, false, &links },
	};
	bool container = oc_kind_container(kind);
	int rc = oc_json_unpack(guest, "guest", NULL, keys, OC_COUNT(keys), err);

	if (rc < 0)
		return rc;
	if (!oc_path_clean(path))
		return oc_plan_bad(err, "guest.path", "is not an absolute, clean path");
	if (!oc_plan_digest_valid(digest))
		return oc_plan_bad(err, "guest.digest", "is no sha256 digest");
	if (confined == oc_kind_plain(kind))
		return oc_plan_bad(err, "guest.confined", "contradicts the plan's kind");
	if (!confined && (landlock || nest || ipc || trace || local))
		return oc_plan_bad(err, "guest", "asks for hardening without being confined");
	/* AF_UNIX takes srt's own filter away: then the guest's namespaces or Landlock must stand in. */
	if (local && !nest && !landlock && !container)
		return oc_refuse(err, "sandbox_unavailable", "guest.unix", "open-conduit doctor",
		                 "unix sockets are allowed with neither namespaces of the guest's own nor Landlock");
	if (confined && !nest && !ipc && !container) /* which has its own, as P15 proves */
		return oc_refuse(err, "sandbox_unavailable", "guest.deny_ipc", "open-conduit doctor",
		                 "System V and POSIX IPC would be shared with the host");
	rc = check_links(links, confined, err);
	return rc < 0 ? rc : check_paths(writable, "guest.writable", err);
}

static int check_probes(const json_t *probes, bool sandbox, oc_error **err)
{
	const struct oc_json_key keys[] = {
		{ "id", OC_JSON_STRING, true, NULL },
		{ "kind", OC_JSON_INT, true, NULL },
		{ "args", OC_JSON_STRINGS, true, NULL },
	};
	const json_t *probe;
	char at[64];
	size_t i;
	int rc = oc_plan_each(probes, "probes", keys, OC_COUNT(keys), err);

	if (rc < 0)
		return rc;
	if (sandbox != (json_array_size(probes) > 0))
		return oc_plan_bad(err, "probes", "a sandbox is proved by probes, and nothing else is");
	json_array_foreach(probes, i, probe)
	{
		const char *id = oc_json_text(probe, "id");
		int64_t kind = oc_json_integer(probe, "kind", 0);

		snprintf(at, sizeof(at), "probes[%zu]", i);
		if (id[0] != 'P' || !id[1] || strspn(id + 1, "0123456789") != strlen(id) - 1 || strlen(id) > 4)
			return oc_plan_bad(err, at, "has an id that is not P and a number");
		if (kind < OC_PROBE_FIRST || kind > OC_PROBE_LAST)
			return oc_plan_bad(err, at, "is of an unknown kind");
	}
	return 0;
}

static int check_provider(const json_t *provider, bool sandbox, oc_error **err)
{
	const char *path = NULL, *digest = NULL;
	json_t *identity = NULL;
	const struct oc_json_key keys[] = {
		{ "name", OC_JSON_STRING, true, NULL },          { "version", OC_JSON_STRING, true, NULL },
		{ "path", OC_JSON_STRING, true, &path },         { "digest", OC_JSON_STRING, true, &digest },
		{ "identity", OC_JSON_OBJECT, true, &identity },
	};
	int rc;

	if (!sandbox)
		return json_is_null(provider) ? 0 : oc_plan_bad(err, "provider", "must be null without a sandbox");
	if (!json_is_object(provider))
		return oc_plan_bad(err, "provider", "is not an object");
	rc = oc_json_unpack(provider, "provider", NULL, keys, OC_COUNT(keys), err);
	if (rc < 0)
		return rc;
	if (!oc_path_clean(path))
		return oc_plan_bad(err, "provider.path", "is not an absolute, clean path");
	return oc_plan_digest_valid(digest) ? 0 : oc_plan_bad(err, "provider.digest", "is no sha256 digest");
}

static int check_needs(const json_t *needs, oc_error **err)
{
	const struct oc_json_key keys[] = {
		{ "hosts", OC_JSON_STRINGS, true, NULL },
		{ "read", OC_JSON_STRINGS, true, NULL },
		{ "write", OC_JSON_STRINGS, true, NULL },
	};

	return oc_json_unpack(needs, "needs", NULL, keys, OC_COUNT(keys), err);
}

static bool ends_with(const char *path, const char *dir, const char *run)
{
	size_t n = strlen(path), d = strlen(dir), r = strlen(run);

	return n > d + r && strcmp(path + n - r, run) == 0 && memcmp(path + n - r - d, dir, d) == 0;
}

/* A plan whose directories are another run's would be launched over that run. */
static int check_dirs(const json_t *dirs, const char *run, oc_error **err)
{
	const char *state = NULL, *runs = NULL, *live = NULL;
	const struct oc_json_key keys[] = {
		{ "state", OC_JSON_STRING, true, &state },
		{ "runs", OC_JSON_STRING, true, &runs },
		{ "live", OC_JSON_STRING, true, &live },
	};
	int rc = oc_json_unpack(dirs, "dirs", NULL, keys, OC_COUNT(keys), err);

	if (rc < 0)
		return rc;
	if (!oc_path_clean(state))
		return oc_plan_bad(err, "dirs.state", "is not an absolute, clean path");
	if (!oc_path_clean(runs) || !oc_path_within(state, runs) || !ends_with(runs, "/runs/", run) ||
	    strlen(runs) != strlen(state) + 6 + strlen(run))
		return oc_plan_bad(err, "dirs.runs", "is not this run's directory");
	if (!oc_path_clean(live) || !oc_path_within(state, live) || !ends_with(live, "/live/", run) ||
	    strlen(live) != strlen(state) + 6 + strlen(run))
		return oc_plan_bad(err, "dirs.live", "is not this run's directory");
	return 0;
}

static int check_limits(const json_t *limits, oc_error **err)
{
	int64_t timeout = 0, grace = 0, unhosted = 0, journal = 0;
	const struct oc_json_key keys[] = {
		{ "timeout_ms", OC_JSON_INT, true, &timeout },    { "grace_ms", OC_JSON_INT, true, &grace },
		{ "unhosted_ms", OC_JSON_INT, true, &unhosted },  { "keep", OC_JSON_BOOL, true, NULL },
		{ "journal_bytes", OC_JSON_INT, true, &journal },
	};
	int rc = oc_json_unpack(limits, "limits", NULL, keys, OC_COUNT(keys), err);

	if (rc < 0)
		return rc;
	if (timeout < 0 || timeout > TIME_MAX || grace < 0 || grace > TIME_MAX || unhosted < 0 || unhosted > TIME_MAX)
		return oc_plan_bad(err, "limits", "holds a time below 0 or above a year");
	return journal > 0 && journal <= (1LL << 40) ? 0 : oc_plan_bad(err, "limits.journal_bytes", "is out of bounds");
}

static int check_policy(const json_t *policy, bool container, oc_error **err)
{
	json_t *normal = NULL, *read = NULL, *network = NULL, *place = NULL;
	const struct oc_json_key keys[] = {
		{ "text", OC_JSON_STRING, true, NULL },
		{ "normal", OC_JSON_OBJECT, true, &normal },
	};
	const struct oc_json_key normal_keys[] = {
		{ "write", OC_JSON_STRINGS, false,
		  NULL }, /* a container's is a list: nothing is readable that isn't on it */
		{ "read", container ? OC_JSON_STRINGS : OC_JSON_OBJECT, false, &read },
		{ "network", OC_JSON_OBJECT, false, &network },
		{ "sockets", OC_JSON_STRINGS, false, NULL },
		{ "unix_sockets", OC_JSON_STRING, false, NULL },
		{ "image", OC_JSON_STRING, false, NULL },
		{ "limits", OC_JSON_OBJECT, false, NULL },
		{ "provider", OC_JSON_OBJECT, false, &place },
	};
	const struct oc_json_key read_keys[] = {
		{ "allow", OC_JSON_STRINGS, false, NULL },
		{ "deny", OC_JSON_STRINGS, false, NULL },
	};
	const struct oc_json_key place_keys[] = { { "context", OC_JSON_STRING, true, NULL } };
	const struct oc_json_key network_keys[] = { { "allow", OC_JSON_STRINGS, false, NULL } };
	int rc = oc_json_unpack(policy, "policy", NULL, keys, OC_COUNT(keys), err);

	if (rc == 0)
		rc = oc_json_unpack(normal, "policy.normal", NULL, normal_keys, OC_COUNT(normal_keys), err);
	if (rc == 0 && read && !container)
		rc = oc_json_unpack(read, "policy.normal.read", NULL, read_keys, OC_COUNT(read_keys), err);
	if (rc == 0 && place)
		rc = oc_json_unpack(place, "policy.normal.provider", NULL, place_keys, OC_COUNT(place_keys), err);
	if (rc == 0 && network)
		rc = oc_json_unpack(network, "policy.normal.network", NULL, network_keys, OC_COUNT(network_keys), err);
	return rc;
}

struct members {
	int64_t version;
	const char *kind, *run;
	json_t *work, *clone, *binding, *policy, *resolved, *command, *launch, *guest, *probes, *provider, *needs,
	        *tools, *dirs, *limits, *toolbelt;
};

static int unpack(const json_t *plan, struct members *m, oc_error **err)
{
	const struct oc_json_key keys[] = {
		{ "version", OC_JSON_INT, true, &m->version },
		{ "kind", OC_JSON_STRING, true, &m->kind },
		{ "run", OC_JSON_STRING, true, &m->run },
		{ "work", OC_JSON_ANY, true, &m->work },
		{ "binding", OC_JSON_ANY, true, &m->binding },
		{ "policy", OC_JSON_OBJECT, true, &m->policy },
		{ "resolved", OC_JSON_ANY, true, &m->resolved },
		{ "command", OC_JSON_OBJECT, true, &m->command },
		{ "launch", OC_JSON_OBJECT, true, &m->launch },
		{ "guest", OC_JSON_OBJECT, true, &m->guest },
		{ "probes", OC_JSON_ARRAY, true, &m->probes },
		{ "provider", OC_JSON_ANY, true, &m->provider },
		{ "needs", OC_JSON_OBJECT, true, &m->needs },
		{ "tools", OC_JSON_STRINGS, true, &m->tools },
		{ "dirs", OC_JSON_OBJECT, true, &m->dirs },
		{ "limits", OC_JSON_OBJECT, true, &m->limits },
		{ "notes", OC_JSON_STRINGS, true, NULL },
		{ "clone", OC_JSON_OBJECT, false, &m->clone },
		{ "toolbelt", OC_JSON_OBJECT, false, &m->toolbelt },
	};
	int64_t version = oc_json_integer(plan, "version", 1);

	if (version != 1)
		return oc_fail(err, OC_EVERSION, 0, "the plan has version %lld; this library knows 1",
		               (long long)version);
	return oc_json_unpack(plan, "", NULL, keys, OC_COUNT(keys), err);
}

static int check_place(const json_t *place, const char *path, oc_error **err)
{
	int64_t dev = -1, ino = -1;
	const struct oc_json_key keys[] = { { "dev", OC_JSON_INT, true, &dev }, { "ino", OC_JSON_INT, true, &ino } };
	int rc = oc_json_unpack(place, path, NULL, keys, OC_COUNT(keys), err);

	return rc == 0 && (dev < 0 || ino < 0) ? oc_plan_bad(err, path, "is no device and inode") : rc;
}

/* A Work's run is in the clone that the Work made, and the plan says which that is. */
static int check_work(const struct members *m, oc_error **err)
{
	json_t *root = NULL, *git = NULL;
	const struct oc_json_key keys[] = { { "root", OC_JSON_OBJECT, true, &root },
		                            { "git", OC_JSON_OBJECT, true, &git } };
	int rc = oc_plan_text_or_null(m->work, "work", err);

	if (rc < 0)
		return rc;
	if (json_is_string(m->work) && !oc_work_id_valid(json_string_value(m->work)))
		return oc_plan_bad(err, "work", "is no id of a Work");
	if (json_is_string(m->work) != (m->clone != NULL))
		return oc_plan_bad(err, "clone", m->clone ? "is there without a Work" : "is missing for a Work");
	if (!m->clone)
		return 0;
	rc = oc_json_unpack(m->clone, "clone", NULL, keys, OC_COUNT(keys), err);
	if (rc == 0)
		rc = check_place(root, "clone.root", err);
	return rc < 0 ? rc : check_place(git, "clone.git", err);
}

static int check_parts(const struct members *m, oc_error **err)
{
	bool sandbox = !oc_kind_plain(m->kind), container = oc_kind_container(m->kind);
	int rc = check_policy(m->policy, container, err);

	if (rc == 0 && sandbox)
		rc = json_is_object(m->resolved) ? oc_plan_check_resolved(m->resolved, container, err)
		                                 : oc_plan_bad(err, "resolved", "is not an object");
	if (rc == 0 && !sandbox && !json_is_null(m->resolved))
		rc = oc_plan_bad(err, "resolved", "must be null without a sandbox");
	if (rc == 0)
		rc = oc_plan_check_command(m->command, container, err);
	if (rc == 0)
		rc = check_launch(m->launch, err);
	if (rc == 0)
		rc = check_guest(m->guest, m->kind, err);
	if (rc == 0)
		rc = check_probes(m->probes, sandbox, err);
	if (rc == 0)
		rc = check_provider(m->provider, sandbox, err);
	if (rc == 0)
		rc = check_needs(m->needs, err);
	if (rc == 0)
		rc = check_dirs(m->dirs, m->run, err);
	if (rc == 0)
		rc = check_paths(m->tools, "tools", err);
	return rc < 0 ? rc : check_limits(m->limits, err);
}

int oc_plan_check(const json_t *plan, oc_error **err)
{
	struct members m = { 0 };
	int rc;

	if (!json_is_object(plan))
		return oc_plan_bad(err, "plan", "is not an object");
	rc = unpack(plan, &m, err);
	if (rc < 0)
		return rc;
	if (!oc_kind_valid(m.kind))
		return oc_plan_bad(err, "kind", "is neither none, attach, sandbox nor container");
	if (strcmp(m.kind, OC_KIND_ATTACH) == 0 && (!m.clone || !json_object_get(m.command, "terminal")))
		return oc_plan_bad(err, "kind", "is attach without a Work or without a terminal");
	if (!oc_run_id_valid(m.run))
		return oc_plan_bad(err, "run", "is not 8 to 32 of a-z and 0-9");
	rc = check_work(&m, err);
	if (rc == 0 && m.toolbelt)
		rc = oc_plan_toolbelt_check(m.toolbelt, err);
	if (rc == 0)
		rc = oc_plan_text_or_null(m.binding, "binding", err);
	return rc < 0 ? rc : check_parts(&m, err);
}

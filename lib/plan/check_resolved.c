/* SPDX-License-Identifier: Apache-2.0 */
/* The resolved policy inside a plan: everything downstream reads it, so its shape is checked as strictly. */
#include <string.h>

#include "base/path.h"
#include "plan/check.h"

#define FLAG(name)                                                                                                     \
	{                                                                                                              \
		name, OC_JSON_BOOL, true, NULL                                                                         \
	}
#define TEXT(name)                                                                                                     \
	{                                                                                                              \
		name, OC_JSON_STRING, true, NULL                                                                       \
	}
#define NUMBER(name)                                                                                                   \
	{                                                                                                              \
		name, OC_JSON_INT, true, NULL                                                                          \
	}

static const struct oc_json_key write_keys[] = { TEXT("path"),  TEXT("rule"),  TEXT("as"),
	                                         NUMBER("dev"), NUMBER("ino"), FLAG("dir") };
/* Device and inode: of what a container mounts. */
static const struct oc_json_key read_keys[] = { TEXT("path"),
	                                        FLAG("allow"),
	                                        TEXT("rule"),
	                                        TEXT("as"),
	                                        FLAG("exists"),
	                                        FLAG("dir"),
	                                        { "dev", OC_JSON_INT, false, NULL },
	                                        { "ino", OC_JSON_INT, false, NULL } };
static const struct oc_json_key limit_keys[] = { NUMBER("nano_cpus"), NUMBER("memory"), NUMBER("pids") };
static const struct oc_json_key protected_keys[] = { TEXT("path"), TEXT("what"), FLAG("exists"), FLAG("dir") };
static const struct oc_json_key readonly_keys[] = { TEXT("path"), TEXT("what") };
static const struct oc_json_key network_keys[] = { TEXT("entry"), TEXT("host"), NUMBER("port"), FLAG("wildcard") };
/* {toolbelt} is made inside, so it has no path here. */
static const struct oc_json_key socket_keys[] = { { "path", OC_JSON_STRING | OC_JSON_NULL_OK, false, NULL },
	                                          TEXT("rule"),
	                                          TEXT("as") };
static const struct oc_json_key hidden_keys[] = { TEXT("path"), TEXT("why") };
static const struct oc_json_key git_keys[] = { TEXT("path"), TEXT("mode"), NUMBER("dev"), NUMBER("ino") };

static const struct {
	const char *name;
	const struct oc_json_key *keys;
	size_t n;
	bool paths;
} lists[] = {
	{ "write", write_keys, OC_COUNT(write_keys), true },
	{ "read", read_keys, OC_COUNT(read_keys), true },
	{ "protected", protected_keys, OC_COUNT(protected_keys), true },
	{ "readonly", readonly_keys, OC_COUNT(readonly_keys), true },
	{ "network", network_keys, OC_COUNT(network_keys), false },
	{ "sockets", socket_keys, OC_COUNT(socket_keys), true },
	{ "hidden", hidden_keys, OC_COUNT(hidden_keys), true },
};

static int check_list(const json_t *resolved, size_t which, oc_error **err)
{
	const json_t *list = json_object_get(resolved, lists[which].name), *entry;
	char path[32] = "resolved.";
	size_t i;
	int rc;

	strncat(path, lists[which].name, sizeof(path) - strlen(path) - 1);
	rc = oc_plan_each(list, path, lists[which].keys, lists[which].n, err);
	if (rc < 0 || !lists[which].paths)
		return rc;
	json_array_foreach(list, i, entry)
	{
		const char *at = oc_json_text(entry, "path"), *as = oc_json_text(entry, "as");

		if (!at && as && strcmp(as, "{toolbelt}") == 0)
			continue;
		if (!oc_path_clean(at))
			return oc_plan_bad(err, path, "holds what is not an absolute, clean path");
	}
	return 0;
}

static int check_git(const json_t *git, oc_error **err)
{
	int rc;

	if (!git || json_is_null(git))
		return 0;
	if (!json_is_object(git))
		return oc_plan_bad(err, "resolved.git", "is not an object");
	rc = oc_json_unpack(git, "resolved.git", NULL, git_keys, OC_COUNT(git_keys), err);
	if (rc < 0)
		return rc;
	if (strcmp(oc_json_text(git, "mode"), "clone") != 0 && strcmp(oc_json_text(git, "mode"), "readonly") != 0)
		return oc_plan_bad(err, "resolved.git.mode", "is neither clone nor readonly");
	return oc_path_clean(oc_json_text(git, "path"))
	               ? 0
	               : oc_plan_bad(err, "resolved.git.path", "is not an absolute, clean path");
}

/* What only a container has, and has always. */
static int check_container(const char *agent_home, const char *image, const char *context, const json_t *limits,
                           bool container, oc_error **err)
{
	if (!container)
		return agent_home || image || context || limits
		               ? oc_plan_bad(err, "resolved", "has what only a container has")
		               : 0;
	if (!image || !*image || !context || !*context || !limits)
		return oc_plan_bad(err, "resolved", "lacks a container's image, context or limits");
	if (!oc_path_clean(agent_home))
		return oc_plan_bad(err, "resolved.agent_home", "is not an absolute, clean path");
	return oc_json_unpack(limits, "resolved.limits", NULL, limit_keys, OC_COUNT(limit_keys), err);
}

int oc_plan_check_resolved(const json_t *resolved, bool container, oc_error **err)
{
	const char *agent_home = NULL, *image = NULL, *context = NULL;

	const char *home = NULL, *workspace = NULL, *run_dir = NULL, *unix_sockets = NULL;
	json_t *git = NULL, *limits = NULL;
	const struct oc_json_key keys[] = {
		{ "home", OC_JSON_STRING, true, &home },       { "workspace", OC_JSON_STRING, true, &workspace },
		{ "run_dir", OC_JSON_STRING, true, &run_dir }, { "write", OC_JSON_ARRAY, true, NULL },
		{ "read", OC_JSON_ARRAY, true, NULL },         { "protected", OC_JSON_ARRAY, true, NULL },
		{ "readonly", OC_JSON_ARRAY, true, NULL },     { "git", OC_JSON_ANY, false, &git },
		{ "network", OC_JSON_ARRAY, true, NULL },      { "unix_sockets", OC_JSON_STRING, true, &unix_sockets },
		{ "sockets", OC_JSON_ARRAY, true, NULL },      { "hidden", OC_JSON_ARRAY, true, NULL },
		{ "tools", OC_JSON_STRINGS, true, NULL },      { "agent_home", OC_JSON_STRING, false, &agent_home },
		{ "image", OC_JSON_STRING, false, &image },    { "context", OC_JSON_STRING, false, &context },
		{ "limits", OC_JSON_OBJECT, false, &limits },
	};
	size_t i;
	int rc = oc_json_unpack(resolved, "resolved", NULL, keys, OC_COUNT(keys), err);

	for (i = 0; rc == 0 && i < OC_COUNT(lists); i++)
		rc = check_list(resolved, i, err);
	if (rc == 0)
		rc = check_git(git, err);
	if (rc == 0)
		rc = check_container(agent_home, image, context, limits, container, err);
	if (rc < 0)
		return rc;
	if (!oc_path_clean(home) || !oc_path_clean(workspace) || !oc_path_clean(run_dir))
		return oc_plan_bad(err, "resolved", "home, workspace and run_dir are absolute, clean paths");
	if (strcmp(unix_sockets, "none") != 0 && strcmp(unix_sockets, "all") != 0)
		return oc_plan_bad(err, "resolved.unix_sockets", "is neither none nor all");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* open-conduit-provider-git: workspaces that are clones of the operator's checkout. */
#include <openconduit/openconduit.h>
#include <openconduit/provider.h>

#include <git2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/call.h"
#include "methods.h"

static bool is_object_of(const json_t *value, const char *a, const char *b, json_type type)
{
	return json_object_size(value) == 2 && json_object_get(value, a) && json_object_get(value, b) &&
	       json_typeof(json_object_get(value, a)) == type && json_typeof(json_object_get(value, b)) == type;
}

static bool is_numbers(const json_t *value)
{
	return is_object_of(value, "dev", "ino", JSON_INTEGER);
}

static bool is_author(const json_t *value)
{
	return json_is_null(value) || is_object_of(value, "name", "email", JSON_STRING);
}

static const struct param create_params[] = {
	{ "checkout", is_text },     { "dir", is_text },      { "branch", is_text },
	{ "base", is_text_or_null }, { "author", is_author },
};
static const struct param save_params[] = {
	{ "checkout", is_text },   { "dir", is_text },  { "root", is_numbers }, { "git", is_numbers },
	{ "quarantine", is_text }, { "work", is_text }, { "branch", is_text },  { "baseline", is_text_or_null },
	{ "final", is_truth },
};
static const struct param remove_params[] = { { "dir", is_text }, { "root", is_numbers } };

static void on_create(oc_call *call, void *userdata)
{
	struct refusal r = { 0 };
	cleanup_json json_t *params = call_params(call, create_params, COUNT(create_params), &r);

	(void)userdata;
	call_answer(call, params ? create_workspace(params, &r) : NULL, &r);
}

static void on_save(oc_call *call, void *userdata)
{
	struct refusal r = { 0 };
	cleanup_json json_t *params = call_params(call, save_params, COUNT(save_params), &r);

	(void)userdata;
	call_answer(call, params ? save_workspace(params, &r) : NULL, &r);
}

static void on_remove(oc_call *call, void *userdata)
{
	struct refusal r = { 0 };
	cleanup_json json_t *params = call_params(call, remove_params, COUNT(remove_params), &r);

	(void)userdata;
	call_answer(call, params ? remove_workspace(params, &r) : NULL, &r);
}

/* libgit2 as nobody configured it: what is to be read of the operator's own configuration is read from the files that
 * config.c names, never because a repository was opened. */
static bool start_libgit2(void)
{
	/* config.c looks at these itself; what is unknown is refused there. */
	static const char *extensions[] = { "noop",         "preciousobjects", "worktreeconfig", "relativeworktrees",
		                            "partialclone", "objectformat",    "refstorage" };
	static const int levels[] = { GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_GLOBAL,
		                      GIT_CONFIG_LEVEL_PROGRAMDATA };

	if (git_libgit2_init() < 0)
		return false;
	for (size_t i = 0; i < COUNT(levels); i++)
		if (git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "/nonexistent") < 0)
			return false;
	if (git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, extensions, COUNT(extensions)) < 0)
		return false;
	return git_libgit2_opts(GIT_OPT_SET_TEMPLATE_PATH, "/nonexistent") == 0 &&
	       git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0) == 0 &&
	       git_libgit2_opts(GIT_OPT_ENABLE_STRICT_OBJECT_CREATION, 1) == 0;
}

int main(int argc, char **argv)
{
	const oc_provider_ops ops = {
		.size = sizeof(ops),
		.name = "git",
		.version = oc_version(),
		.kind = "workspace",
		.create = on_create,
		.save = on_save,
		.remove = on_remove,
	};
	int status;

	if (argc == 2 && !strcmp(argv[1], "--version")) {
		printf("open-conduit-provider-git %s\n", oc_version());
		return 0;
	}
	(void)umask(077);
	if (!start_libgit2()) {
		fputs("open-conduit-provider-git: libgit2 does not start\n", stderr);
		return 1;
	}
	status = oc_provider_main(&ops, NULL, argc, argv);
	if (status == 2)
		fprintf(stderr, "open-conduit-provider-git: started by hosts, with a socket on descriptors 0 and 1 "
		                "(openconduit-provider(7))\n");
	(void)git_libgit2_shutdown();
	return status;
}

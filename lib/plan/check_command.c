/* SPDX-License-Identifier: Apache-2.0 */
/* The command of a plan: what is executed, where, with which variables, and on what. */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "plan/check.h"

/* One that is valid and that was not there before. */
static int check_name(const char *name, bool valid, const char *wrong, const char *at, json_t *seen, oc_error **err)
{
	if (!valid)
		return oc_plan_bad(err, at, wrong);
	if (json_object_get(seen, name))
		return oc_plan_bad(err, at, "is there twice");
	return oc_json_set(seen, name, json_true()) ? 0 : oc_nomem(err);
}

static int check_variable(const char *name, const char *at, json_t *seen, oc_error **err)
{
	return check_name(name, oc_env_name_valid(name), "is no name of an environment variable", at, seen, err);
}

static int check_names(const json_t *list, const char *path, json_t *seen, oc_error **err)
{
	const json_t *value;
	char at[160];
	size_t i;

	json_array_foreach(list, i, value)
	{
		int rc;

		snprintf(at, sizeof(at), "%s[%zu]", path, i);
		rc = check_variable(json_string_value(value), at, seen, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int check_env(const json_t *env, json_t *seen, oc_error **err)
{
	const struct oc_json_key keys[] = { { "name", OC_JSON_STRING, true, NULL },
		                            { "value", OC_JSON_ANY, true, NULL } };
	const json_t *entry;
	char at[160];
	size_t i;
	int rc = oc_plan_each(env, "command.env", keys, OC_COUNT(keys), err);

	if (rc < 0)
		return rc;
	json_array_foreach(env, i, entry)
	{
		const char *name = oc_json_text(entry, "name");

		snprintf(at, sizeof(at), "command.env[%zu].name", i);
		rc = check_variable(name, at, seen, err);
		if (rc < 0)
			return rc;
		snprintf(at, sizeof(at), "command.env[%zu].value", i);
		rc = oc_plan_text_or_null(json_object_get(entry, "value"), at, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int check_run_files(const json_t *files, json_t *seen, oc_error **err)
{
	const struct oc_json_key keys[] = { { "name", OC_JSON_STRING, true, NULL },
		                            { "text", OC_JSON_STRING, true, NULL } };
	const json_t *file;
	char at[160];
	size_t i;
	int rc = oc_plan_each(files, "command.files", keys, OC_COUNT(keys), err);

	if (rc < 0)
		return rc;
	json_array_foreach(files, i, file)
	{
		const char *name = oc_json_text(file, "name");

		snprintf(at, sizeof(at), "command.files[%zu].name", i);
		rc = check_name(name, oc_plan_file_name_valid(name), "is no name of a file in {run}", at, seen, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int check_terminal(const json_t *terminal, oc_error **err)
{
	int64_t rows = 0, cols = 0;
	const struct oc_json_key keys[] = { { "rows", OC_JSON_INT, true, &rows },
		                            { "cols", OC_JSON_INT, true, &cols } };
	int rc = terminal ? oc_json_unpack(terminal, "command.terminal", NULL, keys, OC_COUNT(keys), err) : 0;

	if (rc < 0 || !terminal)
		return rc;
	return rows < 1 || rows > UINT16_MAX || cols < 1 || cols > UINT16_MAX
	               ? oc_plan_bad(err, "command.terminal", "has a size that is none")
	               : 0;
}

static bool program_ok(const char *program, bool container)
{
	return program[0] == '/' || (container && program[0] && !strchr(program, '/'));
}

int oc_plan_check_command(const json_t *command, bool container, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *seen = json_object();
	json_t *argv = NULL, *env = NULL, *secrets = NULL, *inherit = NULL, *files = NULL, *terminal = NULL;
	const char *cwd = NULL;
	const struct oc_json_key keys[] = {
		{ "argv", OC_JSON_STRINGS, true, &argv },
		{ "cwd", OC_JSON_STRING, true, &cwd },
		{ "env", OC_JSON_ARRAY, true, &env },
		{ "secrets", OC_JSON_STRINGS, true, &secrets },
		{ "inherit", OC_JSON_STRINGS, true, &inherit },
		{ "files", OC_JSON_ARRAY, false, &files },
		{ "terminal", OC_JSON_OBJECT, false, &terminal },
	};
	int rc = oc_json_unpack(command, "command", NULL, keys, OC_COUNT(keys), err);

	if (rc == 0)
		rc = check_terminal(terminal, err);
	if (rc < 0)
		return rc;
	if (json_array_size(argv) == 0 || json_array_size(argv) > OC_PLAN_LIST_MAX)
		return oc_plan_bad(err, "command.argv", "is empty or too long");
	if (!program_ok(json_string_value(json_array_get(argv, 0)), container))
		return oc_plan_bad(err, "command.argv[0]", "is not an absolute path");
	if (!oc_path_clean(cwd))
		return oc_plan_bad(err, "command.cwd", "is not an absolute, clean path");
	rc = check_env(env, seen, err);
	if (rc == 0)
		rc = check_names(secrets, "command.secrets", seen, err);
	if (rc == 0) { /* what is inherited gives way to what is pinned, so it may be named in both */
		json_object_clear(seen);
		rc = check_names(inherit, "command.inherit", seen, err);
	}
	if (rc == 0 && files) {
		json_object_clear(seen);
		rc = check_run_files(files, seen, err);
	}
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A provider of workspaces that makes directories instead of clones, and says what a test wants: the text of
 * CHECKOUT/create.json, save.json or remove.json, with @ROOT@ and @GIT@ as the numbers of what it made; what it was asked
 * is appended to CHECKOUT/asked.  (remove is told no checkout: it takes DIR/../remove.json.) */
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <openconduit/openconduit.h>
#include <openconduit/provider.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *load(const char *dir, const char *name)
{
	char path[4096], *text = NULL;
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "r");
	if (!file)
		return NULL;
	if (getdelim(&text, &size, 0, file) < 0) {
		free(text);
		text = strdup("");
	}
	fclose(file);
	return text;
}

static void note(const char *dir, const char *method, const char *params)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/asked", dir);
	file = fopen(path, "a");
	if (!file)
		return;
	fprintf(file, "%s %s\n", method, params);
	fclose(file);
}

static char *numbers(const char *path)
{
	struct stat st;
	char *text;

	if (stat(path, &st) < 0 || asprintf(&text, "{\"dev\":%llu,\"ino\":%llu}", (unsigned long long)st.st_dev,
	                                    (unsigned long long)st.st_ino) < 0)
		return strdup("null");
	return text;
}

static char *replace(char *text, const char *word, const char *by)
{
	char *at = strstr(text, word), *out;

	if (!at)
		return text;
	if (asprintf(&out, "%.*s%s%s", (int)(at - text), text, by, at + strlen(word)) < 0)
		exit(1);
	free(text);
	return out;
}

static void answer(oc_call *call, char *text)
{
	if (!strncmp(text, "die", 3))
		_exit(3);
	if (!strncmp(text, "hang", 4))
		sleep(1000);
	if (!strncmp(text, "refuse", 6))
		oc_call_refuse(call, "sandbox_workspace", "/somewhere", "mend it", "it can't be");
	else
		oc_call_reply(call, text);
	free(text);
}

static void create(oc_call *call, void *userdata)
{
	static const char *const files[] = { "config", "commondir", "config.worktree", "objects/info/alternates" };
	static const char *const dirs[] = { "", "hooks", "info", "objects", "objects/info" };
	json_t *params = json_loads(oc_call_params(call), 0, NULL);
	const char *dir = json_string_value(json_object_get(params, "dir"));
	const char *checkout = json_string_value(json_object_get(params, "checkout"));
	const char *branch = json_string_value(json_object_get(params, "branch"));
	char path[4096], *text = load(checkout, "create.json"), *root, *git;

	(void)userdata;
	note(checkout, "create", oc_call_params(call));
	if (mkdir(dir, 0700) < 0)
		exit(4);
	for (size_t i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s/.git/%s", dir, dirs[i]);
		if (mkdir(path, 0700) < 0)
			exit(4);
	}
	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/.git/%s", dir, files[i]);
		close(open(path, O_WRONLY | O_CREAT, 0600));
	}
	if (!text && asprintf(&text,
	                      "{\"root\":@ROOT@,\"git\":@GIT@,\"branch\":\"%s\",\"baseline\":"
	                      "\"0123456789012345678901234567890123456789\",\"origin\":null,\"notes\":[]}",
	                      branch) < 0)
		exit(1);
	root = numbers(dir);
	snprintf(path, sizeof(path), "%s/.git", dir);
	git = numbers(path);
	text = replace(replace(text, "@ROOT@", root), "@GIT@", git);
	free(root);
	free(git);
	json_decref(params);
	answer(call, text);
}

static void save(oc_call *call, void *userdata)
{
	json_t *params = json_loads(oc_call_params(call), 0, NULL);
	const char *checkout = json_string_value(json_object_get(params, "checkout"));
	char *text = load(checkout, "save.json");

	(void)userdata;
	note(checkout, "save", oc_call_params(call));
	json_decref(params);
	answer(call, text ? text
	                  : strdup("{\"tip\":null,\"saved\":[],\"outcome\":\"unchanged\",\"leftover\":[],\"lost\":[],"
	                           "\"notes\":[]}"));
}

static int drop(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void unmake(oc_call *call, void *userdata)
{
	json_t *params = json_loads(oc_call_params(call), 0, NULL);
	const char *dir = json_string_value(json_object_get(params, "dir"));
	char up[4096], *text;

	(void)userdata;
	snprintf(up, sizeof(up), "%s/..", dir);
	text = load(up, "remove.json");
	nftw(dir, drop, 16, FTW_DEPTH | FTW_PHYS);
	json_decref(params);
	answer(call, text ? text : strdup("{}"));
}

int main(int argc, char **argv)
{
	oc_provider_ops ops = OC_PROVIDER_OPS_INIT;

	ops.name = "directories";
	ops.version = "1";
	ops.kind = "workspace";
	ops.create = create;
	ops.save = save;
	ops.remove = unmake;
	return oc_provider_main(&ops, NULL, argc, argv);
}

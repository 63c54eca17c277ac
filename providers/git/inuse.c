/* SPDX-License-Identifier: Apache-2.0 */
/* Where git itself would say that a branch is in use: HEADs, rebases (also those that carry other branches along), bisects.
 * What can't be read counts as in use. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "beneath.h"
#include "refs.h"
#include "setref.h"

#define FILE_MAX      (1u << 20)
#define WORKTREES_MAX 10000u

/* HEAD, also the old kind that is a link. */
static bool head_is(int common, const char *file, const char *branch)
{
	cleanup_text struct text text = { 0 };
	cleanup_free char *symbolic = NULL;
	char target[4096];
	ssize_t n = readlinkat(common, file, target, sizeof(target) - 1);
	git_oid id;

	if (n >= 0) {
		target[n] = 0;
		return !strcmp(target, branch);
	}
	if (beneath_read(common, file, FILE_MAX, &text) < 0 || ref_parse(text.data, text.len, &id, &symbolic) < 0)
		return true;
	return symbolic && !strcmp(symbolic, branch);
}

/* A line of a file that is the branch, by its whole or its short name; no such file is fine. */
static bool names_branch(int common, const char *file, const char *branch)
{
	cleanup_text struct text text = { 0 };
	const char *name = branch + strlen("refs/heads/");
	int result = beneath_read(common, file, FILE_MAX, &text);
	char *line, *rest;

	if (result < 0)
		return result != -ENOENT && result != -ENOTDIR;
	for (line = strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (!strcmp(line, branch) || !strcmp(line, name))
			return true;
	return false;
}

static char *used_in(int common, const char *folder, bool head, const char *branch)
{
	static const char *const files[] = { "rebase-merge/head-name", "rebase-merge/update-refs",
		                             "rebase-apply/head-name", "BISECT_START" };
	size_t i;

	if (head) {
		cleanup_free char *file = format("%sHEAD", folder);

		if (!file || head_is(common, file, branch))
			return format("%sHEAD", folder);
	}
	for (i = 0; i < COUNT(files); i++) {
		cleanup_free char *file = format("%s%s", folder, files[i]);

		if (!file || names_branch(common, file, branch))
			return format("%s%s", folder, files[i]);
	}
	return NULL;
}

char *branch_in_use(int common, bool bare, const char *branch)
{
	cleanup_names struct names names = { 0 };
	char *where = used_in(common, "", !bare, branch);
	int result = where ? 0 : beneath_list(common, "worktrees", WORKTREES_MAX, &names);
	size_t i;

	if (result < 0 && result != -ENOENT)
		return strdup("worktrees");
	for (i = 0; i < names.n && !where; i++) {
		cleanup_free char *folder = format("worktrees/%s/", names.v[i]);

		where = folder ? used_in(common, folder, true, branch) : strdup("worktrees");
	}
	return where;
}

static char *locked_in(int common, const char *folder)
{
	static const char *const files[] = { "HEAD.lock", "index.lock" };
	struct stat st;
	size_t i;

	for (i = 0; i < COUNT(files); i++) {
		char *file = format("%s%s", folder, files[i]);

		if (file && fstatat(common, file, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return file;
		free(file);
	}
	return NULL;
}

static char *any_locked(int common)
{
	cleanup_names struct names names = { 0 };
	char *file = locked_in(common, "");
	size_t i;

	if (file || beneath_list(common, "worktrees", WORKTREES_MAX, &names) < 0)
		return file;
	for (i = 0; i < names.n && !file; i++) {
		cleanup_free char *folder = format("worktrees/%s/", names.v[i]);

		file = folder ? locked_in(common, folder) : NULL;
	}
	return file;
}

char *checkout_locked(int common)
{
	const struct timespec pause = { 0, 100000000 };
	int waited;

	for (waited = 0; waited < SET_WAIT_MS; waited += 100) {
		char *file = any_locked(common);

		if (!file)
			return NULL;
		free(file);
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
	return any_locked(common);
}

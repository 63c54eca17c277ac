/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clone.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define CONTENT_MAX 4096

static const struct oc_clone_part parts[] = {
	{ "config", S_IFREG, NULL, NULL, true },
	{ "hooks", S_IFDIR, NULL, "mkdir ", true },
	{ "info", S_IFDIR, NULL, "mkdir ", true },
	{ "commondir", S_IFREG, "../.git", "printf ../.git > ", true },
	{ "config.worktree", S_IFREG, "", ": > ", true },
	{ "objects", S_IFDIR, NULL, NULL, false },
	{ "objects/info", S_IFDIR, NULL, "mkdir ", false },
	{ "objects/info/alternates", S_IFREG, "", ": > ", true },
};

const struct oc_clone_part *oc_clone_part(size_t i)
{
	return i < OC_COUNT(parts) ? &parts[i] : NULL;
}

static const char *check_content(const char *path, const char *want)
{
	struct oc_buf text;
	const char *why = NULL;
	int rc;

	oc_buf_init(&text, CONTENT_MAX);
	rc = oc_read_file(AT_FDCWD, path, CONTENT_MAX, &text);
	if (rc < 0)
		why = "can't be read";
	else if (text.len && text.data[text.len - 1] == '\n' && *want)
		text.len--;
	if (!why && (text.len != strlen(want) || (text.len && memcmp(text.data, want, text.len) != 0)))
		why = *want ? "does not hold ../.git" : "is not empty";
	oc_buf_free(&text);
	return why;
}

const char *oc_clone_check(const char *path, mode_t type, const char *content)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return "is missing";
	if ((st.st_mode & S_IFMT) != type)
		return type == S_IFDIR ? "is no real directory" : "is no real file";
	if (st.st_uid != geteuid())
		return "belongs to another user";
	return content ? check_content(path, content) : NULL;
}

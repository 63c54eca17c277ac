/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The length of the prefix that may start a path, 0 when there is none. */
static size_t prefix_len(const char *path)
{
	static const char *const prefixes[] = { "~", "{workspace}", "{run}" };

	for (size_t i = 0; i < OC_COUNT(prefixes); i++) {
		size_t len = strlen(prefixes[i]);

		if (strncmp(path, prefixes[i], len) == 0 && (path[len] == '/' || path[len] == '\0'))
			return len;
	}
	return 0;
}

/* The same without empty components, as a proposal. */
static char *squeeze(const char *path)
{
	char *out = strdup(path);
	size_t n = 0;

	if (!out)
		return NULL;
	for (size_t i = 0; path[i]; i++)
		if (path[i] != '/' || (path[i + 1] != '/' && (path[i + 1] != '\0' || n == 0)))
			out[n++] = path[i];
	out[n] = '\0';
	return out;
}

static const char *check_components(const char *rest)
{
	while (*rest) {
		size_t len = strcspn(rest, "/");

		if (len == 0)
			return "has an empty component";
		if (len == 1 && rest[0] == '.')
			return "has a \".\" component";
		if (len == 2 && rest[0] == '.' && rest[1] == '.')
			return "has a \"..\" component";
		rest += len;
		if (*rest == '/' && *++rest == '\0')
			return "has an empty component";
	}
	return NULL;
}

static const char *check_start(const char *path, size_t prefix, char **fix)
{
	struct oc_buf b;

	if (path[0] == '\0')
		return "is empty";
	if (prefix || path[0] == '/')
		return NULL;
	if (path[0] == '~')
		return "names another user's home, which is not supported: write the absolute path";
	if (path[0] == '{')
		return "starts with an unknown placeholder: there are {workspace} and {run}, each followed by / or "
		       "nothing";
	if (!strchr(path, '{') && path[0] != '.') {
		oc_buf_init(&b, OC_POLICY_PATH_MAX + 16);
		if (oc_buf_printf(&b, "{workspace}/%s", path) == 0)
			*fix = oc_buf_steal(&b);
		oc_buf_free(&b);
	}
	return "is relative: it must start with /, ~/, {workspace} or {run}";
}

const char *oc_policy_path_check(const char *path, char **fix)
{
	size_t prefix = prefix_len(path);
	const char *why, *rest = path + prefix;

	*fix = NULL;
	if (strlen(path) >= OC_POLICY_PATH_MAX)
		return "is longer than 4095 bytes";
	why = check_start(path, prefix, fix);
	if (why)
		return why;
	if (strchr(path, '*') || strchr(path, '?'))
		return "has a glob, and paths are literal: name the directory";
	if (strpbrk(rest, "{}"))
		return "has a placeholder or brace where none can be: only its start may be one";
	if (prefix == 1 && *rest == '\0')
		return "is the whole home: write its absolute path if that is meant";
	if (strcmp(path, "/") == 0)
		return NULL;
	if (*rest == '/')
		rest++;
	if (prefix && path[prefix] == '/' && *rest == '\0')
		why = "has an empty component";
	else
		why = check_components(rest);
	if (why && strcmp(why, "has an empty component") == 0)
		*fix = squeeze(path);
	return why;
}

char *oc_policy_path_expand(const char *path, const char *home, const char *workspace, const char *run_dir)
{
	size_t prefix = prefix_len(path);
	const char *base = path[0] == '~' ? home : path[1] == 'w' ? workspace : run_dir;
	struct oc_buf b;
	char *out = NULL;

	oc_buf_init(&b, OC_POLICY_PATH_MAX - 1);
	/* "/" + "/x" would be no clean path. */
	if (prefix && strcmp(base, "/") != 0 && oc_buf_puts(&b, base))
		goto out;
	if (oc_buf_puts(&b, path + prefix) == 0)
		out = b.len ? oc_buf_steal(&b) : strdup("/");
out:
	oc_buf_free(&b);
	return out;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A git configuration of the operator's own that a run reads brings its helpers, headers and tokens along.  It is read here as
 * far as that needs: sections and keys, a line at a time; no value of it is ever told. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read.h"

#define BYTES 262144

/* A URL with somebody's name or password in it. */
static bool has_user(const char *text)
{
	for (const char *p = text; (p = strstr(p, "://")); p += 3) {
		size_t n = strcspn(p + 3, "/@\" \t");

		if (p[3 + n] == '@')
			return true;
	}
	return false;
}

static bool starts(const char *text, const char *word)
{
	return !strncasecmp(text, word, strlen(word));
}

/* What a line of this section brings along, or NULL. */
static const char *brings(const char *section, const char *line)
{
	if (has_user(line))
		return "a URL with a token or a password";
	if (starts(section, "[credential") && starts(line, "helper"))
		return "a credential.helper";
	return starts(section, "[http") && starts(line, "extraheader") ? "an http.extraHeader" : NULL;
}

static const char *look(char *text)
{
	char section[256] = "", *save = NULL;

	for (char *line = strtok_r(text, "\r\n", &save); line; line = strtok_r(NULL, "\r\n", &save)) {
		const char *found;

		line += strspn(line, " \t");
		if (*line == '#' || *line == ';')
			continue;
		if (*line == '[') {
			memcpy(section, line, strnlen(line, sizeof(section) - 1) + 1);
			section[sizeof(section) - 1] = 0;
			/* What stands behind its "]" is a line of it. */
			if (has_user(line))
				return brings(section, line);
			line = strchr(line, ']') ? strchr(line, ']') + 1 : line + strlen(line);
			line += strspn(line, " \t");
		}
		found = brings(section, line);
		if (found)
			return found;
	}
	return NULL;
}

static const char *look_at(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char *text = fd < 0 ? NULL : malloc(BYTES + 1);
	const char *found = NULL;
	ssize_t n = text ? read(fd, text, BYTES) : -1;

	if (n >= 0) {
		text[n] = 0;
		found = look(text);
	}
	free(text);
	if (fd >= 0)
		close(fd);
	return found;
}

static bool is_config(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t n = strlen(path);
	struct stat st;

	return name && (!strcmp(name, "/.gitconfig") || (n > 11 && !strcmp(path + n - 11, "/git/config"))) &&
	       stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static void warn(struct reading *r, const struct config_binding *b, const char *field, const char *path)
{
	const char *what = look_at(path);

	if (what)
		bad_as(r, &(struct bad){ .field = field, .subject = path, .warning = true },
		       "grant a git configuration that has a name and an address of mail alone",
		       "%s of %s has %s: it comes along with what the run is granted", path, b->full, what);
}

static void check_grant(struct reading *r, const struct config_binding *b, const char *field, const char *grant)
{
	static const char *const usual[] = { "~/.gitconfig", "~/.config/git/config" };
	const char *path = path_expand(r, grant);

	if (!path || path[0] != '/')
		return;
	for (size_t i = 0; i < 2; i++) {
		const char *own = path_expand(r, usual[i]);
		enum path_relation relation = own && is_config(own) ? path_relation(path, own) : PATHS_APART;

		if (relation == PATHS_SAME || relation == PATHS_SECOND_INSIDE) {
			warn(r, b, field, own);
			return;
		}
	}
	if (is_config(path))
		warn(r, b, field, path);
}

void check_git_config(struct reading *r, const struct config_binding *b, const struct node *normal)
{
	static const char *const lists[] = { "write", "read", "read.allow" };

	for (size_t k = 0; k < 3; k++) {
		const struct config_texts list = policy_list(r, normal, lists[k]);

		for (size_t i = 0; i < list.n; i++)
			check_grant(r, b, at(r, "%s.%s.config.%s[%zu]", b->field, b->kind, lists[k], i), list.v[i]);
	}
}

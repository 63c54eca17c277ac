/* SPDX-License-Identifier: Apache-2.0 */
#include "works.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool clean_path(const char *path)
{
	if (path[0] != '/' || path[1] == '\0' || strlen(path) >= 4096)
		return false;
	for (const char *at = path; *at; at++) {
		size_t len = strcspn(at + 1, "/");

		if (*at == '/' &&
		    (len == 0 || (len == 1 && at[1] == '.') || (len == 2 && at[1] == '.' && at[2] == '.')))
			return false;
	}
	return true;
}

int works_open(struct works *w, const char *dir, struct refusal *r)
{
	const char *slash = strrchr(dir, '/');
	struct stat st;

	*w = (struct works){ .fd = -1 };
	if (!clean_path(dir) || slash == dir || !strcmp(slash + 1, WORKS_NEW))
		return refuse(r, "provider_failed", dir, NULL, "%s can't be the path of a workspace", dir);
	w->name = slash + 1;
	w->parent = strndup(dir, (size_t)(slash - dir));
	if (!w->parent)
		return no_memory(r);
	w->fd = open(w->parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w->fd < 0)
		return errno == ENOENT ? 0 : refuse_errno(r, w->parent, "the Work's directory can't be opened");
	if (fstat(w->fd, &st) < 0)
		return refuse_errno(r, w->parent, "the Work's directory can't be looked at");
	if (st.st_uid != geteuid() || (st.st_mode & 022)) {
		cleanup_free char *word = quoted(w->parent), *fix = word ? format("chmod go-w %s", word) : NULL;

		return refuse(r, "workspace_conflict", w->parent, fix,
		              "the Work's directory %s can be changed by others", w->parent);
	}
	return 0;
}

void works_close(struct works *w)
{
	if (w->fd >= 0)
		(void)close(w->fd);
	free(w->parent);
	*w = (struct works){ .fd = -1 };
}

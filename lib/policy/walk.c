/* SPDX-License-Identifier: Apache-2.0 */
/* Why not realpath(3): we need to know where the links are (one inside a tree that a run may write is the run's to
 * choose), and a dangling link must still tell where it points. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/paths.h"

#define LINKS_MAX 40 /* the kernel's own limit */

struct walk {
	char done[OC_POLICY_PATH_MAX], todo[OC_POLICY_PATH_MAX];
	size_t len; /* of done; 0 is the root */
	unsigned followed;
	bool missing;
	struct oc_strv *links;
	struct oc_seen *seen;
};

static void up(struct walk *w)
{
	while (w->len > 0 && w->done[--w->len] != '/')
		;
	w->done[w->len] = '\0';
}

static int follow(struct walk *w, const char *rest)
{
	char target[OC_POLICY_PATH_MAX], next[OC_POLICY_PATH_MAX];
	ssize_t n = readlink(w->done, target, sizeof(target) - 1);
	size_t left = strlen(rest);

	if (n < 0)
		return -errno;
	if ((size_t)n + 1 + left >= sizeof(next))
		return -ENAMETOOLONG;
	if (++w->followed > LINKS_MAX)
		return -ELOOP;
	if (w->links && oc_strv_add(w->links, w->done))
		return -ENOMEM;
	memcpy(next, target, (size_t)n);
	next[n] = '/';
	memcpy(next + n + 1, rest, left + 1);
	memcpy(w->todo, next, (size_t)n + 1 + left + 1);
	up(w);
	if (target[0] == '/')
		w->done[w->len = 0] = '\0';
	return 0;
}

/* One component from the front of todo. */
static int step(struct walk *w)
{
	char *name = w->todo + strspn(w->todo, "/");
	size_t n = strcspn(name, "/");
	struct stat st;

	if (n == 0)
		return 1;
	if (n == 2 && memcmp(name, "..", 2) == 0)
		up(w);
	if ((n == 2 && memcmp(name, "..", 2) == 0) || (n == 1 && *name == '.')) {
		memmove(w->todo, name + n, strlen(name + n) + 1);
		return 0;
	}
	if (w->len + 1 + n >= sizeof(w->done))
		return -ENAMETOOLONG;
	w->done[w->len++] = '/';
	memcpy(w->done + w->len, name, n);
	w->done[w->len += n] = '\0';
	if (w->missing || oc_seen_lstat(w->seen, w->done, &st) != 0) {
		w->missing = true;
		memmove(w->todo, name + n, strlen(name + n) + 1);
		return 0;
	}
	if (S_ISLNK(st.st_mode))
		return follow(w, name + n);
	memmove(w->todo, name + n, strlen(name + n) + 1);
	return 0;
}

int oc_policy_walk_seen(struct oc_seen *seen, const char *path, char **real, bool *missing, struct oc_strv *links)
{
	size_t len = strlen(path);
	struct walk w;
	int rc;

	/* Not cleared as a whole: it is large, and there are a hundred paths in a policy. */
	w.len = 0;
	w.done[0] = '\0';
	w.followed = 0;
	w.missing = false;
	w.links = links;
	w.seen = seen;
	if (len >= sizeof(w.todo))
		return -ENAMETOOLONG;
	memcpy(w.todo, path, len + 1);
	while ((rc = step(&w)) == 0)
		;
	if (rc < 0)
		return rc;
	*missing = w.missing;
	*real = strdup(w.len ? w.done : "/");
	return *real ? 0 : -ENOMEM;
}

int oc_policy_walk(const char *path, char **real, bool *missing, struct oc_strv *links)
{
	return oc_policy_walk_seen(NULL, path, real, missing, links);
}

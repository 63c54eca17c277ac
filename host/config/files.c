/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of a config and what they are on this machine. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read.h"

#define LINKS_MAX 40

const char *path_expand(struct reading *r, const char *path)
{
	if (strncmp(path, "~/", 2) != 0)
		return path;
	return arena_printf(r->arena, "%s%s", r->world.home, path + 1);
}

const char *path_check(const char *path)
{
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		size_t n = strcspn(slash + 1, "/");

		if ((n == 1 && slash[1] == '.') || (n == 2 && slash[1] == '.' && slash[2] == '.'))
			return "has a part \".\" or \"..\"";
	}
	return NULL;
}

static char *join(const char *dir, const char *rest)
{
	char *whole = NULL;

	if (!*rest)
		return strdup(dir);
	if (asprintf(&whole, "%s/%s", strcmp(dir, "/") != 0 ? dir : "", rest) < 0)
		return NULL;
	return whole;
}

/* A link that leads to nothing yet: realpath() can't follow it, and whoever makes its target decides what it is. */
static char *follow(const char *path)
{
	char target[PATH_MAX], *dir, *slash, *whole;
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n <= 0)
		return NULL;
	target[n] = 0;
	if (*target == '/')
		return strdup(target);
	dir = strdup(path);
	slash = dir ? strrchr(dir, '/') : NULL;
	if (slash)
		slash[slash == dir ? 1 : 0] = 0;
	whole = dir ? join(dir, target) : NULL;
	free(dir);
	return whole;
}

/* Without links; what is missing at the end is appended as it stands.  New, or NULL. */
static char *resolve(const char *path)
{
	char *head = strdup(path), *tail = strdup(""), *real = NULL;

	for (int links = 0; head && tail && !(real = realpath(head, NULL)) && links < LINKS_MAX;) {
		char *next = follow(head), *slash = strrchr(head, '/'), *longer;

		if (next) {
			links++;
			free(head);
			head = next;
			continue;
		}
		if (!slash || !strcmp(head, "/"))
			break;
		longer = *tail ? join(slash + 1, tail) : strdup(slash + 1);
		free(tail);
		tail = longer;
		slash[slash == head ? 1 : 0] = 0;
	}
	free(head);
	head = real && tail ? join(real, tail) : NULL;
	free(real);
	free(tail);
	return head;
}

static bool same(const char *a, const char *b)
{
	struct stat x, y;

	if (!strcmp(a, b))
		return true;
	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Is `outer` one of the directories above `inner`? */
static bool beneath(const char *inner, const char *outer)
{
	char *at = strdup(inner), *slash;
	bool found = false;

	while (at && !found && strcmp(at, "/") != 0 && (slash = strrchr(at, '/'))) {
		slash[slash == at ? 1 : 0] = 0;
		found = same(at, outer);
	}
	free(at);
	return found;
}

enum path_relation path_relation(const char *a, const char *b)
{
	char *x = resolve(a), *y = resolve(b);
	/* What can't be resolved can't be told apart either. */
	enum path_relation relation = PATHS_SAME;

	if (x && y && !same(x, y))
		relation = beneath(x, y) ? PATHS_FIRST_INSIDE : beneath(y, x) ? PATHS_SECOND_INSIDE : PATHS_APART;
	free(x);
	free(y);
	return relation;
}

bool config_same_path(const char *a, const char *b)
{
	return path_relation(a, b) == PATHS_SAME;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Removal goes down a bounded number of levels only.  A directory that lies deeper is moved up to the top first, under a
 * name of ours, and met again there: so a tree of ten thousand levels needs no more descriptors than one of fifty, and
 * nothing is ever found by a path or by "..". */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>

#define LEVELS    48
#define NUMBER(n) ((json_int_t)((uint64_t)(n) & ((1ull << 53) - 1)))

json_t *numbers_json(const struct stat *st)
{
	return json_pack("{s:I, s:I}", "dev", NUMBER(st->st_dev), "ino", NUMBER(st->st_ino));
}

bool numbers_match(const json_t *numbers, const struct stat *st)
{
	return json_integer_value(json_object_get(numbers, "dev")) == NUMBER(st->st_dev) &&
	       json_integer_value(json_object_get(numbers, "ino")) == NUMBER(st->st_ino);
}

int open_beneath(int dir, const char *name, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(__NR_openat2, dir, name, &how, sizeof(how));
}

/* By descriptor, so that what is put in its place meanwhile is not what is opened up. */
static int open_up(int dir, const char *name)
{
	cleanup_fd int fd = open_beneath(dir, name, O_PATH);
	char self[64];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if ((st.st_mode & 0700) != 0700) {
		(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
		if (chmod(self, 0700) < 0)
			return -1;
	}
	return open_beneath(fd, ".", O_RDONLY);
}

struct removal {
	int top;
	unsigned long moved;
};

static int empty(struct removal *m, int fd, int level);

static int remove_entry(struct removal *m, int fd, const char *name, int level)
{
	cleanup_fd int child = -1;
	char aside[64];

	if (unlinkat(fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	child = open_up(fd, name);
	if (child < 0)
		return errno == ENOENT ? 0 : -1;
	if (level < LEVELS) {
		if (empty(m, child, level + 1) < 0)
			return -1;
		return unlinkat(fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -1;
	}
	do {
		(void)snprintf(aside, sizeof(aside), ".open-conduit-removed-%lu", m->moved++);
		if (renameat2(fd, name, m->top, aside, 1 /* RENAME_NOREPLACE */) == 0)
			return 0;
	} while (errno == EEXIST);
	return -1;
}

static DIR *open_list(int fd)
{
	int copy = open_beneath(fd, ".", O_RDONLY);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);

	if (!list && copy >= 0)
		(void)close(copy);
	return list;
}

/* One reading of the directory; the number of entries it had, or -1. */
static long pass(struct removal *m, int fd, int level)
{
	DIR *list = open_list(fd);
	struct dirent *entry;
	long found = 0;
	int e;

	if (!list)
		return -1;
	while ((errno = 0, entry = readdir(list))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		found++;
		if (remove_entry(m, fd, entry->d_name, level) < 0)
			break;
	}
	e = errno;
	(void)closedir(list);
	errno = e;
	return e ? -1 : found;
}

/* A directory that is changed while it is read may hide entries from one reading: read until there is none.  What goes
 * on adding to it ends this by the last attempt. */
static int empty(struct removal *m, int fd, int level)
{
	unsigned long before;
	long found;

	for (int again = 0; again < 1000; again++) {
		before = m->moved;
		found = pass(m, fd, level);
		if (found <= 0)
			return (int)found;
		if (fd == m->top && m->moved != before)
			again = 0; /* these are of our own doing, and fewer each time */
	}
	return errno = ENOTEMPTY, -1;
}

int remove_tree(int dir, const char *name)
{
	cleanup_fd int fd = -1;
	struct removal m = { .top = -1 };

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	fd = m.top = open_up(dir, name);
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (empty(&m, fd, 0) < 0)
		return -1;
	return unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -1;
}

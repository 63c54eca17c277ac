/* SPDX-License-Identifier: Apache-2.0 */
/* Removing what an agent left behind: trees as deep, wide and unreadable as somebody cared to make
 * them.  So no recursion, one open directory at a time, and nothing found by path. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/os.h"

struct level {
	struct level *up;
	uint64_t dev, ino; /* of this directory, to know it again on the way back */
	char name[];       /* in its parent */
};

static int unlink_at(int dir, const char *name, int flags)
{
	return unlinkat(dir, name, flags) == 0 || errno == ENOENT ? 0 : -errno;
}

/* Ours but closed to us: open it up.  By descriptor, so that a link put in its place is not followed. */
static int unlock(int dir, const char *name)
{
	char self[64];
	int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	rc = chmod(self, 0700) < 0 ? -errno : 0;
	oc_close(fd);
	return rc;
}

static int open_below(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == EACCES && unlock(dir, name) == 0)
		fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700 && st.st_uid == geteuid())
		fchmod(fd, 0700);
	return fd;
}

static int push(struct level **top, int fd, const char *name)
{
	struct oc_os_id id;
	struct level *level;
	int rc = oc_os_identify(fd, "", &id);

	if (rc < 0)
		return rc;
	/* A mount below is not the agent's to lose: refuse rather than empty it. */
	if (*top && (id.mount_root || id.dev != (*top)->dev))
		return -EXDEV;
	level = malloc(sizeof(*level) + strlen(name) + 1);
	if (!level)
		return -ENOMEM;
	level->up = *top;
	level->dev = id.dev;
	level->ino = id.ino;
	memcpy(level->name, name, strlen(name) + 1);
	*top = level;
	return 0;
}

/* Remove what is not a directory; the first directory found goes to name.  1, 0 at the end, or -errno. */
static int sweep(int fd, char name[NAME_MAX + 1])
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	struct dirent *entry;
	DIR *dir;

	if (copy < 0)
		return -errno;
	dir = fdopendir(copy);
	if (!dir) {
		rc = -errno;
		oc_close(copy);
		return rc;
	}
	while (rc == 0 && (errno = 0, entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		rc = unlink_at(fd, entry->d_name, 0);
		if (rc == -EISDIR || rc == -EPERM) {
			struct oc_os_id id;

			if (oc_os_identify(fd, entry->d_name, &id) < 0 || !S_ISDIR(id.mode))
				break;
			rc = 1;
			snprintf(name, NAME_MAX + 1, "%s", entry->d_name);
		}
	}
	if (rc == 0 && errno)
		rc = -errno;
	closedir(dir);
	return rc;
}

/* Back to the parent, which must be the directory we came from, and remove the emptied one. */
static int ascend(struct level **top, int *fd)
{
	struct level *done = *top;
	struct oc_os_id id;
	int up, rc;

	up = openat(*fd, "..", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (up < 0)
		return -errno;
	oc_close(*fd);
	*fd = up;
	rc = oc_os_identify(up, "", &id);
	if (rc == 0 && (id.dev != done->up->dev || id.ino != done->up->ino))
		rc = -EXDEV;
	if (rc == 0)
		rc = unlink_at(up, done->name, AT_REMOVEDIR);
	*top = done->up;
	free(done);
	return rc;
}

static int descend(struct level **top, int *fd, const char *name)
{
	int next = open_below(*fd, name), rc;

	if (next < 0)
		return next;
	rc = push(top, next, name);
	if (rc < 0) {
		oc_close(next);
		return rc;
	}
	oc_close(*fd);
	*fd = next;
	return 0;
}

static int empty(int fd_taken)
{
	struct level *top = NULL;
	char name[NAME_MAX + 1];
	int fd = fd_taken, rc = push(&top, fd, "");

	while (rc == 0) {
		rc = sweep(fd, name);
		if (rc == 1)
			rc = descend(&top, &fd, name);
		else if (rc == 0 && !top->up)
			break;
		else if (rc == 0)
			rc = ascend(&top, &fd);
	}
	while (top) {
		struct level *up = top->up;

		free(top);
		top = up;
	}
	oc_close(fd);
	return rc;
}

int oc_remove_tree(int dirfd, const char *name)
{
	struct oc_os_id id;
	int fd, rc = unlink_at(dirfd, name, 0);

	if (rc != -EISDIR && rc != -EPERM)
		return rc;
	if (oc_os_identify(dirfd, name, &id) == 0 && !S_ISDIR(id.mode))
		return rc;
	fd = open_below(dirfd, name);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	rc = empty(fd);
	return rc < 0 ? rc : unlink_at(dirfd, name, AT_REMOVEDIR);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "common/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 64

static int empty_at(int fd, dev_t device, int depth);

static int remove_at(int parent, const char *name, dev_t device, int depth)
{
	struct stat st;
	int fd, rc;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -1;
	if (!S_ISDIR(st.st_mode))
		return unlinkat(parent, name, 0) < 0 && errno != ENOENT ? -1 : 0;
	if (st.st_dev != device || depth >= DEPTH_MAX) {
		errno = EXDEV;
		return -1;
	}
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	rc = empty_at(fd, device, depth + 1);
	if (rc == 0 && unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		rc = -1;
	return rc;
}

/* fd is taken. */
static int empty_at(int fd, dev_t device, int depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *e;
	int rc = 0;

	if (!dir) {
		close(fd);
		return -1;
	}
	while (rc == 0 && (e = readdir(dir)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = remove_at(dirfd(dir), e->d_name, device, depth);
	closedir(dir);
	return rc;
}

int tree_empty(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (fstat(fd, &st) < 0) {
		close(fd);
		return -1;
	}
	return empty_at(fd, st.st_dev, 0);
}

int tree_remove(const char *dir)
{
	if (tree_empty(dir) < 0)
		return -1;
	return rmdir(dir) < 0 && errno != ENOENT ? -1 : 0;
}

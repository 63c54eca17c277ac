/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openconduit/error.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"

#define READ_STEP 65536u

int oc_close(int fd)
{
	int saved = errno;

	/* Never retried: Linux has released the number even where it says EINTR. */
	if (fd >= 0)
		close(fd);
	errno = saved;
	return -1;
}

int oc_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t oc_send(int fd, const void *data, size_t len)
{
	ssize_t n;

	do
		n = send(fd, data, len, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

int oc_fd_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (!(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0))
		return -errno;
	return 0;
}

/* Durable once the directory is: a made directory that vanishes takes its files along.  A directory
 * that cannot be read cannot be synced, and need not be ours. */
static void sync_dir_of(int path_fd)
{
	int fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		fsync(fd);
	oc_close(fd);
}

static int enter(int dir, const char *name, mode_t mode, bool last)
{
	int fd, made = mkdirat(dir, name, mode) < 0 ? -errno : 0;

	if (made == 0)
		sync_dir_of(dir);
	fd = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC | (last ? O_NOFOLLOW : 0));
	if (fd < 0)
		/* Why it could not be made says more than that it is not there. */
		return errno == ENOENT && made < 0 && made != -EEXIST ? made : -errno;
	return fd;
}

int oc_mkdirs(const char *path, mode_t mode)
{
	char name[NAME_MAX + 1];
	int fd, next, rc = 0;

	if (!oc_path_clean(path))
		return -EINVAL;
	fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (const char *p = path + 1; *p && rc == 0;) {
		size_t n = strcspn(p, "/");

		if (n > NAME_MAX) {
			rc = -ENAMETOOLONG;
			break;
		}
		memcpy(name, p, n);
		name[n] = '\0';
		p += n + (p[n] == '/');
		next = enter(fd, name, mode, *p == '\0');
		oc_close(fd);
		fd = next;
		rc = next < 0 ? next : 0;
	}
	oc_closep(&fd);
	return rc;
}

int oc_open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int buf_errno(int rc)
{
	return rc == 0 ? 0 : rc == OC_ENOMEM ? -ENOMEM : -EFBIG;
}

static int read_to_end(int fd, size_t max, struct oc_buf *out)
{
	size_t total = 0;

	for (;;) {
		/* One byte more than allowed tells a file of exactly max from a longer one. */
		size_t want = OC_MIN((size_t)READ_STEP, max - total + 1);
		size_t room = OC_MIN(want, out->max - out->len);
		ssize_t n;
		char spare;
		int rc = buf_errno(oc_buf_reserve(out, room));

		if (rc < 0)
			return rc;
		n = read(fd, room ? out->data + out->len : &spare, room ? room : 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		total += (size_t)n;
		if (total > max || !room)
			return -EFBIG;
		out->len += (size_t)n;
		out->data[out->len] = '\0';
	}
}

int oc_read_file(int dirfd, const char *name, size_t max, struct oc_buf *out)
{
	/* Not blocking on a FIFO that somebody put there, nor adopting a terminal. */
	int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	size_t before = out->len;
	struct stat st;
	int rc;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		rc = -errno;
	else
		rc = S_ISREG(st.st_mode) ? read_to_end(fd, max, out) : S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (rc < 0 && out->data) {
		out->len = before;
		out->data[before] = '\0';
	}
	oc_close(fd);
	return rc;
}

/* The directory that holds name, for fsync as well, and the name inside it. */
static int open_parent(int dirfd, const char *name, const char **base)
{
	const char *slash = strrchr(name, '/');
	char dir[PATH_MAX];
	int fd;

	*base = slash ? slash + 1 : name;
	if (**base == '\0' || strcmp(*base, ".") == 0 || strcmp(*base, "..") == 0)
		return -EINVAL;
	if (slash && (size_t)(slash - name) >= sizeof(dir) - 1)
		return -ENAMETOOLONG;
	if (slash) {
		size_t n = OC_MAX((size_t)(slash - name), (size_t)1);

		memcpy(dir, name, n);
		dir[n] = '\0';
	}
	fd = openat(dirfd, slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

#define TEMP_SIZE   32
#define TEMP_RANDOM 20
#define TEMP_LEN    (4 + TEMP_RANDOM + 4)

static bool is_temp(const char *name)
{
	return strlen(name) == TEMP_LEN && memcmp(name, ".oc-", 4) == 0 && strcmp(name + 4 + TEMP_RANDOM, ".tmp") == 0;
}

int oc_remove_temps(int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		rc = -errno;
		oc_closep(&fd);
		return rc;
	}
	while (rc == 0 && (errno = 0, entry = readdir(dir)))
		if (is_temp(entry->d_name) && unlinkat(dirfd, entry->d_name, 0) < 0 && errno != ENOENT)
			rc = -errno;
	if (rc == 0 && errno)
		rc = -errno;
	closedir(dir);
	return rc;
}

static int write_temp(int dir, char temp[TEMP_SIZE], const void *data, size_t len, mode_t mode)
{
	int fd, rc;

	memcpy(temp, ".oc-", 4);
	rc = oc_random_id(temp + 4, TEMP_RANDOM);
	if (rc < 0)
		return rc;
	memcpy(temp + 4 + TEMP_RANDOM, ".tmp", 5);
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	rc = oc_write_all(fd, data, len);
	if (rc == 0 && fchmod(fd, mode) < 0)
		rc = -errno;
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	/* Some file systems report a failed write only here. */
	if (close(fd) < 0 && rc == 0 && errno != EINTR)
		rc = -errno;
	if (rc < 0)
		unlinkat(dir, temp, 0);
	return rc;
}

static int put_file(int dirfd, const char *name, const void *data, size_t len, mode_t mode, bool create)
{
	const char *base;
	char temp[TEMP_SIZE];
	int dir = open_parent(dirfd, name, &base), rc;

	if (dir < 0)
		return dir;
	rc = write_temp(dir, temp, data, len, mode);
	if (rc == 0) {
		rc = (create ? linkat(dir, temp, dir, base, 0) : renameat(dir, temp, dir, base)) < 0 ? -errno : 0;
		if (create || rc < 0)
			unlinkat(dir, temp, 0);
	}
	if (rc == 0 && fsync(dir) < 0)
		rc = -errno;
	oc_close(dir);
	return rc;
}

int oc_write_file(int dirfd, const char *name, const void *data, size_t len, mode_t mode)
{
	return put_file(dirfd, name, data, len, mode, false);
}

int oc_create_file(int dirfd, const char *name, const void *data, size_t len, mode_t mode)
{
	return put_file(dirfd, name, data, len, mode, true);
}

int oc_memfd(const char *name, const void *data, size_t len)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), rc;

	if (fd < 0)
		return -errno;
	rc = oc_write_all(fd, data, len);
	if (rc == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		rc = -errno;
	if (rc == 0 && lseek(fd, 0, SEEK_SET) < 0)
		rc = -errno;
	if (rc < 0) {
		oc_close(fd);
		return rc;
	}
	return fd;
}

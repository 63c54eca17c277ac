/* SPDX-License-Identifier: Apache-2.0 */
#include "beneath.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int beneath_open(int dirfd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned)(O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | flags),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};
	int tries, fd = -1;

	/* The kernel answers EAGAIN when a rename elsewhere raced with it. */
	for (tries = 0; tries < 16; tries++) {
		fd = (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : fd;
}

int beneath_file(int dirfd, const char *path, struct stat *st)
{
	int fd = beneath_open(dirfd, path, 0), result;

	if (fd < 0)
		return fd;
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
		return fd;
	result = S_ISREG(st->st_mode) ? -errno : -EINVAL;
	close(fd);
	return result;
}

int read_whole(int fd, size_t size_hint, size_t max, struct text *out)
{
	size_t cap = (size_hint < max ? size_hint : max) + 1, len = 0;
	char *data = malloc(cap + 1), *more;
	int result = data ? 0 : -ENOMEM;

	while (!result) {
		ssize_t n;

		if (len == cap) {
			if (len > max) {
				result = -EFBIG;
				break;
			}
			cap = cap > max / 2 ? max + 1 : 2 * cap;
			more = realloc(data, cap + 1);
			if (!more) {
				result = -ENOMEM;
				break;
			}
			data = more;
		}
		n = read(fd, data + len, cap - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			result = -errno;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	if (!result && len > max)
		result = -EFBIG;
	if (result) {
		free(data);
		return result;
	}
	data[len] = 0;
	*out = (struct text){ data, len, cap + 1 };
	return 0;
}

int beneath_read(int dirfd, const char *path, size_t max, struct text *out)
{
	struct stat st;
	cleanup_fd int fd = beneath_file(dirfd, path, &st);

	if (fd < 0)
		return fd;
	if ((uint64_t)st.st_size > max)
		return -EFBIG;
	return read_whole(fd, (size_t)st.st_size, max, out);
}

void names_free(struct names *n)
{
	size_t i;

	for (i = 0; i < n->n; i++)
		free(n->v[i]);
	free(n->v);
	free(n->type);
	*n = (struct names){ 0 };
}

struct listed {
	char *name;
	unsigned char type;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct listed *)a)->name, ((const struct listed *)b)->name);
}

static int list_all(DIR *dir, size_t max, struct listed **list, size_t *n)
{
	size_t cap = 0;
	struct dirent *e;
	char *name;

	while (errno = 0, (e = readdir(dir)) != NULL) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (*n == max)
			return -E2BIG;
		if (*n == cap) {
			struct listed *more = realloc(*list, (cap ? 2 * cap : 64) * sizeof(*more));

			if (!more)
				return -ENOMEM;
			*list = more;
			cap = cap ? 2 * cap : 64;
		}
		name = strdup(e->d_name);
		if (!name)
			return -ENOMEM;
		(*list)[(*n)++] = (struct listed){ name, e->d_type };
	}
	return -errno;
}

int beneath_list(int dirfd, const char *path, size_t max, struct names *out)
{
	int fd = beneath_open(dirfd, path, O_DIRECTORY), result;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct listed *list = NULL;
	size_t i, n = 0;

	*out = (struct names){ 0 };
	if (!dir) {
		result = fd < 0 ? fd : -errno;
		closep(&fd);
		return result;
	}
	result = list_all(dir, max, &list, &n);
	closedir(dir);
	if (n > 1)
		qsort(list, n, sizeof(*list), by_name);
	out->v = calloc(n + 1, sizeof(*out->v));
	out->type = calloc(n + 1, 1);
	if (!result && (!out->v || !out->type))
		result = -ENOMEM;
	for (i = 0; i < n; i++) {
		if (result) {
			free(list[i].name);
			continue;
		}
		out->v[i] = list[i].name;
		out->type[i] = list[i].type;
		out->n = i + 1;
	}
	free(list);
	if (result)
		names_free(out);
	return result;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Files of an agent, read as data: nothing here follows a link, leaves the folder, crosses into another mount, waits for a
 * FIFO, or reads more than it was told. */
#ifndef GIT_BENEATH_H
#define GIT_BENEATH_H

#include <sys/stat.h>

#include "util.h"

/* Open dirfd/path for reading; flags are added (O_DIRECTORY, O_PATH).  The descriptor, or -errno. */
int beneath_open(int dirfd, const char *path, int flags);
/* A regular file that may be read: the descriptor and what it is, or -errno; -EINVAL is anything else than a file. */
int beneath_file(int dirfd, const char *path, struct stat *st);
/* All of a regular file of at most max bytes.  0 or -errno; -EFBIG when it is longer. */
int beneath_read(int dirfd, const char *path, size_t max, struct text *out);
/* All of an open file, likewise. */
int read_whole(int fd, size_t size_hint, size_t max, struct text *out);

/* Names in a directory, sorted, without "." and "..": at most max of them (-E2BIG when there are more).  0 or -errno. */
struct names {
	char **v;
	unsigned char *type; /* DT_… as the directory says, DT_UNKNOWN where it doesn't */
	size_t n;
};
int beneath_list(int dirfd, const char *path, size_t max, struct names *out);
void names_free(struct names *n);
#define cleanup_names __attribute__((cleanup(names_free)))

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors and small files.  Nothing here follows a symbolic link in the last component;
 * everything opened is O_CLOEXEC.  Results are 0 or a negative errno. */
#ifndef OC_BASE_FD_H
#define OC_BASE_FD_H

#include <sys/types.h>

#include "base/buf.h"

int oc_close(int fd); /* closes if >= 0, keeps errno; returns -1 to assign back */
int oc_write_all(int fd, const void *data, size_t len);
/* Send on a socket without ever raising SIGPIPE; the count, or -errno. */
ssize_t oc_send(int fd, const void *data, size_t len);
int oc_fd_nonblock(int fd);

int oc_mkdirs(const char *path, mode_t mode); /* the missing parts of an absolute path */
int oc_open_dir(const char *path);            /* O_DIRECTORY|O_NOFOLLOW|O_PATH-less; fd or -errno */
int oc_read_file(int dirfd, const char *name, size_t max, struct oc_buf *out); /* regular files only */
/* Replace dirfd/name durably: temporary beside it, fsync, rename, fsync of the directory. */
int oc_write_file(int dirfd, const char *name, const void *data, size_t len, mode_t mode);
/* The same, but -EEXIST when the name is there (link(2), so write-once holds across processes). */
int oc_create_file(int dirfd, const char *name, const void *data, size_t len, mode_t mode);
/* Remove what a process that was killed in one of the two left in dirfd.  Only where no other can be writing. */
int oc_remove_temps(int dirfd);
/* Remove dirfd/name and all beneath it without following links or crossing into other devices. */
int oc_remove_tree(int dirfd, const char *name);
/* A sealed memfd holding text, at offset 0; fd or -errno. */
int oc_memfd(const char *name, const void *data, size_t len);

#endif

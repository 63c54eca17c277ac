/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of a closure from the checkout's directories into a new repository's: real copies, no hard links, nothing
 * borrowed; by reflink where the file system can. */
#ifndef GIT_COPY_H
#define GIT_COPY_H

#include "closure.h"

/* objects: the new objects directory, empty but for "pack" and "info".  0, or refused when not all could be copied. */
int copy_objects(struct closure *k, const struct checkout *c, const char *objects, struct refusal *r);

/* One file, by reflink or by the kernel; 0, or -1 with errno. */
int copy_file(int from_dir, const char *from, int to_dir, const char *to, mode_t mode);

#endif

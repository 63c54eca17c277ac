/* SPDX-License-Identifier: Apache-2.0 */
/* What every part of the provider needs beside what is common to providers: small files by descriptor, kill points. */
#ifndef GIT_UTIL_H
#define GIT_UTIL_H

#include <stdint.h>
#include <sys/types.h>

#include "common/util.h"

/* A system call that failed for a reason that is nobody's choice (full disk, I/O): by errno. */
int refuse_errno(struct refusal *r, const char *subject, const char *what);
const char *known_reason(const char *text); /* the static text, or NULL: no reason of ours */

/* A regular file of at most max bytes, no link followed in its last component; 0, or -1 with errno (EFBIG: longer). */
int read_small(int dir, const char *name, size_t max, struct text *out);
int write_new(int dir, const char *name, mode_t mode, const void *data, size_t len); /* must not exist; not fsynced */

/* Kill points for tests: with -Dfaults=true a process whose OPEN_CONDUIT_FAULT names the point ends there. */
#ifdef OC_FAULTS
void fault(const char *point);
#else
#define fault(point) ((void)0)
#endif

#endif

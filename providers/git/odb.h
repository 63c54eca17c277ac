/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of a repository by libgit2, but for those that are files of their own: its reader goes round for ever on one that
 * is cut off, as they are after a crash.  What is read is what its name says, or an error: the
 * hash is taken here, by mbedTLS, since libgit2's own costs a create of many files a third of its time. */
#ifndef GIT_ODB_H
#define GIT_ODB_H

#include <git2.h>

/* To read from these objects directories; *out is new.  0 or -1 (git_error_last). */
int odb_open(git_odb **out, char *const *dirs, size_t n);

#endif

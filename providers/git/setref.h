/* SPDX-License-Identifier: Apache-2.0 */
/* Setting a reference of the checkout: with its lock, against the value it has under the lock, with an entry in its
 * reflog, and never by taking another's lock away.  Hooks of the checkout are not run. */
#ifndef GIT_SETREF_H
#define GIT_SETREF_H

#include <git2/oid.h>

#include "util.h"

enum set_result {
	SET_DONE,
	SET_CHANGED, /* it has another value than was expected: see now */
	SET_CLASH,   /* it can't be: a name above or beneath it is taken, or it is symbolic */
	SET_LOCKED,
	SET_FAILED /* errno */
};
#define SET_WAIT_MS 5000

/* 1: *out is its value; 0: there is none; -1: it is symbolic or can't be read. */
int ref_value(int common, const char *name, git_oid *out);
/* expected: zero is "not there yet".  On SET_CHANGED *now is its value. */
enum set_result ref_set(int common, const char *name, const git_oid *expected, const git_oid *value, const char *why,
                        git_oid *now);

/* Whether a branch is checked out somewhere, or a rebase or bisect stands on it: new text that says where; or NULL.
 * bare: the common directory has no working tree. */
char *branch_in_use(int common, bool bare, const char *branch);
/* A lock that says that a command is at work on a working tree (HEAD.lock, index.lock): new text, or NULL. */
char *checkout_locked(int common);

int make_file(int dir, const char *path, int flags, mode_t mode); /* beneath; its folders are made */
mode_t mode_like(int dir);                                        /* of new files, as the folder is shared */
#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OC_LOOP_CHILD_H
#define OC_LOOP_CHILD_H

#include <sys/types.h>

#include "base/error.h"

/* Start a program with posix_spawn: default dispositions, empty signal mask, nothing inherited
 * but the descriptors named, everything else closed; 0 to 2 are /dev/null where not named.  OC_ENOTFOUND
 * when path or cwd does not exist.  pidfd goes to oc_loop_add_child(): where the embedder ignores SIGCHLD and
 * the child is gone already, it is a descriptor that only makes that report "status unknown". */
struct oc_spawn {
	const char *path; /* absolute; argv[0] when NULL */
	char *const *argv;
	char *const *envp; /* never NULL */
	const char *cwd;   /* NULL: as the caller's */
	const int *fds;    /* fds[i] becomes descriptor i in the child; -1: /dev/null */
	size_t n_fds;
	bool new_group;   /* its own process group */
	bool new_session; /* its own session (wins over new_group) */
};
int oc_child_spawn(const struct oc_spawn *spawn, pid_t *pid, int *pidfd, oc_error **err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of ours whose end matters.  Each is in a session of its own and outlives who started it: what one began, it ends. */
#ifndef HOST_CHILD_H
#define HOST_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "text.h"

#define CHILD_SELF "/proc/self/exe" /* the file this is, also after it was replaced by a newer one */

struct child {
	pid_t pid; /* 0: none */
	int pidfd, out;
	struct text said; /* on its standard output; the first of it */
	bool exited;      /* status tells, else it was killed */
	int status;
};

/* env: added to ours.  input: its standard input (a text), or NULL; hand: a descriptor that is 3 in it, or -1.  0 or an errno. */
int child_spawn(struct child *child, const char *program, const char *const *argv, const char *const *env,
                const char *input, int hand);
/* What it said and whether it is over: true once, when it is. */
bool child_turn(struct child *child);
void child_forget(struct child *child);

#endif

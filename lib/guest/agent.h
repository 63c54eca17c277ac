/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's process and all that came of it. */
#ifndef OC_GUEST_AGENT_H
#define OC_GUEST_AGENT_H

#include <stdbool.h>
#include <sys/types.h>

struct oc_agent {
	pid_t pid; /* also its session and process group; 0: none */
	bool ended;
	int status; /* as wait() gives it */
};

/* Collect whatever has ended, without waiting; false: there is no child any more. */
bool oc_agent_reap(struct oc_agent *a);
/* For the agent's process group: 0 or -errno. */
int oc_agent_signal(const struct oc_agent *a, int sig);
/* SIGKILL to everything that descends from this process (a subreaper), until nothing is left or ms have passed. */
bool oc_agent_kill_all(struct oc_agent *a, int ms);

/* In the child: take the descriptors (closed), reset what is inherited, become the program.  Returns an
 * errno with *stage only if it could not. */
int oc_agent_exec(const int fds[3], const char *cwd, char *const *argv, char *const *env, const char **stage);

#endif

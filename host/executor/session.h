/* SPDX-License-Identifier: Apache-2.0 */
/* The session of a Work's agent: chosen by the host, pinned in the plan of the run that begins it, and so known after any
 * crash; a later turn resumes the one of the last run that started. */
#ifndef HOST_EXECUTOR_SESSION_H
#define HOST_EXECUTOR_SESSION_H

#include "agent.h"

struct session {
	char id[AGENT_MARK_SIZE];
	bool resume;
	char last[40]; /* the run whose session it is; "" for a new one */
};

/* For the next turn of the Work (as oc_work_get() gives it).  `exists`: does the executor still have a session?  What is
 * found of the last turn (cut short, never begun, its session gone) is said on stderr.  0, or said why and negative. */
int session_choose(struct host *h, const struct executor *executor, const struct executor_turn *turn,
                   const json_t *work, struct session *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent is asked: the binding's playbook filled from the turn's input, or the input's own "prompt"; and before it the
 * messages that waited for the Work's next turn. */
#ifndef HOST_EXECUTOR_PROMPT_H
#define HOST_EXECUTOR_PROMPT_H

#include "agent.h"

#define PROMPT_MAX (256u << 10)

/* 0, or said why and negative.  config_dir: where playbooks/ is. */
int prompt_make(struct host *h, const struct executor_turn *turn, const struct executor *executor,
                const char *config_dir, const char *work_id, struct agent_prompt *out);
/* Record that the messages in it are given to this run: before it is written.  0, or said why and negative. */
int prompt_give(struct host *h, const struct agent_prompt *prompt, const char *work_id, const char *run);
void prompt_free(struct agent_prompt *prompt);

#endif

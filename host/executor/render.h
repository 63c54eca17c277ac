/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent says, for a person to read: its text, the tools it uses, what fails.  All of it is the agent's, so nothing
 * goes through unescaped, to a terminal or elsewhere. */
#ifndef HOST_EXECUTOR_RENDER_H
#define HOST_EXECUTOR_RENDER_H

#include "talk.h"

/* Append the lines of an event; none for what only a host acts on. */
void render_event(struct text *out, const struct talk_event *event, bool ascii);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol of Claude Code's stream-json; the reader itself is claude_talk (talk.h). */
#ifndef HOST_EXECUTOR_CLAUDE_READER_H
#define HOST_EXECUTOR_CLAUDE_READER_H

#include <jansson.h>

#include "talk.h"

#define CLAUDE_LINE_MAX  (16u << 20)
#define CLAUDE_LINE_KEPT (1u << 20) /* of its buffer, once a line is read */

/* Why a turn failed, from its result and how the CLI called the error before (may be empty).  `why` points into the
 * returned message (new; NULL: no memory, and why says so), into `subject` and to what is static. */
char *claude_why(const json_t *result, const char *error, struct talk_why *why, char subject[40]);

#endif

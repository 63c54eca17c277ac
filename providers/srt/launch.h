/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRT_LAUNCH_H
#define SRT_LAUNCH_H

#include "settings.h"

#define SRT_TMPDIR_MAX 74 /* srt makes sockets in it; one byte more and they don't fit */

/* The answer to plan.  NULL: refused. */
json_t *launch_plan(const struct srt *srt, const json_t *resolved, const char *guest, const char *live,
                    struct refusal *r);
/* argv and env as they are launched; also what the check starts. */
json_t *launch_argv(const struct srt *srt, const char *command);
json_t *launch_env(const struct srt *srt, const char *live, const char *tmp, const char *guest);

#endif

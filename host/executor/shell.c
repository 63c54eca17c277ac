/* SPDX-License-Identifier: Apache-2.0 */
/* "shell": config.command as it stands.  Nothing of the input ever becomes a part of the command: it comes in a file and in
 * variables, so that no title of an issue is a command of ours. */
#include "executor.h"

static int prepare(struct host *h, const struct executor_turn *turn, struct executor_launch *out)
{
	const struct config_texts *command = &turn->binding->config->command;

	for (size_t i = 0; i < command->n; i++)
		texts_add(&out->argv, "%s", command->v[i]);
	return executor_common(h, turn, out);
}

const struct executor executor_shell = { .name = "shell", .prepare = prepare };

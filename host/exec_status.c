/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "exec.h"

int exec_status(const json_t *error)
{
	int code = (int)json_integer_value(json_object_get(error, "code"));
	int number = (int)json_integer_value(json_object_get(error, "errno"));
	const char *reason = host_string(error, "reason"), *subject = host_string(error, "subject");
	bool inside = reason && !strcmp(reason, "sandbox_unavailable") && subject && !strcmp(subject, "command");

	if (reason && !inside)
		return EXIT_NOT_RUN;
	return (inside || code == OC_ENOTFOUND) && number == ENOENT ? 127
	       : (inside || code == OC_EFAILED) && number == EACCES ? 126
	                                                            : EXIT_NOT_RUN;
}

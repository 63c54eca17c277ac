/* SPDX-License-Identifier: Apache-2.0 */
/* Running a program to its end, for checks. */
#ifndef COMMON_PROCESS_H
#define COMMON_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

struct process {
	char *const *argv, *const *envp; /* argv[0] absolute */
	const char *cwd;
	const char *file; /* text for descriptor 3, or NULL */
	int input;        /* descriptor 0; 0: /dev/null */
	int timeout_ms;
	/* results */
	char out[8192], log[8192]; /* cut to fit, always terminated */
	int status; /* exit status, 128+n for a signal, -1: not started (errno in `error`) or not in time */
	int error;
	bool late;
	int64_t ms;
};
void process_run(struct process *p);

#endif

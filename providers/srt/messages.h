/* SPDX-License-Identifier: Apache-2.0 */
/* What srt, bubblewrap and their helpers print when they can't start, and what helps. */
#ifndef SRT_MESSAGES_H
#define SRT_MESSAGES_H

#include <stdbool.h>

struct message {
	const char *match; /* this text is in the log; the first that matches counts */
	const char *cause, *fix;
	bool namespaces; /* what exactly forbids them is to be asked of the kernel */
};
const struct message *message_find(const char *log); /* NULL: unknown */

#endif

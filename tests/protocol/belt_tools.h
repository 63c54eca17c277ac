/* SPDX-License-Identifier: Apache-2.0 */
/* The tools that tests of the toolbelt offer, and the calls of them that take time: the same whether the server is in this
 * process or a guard.  Some have names that the conformance suite calls. */
#ifndef OC_TESTS_BELT_TOOLS_H
#define OC_TESTS_BELT_TOOLS_H

#include <stdbool.h>
#include <stdint.h>

extern const char belt_text[]; /* {"instructions","tools"} */

#define BELT_CALLS 64
struct belt_call {
	void *call; /* NULL: free */
	char *name, *arguments;
	int step;
	int64_t due;
};
struct belt_calls {
	void (*progress)(void *call, int64_t progress, int64_t total);
	void (*reply)(void *call, const char *result); /* a tool's result as JSON */
	const char *effects;                           /* the file that "append" writes to */
	int times;                                     /* how often; more than once is the control of who counts */
	struct belt_call calls[BELT_CALLS];
};
void belt_begin(struct belt_calls *c, void *call, const char *name, const char *arguments); /* may reply at once */
void belt_drop(struct belt_calls *c, void *call);                                           /* it is cancelled */
int belt_run(struct belt_calls *c); /* go on with what is due; ms to wait until more is, -1: nothing waits */

#endif

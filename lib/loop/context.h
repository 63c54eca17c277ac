/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of oc_context: what every higher layer asks for. */
#ifndef OC_LOOP_CONTEXT_H
#define OC_LOOP_CONTEXT_H

#include <openconduit/context.h>

#include "loop/loop.h"

struct oc_context {
	struct oc_loop *loop;
	char *state_dir, *config_dir, *libexec_dir; /* absolute, clean */
	char *home;                                 /* $HOME, else the password database */
	char **environ;                             /* the environment as it was; NULL-terminated */
	pid_t pid;                                  /* a forked child is refused */
	oc_log_fn log;
	void *log_userdata;
	void (*log_userdata_free)(void *userdata);
	int log_level;
};

const char *oc_context_getenv(const oc_context *ctx, const char *name); /* borrowed or NULL */
int oc_context_check(const oc_context *ctx, oc_error **err);            /* right process? */
void oc_log(oc_context *ctx, int level, const char *fmt, ...) OC_PRINTF(3, 4);

#endif

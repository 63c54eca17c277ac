/* SPDX-License-Identifier: Apache-2.0 */
/* An executor turns a binding's config and a turn's input into a command, its environment, what it needs of the policy, and
 * the files of {run}.  One file a kind; how the run is confined is none of its business. */
#ifndef HOST_EXECUTOR_EXECUTOR_H
#define HOST_EXECUTOR_EXECUTOR_H

#include "config/config.h"
#include "host.h"

#define EXECUTOR_LIST_MAX 1024

/* A list of texts of its own, NULL-terminated; `failed` once memory ran out or there were too many. */
struct texts {
	char **v;
	size_t n;
	bool failed;
};
void texts_add(struct texts *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void texts_free(struct texts *t);
const char *const *texts_list(const struct texts *t); /* never NULL */

struct executor_turn {
	const struct config_binding *binding;
	const struct turn_input *input;
	const char *run_dir; /* {run} of the run that is made of this turn */
	const char *work, *branch;
};
struct executor_launch {
	struct texts argv, env;          /* env: NAME=VALUE, pinned */
	struct texts hosts, read, write; /* needs: compared with the policy */
	struct texts files;              /* name, text, name, text …: put into {run} */
};
void executor_launch_free(struct executor_launch *launch);

struct executor {
	const char *name;
	bool toolbelt, inject, resume; /* what a binding may require of it */
	/* 0, or said why and negative. */
	int (*prepare)(struct host *h, const struct executor_turn *turn, struct executor_launch *out);
};
extern const struct executor executor_shell;

/* The binding's executor, if it can do what the binding requires; NULL after saying why not. */
const struct executor *executor_find(struct host *h, const struct config_binding *binding);
/* What every executor gives its command; the executor's own comes after and wins. */
int executor_common(struct host *h, const struct executor_turn *turn, struct executor_launch *out);

/* What a turn is about: --input, an object of JSON. */
struct turn_input {
	char *text; /* as it was given: what the command reads is what the operator wrote */
	json_t *json;
	struct texts scratch; /* values as text, for the branch */
};
/* text NULL: {}; "@FILE": of a file.  0, or said why and negative. */
int turn_input_read(struct host *h, const char *text, struct turn_input *out);
void turn_input_free(struct turn_input *input);
/* The binding's branch for this input, new; NULL: the Work's default.  Negative: said why. */
int turn_branch(struct host *h, const struct config_binding *binding, struct turn_input *input, char **branch);

#endif

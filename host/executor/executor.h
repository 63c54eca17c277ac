/* SPDX-License-Identifier: Apache-2.0 */
/* An executor turns a binding's config and a turn's input into a command, its environment, what it needs of the policy, and
 * the files of {run}.  One file a kind; how the run is confined is none of its business. */
#ifndef HOST_EXECUTOR_EXECUTOR_H
#define HOST_EXECUTOR_EXECUTOR_H

#include "config/config.h"
#include "host.h"

struct talk;

#define EXECUTOR_LIST_MAX 1024
#define EXECUTOR_VARIABLE "OPEN_CONDUIT_EXECUTOR" /* in the plan of each run: what its output is read with */

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
	const char *home; /* the Work's own, in a container; or NULL */

	/* Of an executor that talks: */
	const char *prompt;  /* the first line of its input */
	const char *session; /* its session's id */
	bool resume;         /* which is there already */
	bool toolbelt;       /* the run gets one: {run}/mcp.json is there */
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
	/* The agent on the operator's own terminal, in turn->session: argv and env; turn->input and run_dir are NULL.  0, or
	 * said why and negative.  NULL: it has none. */
	int (*attach)(struct host *h, const struct executor_turn *turn, struct executor_launch *out);
	/* A home of its own was made, or is there: what its program wants to find in one.  NULL: nothing. */
	void (*settle)(const char *home);

	/* One that speaks with its host: how (talk.h), and whether it still has a session.  NULL: its input is the
	 * operator's, its output is shown as it comes, and it has no sessions. */
	const struct talk *talk;
	bool (*has_session)(const struct executor_turn *turn, const char *id);
};
extern const struct executor executor_shell, executor_claude;

const struct executor *executor_named(const char *name); /* or NULL */
/* What the binding sets a variable to, or NULL. */
const char *executor_variable(const struct config_binding *binding, const char *name);
/* The config directory of the turn's claude, where it has one of its own; or NULL. */
const char *executor_config_dir(const struct executor_turn *turn);

/* The binding's executor, if it can do what the binding requires; NULL after saying why not. */
const struct executor *executor_find(struct host *h, const struct config_binding *binding);
/* The environment that the Work and its binding give to every command of theirs. */
void executor_of_work(const struct executor_turn *turn, struct executor_launch *out);
/* What every executor gives a turn's command; the executor's own comes after and wins. */
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
/* The value that a placeholder's name means, inner dots leading into objects; borrowed, or NULL. */
const json_t *turn_input_find(const struct turn_input *input, const char *name, size_t len);
/* The binding's branch for this input, new; NULL: the Work's default.  Negative: said why. */
int turn_branch(struct host *h, const struct config_binding *binding, struct turn_input *input, char **branch);

#endif

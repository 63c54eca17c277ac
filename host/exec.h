/* SPDX-License-Identifier: Apache-2.0 */
/* One command under a policy, in three parts: what the flags ask for (cmd_exec.c), the policy they make
 * (exec_policy.c) and the run itself, its streams and signals (exec_run.c). */
#ifndef HOST_EXEC_H
#define HOST_EXEC_H

#include "host.h"

struct words {
	const char **v; /* NULL-terminated */
	size_t n;
};

struct exec_secret {
	const char *name;
	char *value; /* read before anything is planned, so that a missing one costs nothing */
	size_t len;
};

/* Who drives a run whose command speaks with its host, in place of our standard input and output. */
struct exec_talk {
	void (*running)(oc_run *run, void *userdata); /* the command is there */
	/* Of its standard output; what is to be seen of that is appended, safe to show. */
	void (*output)(const void *data, size_t len, struct text *shown, void *userdata);
	int (*turn)(oc_run *run, void *userdata);       /* milliseconds to the next at the latest, or -1 */
	bool (*interrupt)(oc_run *run, void *userdata); /* a first ^C; false: it is no use asking the command */
};

struct exec_args {
	const char *sandbox, *policy_file;
	const char *container, *context; /* its image; the Docker context, or NULL */
	const char *cpus, *memory, *pids;
	const char *seed; /* of the home of a clone's container, or NULL */
	bool unsandboxed, clone;
	struct words write, read, deny, allow, env, secret;
	long long timeout_ms;
	char **command;
	struct exec_secret *secrets;
	char *cwd, *policy;

	struct terminal *terminal;    /* the run has one, and it is ours; or NULL */
	bool detach;                  /* leave the run to itself as soon as it runs */
	bool retry_busy;              /* a busy Work is no failure to tell, but EXEC_BUSY */
	const struct exec_talk *talk; /* or NULL */
	void *talk_userdata;
	void (*call)(oc_toolcall *call, void *userdata); /* of its toolbelt, taken; or NULL */
	void *call_userdata;
	/* After the run, before the answer (which has "record" by then): what else is to be done and told.  The status, or another. */
	int (*after)(struct host *h, const char *run, int status, json_t *answer, void *userdata);
	void *after_userdata;
};

/* The throw-away clone of --clone; all NULL without it. */
struct exec_clone {
	json_t *work;
	char *cwd;  /* of the command */
	char *home; /* the Work's, in a container */
	bool over;  /* its end was seen to */
};
/* Also where it fails, the end has to follow.  0, or said why and negative. */
int exec_clone_begin(struct host *h, struct exec_args *a, struct exec_clone *clone);
void exec_clone_end(struct host *h, struct exec_clone *clone);

#define EXEC_BUSY (-1) /* no exit status */

/* The policy's text into a->policy: the file's, or one made of the flags.  0, or said why and negative. */
int exec_policy(struct host *h, struct exec_args *a);
/* A policy file that the run could write would decide about the next run.  0, or said so and negative. */
int exec_policy_protected(struct host *h, oc_broker *broker, const struct exec_args *a, const oc_request *request);
/* A path of a flag: relative ones are made absolute against cwd, nothing else is touched.  New or NULL. */
char *exec_path(const char *cwd, const char *path);

/* Values of --secret.  0, or said why and negative. */
int exec_secrets(struct host *h, struct exec_args *a);
void exec_secrets_free(struct exec_args *a);

/* The exit status of a run that this error kept from running.  The command itself is what could not be found or executed: as shells
 * say it; in a container the guest finds that out. */
int exec_status(const json_t *error);
/* Perform it; the exit status. */
int exec_run(struct host *h, oc_broker *broker, const oc_request *request, const struct exec_args *a);

/* Signals as bytes on a descriptor.  -1 when that can't be. */
int exec_signals(void);
int exec_signals_terminal(void); /* those that a terminal sends too */

#endif

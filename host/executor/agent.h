/* SPDX-License-Identifier: Apache-2.0 */
/* A host's side of a turn with a command that speaks: the prompt goes in first, messages that are queued for the Work go in
 * while it works, its end of input comes when nothing goes on, and what it said is judged.
 *
 *   running ─▶ prompt written ─▶ delivered … ─▶ a result, idle, nothing to deliver ─▶ input closed ─▶ it exits */
#ifndef HOST_EXECUTOR_AGENT_H
#define HOST_EXECUTOR_AGENT_H

#include "exec.h"
#include "executor.h"
#include "talk.h"

#define AGENT_MARK_SIZE  37
#define AGENT_MARKS_MAX  512
#define AGENT_NOTE       "agent"        /* of the note in a run's history that says how its turn went */
#define AGENT_TOOLS_NAME "open-conduit" /* of the server that is the toolbelt */
#define AGENT_PROMPT     "prompt.json"  /* of the file of {run} that is the first line of its input */
#define AGENT_SESSION    "OPEN_CONDUIT_SESSION"
#define AGENT_HOSTED     "hosted"       /* the note of a run whose input stays open for the daemon's sake */
#define AGENT_CLOSED     "input-closed" /* the note that this is over, or about to be */

/* How a turn went, as far as its output tells. */
struct agent_outcome {
	char session[AGENT_MARK_SIZE];
	bool taken;      /* the agent began with the prompt */
	bool delivered;  /* and it is known to have arrived */
	bool finished;   /* a result, with nothing after it */
	bool failed;     /* that result says so; why is set */
	bool no_session; /* what was to be resumed is not there */
	bool no_tools;   /* the toolbelt is not there */
	char *reason, *subject, *message, *fix;
};
void agent_outcome_free(struct agent_outcome *outcome);
/* Why, in place of what was there; copied, each may be NULL. */
void agent_because(struct agent_outcome *outcome, const char *reason, const char *subject, const char *message,
                   const char *fix);

struct agent {
	struct host *h;
	const struct executor *executor;
	const char *work, *run; /* ids */
	const struct agent_prompt *prompt;
	bool detach, needs_tools;
	bool hosted; /* its host may go and another come: what is known of it is in the store, and its messages are looked
	                for when `look` says so */

	/* its own */
	void *reader;
	oc_run *handle;
	struct agent_outcome outcome;
	struct agent_mark {
		char mark[AGENT_MARK_SIZE];
		int64_t number; /* of the message; 0: of the prompt */
		bool delivered;
	} * marks;
	size_t n_marks;
	struct text *shown; /* where events are rendered while output is read */
	struct text unsent; /* of its input: the library had no room */
	bool written, closed, interrupted, stopped, tasks_seen, look;
	long long looked, idle_since;
};

/* What is said first, and what else is said with it. */
struct agent_prompt {
	char mark[AGENT_MARK_SIZE];
	char *text; /* whole: messages that waited, then the turn's own prompt */
	char *line; /* as it is written */
	int64_t *messages;
	size_t n_messages, n_again; /* again: given to an earlier run, which did not say that it had them */
};

/* Ready to be driven by exec_run(); the four members of the beginning are set.  Negative: no memory. */
int agent_begin(struct agent *agent);
void agent_end(struct agent *agent);
extern const struct exec_talk agent_talk; /* userdata: a struct agent */

/* The run is over, or will be nobody's: how its turn went, told on stderr, noted in its history and put into the answer
 * as "agent".  The status, or another where the command's own says too little. */
int agent_conclude(struct agent *agent, const json_t *record, int status, json_t *answer);

/* Of a run's record: its executor if it is one that speaks, its session, its claude's own directory, what is noted of its
 * turn; all NULL where there is none. */
const struct executor *agent_executor_of(const json_t *run);
const char *agent_session_of(const json_t *run);
const char *agent_config_dir_of(const json_t *run);
const json_t *agent_noted(const json_t *run);

/* A run that is over and that nobody listened to to its end: judged by its journal, and noted; messages that it shows to
 * have arrived are delivered.  False: there was nothing to do. */
bool agent_settle(struct host *h, const json_t *run);
/* Take over an agent that another host began with, by the record of its run: what it was given is known by its marks, and what
 * isn't known to have arrived is written again (talk.h: that does no harm).  Before agent_talk.running().  Negative: no memory. */
int agent_take_over(struct agent *agent, const json_t *run);
/* Did its first host leave its input open?  May it still be spoken to? */
bool agent_was_hosted(const json_t *run);
bool agent_is_open(const json_t *run);
/* Say in the run's history that no more is written to it, then end its input.  False: that can't be said, so it isn't. */
bool agent_close(struct agent *agent);
/* When it wants its turn again; -1: only when something happens. */
int agent_wait(const struct agent *agent);
/* Know a message (0: the prompt) by its mark. */
int agent_watch(struct agent *agent, const char *mark, int64_t number);

#endif

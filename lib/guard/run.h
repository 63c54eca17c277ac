/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of oc_run: a connection to one run's guard.
 *
 * begin ─▶ [spawn the guard, wait for it to listen] ─▶ connect, hello ─▶ states and journal ─▶ ended
 *
 * Callbacks may free the run: while one runs `depth` is above zero, freeing only marks it, and the
 * outermost leave() releases it. */
#ifndef OC_GUARD_RUN_H
#define OC_GUARD_RUN_H

#include <openconduit/run.h>

#include "guard/protocol.h"
#include "plan/plan.h"
#include "store/store.h"
#include "wire/conn.h"

#define OC_RUN_STDIN_MAX (1u << 20)

struct oc_run {
	oc_store *store;
	oc_context *ctx;
	char id[33], digest[OC_DIGEST_SIZE];
	oc_plan *plan;
	oc_run_ops ops;
	void *userdata;
	int dir; /* runs/<id> */
	struct oc_conn *conn;
	struct oc_source *guard_exit; /* the launcher process, until the guard listens */
	struct oc_source *guard_log;
	int guard_log_fd;
	struct oc_buf guard_error; /* what a failing guard printed */
	struct oc_source *pump;    /* output is read in turns, so that no dispatch is long */
	struct oc_source *retry;   /* stdin that the guard had no room for */
	struct oc_source *closing; /* what the end of the connection means */
	unsigned closed_for;
	uint64_t read_to; /* journal position delivered */
	bool exited, over, auto_release, releasing;
	bool ending; /* opened for its end alone */
	int64_t grace_ms;
	struct oc_buf input; /* stdin not yet accepted; input_at is its offset */
	uint64_t input_at;
	bool input_busy, input_end, input_ended, input_gone; /* gone: the guard has its end */
	struct oc_toolcall *calls;                           /* that the host has not answered */
	int64_t attempt;                                     /* that they are of; 0: not looked at yet */
	unsigned depth;
	bool dead;
	void (*on_free)(void *userdata); /* who holds the run on its way to begin() */
	void *on_free_userdata;
};

int oc_run_new(oc_store *store, const char *id, const oc_run_ops *ops, void *userdata, oc_run **out, oc_error **err);
int oc_run_begin(oc_run *run, oc_error **err);
void oc_run_failed(oc_run *run, const oc_error *err); /* tell ops.failed */
void oc_run_enter(oc_run *run);
void oc_run_leave(oc_run *run); /* may free the run */

/* run_launch.c: start the guard, connect when it listens. */
int oc_run_launch(oc_run *run, oc_error **err);
int oc_run_connect(oc_run *run, oc_error **err);
void oc_run_call_failed(oc_run *run, const oc_error *failure); /* failed, told with what to do when it is silence */
/* run_calls.c */
void oc_run_called(oc_run *run, const json_t *params);
void oc_run_calls_detach(oc_run *run); /* the run goes: its calls are recorded only */
/* run_again.c: a further attempt with the same pin. */
int oc_run_again(oc_run *run, oc_error **err);
/* run_output.c */
void oc_run_pump(oc_run *run);
/* run_input.c */
void oc_run_feed(oc_run *run);

#endif

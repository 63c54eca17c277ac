/* SPDX-License-Identifier: Apache-2.0 */
/* The guard: one process a run.  What belongs together is in a file of its own (journal, session, streams, server, …);
 * this is the object they meet in.  machine.c moves it from state to state. */
#ifndef OC_GUARD_GUARD_H
#define OC_GUARD_GUARD_H

#include <sys/types.h>

#include "base/os.h"
#include "base/sha256.h"
#include "guard/belt.h"
#include "guard/journal.h"
#include "guard/launch.h"
#include "guard/plan_view.h"
#include "guard/probes.h"
#include "guard/protocol.h"
#include "guard/redact.h"
#include "guard/server.h"
#include "guard/session.h"
#include "guard/streams.h"
#include "guard/tokens.h"
#include "guard/values.h"
#include "guard/work.h"
#include "loop/loop.h"

enum oc_guard_state {
	OC_GUARD_CHECKING,
	OC_GUARD_HELD,
	OC_GUARD_REFUSED,
	OC_GUARD_STARTING,
	OC_GUARD_PROVEN,
	OC_GUARD_RUNNING,
	OC_GUARD_STOPPING,
	OC_GUARD_EXITED,
};

struct oc_guard_outcome {
	const char *state; /* exit.json's; NULL until it is known */
	int status, signal;
	json_t *error;
	const char *stop_by; /* NULL: nobody asked */
	int64_t stop_grace;
	bool stop_forced;
	int killed;
	json_t *left; /* why something of it may still be in an engine; NULL: nothing is */
};

struct oc_guard {
	struct oc_loop *loop;
	int run_dir;
	mode_t umask; /* the operator's, for what is launched */
	char run[33], digest[OC_DIGEST_SIZE], boot[OC_BOOT_SIZE], *live;
	uint64_t start;
	pid_t session_id;
	bool confined, keep, cleanup;
	uint16_t rows, cols; /* of the terminal, as last told; 0: there is none */
	int64_t timeout_ms, grace_ms, unhosted_ms, hello_retries;

	enum oc_guard_state state;
	bool waits, waited;           /* the launch command, for others: now; at all */
	bool ending, over;            /* over: main returns */
	int64_t started_ms, ended_ms; /* wall clock, for the record */
	int64_t released_ns, attempts;
	json_t *refusal;
	json_t *record_json; /* the exit record, once nothing of it changes any more */

	struct oc_plan_view plan; /* as first read, until the preflight has it */
	struct oc_work_lock work;
	struct oc_guard_preflight {
		pid_t pid;
		int fd;
		struct oc_source *source;
		struct oc_buf report;
		int64_t ns; /* from the fork to the verdict */
	} preflight;
	struct oc_journal journal;
	struct oc_server server;
	struct oc_launch launch;
	struct oc_session session;
	struct oc_guard_belt belt;
	struct oc_streams streams;
	struct oc_tokens tokens;
	struct oc_guard_outcome outcome;
	struct oc_listeners listeners;
	struct oc_values *values; /* of the release, until the guest has them */
	struct oc_redact *redact; /* its secrets, for as long as something is recorded; NULL: none */
	int reserve, record;      /* descriptors of preallocated files, or -1 */

	int signals;
	struct oc_source *signal_source;
	struct oc_source *phase_timer; /* of the state: launch, grace, drain, reap, linger */
	void (*phase)(struct oc_guard *g);
	struct oc_source *timeout_timer, *unhosted_timer;
	int64_t phase_until;
	int64_t drain_until;
};

/* machine.c */
int oc_machine_begin(struct oc_guard *g, oc_error **err);
void oc_machine_checked(struct oc_guard *g, oc_error *refusal); /* refusal is taken; NULL: held */
int oc_machine_release(struct oc_guard *g, struct oc_values *values_taken, oc_error **err);
void oc_machine_stop(struct oc_guard *g, const char *by, int64_t grace_ms); /* grace_ms < 0: the plan's */
void oc_machine_hosted(struct oc_guard *g, bool hosted);
const char *oc_machine_state_name(enum oc_guard_state state);
json_t *oc_machine_event(const struct oc_guard *g); /* {"state",…}: new; NULL: no memory */
void oc_machine_phase(struct oc_guard *g, int64_t ms, void (*fn)(struct oc_guard *g)); /* fn NULL: none */
/* End with this error (taken) as what happened, unless something is known already. */
void oc_machine_fail(struct oc_guard *g, const char *state, oc_error *error);
void oc_machine_enter(struct oc_guard *g, enum oc_guard_state state);

/* ending.c: from the last moment of the run to the record */
void oc_ending_begin(struct oc_guard *g, bool drain);
void oc_ending_output_closed(struct oc_guard *g);
void oc_ending_reaped(struct oc_guard *g); /* a child died: perhaps it was the last */
void oc_ending_forgot(struct oc_guard *g); /* a token is held no longer: perhaps it was what we stayed for */
/* The run's private directories go, once, unless something is left in an engine: they say what.  May wait for long. */
void oc_ending_clear(struct oc_guard *g);

/* reap.c */
int oc_reap_signals(struct oc_guard *g, oc_error **err);
void oc_reap(struct oc_guard *g);
/* SIGKILL to the launch's group and to every child of the guard; the number of processes signalled. */
int oc_reap_kill(struct oc_guard *g);

/* preflight.c */
int oc_preflight_start(struct oc_guard *g, oc_error **err);
void oc_preflight_cancel(struct oc_guard *g);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/** @file run.h A run: its guard, launched or adopted, its output, its end.
 *
 * Launching and adopting are one path: start the guard if there is none, connect, let it report,
 * release it by the pinned digest.  Freeing the object leaves the run alive. */
#ifndef OPENCONDUIT_RUN_H
#define OPENCONDUIT_RUN_H

#include <openconduit/plan.h>
#include <openconduit/toolcall.h>

OC_BEGIN_DECLS

typedef struct oc_run oc_run;

/** All members but size may be NULL.  Freeing the run in any of them is allowed. */
typedef struct oc_run_ops {
	size_t size; /**< sizeof(oc_run_ops) */
	/** The guard's state changed: "held" (preflight passed: release it), "refused", "started", "proved",
	 * "running", "stopping", "exited".  json: the event, with the probes when "proved"; borrowed. */
	void (*state)(oc_run *run, const char *state, const char *json, void *userdata);
	/** Output.  stream 1 or 2; 0 with data NULL: `len` journal bytes are gone.  offset: pass
	 * offset + what oc_run_ack() wants is the `next` given here. */
	void (*output)(oc_run *run, int stream, uint64_t next, const void *data, size_t len, void *userdata);
	/** The run is over (its record is written): the exit record, borrowed; after all its output. */
	void (*ended)(oc_run *run, const char *record, void *userdata);
	/** The connection was lost or the guard refused; borrowed.  The run itself may go on. */
	void (*failed)(oc_run *run, const oc_error *err, void *userdata);
	/** Give the value of a secret: fill value (65536 bytes), set *len.  0, or negative: secret_missing. */
	int (*secret)(const char *name, char *value, size_t *len, void *userdata);
	void (*userdata_free)(void *userdata); /**< Called once, after the last callback. */
	/** The agent called a tool of the request's toolbelt.  call: *taken*; answer it now or later, with oc_toolcall_reply()
	 * or oc_toolcall_fail(), once. */
	void (*call)(oc_run *run, oc_toolcall *call, void *userdata);
} oc_run_ops;
#define OC_RUN_OPS_INIT                                                                                                \
	{                                                                                                              \
		sizeof(oc_run_ops), 0, 0, 0, 0, 0, 0, 0                                                                \
	}

/** Launch a pinned run's guard, or connect to the one that is alive, after checking it against its
 * pin: pid, start time, boot id and digest (`pin_mismatch` names what differs; nothing is killed).
 * What the run has in an engine is compared by oc_store_recover(): a run that it left "unknown" is refused here,
 * with the reason that it recorded.
 * Output is delivered from the last acknowledged offset.
 * @param ops copied.  @param out *new*; oc_run_free(). */
OC_API OC_WARN_UNUSED int oc_run_open(oc_store *store, const char *id, const oc_run_ops *ops, void *userdata,
                                      oc_run **out, oc_error **err);
/** Let a held guard execute; the digest must be the pin's.  Hands over secrets and inherited variables. */
OC_API OC_WARN_UNUSED int oc_run_release(oc_run *run, const char *digest, oc_error **err);
OC_API const char *oc_run_id(const oc_run *run); /**< Borrowed. */
/** Queue stdin: OC_ELIMIT when 1 MiB waits already (retry when the loop has moved). */
OC_API OC_WARN_UNUSED int oc_run_write(oc_run *run, const void *data, size_t len, oc_error **err);
OC_API OC_WARN_UNUSED int oc_run_write_end(oc_run *run, oc_error **err); /**< End of stdin, after what is queued. */
/** Bytes of stdin that the guard has not accepted yet; its end counts as one.  0: freeing the run loses none. */
OC_API size_t oc_run_unsent(const oc_run *run);
/** The size of its terminal has changed; OC_EINVAL: its plan has none, or one of them is 0. */
OC_API OC_WARN_UNUSED int oc_run_resize(oc_run *run, uint16_t rows, uint16_t cols, oc_error **err);
/** Output before `next` need not be delivered to another host; what is kept as history is bounded apart. */
OC_API OC_WARN_UNUSED int oc_run_ack(oc_run *run, uint64_t next, oc_error **err);
/** SIGTERM, grace, SIGKILL to everything of the run, cleanup.  grace_ms < 0: the plan's. */
OC_API OC_WARN_UNUSED int oc_run_stop(oc_run *run, int64_t grace_ms, oc_error **err);
/** Open a run whose guard is alive for nothing but its end, as oc_run_stop() makes it: also one that may not be adopted, as long as
 * its guard is proved to be the pin's own.  Its calls are not served.  OC_ENOTFOUND: no such guard is alive.
 * @param ops copied.  @param out *new*; oc_run_free(). */
OC_API OC_WARN_UNUSED int oc_run_end(oc_store *store, const char *id, int64_t grace_ms, const oc_run_ops *ops,
                                     void *userdata, oc_run **out, oc_error **err);
/** Record the end in the store and remove what the run left; each step recorded, safe to repeat.
 * Only after `ended`, or for a run that recovery found finished. */
OC_API OC_WARN_UNUSED int oc_run_finish(oc_run *run, oc_error **err);
OC_API void oc_run_free(oc_run *run); /**< NULL allowed; the run stays alive. */

OC_END_DECLS
#endif

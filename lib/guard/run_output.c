/* SPDX-License-Identifier: Apache-2.0 */
/* Output is read from the journal on disk, in turns of a bounded size; the record follows it. */
#include "base/fault.h"
#include "base/fd.h"
#include "guard/run.h"

#define TURN_BYTES (256u << 10)
#define RECORD_MAX (256u << 10)

static void deliver(int stream, uint64_t next, const void *data, size_t len, void *userdata)
{
	oc_run *run = userdata;

	if (run->ops.output && !run->dead)
		run->ops.output(run, stream, next, data, len, run->userdata);
}

static void deliver_end(oc_run *run)
{
	oc_cleanup(oc_buf_free) struct oc_buf record = { 0 };
	oc_error *err = NULL;
	int rc;

	if (run->over || run->dead)
		return;
	oc_buf_init(&record, RECORD_MAX);
	rc = oc_read_file(run->dir, OC_GUARD_EXIT, RECORD_MAX, &record);
	if (rc < 0 || !record.len) {
		oc_fail(&err, OC_EIO, -rc, "the exit record of run %s can't be read", run->id);
		oc_run_failed(run, err);
		oc_error_free(err);
		return;
	}
	run->over = true;
	oc_fault("host:ended");
	if (run->ops.ended)
		run->ops.ended(run, record.data, run->userdata);
}

static void turn(void *userdata)
{
	oc_run *run = userdata;
	oc_error *err = NULL;
	int rc;

	oc_run_enter(run);
	rc = oc_journal_read(run->dir, &run->read_to, TURN_BYTES, deliver, run, &err);
	if (run->dead) {
		oc_run_leave(run);
		return;
	}
	if (rc > 0)
		oc_source_set_timer(run->pump, 0);
	else if (rc < 0)
		oc_run_failed(run, err);
	else if (run->exited)
		deliver_end(run);
	oc_error_free(err);
	oc_run_leave(run);
}

void oc_run_pump(oc_run *run)
{
	oc_error *err = NULL;

	if (run->pump)
		oc_source_set_timer(run->pump, 0);
	else if (oc_loop_add_timer(run->ctx->loop, 0, turn, run, &run->pump, &err) < 0)
		oc_run_failed(run, err);
	oc_error_free(err);
}

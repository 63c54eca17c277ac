/* SPDX-License-Identifier: Apache-2.0 */
/* Output is read from the journal on disk, in turns of a bounded size; the record follows it. */
#include <string.h>

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

/* What is handed out as the record is JSON, and of this run and this pin: a file can be damaged, or another's. */
static int read_record(oc_run *run, struct oc_buf *record, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *json = NULL;
	const char *id, *digest;
	char fix[80];
	int rc = oc_read_file(run->dir, OC_GUARD_EXIT, RECORD_MAX, record);

	if (rc < 0)
		return oc_error_makef(err, OC_EIO, -rc, NULL, OC_GUARD_EXIT, oc_store_show_run(fix, run->id),
		                      "the exit record of run %s can't be read", run->id);
	rc = oc_json_parse(record->data ? record->data : "", record->len, RECORD_MAX, OC_GUARD_EXIT, &json, err);
	if (rc < 0)
		return rc;
	id = oc_json_text(json, "run");
	digest = oc_json_text(json, "digest");
	if (id && digest && strcmp(id, run->id) == 0 && strcmp(digest, run->digest) == 0)
		return 0;
	return oc_refuse(err, "pin_mismatch", OC_GUARD_EXIT, oc_store_show_run(fix, run->id),
	                 "the exit record in the directory of run %s is not of this run's pin", run->id);
}

static void deliver_end(oc_run *run)
{
	oc_cleanup(oc_buf_free) struct oc_buf record = { 0 };
	oc_error *err = NULL;

	if (run->over || run->dead)
		return;
	oc_buf_init(&record, RECORD_MAX + 1);
	if (read_record(run, &record, &err) < 0) {
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
	/* Who doesn't want it has no use for its being read. */
	rc = run->ops.output ? oc_journal_read(run->dir, &run->read_to, TURN_BYTES, deliver, run, &err) : 0;
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

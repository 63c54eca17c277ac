/* SPDX-License-Identifier: Apache-2.0 */
/* Stdin: one chunk under way at a time, kept until the guard accepted it, so that a lost
 * connection neither loses nor repeats a byte. */
#include "guard/run.h"

#define STDIN_TIMEOUT_MS 60000
#define RETRY_MS         20

static void again(void *userdata)
{
	oc_run_feed(userdata);
}

static void later(oc_run *run)
{
	if (run->retry)
		oc_source_set_timer(run->retry, RETRY_MS);
	else
		(void)oc_loop_add_timer(run->ctx->loop, RETRY_MS, again, run, &run->retry, NULL);
}

static void accepted(const json_t *reply, const oc_error *err, void *userdata)
{
	oc_run *run = userdata;
	int64_t to = oc_json_integer(reply, "accepted", -1);

	run->input_busy = false;
	if (run->exited || oc_error_code(err) == OC_ECLOSED)
		return; /* what became of the run is told where the connection ends */
	if (err) {
		oc_run_failed(run, err);
		return;
	}
	if (to <= (int64_t)run->input_at || to > (int64_t)(run->input_at + run->input.len)) {
		later(run);
		return;
	}
	oc_buf_consume(&run->input, (size_t)(to - (int64_t)run->input_at));
	run->input_at = (uint64_t)to;
	oc_run_feed(run);
}

static void ended(const json_t *reply OC_UNUSED, const oc_error *err, void *userdata)
{
	oc_run *run = userdata;

	run->input_gone = !err;
}

static void send_end(oc_run *run)
{
	run->input_ended = true;
	(void)oc_conn_call(run->conn, "stdin_end", json_pack("{s:I}", "offset", (json_int_t)run->input_at),
	                   STDIN_TIMEOUT_MS, ended, run, NULL);
}

void oc_run_feed(oc_run *run)
{
	size_t n = OC_MIN(run->input.len, OC_STDIN_CHUNK);
	oc_cleanup(oc_freep) char *text = NULL;

	if (!run->conn || run->input_busy || run->exited || run->over)
		return;
	if (!n) {
		if (run->input_end && !run->input_ended)
			send_end(run);
		return;
	}
	text = oc_base64_encode(run->input.data, n);
	if (!text) {
		later(run);
		return;
	}
	run->input_busy = oc_conn_call(run->conn, "stdin",
	                               json_pack("{s:I,s:s}", "offset", (json_int_t)run->input_at, "data", text),
	                               STDIN_TIMEOUT_MS, accepted, run, NULL) >= 0;
	if (!run->input_busy)
		later(run);
}

int oc_run_write(oc_run *run, const void *data, size_t len, oc_error **err)
{
	int rc;

	if (run->input_end)
		return oc_fail(err, OC_EINVAL, 0, "stdin of run %s was ended already", run->id);
	rc = oc_buf_add(&run->input, data, len);
	if (rc == OC_ELIMIT)
		return oc_fail(err, rc, 0, "1 MiB of stdin waits already");
	if (rc < 0)
		return oc_nomem(err);
	oc_run_feed(run);
	return 0;
}

int oc_run_write_end(oc_run *run, oc_error **err OC_UNUSED)
{
	run->input_end = true;
	oc_run_feed(run);
	return 0;
}

size_t oc_run_unsent(const oc_run *run)
{
	bool over = !run || run->exited || run->over || run->input_gone;

	return over ? 0 : run->input.len + (run->input_end ? 1 : 0);
}

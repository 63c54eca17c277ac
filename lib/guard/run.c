/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/os.h"
#include "broker/broker.h"
#include "store/works.h"

#define CALL_TIMEOUT_MS 30000

int oc_run_new(oc_store *store, const char *id, const oc_run_ops *ops, void *userdata, oc_run **out, oc_error **err)
{
	oc_run_ops o = OC_RUN_OPS_INIT;
	oc_run *run;

	if (!store || !id || !out || strlen(id) >= sizeof(run->id) || strlen(id) < 8)
		return oc_fail(err, OC_EINVAL, 0, "a run needs a store, an id and somewhere to be returned");
	if (ops && !oc_copy_sized(&o, sizeof(o), ops))
		return oc_fail(err, OC_EVERSION, 0, "oc_run_ops has a member set that this library does not know");
	run = calloc(1, sizeof(*run));
	if (!run)
		return oc_nomem(err);
	run->store = store;
	run->ctx = store->ctx;
	memcpy(run->id, id, strlen(id) + 1);
	run->dir = -1;
	run->guard_log_fd = -1;
	oc_buf_init(&run->input, OC_RUN_STDIN_MAX);
	oc_buf_init(&run->guard_error, 65536);
	run->ops = o;
	run->userdata = userdata;
	*out = run;
	return 0;
}

static void run_release(oc_run *run)
{
	if (run->on_free)
		run->on_free(run->on_free_userdata);
	oc_run_calls_detach(run);
	oc_conn_free(run->conn);
	oc_source_free(run->guard_exit);
	oc_source_free(run->guard_log);
	oc_source_free(run->pump);
	oc_source_free(run->retry);
	oc_source_free(run->closing);
	oc_close(run->guard_log_fd);
	oc_close(run->dir);
	oc_plan_free(run->plan);
	oc_buf_free(&run->input);
	oc_buf_free(&run->guard_error);
	if (run->ops.userdata_free)
		run->ops.userdata_free(run->userdata);
	free(run);
}

void oc_run_enter(oc_run *run)
{
	run->depth++;
}

void oc_run_leave(oc_run *run)
{
	if (!--run->depth && run->dead)
		run_release(run);
}

void oc_run_free(oc_run *run)
{
	if (!run)
		return;
	run->dead = true;
	if (!run->depth)
		run_release(run);
}

const char *oc_run_id(const oc_run *run)
{
	return run->id;
}

void oc_run_failed(oc_run *run, const oc_error *err)
{
	if (run->over || run->dead)
		return;
	run->over = true;
	oc_run_enter(run);
	if (run->ops.failed)
		run->ops.failed(run, err, run->userdata);
	oc_run_leave(run);
}

static int load_pin(oc_run *run, oc_error **err)
{
	oc_cleanup(oc_freep) char *text = NULL;
	int rc = oc_store_pinned(run->store, run->id, &text, run->digest, err);

	if (!rc)
		rc = oc_plan_load(text, strlen(text), &run->plan, err);
	if (rc < 0)
		return rc;
	if (strcmp(run->digest, oc_plan_digest(run->plan)) != 0)
		return oc_refuse(err, "pin_mismatch", run->id, "start a new run",
		                 "the stored plan is not the one that was pinned");
	run->dir = oc_store_run_dir(run->store, run->id, false, err);
	return run->dir < 0 ? run->dir : 0;
}

/* Nothing to connect to: only a run that has not begun may be launched, or one that may be tried again. */
static int launch_or_refuse(oc_run *run, oc_error **err)
{
	enum oc_launch_state state = OC_LAUNCH_UNKNOWN;
	char fix[80];
	int rc = oc_store_launch_state(run->store, run->id, &state, err);

	if (rc < 0)
		return rc;
	rc = oc_store_barred(run->store, run->id, err);
	if (rc < 0)
		return rc;
	if (state == OC_LAUNCH_AGAIN) {
		rc = oc_verdict_require(run->store, run->plan, NULL, err);
		return rc < 0 ? rc : oc_run_again(run, err);
	}
	if (!faccessat(run->dir, OC_GUARD_EXIT, F_OK, AT_SYMLINK_NOFOLLOW)) {
		run->exited = true;
		oc_run_pump(run);
		return 0;
	}
	if (state == OC_LAUNCH_OVER)
		return oc_refuse(err, "run_lost", run->id, oc_store_show_run(fix, run->id),
		                 "this run is over and has no exit record: start a new run");
	if (!faccessat(run->dir, OC_GUARD_STARTED, F_OK, AT_SYMLINK_NOFOLLOW))
		return oc_refuse(err, "run_lost", run->id, "open-conduit runs list",
		                 "the guard of this run is gone after it started: let recovery settle what it left");
	rc = oc_verdict_require(run->store, run->plan, NULL, err);
	return rc < 0 ? rc : oc_run_launch(run, err);
}

/* What recovery found to be different, or could not find out. */
static int adopt(oc_run *run, oc_error **err)
{
	int rc = run->ending ? 0 : oc_store_barred(run->store, run->id, err);

	return rc < 0 ? rc : oc_run_connect(run, err);
}

/* A guard that stays for the tokens of an attempt that is over is none to adopt, where a further attempt is asked for. */
static bool only_stays(const oc_run *run)
{
	enum oc_launch_state state = OC_LAUNCH_UNKNOWN;

	return !run->ending && faccessat(run->dir, OC_GUARD_EXIT, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
	       oc_store_launch_state(run->store, run->id, &state, NULL) == 0 && state == OC_LAUNCH_AGAIN;
}

static int nothing_to_end(const oc_run *run, oc_error **err)
{
	return oc_error_makef(err, OC_ENOTFOUND, 0, NULL, run->id, NULL, "no guard of run %s is alive", run->id);
}

int oc_run_begin(oc_run *run, oc_error **err)
{
	char fix[80];
	pid_t pid = 0;
	int rc = load_pin(run, err);

	if (rc < 0)
		return rc;
	switch (oc_guard_alive(run->dir, OC_GUARD_INFO, &pid, NULL)) {
	case OC_ALIVE_YES:
		return only_stays(run) ? launch_or_refuse(run, err) : adopt(run, err);
	case OC_ALIVE_NO:
		return run->ending ? nothing_to_end(run, err) : launch_or_refuse(run, err);
	default:
		return oc_refuse(
		        err, "run_lost", run->id, oc_store_show_run(fix, run->id),
		        "it is unknown whether the guard of this run is alive, so it is neither adopted nor launched");
	}
}

static int open_run(oc_run *run, oc_run **out, oc_error **err)
{
	int rc = oc_context_check(run->ctx, err);

	if (!rc && !out)
		rc = oc_fail(err, OC_EINVAL, 0, "a run needs somewhere to be returned");
	if (!rc)
		rc = oc_run_begin(run, err);
	if (rc < 0) {
		run->ops.userdata_free = NULL; /* a failed registration takes nothing */
		oc_run_free(run);
		return rc;
	}
	*out = run;
	return 0;
}

int oc_run_open(oc_store *store, const char *id, const oc_run_ops *ops, void *userdata, oc_run **out, oc_error **err)
{
	oc_run *run = NULL;
	int rc = oc_run_new(store, id, ops, userdata, &run, err);

	return run ? open_run(run, out, err) : rc;
}

int oc_run_end(oc_store *store, const char *id, int64_t grace_ms, const oc_run_ops *ops, void *userdata, oc_run **out,
               oc_error **err)
{
	oc_run *run = NULL;
	int rc = oc_run_new(store, id, ops, userdata, &run, err);

	if (!run)
		return rc;
	run->ending = true;
	run->grace_ms = grace_ms;
	run->ops.call = NULL;
	return open_run(run, out, err);
}

/* An answer nobody needs: only a failure is news. */
static void answered(const json_t *result OC_UNUSED, const oc_error *err, void *userdata)
{
	oc_run *run = userdata;

	if (err && !run->exited && oc_error_code(err) != OC_ECLOSED)
		oc_run_call_failed(run, err);
}

static int call(oc_run *run, const char *method, json_t *params, oc_error **err)
{
	if (!params)
		return oc_nomem(err);
	if (!run->conn) {
		json_decref(params);
		return oc_fail(err, OC_ECLOSED, 0, "run %s has no connection to its guard", run->id);
	}
	return oc_conn_call(run->conn, method, params, CALL_TIMEOUT_MS, answered, run, err);
}

static bool set_base64(json_t *object, const char *name, const void *data, size_t len)
{
	oc_cleanup(oc_freep) char *text = oc_base64_encode(data, len);

	return text && oc_json_set_string(object, name, text);
}

/* The values of variables whose names only were pinned. */
static int inherited(oc_run *run, json_t *env, oc_error **err)
{
	const json_t *list = json_object_get(json_object_get(run->plan->json, "command"), "env"), *entry;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		const char *name = oc_json_text(entry, "name"), *value;

		if (!name || !json_is_null(json_object_get(entry, "value")))
			continue;
		value = oc_context_getenv(run->ctx, name);
		if (value && !set_base64(env, name, value, strlen(value)))
			return oc_nomem(err);
	}
	return 0;
}

static int one_secret(oc_run *run, const char *name, json_t *secrets, oc_error **err)
{
	size_t len = 0;
	char *value = calloc(1, 65536);
	int rc = value ? 0 : oc_nomem(err);

	if (!rc && (!run->ops.secret || run->ops.secret(name, value, &len, run->userdata) < 0 || len > 65536))
		rc = oc_refuse(err, "secret_missing", name, "give the secret a value", "secret %s has no value", name);
	if (!rc && memchr(value, 0, len))
		rc = oc_refuse(err, "secret_missing", name, "store it without NUL bytes",
		               "secret %s holds a NUL byte, which no variable can carry", name);
	if (!rc && !set_base64(secrets, name, value, len))
		rc = oc_nomem(err);
	if (value)
		explicit_bzero(value, 65536);
	free(value);
	return rc;
}

static int collect_secrets(oc_run *run, json_t *secrets, oc_error **err)
{
	const json_t *names = json_object_get(json_object_get(run->plan->json, "command"), "secrets"), *name;
	size_t i;
	int rc = 0;

	json_array_foreach(names, i, name) if (!rc && json_is_string(name)) rc =
	        one_secret(run, json_string_value(name), secrets, err);
	return rc;
}

int oc_run_release(oc_run *run, const char *digest, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *env = json_object(), *secrets = json_object(), *params = json_object();
	int64_t attempt;
	int rc;

	if (!run || !digest || !run->plan)
		return oc_fail(err, OC_EINVAL, 0, "only an opened run can be released, by its digest");
	if (strcmp(digest, run->digest) != 0)
		return oc_refuse(err, "pin_mismatch", run->id, "release it with the digest that was pinned",
		                 "run %s is pinned as %s, not as %s", run->id, run->digest, digest);
	rc = inherited(run, env, err);
	if (!rc)
		rc = collect_secrets(run, secrets, err);
	/* Held, its guard has the Work's lock: from here on no other run can come between this answer and the command. */
	if (!rc && strcmp(oc_plan_kind(run->plan), OC_KIND_ATTACH) == 0)
		rc = oc_store_work_attach(run->store, oc_json_text(run->plan->json, "work"), OC_KIND_ATTACH, err);
	if (!rc)
		rc = oc_store_attempt(run->store, run->id, &attempt, err);
	if (rc < 0)
		return rc;
	if (!oc_json_set_string(params, "digest", digest) || !oc_json_set(params, "env", oc_steal(env)) ||
	    !oc_json_set(params, "secrets", oc_steal(secrets)))
		return oc_nomem(err);
	return call(run, "release", oc_steal(params), err);
}

int oc_run_ack(oc_run *run, uint64_t next, oc_error **err)
{
	if (!run->conn)
		return 0; /* the guard is gone: what it kept is history now */
	/* Wants no answer: a turn of output may be more pieces than calls may wait for one. */
	return oc_conn_notify(run->conn, "ack", json_pack("{s:I}", "next", (json_int_t)next), err);
}

int oc_run_resize(oc_run *run, uint16_t rows, uint16_t cols, oc_error **err)
{
	if (!json_object_get(json_object_get(run->plan->json, "command"), "terminal"))
		return oc_fail(err, OC_EINVAL, 0, "run %s has no terminal", run->id);
	if (!rows || !cols)
		return oc_fail(err, OC_EINVAL, 0, "a terminal has at least one row and one column");
	if (!run->conn)
		return oc_fail(err, OC_ECLOSED, 0, "run %s has no connection to its guard", run->id);
	/* Wants no answer: the next one comes soon while a window is being drawn larger. */
	return oc_conn_notify(run->conn, "resize", json_pack("{s:i, s:i}", "rows", rows, "cols", cols), err);
}

int oc_run_stop(oc_run *run, int64_t grace_ms, oc_error **err)
{
	return call(run, "stop", json_pack("{s:I}", "grace_ms", (json_int_t)grace_ms), err);
}

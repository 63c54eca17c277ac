/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "base/utf8.h"
#include "guard/guard.h"

#define RECORD_TMP   "exit.json.part"
#define RESERVE      "reserve"
#define RECORD_SIZE  65536
#define RESERVE_SIZE 131072

static bool may_be_retried(const char *state)
{
	static const char *const states[] = { "refused", "unavailable", "run_lost" };
	size_t i;

	for (i = 0; i < OC_COUNT(states); i++)
		if (state && strcmp(states[i], state) == 0)
			return true;
	return false;
}

/* What an earlier attempt said must not be taken for this one's.  `started` stays for the preflight, which ends what it
 * names; `proved` goes first, so that a guard killed in here leaves no run that looks lost. */
static int remove_earlier(int run_dir, oc_error **err)
{
	if ((unlinkat(run_dir, OC_GUARD_PROVED, 0) < 0 && errno != ENOENT) ||
	    (unlinkat(run_dir, OC_GUARD_EXIT, 0) < 0 && errno != ENOENT))
		return oc_fail(err, OC_EIO, errno, "Can't remove the record of an earlier attempt: %s",
		               strerror(errno));
	return 0;
}

static int check_exit(const struct oc_buf *text, int run_dir, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *json = NULL;
	int rc = oc_json_parse(text->data ? text->data : "", text->len, RECORD_SIZE, OC_GUARD_EXIT, &json, err);

	if (rc < 0)
		return rc;
	if (may_be_retried(oc_json_text(json, "state")))
		return remove_earlier(run_dir, err);
	return oc_fail(err, OC_EEXISTS, 0, "The run is over: its exit record says %s",
	               oc_json_text(json, "state") ? oc_json_text(json, "state") : "nothing");
}

int oc_record_check_earlier(int run_dir, oc_error **err)
{
	struct oc_buf text;
	int rc;

	oc_buf_init(&text, RECORD_SIZE);
	rc = oc_read_file(run_dir, OC_GUARD_EXIT, RECORD_SIZE, &text);
	if (rc == 0)
		rc = check_exit(&text, run_dir, err);
	else if (rc != -ENOENT)
		rc = oc_fail(err, OC_EIO, -rc, "Can't read %s: %s", OC_GUARD_EXIT, strerror(-rc));
	/* The agent may have run, and nobody has said yet how that ended. */
	else if (faccessat(run_dir, OC_GUARD_PROVED, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		rc = oc_refuse(err, "run_lost", OC_GUARD_PROVED, "Recover first: start the host once more",
		               "An earlier attempt of this run was proved and left no exit record");
	else
		rc = 0;
	oc_buf_free(&text);
	return rc;
}

static int write_json(struct oc_guard *g, const char *name, json_t *taken, oc_error **err)
{
	struct oc_buf text;
	int rc;

	oc_buf_init(&text, OC_JSON_MAX);
	rc = taken ? oc_json_canonical(taken, &text, err) : oc_nomem(err);
	json_decref(taken);
	if (rc == 0) {
		rc = oc_write_file(g->run_dir, name, text.data, text.len, 0600);
		if (rc < 0)
			rc = oc_fail(err, OC_EIO, -rc, "Can't write %s: %s", name, strerror(-rc));
	}
	oc_buf_free(&text);
	return rc;
}

int oc_record_guard(struct oc_guard *g, oc_error **err)
{
	return write_json(g, OC_GUARD_INFO,
	                  json_pack("{s:i, s:I, s:s, s:s, s:[i, i]}", "pid", (int)getpid(), "start",
	                            (json_int_t)g->start, "boot", g->boot, "digest", g->digest, "protocol",
	                            OC_GUARD_PROTOCOL_FIRST, OC_GUARD_PROTOCOL_LAST),
	                  err);
}

static int allocate(struct oc_guard *g, const char *name, off_t size, int *out, oc_error **err)
{
	int fd, rc;

	if (unlinkat(g->run_dir, name, 0) < 0 && errno != ENOENT)
		return oc_fail(err, OC_EIO, errno, "Can't remove %s: %s", name, strerror(errno));
	fd = openat(g->run_dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return oc_fail(err, OC_EIO, errno, "Can't make %s: %s", name, strerror(errno));
	rc = posix_fallocate(fd, 0, size);
	if (rc != 0) {
		oc_close(fd);
		(void)unlinkat(g->run_dir, name, 0);
		return oc_refuse(err, "sandbox_unavailable", name, "Make room on the disk of the state directory",
		                 "There is no room for the record of the run: %s", strerror(rc));
	}
	oc_close(*out);
	*out = fd;
	return 0;
}

int oc_record_reserve(struct oc_guard *g, oc_error **err)
{
	int rc = allocate(g, RECORD_TMP, RECORD_SIZE, &g->record, err);

	rc = rc < 0 ? rc : allocate(g, RESERVE, RESERVE_SIZE, &g->reserve, err);
	if (rc == 0 && unlinkat(g->run_dir, OC_GUARD_STARTED, 0) < 0 && errno != ENOENT)
		rc = oc_fail(err, OC_EIO, errno, "Can't remove %s of an earlier attempt: %s", OC_GUARD_STARTED,
		             strerror(errno));
	/* Durable with the new `started`, before which nothing is executed. */
	return rc;
}

static void now(char out[OC_TIME_SIZE])
{
	oc_time_format(oc_wall_ms(), out);
}

int oc_record_started(struct oc_guard *g, oc_error **err)
{
	char at[OC_TIME_SIZE];
	uint64_t start = 0;
	int rc = oc_os_start_time(g->launch.pid, &start);

	if (rc < 0)
		return oc_fail(err, OC_EIO, -rc, "Can't look at the launch process: %s", strerror(-rc));
	now(at);
	return write_json(g, OC_GUARD_STARTED,
	                  json_pack("{s:s, s:s, s:i, s:I, s:i, s:i}", "at", at, "boot", g->boot, "pid",
	                            (int)g->launch.pid, "start", (json_int_t)start, "pgrp", (int)g->launch.pid,
	                            "session", (int)g->session_id),
	                  err);
}

int oc_record_proved(struct oc_guard *g, oc_error **err)
{
	const struct oc_session *s = &g->session;
	char at[OC_TIME_SIZE];
	struct oc_buf text;
	int rc;

	now(at);
	oc_buf_init(&text, OC_JSON_MAX);
	/* Canonical by hand: at, facts, ns, probes; the probes are text already. */
	rc = oc_buf_printf(&text, "{\"at\":\"%s\",\"facts\":", at);
	if (rc == 0)
		rc = s->facts ? oc_json_canonical(s->facts, &text, NULL) : oc_buf_puts(&text, "{}");
	if (rc == 0)
		rc = oc_buf_printf(&text, ",\"ns\":%" PRIu64 ",\"probes\":[", OC_MIN(s->total_ns, (uint64_t)1 << 52));
	if (rc == 0 && s->results.len)
		rc = oc_buf_add(&text, s->results.data, s->results.len);
	if (rc == 0)
		rc = oc_buf_puts(&text, "]}");
	if (rc < 0) {
		rc = oc_fail(err, rc, 0, "The report of the probes is too long");
	} else {
		rc = oc_write_file(g->run_dir, OC_GUARD_PROVED, text.data, text.len, 0600);
		if (rc < 0)
			rc = oc_fail(err, OC_EIO, -rc, "Can't write %s: %s", OC_GUARD_PROVED, strerror(-rc));
	}
	oc_buf_free(&text);
	return rc;
}

static json_t *time_json(int64_t ms)
{
	char at[OC_TIME_SIZE];

	if (!ms)
		return json_null();
	oc_time_format(ms, at);
	return json_string(at);
}

static json_t *stop_json(const struct oc_guard_outcome *o)
{
	if (!o->stop_by)
		return json_null();
	return json_pack("{s:s, s:I, s:b}", "by", o->stop_by, "grace_ms", (json_int_t)o->stop_grace, "forced",
	                 o->stop_forced);
}

static json_t *log_json(const struct oc_guard *g)
{
	struct oc_buf text, clean;
	json_t *json;

	oc_buf_init(&text, RECORD_SIZE / 2);
	oc_buf_init(&clean, RECORD_SIZE);
	if (oc_redact_text(g->redact, g->launch.text, g->launch.text_len, &clean) == 0 && clean.len)
		(void)oc_text_escape(&text, clean.data, clean.len, true);
	json = json_string(text.data ? text.data : "");
	oc_buf_free(&text);
	oc_buf_free(&clean);
	return json;
}

json_t *oc_record_exit_json(const struct oc_guard *g)
{
	const struct oc_guard_outcome *o = &g->outcome;

	if (g->record_json)
		return json_incref(g->record_json);
	return json_pack("{s:i, s:s, s:s, s:s, s:i, s:i, s:O?, s:o, s:o, s:I, s:I, s:o, s:o, s:i, s:I, s:O*}",
	                 "version", 1, "run", g->run, "digest", g->digest, "state", o->state, "status", o->status,
	                 "signal", o->signal, "error", o->error, "started", time_json(g->started_ms), "ended",
	                 time_json(g->ended_ms), "output_bytes", (json_int_t)g->journal.output, "lost_bytes",
	                 (json_int_t)g->journal.lost, "launch_log", log_json(g), "stop", stop_json(o), "killed",
	                 o->killed, "attempts", (json_int_t)g->attempts, "left", o->left);
}

static int text_of(const struct oc_guard *g, struct oc_buf *text, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *json = oc_record_exit_json(g);
	int rc = json ? oc_json_canonical(json, text, err) : oc_nomem(err);

	if (rc == 0 && text->len > RECORD_SIZE) {
		/* A record there is beats one that says all: the long parts go. */
		text->len = 0;
		if (!oc_json_set_string(json, "launch_log", "") ||
		    !oc_json_set(json_object_get(json, "error"), "more", json_array()))
			return oc_nomem(err);
		rc = oc_json_canonical(json, text, err);
	}
	return rc;
}

/* Into the space that was made before anything started; without it (nothing did) as any other file. */
static int write_preallocated(struct oc_guard *g, const struct oc_buf *text)
{
	if (pwrite(g->record, text->data, text->len, 0) != (ssize_t)text->len ||
	    ftruncate(g->record, (off_t)text->len) < 0 || fsync(g->record) < 0)
		return -errno;
	/* The directory may need a block for the new name. */
	(void)unlinkat(g->run_dir, RESERVE, 0);
	g->reserve = oc_close(g->reserve);
	if (renameat(g->run_dir, RECORD_TMP, g->run_dir, OC_GUARD_EXIT) < 0 || fsync(g->run_dir) < 0)
		return -errno;
	g->record = oc_close(g->record);
	return 0;
}

int oc_record_exit(struct oc_guard *g, oc_error **err)
{
	struct oc_buf text;
	int rc;

	oc_buf_init(&text, OC_JSON_MAX);
	rc = text_of(g, &text, err);
	if (rc == 0) {
		rc = g->record >= 0 ? write_preallocated(g, &text)
		                    : oc_write_file(g->run_dir, OC_GUARD_EXIT, text.data, text.len, 0600);
		if (rc < 0)
			rc = oc_fail(err, OC_EIO, -rc, "Can't write %s: %s", OC_GUARD_EXIT, strerror(-rc));
	}
	oc_buf_free(&text);
	return rc;
}

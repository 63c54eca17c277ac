/* SPDX-License-Identifier: Apache-2.0 */
/* What changes about a run: attempts, events, states, its end.  What is shown of it is in record.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/time.h"
#include "store/chain.h"
#include "store/hosts.h"
#include "store/sql.h"

#define RECOVERY_LOCK "recover.lock"
#define RECORD_MAX    (1u << 20)

static int no_run(const char *run, oc_error **err)
{
	return oc_error_makef(err, OC_ENOTFOUND, 0, NULL, run, "open-conduit runs list", "there is no run %s", run);
}

int oc_store_resolve(oc_store *store, const char *prefix, char id[OC_RUN_ID_SIZE], oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	size_t n = prefix ? strspn(prefix, "abcdefghijklmnopqrstuvwxyz0123456789") : 0;
	const char *first;
	int rc;

	if (n == 0 || prefix[n] || n >= OC_RUN_ID_SIZE)
		return oc_error_makef(err, OC_EINVAL, 0, NULL, prefix, "open-conduit runs list",
		                      "a run id is 8 to 32 of a-z and 0-9");
	rc = oc_sql_prepare(store, &st, err,
	                    "SELECT id FROM runs WHERE id >= ?1 AND id < ?1 || '{' ORDER BY id = ?1 DESC, id LIMIT 2",
	                    "s", prefix);
	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc == 0)
		return no_run(prefix, err);
	first = rc > 0 ? oc_sql_text(st, 0) : NULL;
	if (rc < 0 || !first || !oc_run_id_valid(first))
		return rc < 0 ? rc : first ? oc_sql_fail(store, SQLITE_CORRUPT, err) : oc_nomem(err);
	memcpy(id, first, strlen(first) + 1);
	rc = strcmp(id, prefix) == 0 ? 0 : oc_sql_step(store, st, err);
	if (rc > 0)
		return oc_error_makef(err, OC_EINVAL, 0, NULL, prefix, "open-conduit runs list",
		                      "more than one run begins with %s", prefix);
	return rc;
}

int oc_store_attempt(oc_store *store, const char *run, int64_t *number, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	/* History only: what recovery asks is the guard's `started`, which is on the disk before anything runs. */
	int rc = oc_sql_begin(store, false, err);

	if (rc < 0)
		return rc;
	rc = oc_sql_run(
	        store, err,
	        "INSERT INTO attempts (run, number, at_ms) SELECT id, "
	        "(SELECT coalesce(max(number), 0) + 1 FROM attempts WHERE run = runs.id), ? FROM runs WHERE id = ?",
	        "is", oc_wall_ms(), run);
	if (rc == 0)
		rc = no_run(run, err);
	if (rc > 0)
		rc = oc_sql_prepare(store, &st, err,
		                    "SELECT number, at_ms FROM attempts WHERE run = ? ORDER BY number DESC LIMIT 1",
		                    "s", run);
	if (rc >= 0)
		rc = oc_sql_step(store, st, err);
	if (rc > 0) {
		*number = sqlite3_column_int64(st, 0);
		rc = oc_store_chain(store, run, "attempt",
		                    json_pack("{s:I, s:I}", "number", (json_int_t)*number, "at_ms",
		                              (json_int_t)sqlite3_column_int64(st, 1)),
		                    err);
	}
	oc_sql_finalizep(&st);
	rc = oc_sql_end(store, rc, err);
	return rc < 0 ? rc : 0;
}

int oc_store_event(oc_store *store, const char *run, const char *type, json_t *data, oc_error **err)
{
	int rc = oc_sql_begin(store, false, err);

	if (rc < 0)
		json_decref(data);
	else
		rc = oc_sql_end(store, oc_store_chain(store, run, type, data ? data : json_object(), err), err);
	return rc < 0 ? rc : 0;
}

bool oc_state_ended(const char *state)
{
	return state &&
	       (strcmp(state, "exited") == 0 || strcmp(state, "failed") == 0 || strcmp(state, "run_lost") == 0);
}

/* An end has its time with it: the guard's own, or the first that was recorded. */
static int state_event(oc_store *store, const char *run, const char *state, const char *error, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	json_t *data = json_object();
	int rc = oc_sql_prepare(store, &st, err, "SELECT ended_ms FROM runs WHERE id = ?", "s", run);

	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc > 0 && (!oc_json_set_string(data, "state", state) ||
	               !oc_json_set(data, "error", error ? json_loads(error, 0, NULL) : json_null()) ||
	               !oc_json_set(data, "ended_ms", oc_sql_integer(st, 0))))
		rc = oc_nomem(err);
	if (rc > 0)
		return oc_store_chain(store, run, "state", data, err);
	json_decref(data);
	return rc < 0 ? rc : no_run(run, err);
}

static int set_state(oc_store *store, const char *run, const char *state, const char *error, int64_t ended_ms,
                     oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	int rc = oc_sql_prepare(store, &st, err, "SELECT 1 FROM runs WHERE id = ? AND state = ? AND error IS ?", "sss",
	                        run, state, error);

	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc != 0) /* as it was: recovery may say the same thing at each start without filling the history */
		return rc;
	rc = oc_sql_run(store, err,
	                "UPDATE runs SET state = ?1, error = ?2, ended_ms = CASE WHEN ?3 = 0 THEN NULL "
	                "ELSE coalesce(ended_ms, ?3) END WHERE id = ?4",
	                "ssis", state, error, oc_state_ended(state) ? ended_ms : (int64_t)0, run);
	if (rc <= 0)
		return rc < 0 ? rc : no_run(run, err);
	return state_event(store, run, state, error, err);
}

static bool state_known(const char *state)
{
	static const char *const known[] = { "planned", "pinned",   "launched", "held",   "started",  "proved",
		                             "running", "stopping", "exited",   "failed", "run_lost", "unknown" };
	size_t i;

	for (i = 0; state && i < OC_COUNT(known); i++)
		if (strcmp(known[i], state) == 0)
			return true;
	return false;
}

int oc_store_state(oc_store *store, const char *run, const char *state, const oc_error *error, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *json = error ? oc_error_to_json(error) : NULL;
	oc_cleanup(oc_freep) char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	int rc;

	if (!state_known(state))
		return oc_fail(err, OC_EINVAL, 0, "there is no such state of a run");
	if (error && !text)
		return oc_nomem(err);
	rc = oc_sql_begin(store, true, err);
	if (rc >= 0)
		rc = oc_sql_end(store, set_state(store, run, state, text, oc_wall_ms(), err), err);
	return rc < 0 ? rc : 0;
}

/* How far a state is on its way; 0: not on it. */
static int rank(const char *state)
{
	static const char *const way[] = { "planned", "pinned", "launched", "held",
		                           "started", "proved", "running",  "stopping" };
	size_t i;

	for (i = 0; i < OC_COUNT(way); i++)
		if (strcmp(way[i], state) == 0)
			return (int)i + 1;
	return 0;
}

static int current(oc_store *store, const char *run, sqlite3_stmt **st, const char **state, oc_error **err)
{
	int rc = oc_sql_prepare(store, st, err,
	                        "SELECT state, coalesce(json_extract(error, '$.reason'), ''), exit, proved FROM runs "
	                        "WHERE id = ?",
	                        "s", run);

	if (rc == 0)
		rc = oc_sql_step(store, *st, err);
	if (rc <= 0)
		return rc < 0 ? rc : no_run(run, err);
	*state = oc_sql_text(*st, 0);
	return *state ? 0 : oc_nomem(err);
}

static int progress(oc_store *store, const char *run, const char *state, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	const char *now = NULL;
	int rc = current(store, run, &st, &now, err);

	if (rc < 0 || oc_state_ended(now) || (rank(now) && rank(now) >= rank(state)))
		return rc;
	oc_sql_finalizep(&st);
	return set_state(store, run, state, NULL, 0, err);
}

int oc_store_progress(oc_store *store, const char *run, const char *state, oc_error **err)
{
	int rc = rank(state) ? oc_sql_begin(store, false, err)
	                     : oc_fail(err, OC_EINVAL, 0, "there is no such state of a run on its way");

	if (rc >= 0)
		rc = oc_sql_end(store, progress(store, run, state, err), err);
	return rc < 0 ? rc : 0;
}

static bool reason_allows_retry(const char *reason)
{
	static const char *const reasons[] = { "run_lost", "sandbox_unavailable", "container_running" };
	size_t i;

	for (i = 0; reason && i < OC_COUNT(reasons); i++)
		if (strcmp(reasons[i], reason) == 0)
			return true;
	return false;
}

int oc_store_launch_state(oc_store *store, const char *run, enum oc_launch_state *out, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	const char *now = NULL;
	int rc = current(store, run, &st, &now, err);

	if (rc < 0)
		return rc;
	if (strcmp(now, "unknown") == 0)
		*out = OC_LAUNCH_UNKNOWN;
	else if (!oc_state_ended(now))
		*out = OC_LAUNCH_OPEN;
	else
		*out = strcmp(now, "exited") != 0 && reason_allows_retry(oc_sql_text(st, 1)) ? OC_LAUNCH_AGAIN
		                                                                             : OC_LAUNCH_OVER;
	return 0;
}

int oc_store_barred(oc_store *store, const char *run, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	oc_cleanup(oc_json_decrefp) json_t *json = NULL;
	const char *text;
	int rc = oc_sql_prepare(store, &st, err, "SELECT error FROM runs WHERE id = ? AND state = 'unknown'", "s", run);

	rc = rc < 0 ? rc : oc_sql_step(store, st, err);
	if (rc <= 0)
		return rc;
	text = oc_sql_text(st, 0);
	json = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (json)
		return oc_error_from_json(err, json);
	return oc_refuse(err, "pin_mismatch", run, "open-conduit runs list",
	                 "what became of this run is unknown, so it is neither adopted nor tried again");
}

/* What the row said of the last attempt goes into the history: it is not this one's proof, nor its end. */
static int retry_event(oc_store *store, const char *run, oc_error **err)
{
	static const char *const members[] = { "state", "error", "exit", "proved" };
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	oc_cleanup(oc_json_decrefp) json_t *data = json_object();
	int rc = oc_sql_prepare(store, &st, err, "SELECT state, error, exit, proved FROM runs WHERE id = ?", "s", run);

	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc <= 0)
		return rc < 0 ? rc : no_run(run, err);
	if (!oc_json_set_string(data, "state", oc_sql_text(st, 0)))
		return oc_nomem(err);
	for (int i = 1; i < (int)OC_COUNT(members); i++)
		if (!oc_json_set(data, members[i], oc_sql_json(st, i)))
			return oc_nomem(err);
	return oc_store_chain(store, run, "retry", oc_steal(data), err);
}

static int relaunch(oc_store *store, const char *run, oc_error **err)
{
	int rc = retry_event(store, run, err);

	if (rc > 0)
		rc = oc_sql_run(store, err, "UPDATE runs SET exit = NULL, proved = NULL WHERE id = ?", "s", run);
	if (rc <= 0)
		return rc < 0 ? rc : no_run(run, err);
	return set_state(store, run, "launched", NULL, 0, err);
}

int oc_store_relaunch(oc_store *store, const char *run, oc_error **err)
{
	enum oc_launch_state state = OC_LAUNCH_OVER;
	int rc = oc_sql_begin(store, true, err);

	if (rc < 0)
		return rc;
	rc = oc_store_launch_state(store, run, &state, err);
	if (rc == 0 && state != OC_LAUNCH_AGAIN)
		rc = oc_fail(err, OC_EEXISTS, 0, "run %s was taken up by another process", run);
	rc = oc_sql_end(store, rc < 0 ? rc : relaunch(store, run, err), err);
	return rc < 0 ? rc : 0;
}

/* A record of the guard's as text, checked to be JSON; *text stays NULL when there is none. */
static int read_record(int dir, const char *name, char **text, json_t **json, oc_error **err)
{
	struct oc_buf b;
	int rc;

	oc_buf_init(&b, RECORD_MAX + 1);
	rc = oc_read_file(dir, name, RECORD_MAX, &b);
	if (rc == -ENOENT) {
		oc_buf_free(&b);
		return 0;
	}
	if (rc < 0)
		rc = rc == -ENOMEM ? oc_nomem(err)
		                   : oc_fail(err, OC_EIO, rc > -4096 ? -rc : EIO, "%s can't be read", name);
	else
		rc = oc_json_parse(b.data ? b.data : "", b.len, RECORD_MAX, name, json, err);
	if (rc >= 0 && !(*text = json_dumps(*json, JSON_COMPACT)))
		rc = oc_nomem(err);
	oc_buf_free(&b);
	return rc < 0 ? rc : 0;
}

const char *oc_state_of_exit(const json_t *record)
{
	const char *state = oc_json_text(record, "state");

	if (!state || strcmp(state, "run_lost") == 0)
		return "run_lost";
	return strcmp(state, "refused") == 0 || strcmp(state, "unavailable") == 0 ? "failed" : "exited";
}

/* The guard's own time of the end, so that a run settled days later did not end today. */
static int64_t end_ms(const json_t *record)
{
	const char *text = oc_json_text(record, "ended");
	struct tm tm = { 0 };
	int ms = 0;

	if (!text || sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
	                    &tm.tm_min, &tm.tm_sec, &ms) != 7)
		return oc_wall_ms();
	tm.tm_year -= 1900;
	tm.tm_mon--;
	return (int64_t)timegm(&tm) * 1000 + ms;
}

static json_t *digest_of(const char *text, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *json =
	        text ? json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL) : NULL;
	char digest[OC_DIGEST_SIZE];

	if (!text)
		return json_null();
	return json && oc_chain_digest(json, digest, err) == 0 ? json_string(digest) : NULL;
}

/* Both records by their digests: they are long, and in the row. */
static int ended_event(oc_store *store, const char *run, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	oc_cleanup(oc_json_decrefp) json_t *data = json_object();
	int rc = oc_sql_prepare(store, &st, err, "SELECT exit, proved FROM runs WHERE id = ?", "s", run);

	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc <= 0)
		return rc < 0 ? rc : no_run(run, err);
	if (!oc_json_set(data, "exit", digest_of(oc_sql_text(st, 0), err)) ||
	    !oc_json_set(data, "proved", digest_of(oc_sql_text(st, 1), err)))
		return err && *err ? oc_error_code(*err) : oc_nomem(err);
	return oc_store_chain(store, run, "ended", oc_steal(data), err);
}

/* What can't be read is not nothing; and a run's end doesn't wait for it. */
static int read_hosts(oc_store *store, const char *run, json_t **out, oc_error **err)
{
	char digest[OC_DIGEST_SIZE];
	oc_error *why = NULL;
	int rc = oc_store_hosts(store, run, out, &why);

	if (rc == 0 && *out) /* sums that no record can hold */
		rc = oc_chain_digest(*out, digest, &why);
	if (rc < 0 && rc != OC_ENOMEM) {
		json_decref(*out);
		*out = json_pack("{s:s}", "unreadable", oc_error_message(why));
		rc = *out ? 0 : OC_ENOMEM;
	}
	oc_error_free(why);
	return rc == OC_ENOMEM ? oc_nomem(err) : rc;
}

/* What the guard and its launch command left of a run. */
struct left {
	char *text, *proved;
	json_t *record, *network;
};

static int finish_rows(oc_store *store, const char *run, const struct left *l, oc_error **err)
{
	const json_t *error = json_object_get(l->record, "error");
	oc_cleanup(oc_freep) char *error_text = json_is_object(error) ? json_dumps(error, JSON_COMPACT) : NULL;
	int rc;

	if (json_is_object(error) && !error_text)
		return oc_nomem(err);
	rc = oc_sql_run(store, err,
	                "UPDATE runs SET proved = coalesce(?1, proved), exit = ?2 WHERE id = ?3 AND (exit IS NOT ?2 OR "
	                "proved IS NOT coalesce(?1, proved))",
	                "sss", l->proved, l->text, run);
	if (rc > 0 && l->network)
		rc = oc_store_chain(store, run, "network", json_incref(l->network), err);
	if (rc > 0)
		rc = ended_event(store, run, err);
	if (rc < 0)
		return rc;
	return set_state(store, run, oc_state_of_exit(l->record), error_text, end_ms(l->record), err);
}

/* The record is of this run and of its pin, or it is not its record. */
static int check_record(oc_store *store, const char *run, const json_t *record, oc_error **err)
{
	char fix[80];
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	const char *of = oc_json_text(record, "run"), *digest = oc_json_text(record, "digest"), *pin;
	int rc = oc_sql_prepare(store, &st, err, "SELECT digest FROM pins WHERE run = ?", "s", run);

	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc <= 0)
		return rc < 0 ? rc : no_run(run, err);
	pin = oc_sql_text(st, 0);
	if (!of || strcmp(of, run) != 0 || !digest || !pin || strcmp(digest, pin) != 0)
		return oc_refuse(err, "pin_mismatch", "exit.json", oc_store_show_run(fix, run),
		                 "the exit record in the directory of run %s is not of this run's pin", run);
	return 0;
}

static int read_left(oc_store *store, const char *run, struct left *l, oc_error **err)
{
	char fix[80];
	oc_cleanup(oc_closep) int dir = oc_store_run_dir(store, run, false, err);
	oc_cleanup(oc_json_decrefp) json_t *proof = NULL;
	int rc;

	if (dir < 0)
		return dir;
	rc = read_record(dir, "exit.json", &l->text, &l->record, err);
	if (rc == 0 && !l->text)
		return oc_error_makef(err, OC_ENOTFOUND, ENOENT, NULL, "exit.json", oc_store_show_run(fix, run),
		                      "run %s has no exit record", run);
	if (rc == 0)
		rc = check_record(store, run, l->record, err);
	if (rc == 0)
		rc = read_record(dir, "proved", &l->proved, &proof, err);
	return rc < 0 ? rc : read_hosts(store, run, &l->network, err);
}

int oc_store_finish(oc_store *store, const char *run, oc_error **err)
{
	struct left l = { 0 };
	int rc = read_left(store, run, &l, err);

	if (rc == 0) {
		oc_fault("host:finish");
		rc = oc_sql_begin(store, true, err);
	}
	if (rc >= 0)
		rc = oc_sql_end(store, finish_rows(store, run, &l, err), err);
	free(l.text);
	free(l.proved);
	json_decref(l.record);
	json_decref(l.network);
	return OC_MIN(rc, 0);
}

int oc_store_forget(oc_store *store, const char *run, oc_error **err)
{
	char fix[80];
	int rc = oc_sql_begin(store, true, err);

	if (rc < 0)
		return rc;
	rc = oc_sql_run(store, err, "DELETE FROM runs WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM pins WHERE run = ?1)",
	                "s", run);
	rc = oc_sql_end(store, rc, err);
	if (rc == 0)
		return oc_error_makef(err, OC_EEXISTS, 0, NULL, run, oc_store_show_run(fix, run),
		                      "run %s is pinned, or not there", run);
	return rc < 0 ? rc : 0;
}

static int find_strangers(oc_store *store, const struct oc_strv *ids, struct oc_strv *out, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	int rc = oc_sql_prepare(store, &st, err, "SELECT 1 FROM runs WHERE id = ?", "");
	size_t i;

	for (i = 0; rc >= 0 && i < ids->n; i++) {
		if (sqlite3_bind_text(st, 1, ids->v[i], -1, SQLITE_STATIC) != SQLITE_OK)
			return oc_nomem(err);
		rc = oc_sql_step(store, st, err);
		if (rc == 0 && oc_strv_add(out, ids->v[i]) < 0)
			return oc_nomem(err);
		if (rc >= 0)
			sqlite3_reset(st);
	}
	return rc < 0 ? rc : 0;
}

int oc_store_strangers(oc_store *store, const struct oc_strv *ids, struct oc_strv *out, oc_error **err)
{
	int rc = oc_sql_run(store, err, "BEGIN", ""); /* without it each look would take the database's locks */

	return rc < 0 ? rc : oc_sql_end(store, find_strangers(store, ids, out, err), err);
}

int oc_store_unfinished(oc_store *store, json_t **list, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	oc_cleanup(oc_json_decrefp) json_t *out = json_array();
	int rc = oc_sql_prepare(store, &st, err,
	                        "SELECT id, state, EXISTS (SELECT 1 FROM pins WHERE run = id) FROM runs "
	                        "WHERE state NOT IN ('exited', 'failed', 'run_lost') ORDER BY created_ms, id",
	                        "");

	while (rc >= 0 && (rc = oc_sql_step(store, st, err)) > 0) {
		json_t *row = json_object();
		bool ok = oc_json_set_string(row, "id", oc_sql_text(st, 0)) &&
		          oc_json_set_string(row, "state", oc_sql_text(st, 1)) &&
		          oc_json_set(row, "pinned", json_boolean(sqlite3_column_int(st, 2)));

		if (!ok)
			json_decref(row);
		if (!ok || !oc_json_append(out, row))
			return oc_nomem(err);
	}
	if (rc < 0)
		return rc;
	*list = oc_steal(out);
	return *list ? 0 : oc_nomem(err);
}

int oc_store_recovery_lock(oc_store *store, oc_error **err)
{
	int fd = openat(store->state_fd, RECOVERY_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	int tries;

	if (fd < 0)
		return oc_error_makef(err, OC_EIO, errno, NULL, store->dir, NULL, "the recovery lock can't be opened");
	for (tries = 0; tries < 1000; tries++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		if (errno != EWOULDBLOCK && errno != EINTR)
			break;
		usleep(10000);
	}
	oc_close(fd);
	return oc_error_makef(err, OC_ETIME, EBUSY, NULL, store->dir, "open-conduit runs list",
	                      "another process is recovering the runs and hasn't finished within ten seconds");
}

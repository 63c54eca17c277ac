/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that wait to be started.  A row goes queued ─▶ starting ─▶ started, or refused; who moves it names the state it is
 * in, so that of two processes one does.  The number is never used again: what holds it (a lock, say) can't mean another. */
#include <openconduit/queue.h>

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "store/sql.h"
#include "store/works.h"

#define REQUEST_MAX (2u << 20)
#define BINDING_MAX 512u
#define ERROR_MAX   65536u

static int check(oc_store *store, const char *run, oc_error **err)
{
	if (!store || !oc_run_id_valid(run))
		return oc_fail(err, OC_EINVAL, 0, "the queue needs a store and a run id");
	return oc_context_check(store->ctx, err);
}

static int check_add(oc_store *store, const char *run, const char *binding, const char *key, const char *request,
                     oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *json = NULL;
	size_t len = request ? strnlen(request, REQUEST_MAX + 1) : 0;
	const char *wrong = key ? oc_work_key_wrong(key) : NULL;
	int rc = check(store, run, err);

	if (rc < 0)
		return rc;
	if (!binding || !*binding || strnlen(binding, BINDING_MAX + 1) > BINDING_MAX)
		return oc_fail(err, OC_EINVAL, 0, "a queued run names its binding, in at most %u bytes", BINDING_MAX);
	if (wrong)
		return oc_fail(err, OC_EINVAL, 0, "the key of a Work %s", wrong);
	if (len > REQUEST_MAX)
		return oc_fail(err, OC_ELIMIT, 0, "what a run is queued with is at most 2 MiB");
	rc = oc_json_parse(request ? request : "", len, REQUEST_MAX, "request", &json, err);
	if (rc == 0 && !json_is_object(json))
		return oc_fail(err, OC_EINVAL, 0, "what a run is queued with is a JSON object");
	return rc;
}

static int room(oc_store *store, oc_error **err)
{
	int64_t waiting = 0;
	int rc = oc_sql_number(store, "SELECT count(*) FROM queue WHERE state = 'queued'", NULL, &waiting, err);

	if (rc >= 0 && waiting >= OC_QUEUE_MAX)
		return oc_refuse(err, "queue_full", "queue", "open-conduit runs list",
		                 "%d runs wait to be started already: let some begin, or stop some", OC_QUEUE_MAX);
	return rc;
}

static int add(oc_store *store, const char *run, const char *binding, const char *key, const char *request,
               oc_error **err)
{
	int64_t there = 0;
	int rc = oc_sql_number(store, "SELECT 1 FROM queue WHERE run = ?", run, &there, err);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = oc_sql_number(store, "SELECT 1 FROM runs WHERE id = ?", run, &there, err);
	if (rc > 0)
		return oc_fail(err, OC_EEXISTS, 0, "there is a run %s already", run);
	rc = rc < 0 ? rc : room(store, err);
	if (rc >= 0)
		rc = oc_sql_run(store, err,
		                "DELETE FROM queue WHERE state = 'refused' AND number NOT IN (SELECT number FROM queue "
		                "WHERE state = 'refused' ORDER BY number DESC LIMIT ?)",
		                "i", (int64_t)OC_QUEUE_MAX);
	if (rc >= 0)
		rc = oc_sql_run(store, err,
		                "INSERT INTO queue (run, binding, key, request, state, created_ms) VALUES (?, ?, ?, ?, "
		                "'queued', ?)",
		                "ssssi", run, binding, key, request, oc_wall_ms());
	return rc;
}

int oc_queue_add(oc_store *store, const char *run, const char *binding, const char *key, const char *request,
                 oc_error **err)
{
	int rc = check_add(store, run, binding, key, request, err);

	if (rc >= 0)
		rc = oc_sql_begin(store, true, err);
	if (rc < 0)
		return rc;
	return oc_sql_end(store, add(store, run, binding, key, request, err), err);
}

int oc_queue_move(oc_store *store, const char *run, const char *from, const char *to, const char *error, oc_error **err)
{
	int rc = check(store, run, err);

	if (rc >= 0 && !from)
		return oc_fail(err, OC_EINVAL, 0, "what is moved is in a state");
	if (rc >= 0 && error && strnlen(error, ERROR_MAX + 1) > ERROR_MAX)
		return oc_fail(err, OC_ELIMIT, 0, "an error is at most 64 KiB");
	if (rc >= 0)
		rc = oc_sql_begin(store, true, err);
	if (rc < 0)
		return rc;
	if (to)
		rc = oc_sql_run(store, err, "UPDATE queue SET state = ?, error = ? WHERE run = ? AND state = ?", "ssss",
		                to, error, run, from);
	else
		rc = oc_sql_run(store, err, "DELETE FROM queue WHERE run = ? AND state = ?", "ss", run, from);
	return oc_sql_end(store, rc, err);
}

static bool put_row(json_t *out, sqlite3_stmt *st)
{
	return oc_json_set(out, "number", json_integer(sqlite3_column_int64(st, 0))) &&
	       oc_json_set_string(out, "id", oc_sql_text(st, 1)) &&
	       oc_json_set_string(out, "binding", oc_sql_text(st, 2)) &&
	       oc_json_set_string(out, "key", oc_sql_text(st, 3)) &&
	       oc_json_set_string(out, "state", oc_sql_text(st, 4)) &&
	       oc_json_set(out, "created", oc_sql_time(st, 5)) && oc_json_set(out, "error", oc_sql_json(st, 6)) &&
	       oc_json_set_string(out, "run", oc_sql_text(st, 7));
}

static bool put_kept(json_t *out, sqlite3_stmt *st)
{
	return oc_json_set_string(out, "id", oc_sql_text(st, 0)) &&
	       oc_json_set_string(out, "binding", oc_sql_text(st, 1)) &&
	       oc_json_set_string(out, "work", oc_sql_text(st, 2)) && oc_json_set(out, "created", oc_sql_time(st, 3)) &&
	       oc_json_set(out, "left", json_boolean(sqlite3_column_int(st, 4)));
}

static int rows(oc_store *store, const char *sql, bool (*put)(json_t *out, sqlite3_stmt *st), char **json,
                oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	oc_cleanup(oc_json_decrefp) json_t *out = json_array();
	int rc;

	if (!store || !json)
		return oc_fail(err, OC_EINVAL, 0, "a list needs a store and somewhere to be returned");
	rc = oc_context_check(store->ctx, err);
	if (rc >= 0)
		rc = oc_sql_prepare(store, &st, err, sql, "");
	while (rc >= 0 && (rc = oc_sql_step(store, st, err)) > 0) {
		oc_cleanup(oc_json_decrefp) json_t *row = json_object();

		if (!put(row, st) || !oc_json_append(out, json_incref(row)))
			return oc_nomem(err);
	}
	if (rc < 0)
		return rc;
	*json = json_dumps(out, JSON_COMPACT);
	return *json ? 0 : oc_nomem(err);
}

int oc_queue_list(oc_store *store, char **json, oc_error **err)
{
	return rows(
	        store,
	        "SELECT number, queue.run, queue.binding, key, queue.state, queue.created_ms, queue.error, runs.state "
	        "FROM queue LEFT JOIN runs ON runs.id = queue.run ORDER BY number",
	        put_row, json, err);
}

int oc_store_kept(oc_store *store, char **json, oc_error **err)
{
	/* The second condition is the index's own: among years of runs that are over there are few. */
	return rows(store,
	            "SELECT id, runs.binding, runs.work, created_ms, EXISTS (SELECT 1 FROM events WHERE run = id AND "
	            "type IN "
	            "('note:left', 'note:adopted')) FROM runs JOIN pins ON pins.run = id WHERE runs.state = "
	            "'running' AND runs.state NOT IN ('exited', 'failed', 'run_lost') AND "
	            "json_extract(text, '$.limits.keep') ORDER BY created_ms, id",
	            put_kept, json, err);
}

int oc_queue_request(oc_store *store, const char *run, char **json, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	int rc = check(store, run, err);

	if (rc >= 0 && !json)
		return oc_fail(err, OC_EINVAL, 0, "oc_queue_request: json must not be NULL");
	if (rc >= 0)
		rc = oc_sql_prepare(store, &st, err, "SELECT request FROM queue WHERE run = ?", "s", run);
	if (rc >= 0)
		rc = oc_sql_step(store, st, err);
	if (rc == 0)
		return oc_error_makef(err, OC_ENOTFOUND, 0, NULL, run, "open-conduit runs list", "no run %s is queued",
		                      run);
	if (rc < 0)
		return rc;
	*json = strdup(oc_sql_text(st, 0) ? oc_sql_text(st, 0) : "");
	return *json ? 0 : oc_nomem(err);
}

int oc_store_changes(oc_store *store, int64_t *number, oc_error **err)
{
	int rc = store && number ? oc_context_check(store->ctx, err)
	                         : oc_fail(err, OC_EINVAL, 0, "oc_store_changes: store and number must not be NULL");

	return rc < 0 ? rc : OC_MIN(oc_sql_number(store, "PRAGMA data_version", NULL, number, err), 0);
}

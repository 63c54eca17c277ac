/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown of runs: the list, and one run whole. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/sha256.h"
#include "base/time.h"
#include "store/calls.h"
#include "store/hosts.h"
#include "store/sql.h"
#include "store/tokens.h"

#define LIST_DEFAULT 100
#define LIST_MAX     100000
#define RECORD_MAX   (1u << 20)
#define RUN_COLUMNS  "id, kind, work, binding, state, error, created_ms, ended_ms, digest, command, exit, proved"
enum { ID, KIND, WORK, BINDING, STATE, ERROR, CREATED, ENDED, DIGEST, COMMAND, EXIT, PROVED };

static json_t *member(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	return value ? json_incref(value) : json_null();
}

/* What list and record have in common. */
static bool put_head(json_t *out, sqlite3_stmt *st)
{
	json_t *error = oc_sql_json(st, ERROR), *exit = oc_sql_json(st, EXIT);
	bool ok = oc_json_set_string(out, "id", oc_sql_text(st, ID)) &&
	          oc_json_set_string(out, "kind", oc_sql_text(st, KIND)) &&
	          oc_json_set_string(out, "work", oc_sql_text(st, WORK)) &&
	          oc_json_set_string(out, "binding", oc_sql_text(st, BINDING)) &&
	          oc_json_set_string(out, "state", oc_sql_text(st, STATE)) &&
	          oc_json_set(out, "reason", member(error, "reason")) &&
	          oc_json_set(out, "status", member(exit, "status")) &&
	          oc_json_set(out, "signal", member(exit, "signal")) &&
	          oc_json_set(out, "created", oc_sql_time(st, CREATED)) &&
	          oc_json_set(out, "ended", oc_sql_time(st, ENDED)) &&
	          oc_json_set_string(out, "digest", oc_sql_text(st, DIGEST)) &&
	          oc_json_set(out, "command", oc_sql_json(st, COMMAND));

	json_decref(error);
	json_decref(exit);
	return ok;
}

static int dump(json_t *json, char **text, oc_error **err)
{
	*text = json_dumps(json, JSON_COMPACT);
	return *text ? 0 : oc_nomem(err);
}

int oc_store_runs(oc_store *store, uint32_t limit, char **json, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	oc_cleanup(oc_json_decrefp) json_t *out = NULL;
	int rc;

	if (!store || !json)
		return oc_fail(err, OC_EINVAL, 0, "oc_store_runs: store and json must not be NULL");
	rc = oc_context_check(store->ctx, err);
	if (rc < 0)
		return rc;
	out = json_array();
	rc = oc_sql_prepare(store, &st, err, "SELECT " RUN_COLUMNS " FROM runs ORDER BY created_ms DESC, id LIMIT ?",
	                    "i", (int64_t)(limit == 0 ? LIST_DEFAULT : OC_MIN(limit, LIST_MAX)));
	while (rc >= 0 && (rc = oc_sql_step(store, st, err)) > 0) {
		oc_cleanup(oc_json_decrefp) json_t *row = json_object();

		if (!put_head(row, st) || !oc_json_append(out, json_incref(row)))
			return oc_nomem(err);
	}
	if (rc < 0)
		return rc;
	return out ? dump(out, json, err) : oc_nomem(err);
}

static int put_attempts(oc_store *store, const char *id, json_t *out, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	json_t *list = json_array();
	int rc = oc_json_set(out, "attempts", list) ? 0 : oc_nomem(err);

	if (rc == 0)
		rc = oc_sql_prepare(store, &st, err, "SELECT number, at_ms FROM attempts WHERE run = ? ORDER BY number",
		                    "s", id);
	while (rc >= 0 && (rc = oc_sql_step(store, st, err)) > 0) {
		oc_cleanup(oc_json_decrefp) json_t *row = json_object();

		if (!oc_json_set(row, "number", json_integer(sqlite3_column_int64(st, 0))) ||
		    !oc_json_set(row, "at", oc_sql_time(st, 1)) || !oc_json_append(list, json_incref(row)))
			return oc_nomem(err);
	}
	return rc;
}

static int put_calls(oc_store *store, const char *id, json_t *out, oc_error **err)
{
	json_t *list = NULL;
	int rc = oc_store_calls(store, id, &list, err);

	return rc < 0 || oc_json_set(out, "calls", list) ? rc : oc_nomem(err);
}

static int put_tokens(oc_store *store, const char *id, json_t *out, oc_error **err)
{
	json_t *list = NULL;
	int rc = oc_store_tokens(store, id, &list, err);

	return rc < 0 || oc_json_set(out, "tokens", list) ? rc : oc_nomem(err);
}

static int put_events(oc_store *store, const char *id, json_t *out, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	json_t *list = json_array();
	int rc = oc_json_set(out, "events", list) ? 0 : oc_nomem(err);

	if (rc == 0)
		rc = oc_sql_prepare(store, &st, err,
		                    "SELECT seq, at_ms, type, data FROM events WHERE run = ? ORDER BY seq", "s", id);
	while (rc >= 0 && (rc = oc_sql_step(store, st, err)) > 0) {
		oc_cleanup(oc_json_decrefp) json_t *row = json_object();

		if (!oc_json_set(row, "seq", json_integer(sqlite3_column_int64(st, 0))) ||
		    !oc_json_set(row, "at", oc_sql_time(st, 1)) ||
		    !oc_json_set_string(row, "type", oc_sql_text(st, 2)) ||
		    !oc_json_set(row, "data", oc_sql_json(st, 3)) || !oc_json_append(list, json_incref(row)))
			return oc_nomem(err);
	}
	return rc;
}

static int put_hosts(oc_store *store, const char *id, json_t *out, oc_error **err)
{
	json_t *network = NULL;
	int rc = oc_store_hosts(store, id, &network, err);

	if (rc < 0)
		return rc;
	return oc_json_set(out, "network", network ? network : json_null()) ? 0 : oc_nomem(err);
}

/* The plan as it was pinned: the digest is computed again here, so that the record can't claim one that isn't. */
static int put_plan(oc_store *store, const char *id, json_t *out, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	oc_cleanup(oc_json_decrefp) json_t *plan = NULL;
	const json_t *policy;
	char digest[OC_DIGEST_SIZE] = "";
	const char *text = NULL, *pinned = NULL;
	int rc = oc_sql_prepare(store, &st, err, "SELECT digest, text FROM pins WHERE run = ?", "s", id);

	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc < 0)
		return rc;
	if (rc > 0) {
		pinned = oc_sql_text(st, 0);
		text = oc_sql_text(st, 1);
		if (!text || !pinned || oc_digest(text, strlen(text), digest) < 0)
			return oc_nomem(err);
		plan = json_loads(text, 0, NULL);
	}
	policy = json_object_get(plan, "policy");
	if (!oc_json_set(out, "policy", member(policy, "text")) || !oc_json_set(out, "notes", member(plan, "notes")) ||
	    !oc_json_set(out, "provider", member(plan, "provider")) ||
	    !oc_json_set(out, "pinned", json_boolean(pinned && strcmp(pinned, digest) == 0)) ||
	    !oc_json_set(out, "plan", plan ? json_incref(plan) : json_null()))
		return oc_nomem(err);
	return 0;
}

/* What the guard wrote and the store hasn't copied yet: a run that is still there, or that ended with no host. */
static json_t *from_disk(oc_store *store, const char *id, const char *name)
{
	oc_cleanup(oc_closep) int dir = oc_store_run_dir(store, id, false, NULL);
	struct oc_buf b;
	json_t *json = NULL;

	if (dir < 0)
		return NULL;
	oc_buf_init(&b, RECORD_MAX + 1);
	if (oc_read_file(dir, name, RECORD_MAX, &b) < 0 ||
	    oc_json_parse(b.data ? b.data : "", b.len, RECORD_MAX, name, &json, NULL) < 0)
		json = NULL;
	oc_buf_free(&b);
	return json;
}

static int put_records(oc_store *store, sqlite3_stmt *st, const char *id, json_t *out, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *exit = oc_sql_json(st, EXIT);
	oc_cleanup(oc_json_decrefp) json_t *proved = oc_sql_json(st, PROVED);

	if (json_is_null(proved))
		proved = from_disk(store, id, "proved");
	if (json_is_null(exit))
		exit = from_disk(store, id, "exit.json");
	if (!oc_json_set(out, "facts", member(proved, "facts")) ||
	    !oc_json_set(out, "probes", member(proved, "probes")) ||
	    !oc_json_set(out, "proved", member(proved, "at")) || !oc_json_set(out, "error", oc_sql_json(st, ERROR)) ||
	    !oc_json_set(out, "exit", exit ? json_incref(exit) : json_null()))
		return oc_nomem(err);
	return 0;
}

/* What of its commits went into the operator's checkout; null: nothing was to be saved, or it was not yet. */
static int put_save(oc_store *store, const char *id, json_t *out, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	json_t *save = NULL;
	int rc = oc_sql_prepare(store, &st, err, "SELECT result, at_ms, final FROM saves WHERE run = ?", "s", id);

	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc > 0) {
		save = oc_sql_json(st, 0);
		if (!oc_json_set(save, "at", oc_sql_time(st, 1)) ||
		    !oc_json_set(save, "final", json_boolean(sqlite3_column_int(st, 2)))) {
			json_decref(save);
			return oc_nomem(err);
		}
	}
	if (rc < 0)
		return rc;
	return oc_json_set(out, "save", save ? save : json_null()) ? 0 : oc_nomem(err);
}

static int record(oc_store *store, const char *id, json_t *out, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	int rc = oc_sql_prepare(store, &st, err, "SELECT " RUN_COLUMNS " FROM runs WHERE id = ?", "s", id);

	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc <= 0)
		return rc < 0 ? rc
		              : oc_error_makef(err, OC_ENOTFOUND, 0, NULL, id, "open-conduit runs list",
		                               "there is no run %s", id);
	if (!oc_json_set(out, "version", json_integer(1)) || !put_head(out, st))
		return oc_nomem(err);
	rc = put_records(store, st, id, out, err);
	if (rc == 0)
		rc = put_save(store, id, out, err);
	if (rc == 0)
		rc = put_plan(store, id, out, err);
	if (rc == 0)
		rc = put_attempts(store, id, out, err);
	if (rc >= 0)
		rc = put_calls(store, id, out, err);
	if (rc >= 0)
		rc = put_tokens(store, id, out, err);
	if (rc >= 0)
		rc = put_hosts(store, id, out, err);
	return rc < 0 ? rc : put_events(store, id, out, err);
}

int oc_store_moment(oc_store *store, const char *id, oc_store_fill *fill, json_t **out, oc_error **err)
{
	char run[OC_RUN_ID_SIZE];
	int rc = oc_context_check(store->ctx, err);

	if (rc == 0)
		rc = oc_store_resolve(store, id, run, err);
	if (rc < 0)
		return rc;
	*out = json_object();
	rc = oc_sql_run(store, err, "BEGIN", "");
	return rc < 0 ? rc : oc_sql_end(store, fill(store, run, *out, err), err);
}

int oc_store_run(oc_store *store, const char *id, char **json, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *out = NULL;
	int rc;

	if (!store || !json)
		return oc_fail(err, OC_EINVAL, 0, "oc_store_run: store and json must not be NULL");
	rc = oc_store_moment(store, id, record, &out, err);
	return rc < 0 ? rc : dump(out, json, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Making a receipt: what the store holds of a run, as it holds it.  Whether its parts agree is for whoever reads it, so
 * nothing is mended or left out here. */
#include "store/receipt.h"

#include <stdlib.h>
#include <string.h>

#include "store/sql.h"

int oc_receipt_digest(const json_t *receipt, char out[OC_DIGEST_SIZE], oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *rest = json_copy((json_t *)receipt);

	/* A copy that memory ran out for is one with members missing. */
	if (json_object_size(rest) != json_object_size(receipt))
		return oc_nomem(err);
	json_object_del(rest, "digest");
	return oc_chain_digest(rest, out, err);
}

/* Text of ours as it was hashed: with U+0000, if an agent's is in it. */
static json_t *value_of(sqlite3_stmt *st, int column)
{
	const char *text = oc_sql_text(st, column);
	json_t *json = text ? json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL) : NULL;

	return json ? json : json_null();
}

static json_t *text_of(sqlite3_stmt *st, int column)
{
	const char *text = oc_sql_text(st, column);

	return text ? json_string(text) : json_null();
}

static json_t *digest_of(sqlite3_stmt *st, int column)
{
	const char *text = oc_sql_text(st, column);
	char digest[OC_DIGEST_SIZE];

	if (!text)
		return json_null();
	return oc_digest(text, strlen(text), digest) == 0 ? json_string(digest) : NULL;
}

/* A column of a statement and what it becomes. */
struct column {
	const char *name;
	json_t *(*value)(sqlite3_stmt *st, int column);
};

static bool put_row(sqlite3_stmt *st, const struct column *columns, json_t *out)
{
	for (int i = 0; columns[i].name; i++)
		if (!oc_json_set(out, columns[i].name, columns[i].value(st, i)))
			return false;
	return true;
}

/* Every row of a statement about one run. */
static int put_rows(oc_store *store, const char *run, const char *sql, const struct column *columns, json_t *list,
                    oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	int rc = list ? oc_sql_prepare(store, &st, err, sql, "s", run) : oc_nomem(err);

	while (rc >= 0 && (rc = oc_sql_step(store, st, err)) > 0) {
		oc_cleanup(oc_json_decrefp) json_t *row = json_object();

		if (!put_row(st, columns, row) || !oc_json_append(list, json_incref(row)))
			return oc_nomem(err);
	}
	return rc;
}

static int put_list(oc_store *store, const char *run, const char *name, const char *sql, const struct column *columns,
                    json_t *out, oc_error **err)
{
	json_t *list = json_array();
	int rc = oc_json_set(out, name, list) ? 0 : oc_nomem(err);

	return rc < 0 ? rc : put_rows(store, run, sql, columns, list, err);
}

static int put_run(oc_store *store, const char *id, json_t *out, oc_error **err)
{
	static const struct column columns[] = {
		{ "id", text_of },
		{ "kind", text_of },
		{ "work", text_of },
		{ "binding", text_of },
		{ "command", value_of },
		{ "state", text_of },
		{ "error", value_of },
		{ "created_ms", oc_sql_integer },
		{ "ended_ms", oc_sql_integer },
		{ NULL, NULL },
	};
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	json_t *run = json_object();
	int rc = oc_json_set(out, "run", run) ? 0 : oc_nomem(err);

	if (rc == 0)
		rc = oc_sql_prepare(
		        store, &st, err,
		        "SELECT id, kind, work, binding, command, state, error, created_ms, ended_ms, exit, "
		        "proved FROM runs WHERE id = ?",
		        "s", id);
	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc <= 0)
		return rc < 0 ? rc
		              : oc_error_makef(err, OC_ENOTFOUND, 0, NULL, id, "open-conduit runs list",
		                               "there is no run %s", id);
	if (!put_row(st, columns, run) ||
	    !oc_json_set(run, "over", json_boolean(oc_state_ended(oc_json_text(run, "state")))) ||
	    !oc_json_set(out, "exit", value_of(st, 9)) || !oc_json_set(out, "proved", value_of(st, 10)))
		return oc_nomem(err);
	return 0;
}

static int put_plan(oc_store *store, const char *id, json_t *out, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	json_t *plan = NULL, *policy;
	int rc = oc_sql_prepare(store, &st, err, "SELECT digest, text FROM pins WHERE run = ?", "s", id);

	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc < 0)
		return rc;
	if (!oc_json_set(out, "plan_digest", rc > 0 ? text_of(st, 0) : json_null()) ||
	    !oc_json_set(out, "plan", plan = rc > 0 ? value_of(st, 1) : json_null()))
		return oc_nomem(err);
	policy = json_object_get(json_object_get(plan, "policy"), "text");
	return oc_json_set(out, "policy", policy ? json_incref(policy) : json_null()) ? 0 : oc_nomem(err);
}

static int put_save(oc_store *store, const char *id, json_t *out, oc_error **err)
{
	static const struct column columns[] = { { "at_ms", oc_sql_integer }, { "result", value_of }, { NULL, NULL } };
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	oc_cleanup(oc_json_decrefp) json_t *save = json_object();
	int rc = oc_sql_prepare(store, &st, err, "SELECT at_ms, result, final FROM saves WHERE run = ?", "s", id);

	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc < 0)
		return rc;
	if (rc > 0 &&
	    (!put_row(st, columns, save) || !oc_json_set(save, "final", json_boolean(sqlite3_column_int(st, 2)))))
		return oc_nomem(err);
	return oc_json_set(out, "save", rc > 0 ? json_incref(save) : json_null()) ? 0 : oc_nomem(err);
}

static json_t *outcome_of(sqlite3_stmt *st, int column)
{
	const char *text = oc_sql_text(st, column);

	return json_string(text ? text : "unknown");
}

static int put_lists(oc_store *store, const char *id, json_t *out, oc_error **err)
{
	static const struct column attempts[] = { { "number", oc_sql_integer },
		                                  { "at_ms", oc_sql_integer },
		                                  { NULL, NULL } };
	static const struct column calls[] = {
		{ "attempt", oc_sql_integer }, { "number", oc_sql_integer },      { "name", text_of },
		{ "arguments", digest_of },    { "at_ms", oc_sql_integer },       { "outcome", outcome_of },
		{ "answer", digest_of },       { "answered_ms", oc_sql_integer }, { NULL, NULL },
	};
	static const struct column events[] = {
		{ "seq", oc_sql_integer }, { "at_ms", oc_sql_integer }, { "type", text_of },
		{ "data", value_of },      { "chain", text_of },        { NULL, NULL },
	};
	int rc = put_list(store, id, "attempts", "SELECT number, at_ms FROM attempts WHERE run = ? ORDER BY number",
	                  attempts, out, err);

	if (rc >= 0)
		rc = put_list(store, id, "calls",
		              "SELECT attempt, number, name, arguments, at_ms, outcome, answer, answered_ms FROM calls "
		              "WHERE run = ? ORDER BY attempt, number",
		              calls, out, err);
	if (rc >= 0)
		rc = put_list(store, id, "events",
		              "SELECT seq, at_ms, type, data, chain FROM events WHERE run = ? ORDER BY seq", events,
		              out, err);
	return rc;
}

static int gather(oc_store *store, const char *id, json_t *out, oc_error **err)
{
	int rc = oc_json_set(out, "version", json_integer(1)) ? put_run(store, id, out, err) : oc_nomem(err);

	if (rc >= 0)
		rc = put_plan(store, id, out, err);
	if (rc >= 0)
		rc = put_save(store, id, out, err);
	return rc < 0 ? rc : put_lists(store, id, out, err);
}

static int write_out(json_t *receipt, char **json, oc_error **err)
{
	oc_cleanup(oc_buf_free) struct oc_buf text = { 0 };
	char digest[OC_DIGEST_SIZE];
	int rc = oc_receipt_digest(receipt, digest, err);

	if (rc == 0 && !oc_json_set_string(receipt, "digest", digest))
		rc = oc_nomem(err);
	oc_buf_init(&text, OC_RECEIPT_MAX);
	if (rc == 0)
		rc = oc_json_canonical(receipt, &text, err);
	if (rc < 0)
		return rc;
	*json = oc_buf_steal(&text);
	return *json ? 0 : oc_nomem(err);
}

int oc_store_receipt(oc_store *store, const char *id, char **json, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *out = NULL;
	int rc;

	if (!store || !json)
		return oc_fail(err, OC_EINVAL, 0, "oc_store_receipt: store and json must not be NULL");
	rc = oc_store_moment(store, id, gather, &out, err);
	return rc < 0 ? rc : write_out(out, json, err);
}

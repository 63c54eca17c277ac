/* SPDX-License-Identifier: Apache-2.0 */
#include "store/calls.h"

#include <string.h>

#include "base/time.h"
#include "store/chain.h"
#include "store/sql.h"

static int look(oc_store *store, const struct oc_call_key *key, enum oc_call_found *found, char **answer,
                oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	int rc =
	        oc_sql_prepare(store, &st, err, "SELECT answer FROM calls WHERE run = ? AND attempt = ? AND number = ?",
	                       "sii", key->run, key->attempt, key->number);
	const char *text;

	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc <= 0)
		return rc < 0 ? rc : oc_fail(err, OC_EIO, 0, "a call that is recorded can't be read");
	text = oc_sql_text(st, 0);
	*found = text ? OC_CALL_ANSWERED : OC_CALL_UNKNOWN;
	*answer = text ? strdup(text) : NULL;
	return text && !*answer ? oc_nomem(err) : 0;
}

/* By their digests: what an agent says and is told is its own, and long. */
static int called(oc_store *store, const struct oc_call_key *key, const char *name, const char *arguments, int64_t now,
                  oc_error **err)
{
	char digest[OC_DIGEST_SIZE];

	if (oc_digest(arguments, strlen(arguments), digest) < 0)
		return oc_nomem(err);
	return oc_store_chain(store, key->run, "call",
	                      json_pack("{s:I, s:I, s:s, s:s, s:I}", "attempt", (json_int_t)key->attempt, "number",
	                                (json_int_t)key->number, "name", name, "arguments", digest, "at_ms",
	                                (json_int_t)now),
	                      err);
}

static int answered(oc_store *store, const struct oc_call_key *key, const char *outcome, const char *answer,
                    int64_t now, oc_error **err)
{
	char digest[OC_DIGEST_SIZE];

	if (oc_digest(answer, strlen(answer), digest) < 0)
		return oc_nomem(err);
	return oc_store_chain(store, key->run, "answer",
	                      json_pack("{s:I, s:I, s:s, s:s, s:I}", "attempt", (json_int_t)key->attempt, "number",
	                                (json_int_t)key->number, "outcome", outcome, "answer", digest, "answered_ms",
	                                (json_int_t)now),
	                      err);
}

int oc_store_call_begin(oc_store *store, const struct oc_call_key *key, const char *name, const char *arguments,
                        enum oc_call_found *found, char **answer, oc_error **err)
{
	int64_t now = oc_wall_ms();
	int rc = oc_sql_begin(store, false, err);

	*found = OC_CALL_NEW;
	*answer = NULL;
	if (rc < 0)
		return rc;
	rc = oc_sql_run(
	        store, err,
	        "INSERT OR IGNORE INTO calls (run, attempt, number, at_ms, name, arguments) VALUES (?, ?, ?, ?, ?, ?)",
	        "siiiss", key->run, key->attempt, key->number, now, name, arguments);
	if (rc > 0)
		rc = called(store, key, name, arguments, now, err);
	else if (rc == 0)
		rc = look(store, key, found, answer, err);
	rc = oc_sql_end(store, rc, err);
	return OC_MIN(rc, 0);
}

int oc_store_call_end(oc_store *store, const struct oc_call_key *key, const char *outcome, const char *answer,
                      oc_error **err)
{
	int64_t now = oc_wall_ms();
	int rc = oc_sql_begin(store, false, err);

	if (rc < 0)
		return rc;
	rc = oc_sql_run(store, err,
	                "UPDATE calls SET outcome = ?, answer = ?, answered_ms = ? WHERE run = ? AND attempt = ? AND "
	                "number = ? "
	                "AND answer IS NULL",
	                "ssisii", outcome, answer, now, key->run, key->attempt, key->number);
	if (rc > 0)
		rc = answered(store, key, outcome, answer, now, err);
	rc = oc_sql_end(store, rc, err);
	return OC_MIN(rc, 0);
}

int oc_store_attempts(oc_store *store, const char *run, int64_t *number, oc_error **err)
{
	int rc = oc_sql_number(store, "SELECT coalesce(max(number), 0) FROM attempts WHERE run = ?", run, number, err);

	return OC_MIN(rc, 0);
}

int oc_store_calls(oc_store *store, const char *run, json_t **list, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	oc_cleanup(oc_json_decrefp) json_t *out = json_array();
	int rc = oc_sql_prepare(
	        store, &st, err,
	        "SELECT number, attempt, name, at_ms, outcome FROM calls WHERE run = ? ORDER BY attempt, number "
	        "LIMIT 1000",
	        "s", run);

	while (rc >= 0 && (rc = oc_sql_step(store, st, err)) > 0) {
		json_t *one = json_object();
		const char *outcome = oc_sql_text(st, 4);

		if (!oc_json_append(out, one) ||
		    !oc_json_set(one, "number", json_integer(sqlite3_column_int64(st, 0))) ||
		    !oc_json_set(one, "attempt", json_integer(sqlite3_column_int64(st, 1))) ||
		    !oc_json_set_string(one, "name", oc_sql_text(st, 2)) ||
		    !oc_json_set(one, "at", oc_sql_time(st, 3)) ||
		    !oc_json_set_string(one, "outcome", outcome ? outcome : "unknown"))
			return oc_nomem(err);
	}
	if (rc >= 0)
		*list = oc_steal(out);
	return rc;
}

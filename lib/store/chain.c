/* SPDX-License-Identifier: Apache-2.0 */
#include "store/chain.h"

#include <string.h>

#include "base/time.h"
#include "store/sql.h"

#define DATA_MAX   (3u << 20)  /* a whole attempt's records, when it is tried again */
#define TEXT_MAX   (64u << 20) /* what is hashed: a whole receipt at most */
#define EVENTS_MAX 100000      /* of one run: no host loops its way into a full disk */
#define EVENTS_OWN 1000        /* of these, what is kept for how the run goes and ends */

int oc_chain_digest(const json_t *json, char out[OC_DIGEST_SIZE], oc_error **err)
{
	oc_cleanup(oc_buf_free) struct oc_buf text = { 0 };
	int rc;

	oc_buf_init(&text, TEXT_MAX);
	rc = oc_json_canonical(json, &text, err);
	if (rc == 0 && oc_digest(text.data, text.len, out) < 0)
		rc = oc_fail(err, OC_EFAILED, 0, "a digest can't be computed");
	return rc;
}

int oc_chain_begin(const char *run, int64_t created_ms, char out[OC_DIGEST_SIZE], oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *json = json_object();

	if (!oc_json_set_string(json, "run", run) || !oc_json_set(json, "created_ms", json_integer(created_ms)) ||
	    !oc_json_set(json, "version", json_integer(1)))
		return oc_nomem(err);
	return oc_chain_digest(json, out, err);
}

int oc_chain_next(const char *before, const json_t *event, char out[OC_DIGEST_SIZE], oc_error **err)
{
	static const char *const members[] = { "seq", "at_ms", "type", "data" };
	oc_cleanup(oc_json_decrefp) json_t *json = json_object();

	if (!oc_json_set_string(json, "before", before))
		return oc_nomem(err);
	for (size_t i = 0; i < OC_COUNT(members); i++)
		if (!oc_json_set(json, members[i], json_incref(json_object_get(event, members[i]))))
			return oc_nomem(err);
	return oc_chain_digest(json, out, err);
}

/* The parser's own bound makes this one end. */
static bool deep(const json_t *json, int depth)
{
	const json_t *one;
	const char *key;
	size_t i;

	if (depth > OC_EVENT_DEPTH)
		return json_is_object(json) || json_is_array(json);
	json_array_foreach(json, i, one) if (deep(one, depth + 1)) return true;
	json_object_foreach((json_t *)json, key, one) if (deep(one, depth + 1)) return true;
	return false;
}

/* Those that a host's loop or an agent makes; the others are a few of each attempt. */
static bool of_others(const char *type)
{
	return strncmp(type, "note", 4) == 0 || strcmp(type, "call") == 0 || strcmp(type, "answer") == 0 ||
	       strcmp(type, "token") == 0;
}

struct place {
	int64_t seq;
	char before[OC_DIGEST_SIZE];
};

/* Where the next event goes.  One without a value was recorded before there was a chain: it begins after that. */
static int next_place(oc_store *store, const char *run, const char *type, struct place *out, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	const char *chain;
	int rc =
	        oc_sql_prepare(store, &st, err,
	                       "SELECT r.created_ms, e.seq, e.chain FROM runs r LEFT JOIN events e ON e.run = r.id AND "
	                       "e.seq = (SELECT max(seq) FROM events WHERE run = r.id) WHERE r.id = ?",
	                       "s", run);

	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc < 0)
		return rc;
	out->seq = rc > 0 ? sqlite3_column_int64(st, 1) + 1 : 0;
	if (rc == 0 || out->seq > EVENTS_MAX - (of_others(type) ? EVENTS_OWN : 0))
		return oc_error_makef(err, OC_ENOTFOUND, 0, NULL, run, "open-conduit runs list",
		                      "there is no run %s, or its history is full", run);
	chain = oc_sql_text(st, 2);
	if (!chain)
		return oc_chain_begin(run, sqlite3_column_int64(st, 0), out->before, err);
	if (strlen(chain) >= OC_DIGEST_SIZE)
		return oc_sql_fail(store, SQLITE_CORRUPT, err);
	memcpy(out->before, chain, strlen(chain) + 1);
	return 0;
}

static int insert(oc_store *store, const char *run, const char *type, json_t *data, const struct place *at,
                  oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *event = json_object();
	oc_cleanup(oc_buf_free) struct oc_buf text = { 0 };
	char value[OC_DIGEST_SIZE];
	int64_t now = oc_wall_ms();
	int rc;

	oc_buf_init(&text, DATA_MAX);
	if (!oc_json_set(event, "seq", json_integer(at->seq)) || !oc_json_set(event, "at_ms", json_integer(now)) ||
	    !oc_json_set_string(event, "type", type) || !oc_json_set(event, "data", json_incref(data)))
		return oc_nomem(err);
	rc = oc_json_canonical(data, &text, err);
	if (rc == 0)
		rc = oc_chain_next(at->before, event, value, err);
	if (rc == 0)
		rc = oc_sql_run(store, err,
		                "INSERT INTO events (run, seq, at_ms, type, data, chain) VALUES (?, ?, ?, ?, ?, ?)",
		                "siisss", run, at->seq, now, type, text.data, value);
	return rc;
}

int oc_store_chain(oc_store *store, const char *run, const char *type, json_t *data, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *taken = data;
	struct place at = { 0 };
	int rc;

	if (!taken)
		return oc_nomem(err);
	if (deep(taken, 1))
		return oc_fail(err, OC_ELIMIT, 0, "an event's data is nested deeper than %d", OC_EVENT_DEPTH);
	rc = next_place(store, run, type, &at, err);
	return rc < 0 ? rc : insert(store, run, type, taken, &at, err);
}

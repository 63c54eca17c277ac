/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to a Work's agent.  Any process queues one; the host that runs the Work gives it, and says so before it does:
 * what was given to a run that was lost is found by its mark in that run's output, so none is lost, and none is given
 * twice without it being known. */
#include <openconduit/workspace.h>

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/utf8.h"
#include "store/sql.h"
#include "store/works.h"

#define TEXT_MAX    65536u
#define WAITING_MAX 256
#define MARK_MAX    128

static int check(oc_store *store, const char *work, oc_error **err)
{
	if (!store || !oc_work_id_valid(work))
		return oc_fail(err, OC_EINVAL, 0, "a message needs a store and the id of a Work");
	return oc_context_check(store->ctx, err);
}

/* The caller is in a transaction, so that two senders get two numbers. */
static int queue(oc_store *store, const char *work, const char *text, int64_t *number, oc_error **err)
{
	int64_t finished = 0, waiting = 0, last = 0;
	int rc = oc_sql_number(store, "SELECT state = 'finished' FROM works WHERE id = ?", work, &finished, err);

	if (rc == 0)
		return oc_error_makef(err, OC_ENOTFOUND, 0, NULL, work, "open-conduit work list", "there is no Work %s",
		                      work);
	if (rc > 0 && finished)
		return oc_error_makef(err, OC_EINVAL, 0, NULL, work, "open-conduit work list",
		                      "the Work %s is finished: no turn of it will read a message", work);
	if (rc > 0)
		rc = oc_sql_number(store, "SELECT count(*) FROM messages WHERE work = ? AND state <> 'delivered'", work,
		                   &waiting, err);
	if (rc > 0 && waiting >= WAITING_MAX)
		return oc_fail(err, OC_ELIMIT, 0, "%d messages wait for the Work %s already: run a turn of it first",
		               WAITING_MAX, work);
	if (rc > 0)
		rc = oc_sql_number(store, "SELECT coalesce(max(number), 0) FROM messages WHERE work = ?", work, &last,
		                   err);
	if (rc < 0)
		return rc;
	*number = last + 1;
	return oc_sql_run(store, err,
	                  "INSERT INTO messages (work, number, at_ms, text, state) VALUES (?, ?, ?, ?, 'waiting')",
	                  "siis", work, *number, oc_wall_ms(), text);
}

static int send(oc_store *store, const char *work, const char *text, const char *name, const char *value,
                int64_t *number, oc_error **err)
{
	int rc = queue(store, work, text, number, err);

	return rc < 0 || !name ? rc : oc_store_work_put(store, work, name, value, err);
}

int64_t oc_work_send(oc_store *store, const char *work, const char *text, oc_error **err)
{
	return oc_work_send_set(store, work, text, NULL, NULL, err);
}

int64_t oc_work_send_set(oc_store *store, const char *work, const char *text, const char *name, const char *json,
                         oc_error **err)
{
	oc_cleanup(oc_freep) char *value = NULL;
	size_t n = text ? strnlen(text, TEXT_MAX + 1) : 0;
	int64_t number = 0;
	int rc = check(store, work, err);

	if (rc == 0 && name)
		rc = oc_store_work_name_check(name, err);
	if (rc == 0 && name && json)
		rc = oc_store_work_value(json, &value, err);
	if (rc < 0)
		return rc;
	if (!n || !oc_utf8_valid(text, n))
		return oc_fail(err, OC_EINVAL, 0, "a message must be text in UTF-8, and not empty");
	if (n > TEXT_MAX)
		return oc_fail(err, OC_ELIMIT, 0, "a message is 64 KiB at most");
	rc = oc_sql_begin(store, true, err);
	if (rc < 0)
		return rc;
	rc = oc_sql_end(store, send(store, work, text, name, value, &number, err), err);
	return rc < 0 ? rc : number;
}

static json_t *row(sqlite3_stmt *st)
{
	oc_cleanup(oc_json_decrefp) json_t *out = json_object();
	bool ok = oc_json_set(out, "number", json_integer(sqlite3_column_int64(st, 0))) &&
	          oc_json_set(out, "created", oc_sql_time(st, 1)) &&
	          oc_json_set_string(out, "text", oc_sql_text(st, 2)) &&
	          oc_json_set_string(out, "state", oc_sql_text(st, 3)) &&
	          oc_json_set_string(out, "run", oc_sql_text(st, 4)) &&
	          oc_json_set_string(out, "mark", oc_sql_text(st, 5));

	return ok ? oc_steal(out) : NULL;
}

int oc_work_messages(oc_store *store, const char *work, char **json, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	oc_cleanup(oc_json_decrefp) json_t *list = NULL;
	int rc = check(store, work, err);

	if (rc < 0)
		return rc;
	if (!json)
		return oc_fail(err, OC_EINVAL, 0, "oc_work_messages: json must not be NULL");
	list = json_array();
	rc = oc_sql_prepare(store, &st, err,
	                    "SELECT number, at_ms, text, state, run, mark FROM messages WHERE work = ? AND "
	                    "state <> 'delivered' ORDER BY number",
	                    "s", work);
	while (rc >= 0 && (rc = oc_sql_step(store, st, err)) > 0)
		if (!oc_json_append(list, row(st)))
			return oc_nomem(err);
	if (rc < 0)
		return rc;
	*json = list ? json_dumps(list, JSON_COMPACT) : NULL;
	return *json ? 0 : oc_nomem(err);
}

static bool is_state(const char *text)
{
	static const char *const states[] = { "waiting", "given", "delivered" };

	for (size_t i = 0; text && i < OC_COUNT(states); i++)
		if (!strcmp(text, states[i]))
			return true;
	return false;
}

int oc_work_message(oc_store *store, const char *work, int64_t number, const char *from, const char *to,
                    const char *run, const char *mark, oc_error **err)
{
	bool given = to && !strcmp(to, "given");
	int rc = check(store, work, err);

	if (rc < 0)
		return rc;
	if (!is_state(from) || !is_state(to) || !strcmp(from, "delivered"))
		return oc_fail(err, OC_EINVAL, 0, "a message is waiting, given or delivered, and delivered is its end");
	if (given != (run != NULL) || given != (mark != NULL) ||
	    (given && (!oc_run_id_valid(run) || !*mark || strnlen(mark, MARK_MAX + 1) > MARK_MAX ||
	               !oc_utf8_valid(mark, strlen(mark)))))
		return oc_fail(err, OC_EINVAL, 0,
		               "a message that is given names its run and a mark, and no other does");
	rc = oc_sql_begin(store, true, err);
	if (rc < 0)
		return rc;
	rc = oc_sql_run(
	        store, err,
	        "UPDATE messages SET state = ?, run = coalesce(?, run), mark = coalesce(?, mark) WHERE work = ? "
	        "AND number = ? AND state = ?",
	        "ssssis", to, run, mark, work, number, from);
	rc = oc_sql_end(store, rc, err);
	return rc < 0 ? rc : rc > 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a host keeps with a Work, and the words it puts into a run's history: small JSON of its own, which nothing in the
 * library reads. */
#include <openconduit/workspace.h>

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "store/sql.h"
#include "store/works.h"

#define NAMES_MAX "32"
#define NAME_SIZE 65
#define TYPE_SIZE 33
#define VALUE_MAX 65536u

static bool name_valid(const char *name, size_t size)
{
	size_t n = name ? strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") : 0;

	return n && n < size && !name[n];
}

/* Canonical enough to be stored: parsed strictly, bounded, written compactly. */
static int value_text(const char *json, bool object, char **out, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *value = NULL;
	size_t n = strnlen(json, VALUE_MAX + 1);
	int rc;

	if (n > VALUE_MAX)
		return oc_fail(err, OC_ELIMIT, 0, "a value is 64 KiB of JSON at most");
	rc = oc_json_parse(json, n, VALUE_MAX, "value", &value, err);
	if (rc < 0)
		return rc;
	if (object && !json_is_object(value))
		return oc_fail(err, OC_EINVAL, 0, "a note must be a JSON object");
	*out = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
	return *out ? 0 : oc_nomem(err);
}

static int no_work(const char *work, oc_error **err)
{
	return oc_error_makef(err, OC_ENOTFOUND, 0, NULL, work, "open-conduit work list", "there is no Work %s", work);
}

/* 1 when the statement has a row. */
static int has_row(oc_store *store, const char *sql, const char *work, const char *name, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	int rc = oc_sql_prepare(store, &st, err, sql, name ? "ss" : "s", work, name);

	return rc < 0 ? rc : oc_sql_step(store, st, err);
}

int oc_store_work_value(const char *json, char **out, oc_error **err)
{
	return value_text(json, false, out, err);
}

int oc_store_work_name_check(const char *name, oc_error **err)
{
	return name_valid(name, NAME_SIZE)
	               ? 0
	               : oc_fail(err, OC_EINVAL, 0, "the name of a value must be 1 to 64 of [a-z0-9-]");
}

int oc_store_work_put(oc_store *store, const char *work, const char *name, const char *value, oc_error **err)
{
	int rc = has_row(store, "SELECT 1 FROM works WHERE id = ?", work, NULL, err);

	if (rc <= 0)
		return rc < 0 ? rc : no_work(work, err);
	if (!value)
		return oc_sql_run(store, err, "DELETE FROM work_data WHERE work = ? AND name = ?", "ss", work, name);
	rc = has_row(store,
	             "SELECT 1 FROM work_data WHERE work = ?1 AND (SELECT count(*) FROM work_data WHERE work = ?1 AND "
	             "name <> ?2) >= " NAMES_MAX,
	             work, name, err);
	if (rc != 0)
		return rc < 0 ? rc
		              : oc_fail(err, OC_ELIMIT, 0, "the Work %s has values of " NAMES_MAX " names already",
		                        work);
	return oc_sql_run(
	        store, err,
	        "INSERT INTO work_data (work, name, value, at_ms) VALUES (?, ?, ?, ?) ON CONFLICT (work, name) "
	        "DO UPDATE SET value = excluded.value, at_ms = excluded.at_ms",
	        "sssi", work, name, value, oc_wall_ms());
}

int oc_work_set(oc_store *store, const char *work, const char *name, const char *json, oc_error **err)
{
	oc_cleanup(oc_freep) char *value = NULL;
	int rc;

	if (!store || !oc_work_id_valid(work))
		return oc_fail(err, OC_EINVAL, 0, "oc_work_set needs a store and the id of a Work");
	rc = oc_store_work_name_check(name, err);
	if (rc == 0)
		rc = oc_context_check(store->ctx, err);
	if (rc == 0 && json)
		rc = value_text(json, false, &value, err);
	if (rc == 0)
		rc = oc_sql_begin(store, true, err);
	if (rc < 0)
		return rc;
	rc = oc_sql_end(store, oc_store_work_put(store, work, name, value, err), err);
	return OC_MIN(rc, 0);
}

int oc_store_work_data(oc_store *store, const char *id, json_t **out, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	oc_cleanup(oc_json_decrefp) json_t *data = json_object();
	int rc = oc_sql_prepare(store, &st, err, "SELECT name, value FROM work_data WHERE work = ? ORDER BY name", "s",
	                        id);

	while (rc >= 0 && (rc = oc_sql_step(store, st, err)) > 0)
		if (!oc_sql_text(st, 0) || !oc_json_set(data, oc_sql_text(st, 0), oc_sql_json(st, 1)))
			return oc_nomem(err);
	if (rc < 0)
		return rc;
	*out = oc_steal(data);
	return *out ? 0 : oc_nomem(err);
}

int oc_store_note(oc_store *store, const char *id, const char *type, const char *json, oc_error **err)
{
	oc_cleanup(oc_freep) char *text = NULL;
	char name[5 + TYPE_SIZE] = "note:";
	json_t *data = NULL;
	int rc;

	if (!store || !json || !oc_run_id_valid(id))
		return oc_fail(err, OC_EINVAL, 0, "oc_store_note needs a store, the id of a run and a note");
	if (!name_valid(type, TYPE_SIZE))
		return oc_fail(err, OC_EINVAL, 0, "the type of a note must be 1 to 32 of [a-z0-9-]");
	memcpy(name + 5, type, strlen(type) + 1);
	rc = oc_context_check(store->ctx, err);
	if (rc == 0)
		rc = value_text(json, true, &text, err);
	if (rc == 0)
		rc = has_row(store, "SELECT 1 FROM runs WHERE id = ?", id, NULL, err);
	if (rc == 0)
		return oc_error_makef(err, OC_ENOTFOUND, 0, NULL, id, "open-conduit runs list", "there is no run %s",
		                      id);
	if (rc > 0)
		rc = oc_json_parse(text, strlen(text), VALUE_MAX * 2, "note", &data, err);
	return rc < 0 ? rc : oc_store_event(store, id, name, data, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "base/time.h"
#include "base/utf8.h"
#include "store/sql.h"

/* What to paste when state.db can't be used: it goes aside with its log and the marker that it existed, and
 * recovery finds what was pinned in runs/ again. */
static int damaged(oc_store *store, int rc, oc_error **err)
{
	oc_cleanup(oc_freep) char *path = oc_path_join(store->dir, OC_STORE_FILE);
	struct oc_buf fix;
	int code;

	oc_buf_init(&fix, 65536);
	if (!path || oc_buf_puts(&fix, "cd ") < 0 || oc_shell_quote(&fix, store->dir) < 0 ||
	    oc_buf_puts(&fix, " && mkdir damaged && mv -n " OC_STORE_FILE "* " OC_STORE_LOCK " damaged/") < 0) {
		oc_buf_free(&fix);
		return oc_nomem(err);
	}
	code = oc_error_makef(
	        err, OC_EIO, EIO, NULL, path, fix.data,
	        "the store is damaged (%s): nothing was changed in it, and nothing runs until it is restored or put "
	        "aside; what stands in runs/ is found again, the rest of the history is then only in the damaged file",
	        sqlite3_errstr(rc));
	oc_buf_free(&fix);
	return code;
}

/* A command on the store's directory, to paste. */
static char *fix_line(const oc_store *store, const char *command)
{
	struct oc_buf b;

	oc_buf_init(&b, 65536);
	if (oc_buf_printf(&b, "%s ", command) < 0 || oc_shell_quote(&b, store->dir) < 0) {
		oc_buf_free(&b);
		return NULL;
	}
	return oc_buf_steal(&b);
}

static int told(oc_store *store, int code, int errnum, const char *command, const char *why, oc_error **err)
{
	oc_cleanup(oc_freep) char *path = oc_path_join(store->dir, OC_STORE_FILE);
	oc_cleanup(oc_freep) char *fix = fix_line(store, command);

	if (!path || !fix)
		return oc_nomem(err);
	return oc_error_makef(err, code, errnum, NULL, path, fix, "%s", why);
}

int oc_sql_fail(oc_store *store, int rc, oc_error **err)
{
	int errnum = store->db ? sqlite3_system_errno(store->db) : 0;

	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return oc_nomem(err);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return damaged(store, rc, err);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return told(store, OC_ETIME, EBUSY, "lsof +D",
		            "another process has held the store for more than ten seconds", err);
	case SQLITE_FULL:
		return told(store, OC_EIO, ENOSPC, "df -h", "the disk is full; nothing that was recorded is lost", err);
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		return told(store, OC_EIO, errnum ? errnum : EACCES, "ls -la", "the store can't be opened for writing",
		            err);
	default:
		return told(store, OC_EIO, errnum ? errnum : EIO, "df -h",
		            store->db ? sqlite3_errmsg(store->db) : sqlite3_errstr(rc), err);
	}
}

static int bind_one(sqlite3_stmt *statement, int index, char type, va_list *args)
{
	const char *text;

	if (type == 'i')
		return sqlite3_bind_int64(statement, index, va_arg(*args, int64_t));
	text = va_arg(*args, const char *);
	if (!text)
		return sqlite3_bind_null(statement, index);
	return sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT);
}

static int prepare(oc_store *store, sqlite3_stmt *kept, sqlite3_stmt **out, oc_error **err, const char *sql,
                   const char *types, va_list *args)
{
	sqlite3_stmt *statement = kept;
	int rc = kept ? SQLITE_OK : sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
	int i;

	for (i = 0; rc == SQLITE_OK && types[i]; i++)
		rc = bind_one(statement, i + 1, types[i], args);
	if (rc != SQLITE_OK) {
		rc = oc_sql_fail(store, rc, err);
		sqlite3_finalize(statement);
		return rc;
	}
	*out = statement;
	return 0;
}

int oc_sql_prepare(oc_store *store, sqlite3_stmt **out, oc_error **err, const char *sql, const char *types, ...)
{
	va_list args;
	int rc;

	va_start(args, types);
	rc = prepare(store, NULL, out, err, sql, types, &args);
	va_end(args);
	return rc;
}

int oc_sql_step(oc_store *store, sqlite3_stmt *statement, oc_error **err)
{
	int rc = sqlite3_step(statement);

	if (rc == SQLITE_ROW)
		return 1;
	return rc == SQLITE_DONE ? 0 : oc_sql_fail(store, rc, err);
}

/* To prepare a statement takes longer than to run it, and a store runs the same few: those that ran well are kept. */
static sqlite3_stmt *take_kept(oc_store *store, const char *sql)
{
	for (size_t i = 0; i < OC_COUNT(store->kept); i++)
		if (store->kept[i] && strcmp(sqlite3_sql(store->kept[i]), sql) == 0)
			return oc_steal(store->kept[i]);
	return NULL;
}

static void keep(oc_store *store, sqlite3_stmt *statement)
{
	sqlite3_stmt **place = NULL;

	/* Neither a lock nor a text stays with it. */
	(void)sqlite3_reset(statement);
	(void)sqlite3_clear_bindings(statement);
	for (size_t i = 0; !place && i < OC_COUNT(store->kept); i++)
		place = store->kept[i] ? NULL : &store->kept[i];
	if (!place)
		place = &store->kept[store->next_kept++ % OC_COUNT(store->kept)];
	sqlite3_finalize(*place);
	*place = statement;
}

void oc_sql_forget(oc_store *store)
{
	for (size_t i = 0; i < OC_COUNT(store->kept); i++)
		sqlite3_finalize(oc_steal(store->kept[i]));
}

int oc_sql_number(oc_store *store, const char *sql, const char *of, int64_t *out, oc_error **err)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *st = NULL;
	int rc = oc_sql_prepare(store, &st, err, sql, of ? "s" : "", of);

	if (rc == 0)
		rc = oc_sql_step(store, st, err);
	if (rc > 0)
		*out = sqlite3_column_int64(st, 0);
	return rc;
}

int oc_sql_run(oc_store *store, oc_error **err, const char *sql, const char *types, ...)
{
	oc_cleanup(oc_sql_finalizep) sqlite3_stmt *statement = NULL;
	va_list args;
	int rc;

	va_start(args, types);
	rc = prepare(store, take_kept(store, sql), &statement, err, sql, types, &args);
	va_end(args);
	if (rc < 0)
		return rc;
	while ((rc = oc_sql_step(store, statement, err)) > 0)
		;
	if (rc < 0)
		return rc;
	rc = sqlite3_changes(store->db);
	keep(store, oc_steal(statement));
	return rc;
}

void oc_sql_finalizep(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
	*statement = NULL;
}

const char *oc_sql_text(sqlite3_stmt *statement, int column)
{
	return (const char *)sqlite3_column_text(statement, column);
}

json_t *oc_sql_json(sqlite3_stmt *statement, int column)
{
	const char *text = oc_sql_text(statement, column);
	json_t *json = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;

	return json ? json : json_null();
}

json_t *oc_sql_integer(sqlite3_stmt *statement, int column)
{
	if (sqlite3_column_type(statement, column) != SQLITE_INTEGER)
		return json_null();
	return json_integer(sqlite3_column_int64(statement, column));
}

json_t *oc_sql_time(sqlite3_stmt *statement, int column)
{
	char text[OC_TIME_SIZE];

	if (sqlite3_column_type(statement, column) != SQLITE_INTEGER)
		return json_null();
	oc_time_format(sqlite3_column_int64(statement, column), text);
	return json_string(text);
}

int oc_sql_begin(oc_store *store, bool durable, oc_error **err)
{
	int rc = 0;

	if (store->durable != durable)
		rc = oc_sql_run(store, err, durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", "");
	store->durable = rc < 0 ? -1 : durable;
	return rc < 0 ? rc : oc_sql_run(store, err, "BEGIN IMMEDIATE", "");
}

int oc_sql_end(oc_store *store, int rc, oc_error **err)
{
	int end = rc < 0 ? rc : oc_sql_run(store, err, "COMMIT", "");

	/* A failed COMMIT leaves the transaction open; SQLite may also have rolled back already, which is no error. */
	if (end < 0 && !sqlite3_get_autocommit(store->db))
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return end < 0 ? end : rc;
}

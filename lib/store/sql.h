/* SPDX-License-Identifier: Apache-2.0 */
/* The few steps that every use of SQLite here is made of; nothing outside lib/store includes this. */
#ifndef OC_STORE_SQL_H
#define OC_STORE_SQL_H

#include <sqlite3.h>

#include "store/store.h"

#define OC_STORE_FILE   "state.db"
#define OC_STORE_LOCK   "store.lock" /* held while the store is opened; not empty once state.db was made */
#define OC_STORE_SCHEMA 8            /* the newest version migrate.c knows */

/* What SQLite says, as our error; rc is its (extended) code. */
int oc_sql_fail(oc_store *store, int rc, oc_error **err);

/* Prepare and bind.  types: one letter a value, s text (NULL: null), i int64_t. */
int oc_sql_prepare(oc_store *store, sqlite3_stmt **out, oc_error **err, const char *sql, const char *types, ...);
int oc_sql_step(oc_store *store, sqlite3_stmt *statement, oc_error **err); /* 1: a row; 0: the end; negative */
/* A statement without rows.  The number of rows changed, or negative. */
int oc_sql_run(oc_store *store, oc_error **err, const char *sql, const char *types, ...);
/* The whole number that one statement about one thing gives.  1; 0: no row, *out as it was; negative. */
int oc_sql_number(oc_store *store, const char *sql, const char *of, int64_t *out, oc_error **err);
void oc_sql_finalizep(sqlite3_stmt **statement);
void oc_sql_forget(oc_store *store); /* the statements it keeps; before the database is closed */
const char *oc_sql_text(sqlite3_stmt *statement, int column); /* borrowed; NULL: null */
json_t *oc_sql_json(sqlite3_stmt *statement, int column);     /* new; JSON null where there is none */
json_t *oc_sql_integer(sqlite3_stmt *statement, int column);  /* the same of a number */
json_t *oc_sql_time(sqlite3_stmt *statement, int column);     /* milliseconds as text; new */

/* A write transaction, entered at once (BEGIN IMMEDIATE) so that what was read in it stays true.
 * durable: on the disk when end returns; else with the next one that is. */
int oc_sql_begin(oc_store *store, bool durable, oc_error **err);
/* Commit when rc >= 0, else roll back; rc, or why the commit failed. */
int oc_sql_end(oc_store *store, int rc, oc_error **err);

/* Bring a store to OC_STORE_SCHEMA inside one transaction; OC_EVERSION when it is newer. */
int oc_store_migrate(oc_store *store, oc_error **err);
/* The statements that lead from version - 1 to version, for migrations and their test; NULL past the end. */
const char *oc_store_migration(int version, size_t statement);

#endif

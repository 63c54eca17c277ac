/* SPDX-License-Identifier: Apache-2.0 */
/* A store of an older version, made by that version's own statements, is brought up with all that it holds. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan_fixture.h"
#include "store/sql.h"
#include "suite.h"

static struct fixture f;

static void sql(sqlite3 *db, const char *text)
{
	char *why = NULL;

	ck_assert_msg(sqlite3_exec(db, text, NULL, NULL, &why) == SQLITE_OK, "%s: %s", text, why ? why : "");
}

static int64_t number(sqlite3 *db, const char *text)
{
	sqlite3_stmt *st = NULL;
	int64_t n = -1;

	ck_assert_int_eq(sqlite3_prepare_v2(db, text, -1, &st, NULL), SQLITE_OK);
	if (sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

/* As version `upto` left it, with one run. */
static void make_old(int upto)
{
	char path[400];
	sqlite3 *db = NULL;
	const char *text;
	size_t i;
	int version;

	ck_assert_int_eq(mkdir(f.state, 0700), 0);
	snprintf(path, sizeof(path), "%s/state.db", f.state);
	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	sql(db, "PRAGMA journal_mode=WAL");
	for (version = 1; version <= upto; version++)
		for (i = 0; (text = oc_store_migration(version, i)); i++)
			sql(db, text);
	snprintf(path, sizeof(path), "PRAGMA user_version=%d", upto);
	sql(db, path);
	sql(db, "INSERT INTO runs (id, kind, command, state, created_ms, digest) VALUES "
	        "('oldrun01', 'none', '[\"true\"]', 'exited', 1000, 'sha256:0')");
	sql(db, "INSERT INTO pins VALUES ('oldrun01', 'sha256:0', '{}')");
	sqlite3_close(db);
}

START_TEST(test_every_version)
{
	int version;

	for (version = 1; version <= OC_STORE_SCHEMA; version++) {
		oc_store *store = NULL;
		char *text = NULL;
		bool found;

		fixture_open(&f);
		make_old(version);
		OK(oc_store_open(f.ctx, &store, &err));
		ck_assert_int_eq(number(store->db, "PRAGMA user_version"), OC_STORE_SCHEMA);
		OK(oc_store_run(store, "oldrun01", &text, &err));
		ck_assert_ptr_nonnull(strstr(text, "\"state\":\"exited\""));
		free(text);
		OK(oc_store_verdict(store, "srt", "k", &found, &found, &text, &err));
		oc_store_free(store);
		OK(oc_store_open(f.ctx, &store, &err)); /* and is then simply opened */
		oc_store_free(store);
		fixture_close(&f);
	}
}
END_TEST

/* A step that fails leaves the older store as it was: whole, and usable by the older program. */
START_TEST(test_all_or_nothing)
{
	char path[400];
	oc_store *store = NULL;
	oc_error *error = NULL;
	sqlite3 *db = NULL;

	fixture_open(&f);
	make_old(1);
	snprintf(path, sizeof(path), "%s/state.db", f.state);
	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	sql(db, "CREATE TABLE runs_unfinished (x)"); /* in the way of a later step */
	ck_assert_int_lt(oc_store_open(f.ctx, &store, &error), 0);
	oc_error_free(error);
	ck_assert_int_eq(number(db, "PRAGMA user_version"), 1);
	ck_assert_int_eq(number(db, "SELECT count(*) FROM sqlite_master WHERE name = 'verdicts'"), 0);
	sql(db, "DROP TABLE runs_unfinished");
	sqlite3_close(db);
	OK(oc_store_open(f.ctx, &store, &err)); /* the control */
	oc_store_free(store);
	fixture_close(&f);
}
END_TEST

START_TEST(test_at_once)
{
	enum { N = 5 };
	pid_t child[N];
	oc_store *store = NULL;
	int i, status;

	fixture_open(&f);
	make_old(1);
	for (i = 0; i < N; i++) {
		child[i] = fork();
		if (child[i] == 0) {
			oc_context *ctx = fixture_context(f.state);

			suite_exit(oc_store_open(ctx, &store, NULL) < 0);
		}
	}
	for (i = 0; i < N; i++) {
		ck_assert_int_eq(waitpid(child[i], &status, 0), child[i]);
		ck_assert_int_eq(status, 0);
	}
	OK(oc_store_open(f.ctx, &store, &err));
	ck_assert_int_eq(number(store->db, "SELECT count(*) FROM runs"), 1);
	oc_store_free(store);
	fixture_close(&f);
}
END_TEST

/* "Write-once" holds in the database itself; types hold where SQLite can hold them. */
START_TEST(test_rules)
{
	oc_store *store = NULL;
	oc_plan *plan;

	fixture_open(&f);
	OK(oc_store_open(f.ctx, &store, &err));
	plan = fixture_plan_none(&f, "runaaaaa");
	OK(oc_plan_pin(plan, store, &err));
	ck_assert_int_ne(sqlite3_exec(store->db, "UPDATE pins SET text = 'x'", NULL, NULL, NULL), SQLITE_OK);
	ck_assert_int_ne(sqlite3_exec(store->db, "INSERT INTO attempts VALUES ('nosuchrun', 1, 1)", NULL, NULL, NULL),
	                 SQLITE_OK);
	if (sqlite3_libversion_number() >= 3037000)
		ck_assert_int_ne(sqlite3_exec(store->db, "UPDATE runs SET created_ms = 'soon'", NULL, NULL, NULL),
		                 SQLITE_OK);
	else
		printf("# SQLite %s has no STRICT tables: types are not tried\n", sqlite3_libversion());
	ck_assert_int_eq(number(store->db, "PRAGMA foreign_keys"), 1);
	oc_plan_free(plan);
	oc_store_free(store);
	fixture_close(&f);
}
END_TEST

SUITE_MAIN("migrate", test_every_version, test_all_or_nothing, test_at_once, test_rules)

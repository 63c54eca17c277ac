/* SPDX-License-Identifier: Apache-2.0 */
/* A store that is damaged, torn, of another version, or opened by many: refused or whole, never "repaired". */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "plan_fixture.h"
#include "store/store.h"
#include "suite.h"

static struct fixture f;

/* The directory: made 0700, refused when others may look in, with the line that mends it. */
START_TEST(test_directory)
{
	static const struct {
		mode_t mode;
		int code;
	} cases[] = {
		{ 0700, 0 }, { 0755, OC_EIO }, { 0770, OC_EIO }, { 0701, OC_EIO }, { 0500, OC_EIO }, { 0700, 0 }
	};
	char link[300];
	oc_store *store = NULL;
	oc_error *err2 = NULL;
	oc_context *ctx;
	size_t i;

	fixture_open(&f);
	for (i = 0; i < OC_COUNT(cases); i++) {
		oc_error *err = NULL;

		ck_assert(mkdir(f.state, 0700) == 0 || errno == EEXIST);
		ck_assert_int_eq(chmod(f.state, cases[i].mode), 0);
		store = NULL;
		ck_assert_msg(oc_store_open(f.ctx, &store, &err) == cases[i].code, "mode %o: %s", cases[i].mode,
		              oc_error_message(err));
		if (cases[i].code) {
			ck_assert_str_eq(oc_error_subject(err), f.state);
			ck_assert_ptr_nonnull(strstr(oc_error_fix(err), "chmod 700 "));
		}
		oc_error_free(err);
		oc_store_free(store);
	}
	/* Through a link of our own it is the same store. */
	snprintf(link, sizeof(link), "%s/link", f.dir);
	ck_assert_int_eq(symlink(f.state, link), 0);
	ctx = fixture_context(link);
	OK(oc_store_open(ctx, &store, &err));
	ck_assert_str_eq(store->dir, f.state);
	oc_store_free(store);
	oc_context_free(ctx);
	if (geteuid() == 0) { /* only root can give things away */
		ck_assert_int_eq(lchown(link, 12345, 12345), 0);
		ctx = fixture_context(link);
		ck_assert_int_eq(oc_store_open(ctx, &store, &err2), OC_EIO);
		oc_error_free(err2);
		oc_context_free(ctx);
		err2 = NULL;
		ck_assert_int_eq(chown(f.state, 12345, 12345), 0);
		ck_assert_int_eq(oc_store_open(f.ctx, &store, &err2), OC_EIO);
		ck_assert_ptr_nonnull(strstr(oc_error_message(err2), "another user"));
		oc_error_free(err2);
	} else {
		printf("# not root: directories of another user are not tried\n");
	}
	fixture_close(&f);
}
END_TEST

enum damage { EMPTY, NULS, HALF, DIRECTORY, MISSING, LINK, UNREADABLE, OTHER, NEWER };

static void spoil(enum damage damage, const char *path)
{
	char other[500], zero[4096] = "";
	struct stat st;
	int fd;

	ck_assert_int_eq(stat(path, &st), 0);
	snprintf(other, sizeof(other), "%s.aside", path);
	switch (damage) {
	case EMPTY:
		ck_assert_int_eq(truncate(path, 0), 0);
		break;
	case NULS:
		fd = open(path, O_WRONLY | O_CLOEXEC);
		for (off_t at = 0; at < st.st_size; at += (off_t)sizeof(zero))
			ck_assert_int_eq(oc_write_all(fd, zero, sizeof(zero)), 0);
		close(fd);
		break;
	case HALF:
		ck_assert_int_eq(truncate(path, st.st_size / 2), 0);
		break;
	case DIRECTORY:
		ck_assert_int_eq(rename(path, other), 0);
		ck_assert_int_eq(mkdir(path, 0700), 0);
		break;
	case MISSING:
		ck_assert_int_eq(rename(path, other), 0);
		break;
	case LINK:
		ck_assert_int_eq(rename(path, other), 0);
		ck_assert_int_eq(symlink(other, path), 0);
		break;
	case UNREADABLE:
		ck_assert_int_eq(chmod(path, 0), 0);
		break;
	default:
		break;
	}
}

static void sql(const char *path, const char *text)
{
	sqlite3 *db = NULL;

	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

START_TEST(test_damage)
{
	static const struct {
		enum damage damage;
		int code;
	} cases[] = {
		{ EMPTY, OC_EIO },      { NULS, OC_EIO },    { HALF, OC_EIO },
		{ DIRECTORY, OC_EIO },  { MISSING, OC_EIO }, { LINK, OC_EIO },
		{ UNREADABLE, OC_EIO }, { OTHER, OC_EIO },   { NEWER, OC_EVERSION },
	};
	size_t i;

	for (i = 0; i < OC_COUNT(cases); i++) {
		char path[400], before[128], after[128];
		struct stat st;
		oc_store *store;
		oc_error *error = NULL;
		oc_plan *plan;

		if (cases[i].damage == UNREADABLE && geteuid() == 0) {
			printf("# root reads everything: an unreadable store is not tried\n");
			continue;
		}
		fixture_open(&f);
		store = fixture_store(&f);
		plan = fixture_plan(&f, "runaaaaa");
		OK(oc_plan_pin(plan, store, &err));
		oc_plan_free(plan);
		oc_store_free(store);
		store = fixture_store(&f); /* the control: undamaged, it opens */
		oc_store_free(store);
		store = NULL;
		snprintf(path, sizeof(path), "%s/state.db", f.state);
		if (cases[i].damage == OTHER)
			sql(path, "PRAGMA application_id=1");
		else if (cases[i].damage == NEWER)
			sql(path, "PRAGMA user_version=99");
		spoil(cases[i].damage, path);
		snprintf(before, sizeof(before), "none");
		if (lstat(path, &st) == 0)
			snprintf(before, sizeof(before), "%ld %ld %ld", (long)st.st_ino, (long)st.st_size,
			         (long)st.st_mtim.tv_nsec);
		ck_assert_msg(oc_store_open(f.ctx, &store, &error) == cases[i].code, "damage %d: %s", cases[i].damage,
		              oc_error_message(error));
		ck_assert_ptr_null(store);
		ck_assert_str_eq(oc_error_subject(error), path);
		ck_assert_ptr_nonnull(oc_error_fix(error));
		oc_error_free(error);
		/* And again: the first refusal has not "repaired" anything. */
		error = NULL;
		ck_assert_int_eq(oc_store_open(f.ctx, &store, &error), cases[i].code);
		oc_error_free(error);
		snprintf(after, sizeof(after), "none");
		if (lstat(path, &st) == 0)
			snprintf(after, sizeof(after), "%ld %ld %ld", (long)st.st_ino, (long)st.st_size,
			         (long)st.st_mtim.tv_nsec);
		ck_assert_str_eq(before, after);
		if (cases[i].damage == UNREADABLE)
			chmod(path, 0600);
		fixture_close(&f);
	}
}
END_TEST

/* A process killed while it writes leaves a log whose end is torn: what was committed before is there. */
START_TEST(test_torn_log)
{
	char path[400], wal[500], copy[1000];
	oc_store *store;
	oc_plan *plan;
	struct stat st;
	json_t *json;
	pid_t child;
	int status;

	fixture_open(&f);
	store = fixture_store(&f);
	oc_store_free(store);
	child = fork();
	if (child == 0) { /* dies with its log unmerged */
		oc_context *ctx = fixture_context(f.state);

		if (oc_store_open(ctx, &store, NULL) < 0)
			suite_exit(1);
		plan = fixture_plan(&f, "runaaaaa");
		if (oc_plan_pin(plan, store, NULL) < 0)
			suite_exit(2);
		oc_plan_free(plan);
		plan = fixture_plan(&f, "runbbbbb");
		if (oc_plan_pin(plan, store, NULL) < 0)
			suite_exit(3);
		oc_plan_free(plan);
		suite_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	snprintf(path, sizeof(path), "%s/state.db", f.state);
	snprintf(wal, sizeof(wal), "%s-wal", path);
	ck_assert_int_eq(stat(wal, &st), 0);
	ck_assert_int_gt(st.st_size, 5000);
	ck_assert_int_eq(truncate(wal, st.st_size - 100), 0);
	store = fixture_store(&f);
	json = fixture_run(store, "runaaaaa");
	json_decref(json);
	/* The second was in the torn end: its row is gone, its pin on the disk is not (recovery sees to it). */
	snprintf(copy, sizeof(copy), "%s/runs/runbbbbb/plan.json", f.state);
	ck_assert_int_eq(stat(copy, &st), 0);
	oc_store_free(store);
	fixture_close(&f);
}
END_TEST

/* Many processes at one new directory, at once: all open it, all are recorded, one pin wins. */
START_TEST(test_processes)
{
	enum { N = 6 };
	pid_t child[N];
	oc_store *store;
	json_t *json;
	char *list = NULL;
	int i, status, won = 0;

	fixture_open(&f);
	for (i = 0; i < N; i++) {
		child[i] = fork();
		if (child[i] == 0) {
			char run[OC_RUN_ID_SIZE], same[16];
			oc_context *ctx = fixture_context(f.state);
			int64_t n;

			snprintf(run, sizeof(run), "runner%02d", i);
			if (oc_store_open(ctx, &store, NULL) < 0 ||
			    oc_plan_pin(fixture_plan(&f, run), store, NULL) < 0 ||
			    oc_store_attempt(store, run, &n, NULL) < 0)
				suite_exit(1);
			snprintf(same, sizeof(same), "argument%d", i);
			f.argv[2] = same;
			i = oc_plan_pin(fixture_plan(&f, "samesame"), store, NULL);
			suite_exit(i == 0 ? 10 : i == OC_EEXISTS ? 20 : 2);
		}
	}
	for (i = 0; i < N; i++) {
		ck_assert_int_eq(waitpid(child[i], &status, 0), child[i]);
		ck_assert(WIFEXITED(status));
		ck_assert_msg(WEXITSTATUS(status) == 10 || WEXITSTATUS(status) == 20, "process %d: %d", i,
		              WEXITSTATUS(status));
		won += WEXITSTATUS(status) == 10;
	}
	ck_assert_int_eq(won, 1);
	store = fixture_store(&f);
	OK(oc_store_runs(store, 0, &list, &err));
	json = json_loads(list, 0, NULL);
	ck_assert_uint_eq(json_array_size(json), N + 1);
	json_decref(json);
	free(list);
	oc_store_free(store);
	fixture_close(&f);
}
END_TEST

SUITE_MAIN("store_damage", test_directory, test_damage, test_torn_log, test_processes)

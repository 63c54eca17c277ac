/* SPDX-License-Identifier: Apache-2.0 */
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
#include "base/time.h"
#include "plan_fixture.h"
#include "store/store.h"
#include "suite.h"

static struct fixture f;

static void put(const char *run, const char *name, const char *text)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/runs/%s/%s", f.state, run, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(oc_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static int file_mode(const char *name)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", f.state, name);
	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_mode & 07777;
}

START_TEST(test_pin)
{
	char digest[OC_DIGEST_SIZE], *text = NULL;
	oc_plan *plan, *other;
	oc_store *store;
	oc_error *err2 = NULL;

	fixture_open(&f);
	store = fixture_store(&f);
	ck_assert_int_eq(file_mode(""), 0700);
	plan = fixture_plan(&f, "runaaaaa");
	OK(oc_plan_pin(plan, store, &err));
	OK(oc_plan_pin(plan, store, &err)); /* the same again is the same pin */
	ck_assert_int_eq(file_mode("runs/runaaaaa"), 0700);
	ck_assert_int_eq(file_mode("runs/runaaaaa/plan.json"), 0600);
	f.argv[2] = "false";
	other = fixture_plan(&f, "runaaaaa");
	ck_assert_int_eq(oc_plan_pin(other, store, &err2), OC_EEXISTS);
	oc_error_free(err2);
	OK(oc_store_pinned(store, "runaaaaa", &text, digest, &err));
	ck_assert_str_eq(text, oc_plan_json(plan));
	ck_assert_str_eq(digest, oc_plan_digest(plan));
	free(text);
	oc_plan_free(plan);
	oc_plan_free(other);
	oc_store_free(store);
	fixture_close(&f);
}
END_TEST

/* Each kind of damage to plan.json is a mismatch, and pinning again does not paper over it. */
START_TEST(test_pin_damaged)
{
	static const char *const damage[] = { "", "{", "{}" };
	char digest[OC_DIGEST_SIZE], *text = NULL;
	oc_plan *plan;
	oc_store *store;
	size_t i;

	fixture_open(&f);
	store = fixture_store(&f);
	plan = fixture_plan(&f, "runaaaaa");
	OK(oc_plan_pin(plan, store, &err));
	for (i = 0; i < OC_COUNT(damage); i++) {
		oc_error *err = NULL;

		put("runaaaaa", "plan.json", damage[i]);
		ck_assert_int_eq(oc_store_pinned(store, "runaaaaa", &text, digest, &err), OC_EREFUSED);
		ck_assert_str_eq(oc_error_reason(err), "pin_mismatch");
		ck_assert_ptr_nonnull(oc_error_fix(err));
		oc_error_free(err);
		err = NULL;
		ck_assert_int_eq(oc_plan_pin(plan, store, &err), OC_EREFUSED);
		oc_error_free(err);
	}
	put("runaaaaa", "plan.json", oc_plan_json(plan));
	OK(oc_store_pinned(store, "runaaaaa", &text, digest, &err));
	free(text);
	oc_plan_free(plan);
	oc_store_free(store);
	fixture_close(&f);
}
END_TEST

/* A crash between the file and its row leaves a file: it may be planned anew, unless something was started. */
START_TEST(test_pin_orphan)
{
	oc_plan *plan;
	oc_store *store;
	oc_error *err2 = NULL;
	char path[512];

	fixture_open(&f);
	store = fixture_store(&f);
	plan = fixture_plan(&f, "runaaaaa");
	snprintf(path, sizeof(path), "%s/runs/runaaaaa", f.state);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	put("runaaaaa", "plan.json", "{}");
	put("runaaaaa", "started", "{}");
	ck_assert_int_eq(oc_plan_pin(plan, store, &err2), OC_EEXISTS);
	oc_error_free(err2);
	snprintf(path, sizeof(path), "%s/runs/runaaaaa/started", f.state);
	ck_assert_int_eq(unlink(path), 0);
	OK(oc_plan_pin(plan, store, &err));
	oc_plan_free(plan);
	oc_store_free(store);
	fixture_close(&f);
}
END_TEST

START_TEST(test_record)
{
	oc_plan *plan;
	oc_store *store;
	oc_error *error = NULL;
	json_t *json, *event;
	int64_t n = 0;
	char text[1024], *list = NULL;

	fixture_open(&f);
	store = fixture_store(&f);
	plan = fixture_plan(&f, "runaaaaa");
	OK(oc_plan_pin(plan, store, &err));
	OK(oc_store_attempt(store, "runaaaaa", &n, &err));
	OK(oc_store_attempt(store, "runaaaaa", &n, &err));
	ck_assert_int_eq(n, 2);
	OK(oc_store_event(store, "runaaaaa", "note", json_pack("{s:i}", "x", 1), &err));
	OK(oc_store_state(store, "runaaaaa", "running", NULL, &err));
	OK(oc_store_state(store, "runaaaaa", "running", NULL, &err)); /* said twice, recorded once */
	snprintf(text, sizeof(text),
	         "{\"version\":1,\"run\":\"runaaaaa\",\"digest\":\"%s\",\"state\":\"exited\",\"status\":7,\"signal\":0,"
	         "\"error\":null}",
	         oc_plan_digest(plan));
	put("runaaaaa", "exit.json", text);
	put("runaaaaa", "proved", "{\"at\":\"x\",\"facts\":{\"seccomp\":\"2\"},\"probes\":[{\"id\":\"P6\"}],\"ns\":5}");
	OK(oc_store_finish(store, "runaaaaa", &err));
	OK(oc_store_finish(store, "runaaaaa", &err));
	json = fixture_run(store, "runa"); /* a prefix */
	ck_assert_int_eq(oc_json_integer(json, "version", 0), 1);
	ck_assert_str_eq(oc_json_text(json, "id"), "runaaaaa");
	ck_assert_str_eq(oc_json_text(json, "state"), "exited");
	ck_assert_str_eq(oc_json_text(json, "digest"), oc_plan_digest(plan));
	ck_assert_str_eq(oc_json_text(json, "policy"), f.policy->text);
	ck_assert(json_is_true(json_object_get(json, "pinned")));
	ck_assert(json_equal(json_object_get(json, "plan"), plan->json));
	ck_assert_uint_eq(json_array_size(json_object_get(json, "attempts")), 2);
	ck_assert_uint_eq(json_array_size(json_object_get(json, "probes")), 1);
	ck_assert_int_eq(oc_json_integer(json_object_get(json, "exit"), "status", 0), 7);
	/* pinned, two attempts, note, running, ended, exited */
	ck_assert_uint_eq(json_array_size(json_object_get(json, "events")), 7);
	event = json_array_get(json_object_get(json, "events"), 3);
	ck_assert_str_eq(oc_json_text(event, "type"), "note");
	ck_assert_int_eq(oc_json_integer(json_object_get(event, "data"), "x", 0), 1);
	json_decref(json);
	OK(oc_store_runs(store, 0, &list, &err));
	json = json_loads(list, 0, NULL);
	ck_assert_uint_eq(json_array_size(json), 1);
	ck_assert_int_eq(oc_json_integer(json_array_get(json, 0), "status", 0), 7);
	ck_assert_str_eq(json_string_value(json_array_get(json_object_get(json_array_get(json, 0), "command"), 0)),
	                 "/usr/bin/sh");
	json_decref(json);
	free(list);
	/* A record of another plan is not this run's end. */
	put("runaaaaa", "exit.json", "{\"run\":\"runaaaaa\",\"digest\":\"sha256:0\",\"state\":\"exited\"}");
	ck_assert_int_eq(oc_store_finish(store, "runaaaaa", &error), OC_EREFUSED);
	ck_assert_str_eq(oc_error_reason(error), "pin_mismatch");
	oc_error_free(error);
	oc_plan_free(plan);
	oc_store_free(store);
	fixture_close(&f);
}
END_TEST

static const char *state_of(oc_store *store)
{
	static char text[32];
	json_t *json = fixture_run(store, "runaaaaa");

	snprintf(text, sizeof(text), "%s", oc_json_text(json, "state"));
	json_decref(json);
	return text;
}

static enum oc_launch_state launch_state(oc_store *store)
{
	enum oc_launch_state state = OC_LAUNCH_OVER;

	OK(oc_store_launch_state(store, "runaaaaa", &state, &err));
	return state;
}

static void fail_with(oc_store *store, const char *state, const char *reason)
{
	oc_error *why = NULL;

	oc_refuse(&why, reason, "x", "fix", "what");
	OK(oc_store_state(store, "runaaaaa", state, why, &err));
	oc_error_free(why);
}

/* Forward only, and never out of an end. */
START_TEST(test_progress)
{
	oc_plan *plan;
	oc_store *store;
	oc_error *error = NULL;
	json_t *json;

	fixture_open(&f);
	store = fixture_store(&f);
	plan = fixture_plan(&f, "runaaaaa");
	OK(oc_plan_pin(plan, store, &err));
	OK(oc_store_progress(store, "runaaaaa", "launched", &err));
	OK(oc_store_progress(store, "runaaaaa", "running", &err));
	OK(oc_store_progress(store, "runaaaaa", "started", &err)); /* a host that comes late */
	ck_assert_str_eq(state_of(store), "running");
	OK(oc_store_state(store, "runaaaaa", "unknown", NULL, &err));
	OK(oc_store_progress(store, "runaaaaa", "started", &err));
	ck_assert_str_eq(state_of(store), "started");
	ck_assert_int_eq(oc_store_progress(store, "runaaaaa", "exited", &error), OC_EINVAL); /* an end has a record */
	oc_error_free(oc_steal(error));
	ck_assert_int_eq(oc_store_progress(store, "runbbbbb", "running", &error), OC_ENOTFOUND);
	oc_error_free(oc_steal(error));
	fail_with(store, "run_lost", "run_lost");
	OK(oc_store_progress(store, "runaaaaa", "running", &err));
	ck_assert_str_eq(state_of(store), "run_lost");
	json = fixture_run(store, "runaaaaa");
	/* pinned, launched, running, unknown, started, run_lost */
	ck_assert_uint_eq(json_array_size(json_object_get(json, "events")), 6);
	json_decref(json);
	oc_plan_free(plan);
	oc_store_free(store);
	fixture_close(&f);
}
END_TEST

START_TEST(test_relaunch)
{
	static const struct {
		const char *state, *reason;
		enum oc_launch_state expected;
	} table[] = {
		{ "running", NULL, OC_LAUNCH_OPEN },
		{ "exited", NULL, OC_LAUNCH_OVER },
		{ "exited", "run_lost", OC_LAUNCH_OVER },
		{ "unknown", "run_lost", OC_LAUNCH_UNKNOWN },
		{ "failed", "sandbox_denied", OC_LAUNCH_OVER },
		{ "failed", "pin_mismatch", OC_LAUNCH_OVER },
		{ "failed", NULL, OC_LAUNCH_OVER },
		{ "failed", "sandbox_unavailable", OC_LAUNCH_AGAIN },
		{ "failed", "container_running", OC_LAUNCH_AGAIN },
		{ "run_lost", "run_lost", OC_LAUNCH_AGAIN },
	};
	oc_error *error = NULL;
	oc_store *store;
	oc_plan *plan;
	json_t *json;
	char text[600];
	size_t i;

	fixture_open(&f);
	store = fixture_store(&f);
	plan = fixture_plan(&f, "runaaaaa");
	OK(oc_plan_pin(plan, store, &err));
	for (i = 0; i < OC_COUNT(table); i++) {
		if (table[i].reason)
			fail_with(store, table[i].state, table[i].reason);
		else
			OK(oc_store_state(store, "runaaaaa", table[i].state, NULL, &err));
		ck_assert_msg(launch_state(store) == table[i].expected, "%s %s", table[i].state, table[i].reason);
		if (table[i].expected != OC_LAUNCH_AGAIN)
			ck_assert_int_lt(oc_store_relaunch(store, "runaaaaa", NULL), 0);
	}
	/* What the last attempt said is in the history, and not said of this one. */
	snprintf(text, sizeof(text),
	         "{\"run\":\"runaaaaa\",\"digest\":\"%s\",\"state\":\"run_lost\",\"error\":{\"code\":-9,"
	         "\"reason\":\"run_lost\",\"message\":\"gone\"}}",
	         oc_plan_digest(plan));
	put("runaaaaa", "exit.json", text);
	put("runaaaaa", "proved", "{\"at\":\"then\",\"facts\":{},\"probes\":[],\"ns\":5}");
	OK(oc_store_finish(store, "runaaaaa", &err));
	ck_assert_int_eq(launch_state(store), OC_LAUNCH_AGAIN);
	OK(oc_store_relaunch(store, "runaaaaa", &err));
	ck_assert_int_eq(oc_store_relaunch(store, "runaaaaa", &error), OC_EEXISTS); /* by two at once: one */
	oc_error_free(error);
	put("runaaaaa", "exit.json", "");
	put("runaaaaa", "proved", "");
	json = fixture_run(store, "runaaaaa");
	ck_assert_str_eq(oc_json_text(json, "state"), "launched");
	ck_assert(json_is_null(json_object_get(json, "exit")) && json_is_null(json_object_get(json, "proved")));
	ck_assert(json_is_null(json_object_get(json, "error")) && json_is_null(json_object_get(json, "ended")));
	i = json_array_size(json_object_get(json, "events"));
	ck_assert_uint_ge(i, 2);
	{
		const json_t *event = json_array_get(json_object_get(json, "events"), i - 2);
		const json_t *data = json_object_get(event, "data");

		ck_assert_str_eq(oc_json_text(event, "type"), "retry");
		ck_assert_str_eq(oc_json_text(data, "state"), "run_lost");
		ck_assert_str_eq(oc_json_text(json_object_get(data, "proved"), "at"), "then");
		ck_assert_str_eq(oc_json_text(json_object_get(data, "exit"), "run"), "runaaaaa");
	}
	json_decref(json);
	oc_plan_free(plan);
	oc_store_free(store);
	fixture_close(&f);
}
END_TEST

START_TEST(test_resolve)
{
	static const char *const runs[] = { "runaaaaa", "runaaaaab", "runbbbbb" };
	static const struct {
		const char *prefix;
		int code;
		const char *id;
	} cases[] = {
		{ "runaaaaa", 0, "runaaaaa" }, /* whole, although it begins another */
		{ "runb", 0, "runbbbbb" },     { "run", OC_EINVAL, NULL },      { "x", OC_ENOTFOUND, NULL },
		{ "", OC_EINVAL, NULL },       { "run%", OC_EINVAL, NULL },     { "../x", OC_EINVAL, NULL },
		{ NULL, OC_EINVAL, NULL },     { "runaaaaab", 0, "runaaaaab" },
	};
	oc_store *store;
	size_t i;

	fixture_open(&f);
	store = fixture_store(&f);
	for (i = 0; i < OC_COUNT(runs); i++) {
		oc_plan *plan = fixture_plan(&f, runs[i]);

		OK(oc_plan_pin(plan, store, &err));
		oc_plan_free(plan);
	}
	for (i = 0; i < OC_COUNT(cases); i++) {
		char id[OC_RUN_ID_SIZE] = "";
		oc_error *err = NULL;

		ck_assert_msg(oc_store_resolve(store, cases[i].prefix, id, &err) == cases[i].code, "%s",
		              cases[i].prefix);
		if (cases[i].id)
			ck_assert_str_eq(id, cases[i].id);
		oc_error_free(err);
	}
	oc_store_free(store);
	fixture_close(&f);
}
END_TEST

START_TEST(test_verdicts)
{
	oc_store *store;
	bool found = true, ok = true;
	char *checks = NULL;

	fixture_open(&f);
	store = fixture_store(&f);
	OK(oc_store_verdict(store, "srt", "k", &found, &ok, &checks, &err));
	ck_assert(!found);
	OK(oc_store_verdict_put(store, "srt", "k", true, "[1]", &err));
	OK(oc_store_verdict(store, "srt", "k", &found, &ok, &checks, &err));
	ck_assert(found && ok);
	ck_assert_str_eq(checks, "[1]");
	free(checks);
	OK(oc_store_verdict(store, "srt", "other boot", &found, &ok, &checks, &err));
	ck_assert(!found);
	/* A day old, green is no longer believed, red still is. */
	ck_assert_int_eq(sqlite3_exec(store->db, "UPDATE verdicts SET at_ms = at_ms - 86400001", NULL, NULL, NULL),
	                 SQLITE_OK);
	OK(oc_store_verdict(store, "srt", "k", &found, &ok, &checks, &err));
	ck_assert(!found);
	OK(oc_store_verdict_put(store, "srt", "k", false, "[2]", &err));
	ck_assert_int_eq(sqlite3_exec(store->db, "UPDATE verdicts SET at_ms = at_ms - 86400001", NULL, NULL, NULL),
	                 SQLITE_OK);
	OK(oc_store_verdict(store, "srt", "k", &found, &ok, &checks, &err));
	ck_assert(found && !ok);
	free(checks);
	/* The clock was set back: nobody knows how old a green verdict is. */
	OK(oc_store_verdict_put(store, "srt", "k", true, "[3]", &err));
	ck_assert_int_eq(sqlite3_exec(store->db, "UPDATE verdicts SET at_ms = at_ms + 3600000", NULL, NULL, NULL),
	                 SQLITE_OK);
	OK(oc_store_verdict(store, "srt", "k", &found, &ok, &checks, &err));
	ck_assert(!found);
	oc_store_free(store);
	fixture_close(&f);
}
END_TEST

/* Two stores of one process: closing one must not drop the other's locks. */
START_TEST(test_two_stores)
{
	oc_store *a, *b;
	int status;
	pid_t child;

	fixture_open(&f);
	a = fixture_store(&f);
	ck_assert_int_eq(sqlite3_exec(a->db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	b = fixture_store(&f);
	oc_store_free(b);
	child = fork();
	if (child == 0) {
		sqlite3 *db = NULL;
		char path[400];

		snprintf(path, sizeof(path), "%s/state.db", f.state);
		sqlite3_open(path, &db);
		suite_exit(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_BUSY ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	oc_store_free(a);
	fixture_close(&f);
}
END_TEST

START_TEST(test_descriptors)
{
	oc_store *store;
	int before;

	fixture_open(&f);
	before = suite_count_fds();
	store = fixture_store(&f);
	oc_store_free(store);
	ck_assert_int_eq(suite_count_fds(), before);
	oc_store_free(NULL);
	fixture_close(&f);
}
END_TEST

START_TEST(test_pin_cost)
{
	enum { ROUNDS = 30 };
	oc_store *store;
	int64_t begin, spent = 0;
	int i;

	fixture_open(&f);
	store = fixture_store(&f);
	for (i = 0; i < ROUNDS; i++) {
		char run[OC_RUN_ID_SIZE];
		oc_plan *plan;

		snprintf(run, sizeof(run), "costrun%02d", i);
		plan = fixture_plan(&f, run);
		begin = oc_mono_ns();
		OK(oc_plan_pin(plan, store, &err));
		spent += oc_mono_ns() - begin;
		oc_plan_free(plan);
	}
	printf("# pin, with its fsyncs: %.3f ms\n", (double)spent / ROUNDS / 1e6);
	oc_store_free(store);
	fixture_close(&f);
}
END_TEST

SUITE_MAIN("store", test_pin, test_pin_damaged, test_pin_orphan, test_record, test_progress, test_relaunch,
           test_resolve, test_verdicts, test_two_stores, test_descriptors, test_pin_cost)

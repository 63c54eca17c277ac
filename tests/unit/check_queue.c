/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that wait to be started: added once, moved by one, bounded; and those that go on without a host. */
#include <openconduit/queue.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan_fixture.h"
#include "store/store.h"
#include "suite.h"

static struct fixture f;
static oc_store *store;

static void begin(void)
{
	fixture_open(&f);
	store = fixture_store(&f);
}

static void end(void)
{
	oc_store_free(store);
	fixture_close(&f);
}

static int add(const char *run, const char *binding, const char *key, const char *request, oc_error **err)
{
	return oc_queue_add(store, run, binding, key, request, err);
}

static json_t *list(void)
{
	char *text = NULL;
	json_t *rows;

	OK(oc_queue_list(store, &text, &err));
	rows = json_loads(text, 0, NULL);
	free(text);
	ck_assert(json_is_array(rows));
	return rows;
}

static void refused(int rc, oc_error *err, int code)
{
	ck_assert_int_eq(rc, code);
	ck_assert_uint_gt(strlen(oc_error_message(err)), 10);
	oc_error_free(err);
}
#define REFUSED(call, code)                                                                                            \
	do {                                                                                                           \
		oc_error *err = NULL;                                                                                  \
		int rc = (call);                                                                                       \
		refused(rc, err, code);                                                                                \
	} while (0)

START_TEST(test_add_and_move)
{
	char *text = NULL;
	json_t *rows, *row;

	begin();
	ck_assert_int_eq(add("aaaaaaaa", "web/job", "k", "{\"input\":\"{}\"}", NULL), 1);
	ck_assert_int_eq(add("bbbbbbbb", "web/job", NULL, "{}", NULL), 1);
	ck_assert_int_eq(add("aaaaaaaa", "web/job", "k", "{}", NULL), 0); /* asked again: it is there */
	OK(oc_queue_request(store, "aaaaaaaa", &text, &err));
	ck_assert_str_eq(text, "{\"input\":\"{}\"}");
	free(text);
	ck_assert_int_eq(oc_queue_move(store, "aaaaaaaa", "queued", "starting", NULL, NULL), 1);
	ck_assert_int_eq(oc_queue_move(store, "aaaaaaaa", "queued", "starting", NULL, NULL), 0); /* by one only */
	ck_assert_int_eq(oc_queue_move(store, "aaaaaaaa", "starting", "refused", "{\"reason\":\"x\"}", NULL), 1);
	rows = list();
	ck_assert_uint_eq(json_array_size(rows), 2);
	row = json_array_get(rows, 0);
	ck_assert_str_eq(json_string_value(json_object_get(row, "id")), "aaaaaaaa");
	ck_assert_str_eq(json_string_value(json_object_get(row, "state")), "refused");
	ck_assert_str_eq(json_string_value(json_object_get(json_object_get(row, "error"), "reason")), "x");
	ck_assert(json_is_null(json_object_get(row, "run")));
	json_decref(rows);
	ck_assert_int_eq(oc_queue_move(store, "bbbbbbbb", "queued", NULL, NULL, NULL), 1);
	ck_assert_int_eq(oc_queue_move(store, "bbbbbbbb", "queued", NULL, NULL, NULL), 0);
	rows = list();
	ck_assert_uint_eq(json_array_size(rows), 1);
	json_decref(rows);
	end();
}
END_TEST

START_TEST(test_wrong)
{
	oc_plan *plan;
	char *text = NULL, *huge = malloc((3u << 20) + 1);

	begin();
	ck_assert_ptr_nonnull(huge);
	memset(huge, 'x', 3u << 20);
	huge[3u << 20] = 0;
	REFUSED(add("short", "web/job", NULL, "{}", &err), OC_EINVAL);
	REFUSED(add("aaaaaaaa", "", NULL, "{}", &err), OC_EINVAL);
	REFUSED(add("aaaaaaaa", "web/job", "", "{}", &err), OC_EINVAL);
	REFUSED(add("aaaaaaaa", "web/job", NULL, "[]", &err), OC_EINVAL);
	REFUSED(add("aaaaaaaa", "web/job", NULL, huge, &err), OC_ELIMIT);
	REFUSED(oc_queue_request(store, "aaaaaaaa", &text, &err), OC_ENOTFOUND);
	REFUSED(oc_queue_move(store, "aaaaaaaa", "queued", "starting", huge, &err), OC_ELIMIT);
	plan = fixture_plan(&f, "aaaaaaaa");
	OK(oc_plan_pin(plan, store, &err));
	REFUSED(add("aaaaaaaa", "web/job", NULL, "{}", &err), OC_EEXISTS); /* an id is of one run */
	oc_plan_free(plan);
	free(huge);
	end();
}
END_TEST

START_TEST(test_full)
{
	oc_error *err = NULL;
	char run[16];

	begin();
	for (int i = 0; i < OC_QUEUE_MAX; i++) {
		snprintf(run, sizeof(run), "run%05d", i);
		ck_assert_int_eq(add(run, "web/job", NULL, "{}", NULL), 1);
	}
	ck_assert_int_eq(add("onetoomany", "web/job", NULL, "{}", &err), OC_EREFUSED);
	ck_assert_str_eq(oc_error_reason(err), "queue_full");
	ck_assert_ptr_nonnull(oc_error_fix(err));
	oc_error_free(err);
	ck_assert_int_eq(add("run00007", "web/job", NULL, "{}", NULL), 0); /* which is in it */
	ck_assert_int_eq(oc_queue_move(store, "run00000", "queued", "starting", NULL, NULL), 1);
	ck_assert_int_eq(add("onetoomany", "web/job", NULL, "{}", NULL), 1);
	end();
}
END_TEST

static size_t kept(bool left)
{
	char *text = NULL;
	json_t *rows;
	size_t n;

	OK(oc_store_kept(store, &text, &err));
	rows = json_loads(text, 0, NULL);
	n = json_array_size(rows);
	if (n)
		ck_assert(json_is_true(json_object_get(json_array_get(rows, 0), "left")) == left);
	json_decref(rows);
	free(text);
	return n;
}

START_TEST(test_kept)
{
	oc_plan *plan;

	begin();
	f.request.keep = 1;
	plan = fixture_plan(&f, "aaaaaaaa");
	OK(oc_plan_pin(plan, store, &err));
	oc_plan_free(plan);
	f.request.keep = 0;
	plan = fixture_plan(&f, "bbbbbbbb");
	OK(oc_plan_pin(plan, store, &err));
	oc_plan_free(plan);
	ck_assert_uint_eq(kept(false), 0);
	OK(oc_store_state(store, "aaaaaaaa", "running", NULL, &err));
	OK(oc_store_state(store, "bbbbbbbb", "running", NULL, &err));
	ck_assert_uint_eq(kept(false), 1);
	OK(oc_store_note(store, "aaaaaaaa", "left", "{}", &err));
	ck_assert_uint_eq(kept(true), 1);
	OK(oc_store_state(store, "aaaaaaaa", "exited", NULL, &err));
	ck_assert_uint_eq(kept(true), 0);
	end();
}
END_TEST

START_TEST(test_changes)
{
	oc_store *other;
	int64_t before = 0, after = 0;

	begin();
	other = fixture_store(&f);
	OK(oc_store_changes(store, &before, &err));
	ck_assert_int_eq(add("aaaaaaaa", "web/job", NULL, "{}", NULL), 1);
	OK(oc_store_changes(store, &after, &err));
	ck_assert_int_eq(before, after); /* our own */
	ck_assert_int_eq(oc_queue_add(other, "bbbbbbbb", "web/job", NULL, "{}", NULL), 1);
	OK(oc_store_changes(store, &after, &err));
	ck_assert_int_ne(before, after);
	oc_store_free(other);
	end();
}
END_TEST

SUITE_MAIN("queue", test_add_and_move, test_wrong, test_full, test_kept, test_changes)

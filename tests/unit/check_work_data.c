/* SPDX-License-Identifier: Apache-2.0 */
/* What hosts keep with a Work, messages to its agent, and notes in a run's history. */
#include <openconduit/workspace.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan_fixture.h"
#include "store/works.h"
#include "suite.h"

static struct fixture f;
static oc_store *store;
static char *long_text;

/* A Work by its row: nothing of it has to be on the disk. */
static void add_work(const char *id)
{
	json_t *work = json_pack("{s:s, s:s, s:b, s:s, s:s}", "id", id, "key", id, "own", 0, "checkout", "/srv/web",
	                         "branch", "work");

	OK(oc_store_work_add(store, work, &err));
	json_decref(work);
}

static void begin(void)
{
	fixture_open(&f);
	store = fixture_store(&f);
	add_work("one");
	add_work("two");
	long_text = malloc(70000);
	ck_assert_ptr_nonnull(long_text);
	memset(long_text, 'x', 70000);
}

static void end(void)
{
	free(long_text);
	oc_store_free(store);
	fixture_close(&f);
}

static void refused(int rc, oc_error *err, int code)
{
	ck_assert_int_eq(rc, code);
	ck_assert_int_eq(oc_error_code(err), code);
	ck_assert_uint_gt(strlen(oc_error_message(err)), 10);
	oc_error_free(err);
}
#define REFUSED(call, code)                                                                                            \
	do {                                                                                                           \
		oc_error *err = NULL;                                                                                  \
		int rc = (int)(call);                                                                                  \
		refused(rc, err, code);                                                                                \
	} while (0)

static json_t *data(const char *work)
{
	json_t *out = NULL;

	OK(oc_store_work_data(store, work, &out, &err));
	return out;
}

START_TEST(test_set)
{
	json_t *is, *want = json_pack("{s:{s:s}, s:i}", "claude", "session", "s-1", "n", 2);

	begin();
	OK(oc_work_set(store, "one", "claude", "{\"session\":\"s-0\"}", &err));
	OK(oc_work_set(store, "one", "claude", "{\"session\":\"s-1\"}", &err));
	OK(oc_work_set(store, "one", "n", "2", &err));
	OK(oc_work_set(store, "one", "gone", "true", &err));
	OK(oc_work_set(store, "one", "gone", NULL, &err));
	OK(oc_work_set(store, "one", "never-was", NULL, &err));
	oc_store_free(store); /* it outlives the process */
	store = fixture_store(&f);
	is = data("one");
	ck_assert(json_equal(is, want));
	json_decref(is);
	is = data("two");
	ck_assert_uint_eq(json_object_size(is), 0);
	json_decref(is);
	json_decref(want);
	end();
}
END_TEST

START_TEST(test_set_bounds)
{
	char name[80];

	begin();
	REFUSED(oc_work_set(store, "none", "a", "1", &err), OC_ENOTFOUND);
	REFUSED(oc_work_set(store, "../one", "a", "1", &err), OC_EINVAL);
	REFUSED(oc_work_set(store, "one", "", "1", &err), OC_EINVAL);
	REFUSED(oc_work_set(store, "one", "A", "1", &err), OC_EINVAL);
	REFUSED(oc_work_set(store, "one", NULL, "1", &err), OC_EINVAL);
	memset(name, 'a', 65);
	name[65] = '\0';
	REFUSED(oc_work_set(store, "one", name, "1", &err), OC_EINVAL);
	name[64] = '\0';
	OK(oc_work_set(store, "one", name, "1", &err));
	REFUSED(oc_work_set(store, "one", "a", "{\"a\":1,\"a\":2}", &err), OC_EPROTO);
	long_text[69999] = '\0';
	REFUSED(oc_work_set(store, "one", "a", long_text, &err), OC_ELIMIT);
	for (int i = 1; i < 32; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		OK(oc_work_set(store, "one", name, "1", &err));
	}
	REFUSED(oc_work_set(store, "one", "one-more", "1", &err), OC_ELIMIT);
	OK(oc_work_set(store, "one", "n31", "2", &err)); /* one that is there may change */
	OK(oc_work_set(store, "two", "one-more", "1", &err));
	end();
}
END_TEST

static json_t *messages(const char *work)
{
	char *text = NULL;
	json_t *list;

	OK(oc_work_messages(store, work, &text, &err));
	list = json_loads(text, 0, NULL);
	ck_assert_ptr_nonnull(list);
	free(text);
	return list;
}

static void is_message(const char *work, size_t at, const char *text, const char *state, const char *run)
{
	json_t *list = messages(work), *one = json_array_get(list, at);
	const char *of = json_string_value(json_object_get(one, "run"));

	ck_assert_ptr_nonnull(one);
	ck_assert_str_eq(json_string_value(json_object_get(one, "text")), text);
	ck_assert_str_eq(json_string_value(json_object_get(one, "state")), state);
	ck_assert_msg(run ? of && !strcmp(of, run) : !of, "run %s", of ? of : "(none)");
	json_decref(list);
}

static void moves(int64_t n, const char *from, const char *to, const char *run, const char *mark, int moved)
{
	oc_error *err = NULL;
	int rc = oc_work_message(store, "one", n, from, to, run, mark, &err);

	ck_assert_msg(rc == moved, "%s to %s: %d, %s", from, to, rc, oc_error_message(err));
	oc_error_free(err);
}

START_TEST(test_messages)
{
	json_t *list;

	begin();
	ck_assert_int_eq(oc_work_send(store, "one", "first", NULL), 1);
	ck_assert_int_eq(oc_work_send(store, "one", "second \xc3\xa4\n\x1b[31m", NULL), 2);
	ck_assert_int_eq(oc_work_send(store, "two", "of another", NULL), 1);
	moves(1, "waiting", "given", "run00001", "mark-1", 1);
	moves(1, "waiting", "given", "run00002", "mark-2", 0); /* the other of two that give it */
	moves(7, "waiting", "given", "run00002", "mark-2", 0); /* there is none */
	is_message("one", 0, "first", "given", "run00001");
	is_message("one", 1, "second \xc3\xa4\n\x1b[31m", "waiting", NULL);
	moves(1, "given", "given", "run00002", "mark-2", 1); /* of a run that was lost, to the next */
	is_message("one", 0, "first", "given", "run00002");
	oc_store_free(store);
	store = fixture_store(&f);
	moves(1, "given", "delivered", NULL, NULL, 1);
	moves(1, "given", "delivered", NULL, NULL, 0);
	is_message("one", 0, "second \xc3\xa4\n\x1b[31m", "waiting", NULL);
	list = messages("one");
	ck_assert_uint_eq(json_array_size(list), 1);
	json_decref(list);
	is_message("two", 0, "of another", "waiting", NULL);
	end();
}
END_TEST

/* Both, or neither. */
START_TEST(test_send_set)
{
	json_t *is;

	begin();
	ck_assert_int_eq(oc_work_send_set(store, "one", "first", "route", "{\"seen\":[1]}", NULL), 1);
	REFUSED(oc_work_send_set(store, "one", "", "route", "{\"seen\":[1,2]}", &err), OC_EINVAL);
	REFUSED(oc_work_send_set(store, "one", "x", "route", "{", &err), OC_EPROTO);
	REFUSED(oc_work_send_set(store, "one", "x", "No", "{}", &err), OC_EINVAL);
	for (int i = 0; i < 31; i++) {
		char name[8];

		snprintf(name, sizeof(name), "n%d", i);
		OK(oc_work_set(store, "one", name, "1", &err));
	}
	REFUSED(oc_work_send_set(store, "one", "x", "one-more", "{}", &err), OC_ELIMIT); /* after the message was put */
	is = messages("one");
	ck_assert_uint_eq(json_array_size(is), 1);
	json_decref(is);
	is = data("one");
	ck_assert_int_eq(json_integer_value(json_array_get(json_object_get(json_object_get(is, "route"), "seen"), 0)),
	                 1);
	ck_assert_uint_eq(json_array_size(json_object_get(json_object_get(is, "route"), "seen")), 1);
	json_decref(is);
	ck_assert_int_eq(oc_work_send_set(store, "one", "second", "route", NULL, NULL), 2);
	is = data("one");
	ck_assert_ptr_null(json_object_get(is, "route"));
	json_decref(is);
	ck_assert_int_eq(oc_work_send_set(store, "one", "third", NULL, NULL, NULL), 3);
	end();
}
END_TEST

START_TEST(test_message_bounds)
{
	begin();
	REFUSED(oc_work_send(store, "none", "x", &err), OC_ENOTFOUND);
	REFUSED(oc_work_send(store, "one", "", &err), OC_EINVAL);
	REFUSED(oc_work_send(store, "one", NULL, &err), OC_EINVAL);
	REFUSED(oc_work_send(store, "one", "\xff", &err), OC_EINVAL);
	long_text[65537] = '\0';
	REFUSED(oc_work_send(store, "one", long_text, &err), OC_ELIMIT);
	long_text[65536] = '\0';
	for (int i = 1; i <= 256; i++)
		ck_assert_int_eq(oc_work_send(store, "one", i > 1 ? "x" : long_text, NULL), i);
	REFUSED(oc_work_send(store, "one", "x", &err), OC_ELIMIT);
	moves(1, "waiting", "delivered", NULL, NULL, 1);
	ck_assert_int_eq(oc_work_send(store, "one", "x", NULL), 257);
	REFUSED(oc_work_message(store, "one", 2, "waiting", "given", NULL, NULL, &err), OC_EINVAL);
	REFUSED(oc_work_message(store, "one", 2, "waiting", "given", "../run", "m", &err), OC_EINVAL);
	REFUSED(oc_work_message(store, "one", 2, "waiting", "delivered", "run00001", "m", &err), OC_EINVAL);
	REFUSED(oc_work_message(store, "one", 1, "delivered", "waiting", NULL, NULL, &err), OC_EINVAL);
	REFUSED(oc_work_message(store, "one", 2, "waiting", "lost", NULL, NULL, &err), OC_EINVAL);
	OK(oc_store_work_state(store, "two", "finished", &err));
	REFUSED(oc_work_send(store, "two", "x", &err), OC_EINVAL);
	end();
}
END_TEST

/* Several processes at once: no number twice, none lost. */
START_TEST(test_messages_at_once)
{
	enum { N = 4, EACH = 20 };
	json_t *list;
	int status;

	begin();
	for (int i = 0; i < N; i++)
		if (fork() == 0) {
			oc_context *ctx = fixture_context(f.state);
			oc_store *mine = NULL;
			int failed = oc_store_open(ctx, &mine, NULL) < 0;

			for (int k = 0; k < EACH && !failed; k++)
				failed = oc_work_send(mine, "one", "x", NULL) <= 0;
			suite_exit(failed);
		}
	for (int i = 0; i < N; i++) {
		ck_assert_int_gt(wait(&status), 0);
		ck_assert_int_eq(status, 0);
	}
	list = messages("one");
	ck_assert_uint_eq(json_array_size(list), N * EACH);
	for (size_t i = 0; i < N * EACH; i++)
		ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(list, i), "number")),
		                 (json_int_t)i + 1);
	json_decref(list);
	end();
}
END_TEST

START_TEST(test_note)
{
	json_t *run, *events, *last;
	oc_plan *plan;

	begin();
	plan = fixture_plan_none(&f, "run00001");
	OK(oc_plan_pin(plan, store, &err));
	OK(oc_store_note(store, "run00001", "agent", "{\"state\":\"exited\"}", &err));
	run = fixture_run(store, "run00001");
	events = json_object_get(run, "events");
	last = json_array_get(events, json_array_size(events) - 1);
	ck_assert_str_eq(json_string_value(json_object_get(last, "type")), "note:agent");
	ck_assert_str_eq(json_string_value(json_object_get(json_object_get(last, "data"), "state")), "exited");
	ck_assert_str_eq(json_string_value(json_object_get(run, "state")), "pinned"); /* it is a note, and no state */
	REFUSED(oc_store_note(store, "run00002", "agent", "{}", &err), OC_ENOTFOUND);
	REFUSED(oc_store_note(store, "run00001", "Agent", "{}", &err), OC_EINVAL);
	REFUSED(oc_store_note(store, "run00001", "agent", "[]", &err), OC_EINVAL);
	REFUSED(oc_store_note(store, "run00001", "agent", "{", &err), OC_EPROTO);
	json_decref(run);
	oc_plan_free(plan);
	end();
}
END_TEST

SUITE_MAIN("work_data", test_set, test_set_bounds, test_messages, test_send_set, test_message_bounds,
           test_messages_at_once, test_note)

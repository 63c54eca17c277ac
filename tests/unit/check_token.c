/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens in the store: asked for, made, over, never back; each change an event of a history whose receipt holds; bounded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "base/time.h"
#include "plan_fixture.h"
#include "store/receipt.h"
#include "store/sql.h"
#include "store/tokens.h"
#include "suite.h"

#define RUN "runtoken"

static struct fixture f;
static oc_store *store;

static void begin(void)
{
	oc_plan *plan;

	fixture_open(&f);
	store = fixture_store(&f);
	plan = fixture_plan_none(&f, RUN);
	OK(oc_plan_pin(plan, store, &err));
	oc_plan_free(plan);
}

static void end(void)
{
	oc_store_free(store);
	fixture_close(&f);
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

static int ask(int64_t lives_ms, char id[OC_TOKEN_ID_SIZE], oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *about = json_pack("{s:s}", "repository", "acme/app");

	return oc_store_token_begin(store, RUN, about, lives_ms, id, err);
}

/* Of the one token, or of the last. */
static const char *shown(const char *member, char out[128])
{
	json_t *run = fixture_run(store, RUN), *list = json_object_get(run, "tokens");
	json_t *one = json_array_get(list, json_array_size(list) - 1), *value = json_object_get(one, member);

	ck_assert(json_is_object(one));
	snprintf(out, 128, "%s",
	         json_is_null(value)        ? "null"
	         : json_string_value(value) ? json_string_value(value)
	                                    : "?");
	json_decref(run);
	return out;
}
#define SHOWN(member, text)                                                                                            \
	do {                                                                                                           \
		char shown_text[128];                                                                                  \
		ck_assert_str_eq(shown(member, shown_text), text);                                                     \
	} while (0)

static size_t events(const char *type)
{
	json_t *run = fixture_run(store, RUN), *one;
	size_t i, n = 0;

	json_array_foreach(json_object_get(run, "events"), i, one) n += strcmp(oc_json_text(one, "type"), type) == 0;
	json_decref(run);
	return n;
}

static void holds(void)
{
	char *text = NULL, *told = NULL;

	OK(oc_store_receipt(store, RUN, &text, &err));
	OK(oc_receipt_verify(text, strlen(text), &told, &err));
	free(text);
	free(told);
}

START_TEST(test_forward)
{
	char id[OC_TOKEN_ID_SIZE], at[OC_TIME_SIZE];
	int64_t expires = oc_wall_ms() + 7200000;

	begin();
	OK(ask(3600000, id, &err));
	ck_assert_uint_ge(strlen(id), OC_TOKEN_ID_MIN);
	SHOWN("state", "asked");
	SHOWN("ended", "null");
	ck_assert_int_eq(oc_store_token_end(store, RUN, id, "made", "not reached", NULL),
	                 1); /* changes nothing but the detail */
	SHOWN("state", "asked");
	SHOWN("detail", "not reached");
	ck_assert_int_eq(oc_store_token_made(store, RUN, id, expires, NULL), 1);
	ck_assert_int_eq(oc_store_token_made(store, RUN, id, expires + 1, NULL), 1); /* said again */
	oc_time_format(expires, at);
	SHOWN("state", "made");
	SHOWN("expires", at);
	REFUSED(oc_store_token_end(store, RUN, id, "never", NULL, &err), OC_EINVAL);
	REFUSED(oc_store_token_end(store, RUN, id, "asked", NULL, &err), OC_EINVAL);
	ck_assert_int_eq(oc_store_token_end(store, RUN, id, "made", "the service is away", NULL), 1);
	ck_assert_int_eq(oc_store_token_end(store, RUN, id, "made", "the service is away", NULL), 0);
	ck_assert_uint_eq(events("token"), 4); /* the same words are no event */
	ck_assert_int_eq(oc_store_token_end(store, RUN, id, "revoked", NULL, NULL), 1);
	SHOWN("state", "revoked");
	SHOWN("detail", "null");
	ck_assert_int_eq(oc_store_token_end(store, RUN, id, "expired", "later", NULL), 0);
	ck_assert_int_eq(oc_store_token_made(store, RUN, id, expires, NULL), 0);
	SHOWN("state", "revoked");
	ck_assert_uint_eq(events("token"), 5);
	holds();
	end();
}
END_TEST

START_TEST(test_from_asked)
{
	static const char *const ends[] = { "never", "expired", "revoked" };
	char id[OC_TOKEN_ID_SIZE];

	begin();
	for (size_t i = 0; i < OC_COUNT(ends); i++) {
		OK(ask(3600000, id, &err));
		ck_assert_int_eq(oc_store_token_end(store, RUN, id, ends[i], "why", NULL), 1);
		ck_assert_int_eq(oc_store_token_made(store, RUN, id, 1, NULL), 0);
	}
	holds();
	REFUSED(oc_store_token_made(store, RUN, "nosuchtokenatall", 1, &err), OC_ENOTFOUND);
	REFUSED(oc_store_token_end(store, RUN, "nosuchtokenatall", "revoked", NULL, &err), OC_ENOTFOUND);
	REFUSED(oc_store_token_end(store, "otherrun", id, "revoked", NULL, &err), OC_ENOTFOUND);
	end();
}
END_TEST

START_TEST(test_bounds)
{
	char id[OC_TOKEN_ID_SIZE], first[OC_TOKEN_ID_SIZE], *json = NULL;
	char *huge = calloc(1, 5000);
	oc_error *why = NULL;

	begin();
	memset(huge, 'x', 4999);
	OK(ask(3600000, first, &err));
	OK(ask(1, id, &err)); /* has expired by itself */
	for (int i = 1; i < OC_TOKENS_MAX; i++)
		OK(ask(3600000, id, &err));
	REFUSED(ask(3600000, id, &err), OC_ELIMIT);
	ck_assert_int_eq(oc_store_token_end(store, RUN, first, "never", NULL, NULL), 1);
	OK(ask(3600000, id, &err)); /* what is over makes room */
	REFUSED(oc_store_token_end(store, RUN, id, "revoked", huge, &err), OC_EINVAL);
	REFUSED(oc_store_token_end(store, RUN, id, "revoked", "\xff", &err), OC_EINVAL);
	REFUSED(oc_token_begin(store, RUN, "[]", 1000, id, &err), OC_EINVAL);
	REFUSED(oc_token_begin(store, RUN, "{", 1000, id, &err), OC_EPROTO);
	REFUSED(oc_token_begin(store, RUN, huge, 1000, id, &err), OC_ELIMIT);
	REFUSED(oc_token_begin(store, RUN, "{}", 0, id, &err), OC_EINVAL);
	REFUSED(oc_token_begin(store, "short", "{}", 1000, id, &err), OC_EINVAL);
	REFUSED(oc_token_deposit(store, RUN, first, "short", 5, oc_wall_ms() + 1000, &err), OC_EINVAL);
	REFUSED(oc_token_deposit(store, RUN, first, "line\nline\nline", 14, oc_wall_ms() + 1000, &err), OC_EINVAL);
	REFUSED(oc_token_deposit(store, RUN, "Capital", "long enough", 11, oc_wall_ms() + 1000, &err), OC_EINVAL);
	REFUSED(oc_token_take(store, RUN, first, NULL, NULL, &err), OC_EINVAL);
	REFUSED(oc_token_list(store, "short", &json, &err), OC_EINVAL);
	ck_assert_int_eq(oc_token_begin(store, RUN, "{}", 1000, id, &why), OC_EREFUSED); /* it has no guard */
	ck_assert_str_eq(oc_error_reason(why), "run_over");
	ck_assert_ptr_nonnull(oc_error_fix(why));
	oc_error_free(why);
	free(huge);
	end();
}
END_TEST

/* Without a guard nobody has one: said so, and nothing recorded. */
START_TEST(test_no_guard)
{
	char id[OC_TOKEN_ID_SIZE], value[OC_TOKEN_VALUE_MAX];
	size_t len = 0;

	begin();
	OK(ask(3600000, id, &err));
	ck_assert_int_eq(oc_token_deposit(store, RUN, id, "long enough", 11, oc_wall_ms() + 1000, NULL), 0);
	SHOWN("state", "asked");
	REFUSED(oc_token_take(store, RUN, id, value, &len, &err), OC_ENOTFOUND);
	OK(oc_token_end(store, RUN, id, "revoked", "by its maker", &err));
	SHOWN("state", "revoked");
	end();
}
END_TEST

static size_t left(const char *run)
{
	char *text = NULL;
	json_t *list;
	size_t n;

	OK(oc_token_list(store, run, &text, &err));
	list = json_loads(text, 0, NULL);
	n = json_array_size(list);
	json_decref(list);
	free(text);
	return n;
}

START_TEST(test_left)
{
	char id[OC_TOKEN_ID_SIZE], second[OC_TOKEN_ID_SIZE];

	begin();
	OK(ask(3600000, id, &err));
	OK(ask(3600000, second, &err));
	ck_assert_uint_eq(left(NULL), 0); /* of a run that goes on nothing is left */
	ck_assert_uint_eq(left(RUN), 2);
	OK(oc_store_state(store, RUN, "exited", NULL, &err));
	REFUSED(ask(3600000, id, &err), OC_EREFUSED);
	ck_assert_uint_eq(left(NULL), 2);
	ck_assert_int_eq(oc_store_token_end(store, RUN, second, "revoked", NULL, NULL), 1);
	ck_assert_uint_eq(left(NULL), 1);
	ck_assert_uint_eq(left(RUN), 2);
	end();
}
END_TEST

/* A receipt in whose events a token goes back, or comes from nowhere, doesn't hold. */
START_TEST(test_wrong_receipts)
{
	static const struct {
		const char *tokens;
		bool right;
	} cases[] = {
		{ "[{'id':'a','state':'asked'},{'id':'a','state':'made'},{'id':'a','detail':'x'},{'id':'a','state':'"
		  "revoked'}]",
		  true },
		{ "[{'id':'a','state':'asked'},{'id':'b','state':'asked'},{'id':'a','state':'never'}]", true },
		{ "[{'id':'a','state':'asked'},{'id':'a','state':'asked'}]", false },
		{ "[{'id':'a','state':'made'}]", false },
		{ "[{'id':'a','detail':'x'}]", false },
		{ "[{'id':'a','state':'asked'},{'id':'a','state':'revoked'},{'id':'a','state':'made'}]", false },
		{ "[{'id':'a','state':'asked'},{'id':'a','state':'revoked'},{'id':'a','state':'expired'}]", false },
		{ "[{'id':'a','state':'asked'},{'id':'a','state':'revoked'},{'id':'a','detail':'x'}]", false },
		{ "[{'id':'a','state':'asked'},{'id':'a','state':'made'},{'id':'a','state':'never'}]", false },
		{ "[{'id':'a','state':'other'}]", false },
		{ "[{'id':'a','state':1}]", false },
		{ "[{'state':'asked'}]", false },
	};

	for (size_t i = 0; i < OC_COUNT(cases); i++) {
		json_t *events = json_pack("[{s:s, s:{}, s:s}]", "type", "pinned", "data", "chain", "x"), *list, *one;
		char text[512];
		struct oc_fold fold;
		size_t at;

		snprintf(text, sizeof(text), "%s", cases[i].tokens);
		for (char *p = text; *p; p++)
			*p = *p == '\'' ? '"' : *p;
		list = json_loads(text, 0, NULL);
		json_array_foreach(list, at, one)
		        ck_assert_int_eq(json_array_append_new(events, json_pack("{s:s, s:O, s:s}", "type", "token",
		                                                                 "data", one, "chain", "x")),
		                         0);
		ck_assert_int_eq(oc_fold(events, &fold, NULL), 0);
		ck_assert_msg((fold.wrong == NULL) == cases[i].right, "%s: %s", cases[i].tokens,
		              fold.wrong ? fold.wrong : "holds");
		oc_fold_free(&fold);
		json_decref(list);
		json_decref(events);
	}
}
END_TEST

static int all_of_it(void *userdata OC_UNUSED)
{
	char id[OC_TOKEN_ID_SIZE], *text = NULL;
	int rc = ask(3600000, id, NULL);

	rc = rc < 0 ? rc : oc_store_token_made(store, RUN, id, 1, NULL);
	rc = rc < 0 ? rc : oc_store_token_end(store, RUN, id, "made", "why", NULL);
	rc = rc < 0 ? rc : oc_token_end(store, RUN, id, "revoked", "why", NULL);
	rc = rc < 0 ? rc : oc_token_list(store, RUN, &text, NULL);
	free(text);
	return OC_MIN(rc, 0);
}

START_TEST(test_memory)
{
	char id[OC_TOKEN_ID_SIZE];
	bool reached = true;

	begin();
	OK(all_of_it(NULL));
	for (long n = 0; reached; n++) {
		int rc;

		alloc_fail_arm(n);
		rc = all_of_it(NULL);
		reached = alloc_fail_disarm();
		ck_assert_msg(reached ? rc <= 0 : rc == 0, "%ld: %d", n, rc);
		ck_assert(sqlite3_get_autocommit(store->db));
		ck_assert_int_ge(oc_sql_run(store, NULL, "DELETE FROM tokens", ""), 0);
	}
	OK(ask(3600000, id, &err));
	holds();
	end();
}
END_TEST

SUITE_MAIN("token", test_forward, test_from_asked, test_bounds, test_no_guard, test_left, test_wrong_receipts,
           test_memory)

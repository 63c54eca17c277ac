/* SPDX-License-Identifier: Apache-2.0 */
/* What the store chains, and the receipts that it makes of it: while a run goes on, when it was tried again, from before
 * there was a chain, and with something in the store changed. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "receipt_world.h"
#include "suite.h"

static int sql(const char *text)
{
	return sqlite3_exec(store->db, text, NULL, NULL, NULL);
}

/* The same text each time, until something more is recorded; of a run that isn't over it says so. */
START_TEST(test_unfinished)
{
	char *first, *second, *facts = NULL;
	json_t *json;

	begin();
	first = receipt_text();
	second = receipt_text();
	ck_assert_str_eq(first, second);
	OK(oc_receipt_verify(first, strlen(first), &facts, &err));
	ck_assert_ptr_nonnull(strstr(facts, "\"over\":false"));
	free(facts);
	free(second);
	over();
	second = receipt_text();
	ck_assert_str_ne(first, second);
	OK(oc_receipt_verify(second, strlen(second), &facts, &err));
	ck_assert_ptr_nonnull(strstr(facts, "\"over\":true"));
	json = json_loads(second, JSON_ALLOW_NUL, NULL);
	ck_assert_int_eq(oc_json_integer(json_object_get(json, "exit"), "status", 0), 7);
	json_decref(json);
	free(facts);
	free(first);
	free(second);
	end();
}
END_TEST

/* What the last attempt came to stays bound, and isn't taken for this one's. */
START_TEST(test_retried)
{
	json_t *json;

	begin();
	put("exit.json", ending("run_lost", 0));
	OK(oc_store_finish(store, RUN, &err));
	json = json_pack("{s:s, s:s}", "reason", "run_lost", "message", "gone");
	{
		oc_error *why = NULL;

		ck_assert_int_lt(oc_error_from_json(&why, json), 0);
		OK(oc_store_state(store, RUN, "run_lost", why, &err));
		oc_error_free(why);
	}
	json_decref(json);
	json = receipt();
	ck_assert_str_eq(verdict(json), "");
	json_decref(json);
	OK(oc_store_relaunch(store, RUN, &err));
	json = receipt();
	ck_assert_str_eq(verdict(json), "");
	ck_assert(json_is_null(json_object_get(json, "exit")));
	json_decref(json);
	over();
	json = receipt();
	ck_assert_str_eq(verdict(json), "");
	json_decref(json);
	end();
}
END_TEST

/* In the store itself: the database refuses what can only be a mistake, and shows what was done all the same. */
START_TEST(test_store_changed)
{
	static const struct {
		const char *sql, *subject;
	} table[] = {
		{ "UPDATE events SET data = '{\"state\":\"held\"}' WHERE seq = 4", "events[3] " },
		{ "UPDATE events SET at_ms = at_ms + 1 WHERE seq = 8", "events[7] " },
		{ "DELETE FROM events WHERE seq = 8", "events[7] " },
		{ "DELETE FROM events WHERE seq = 11", "save " },
		{ "UPDATE events SET data = 'not JSON' WHERE seq = 4", "events[3].data " },
		{ "UPDATE calls SET arguments = '{}' WHERE number = 1", "calls[0] " },
		{ "UPDATE calls SET answer = '{}' WHERE number = 1", "calls[0] " },
		{ "DELETE FROM calls WHERE number = 2", "calls " },
		{ "DELETE FROM attempts", "attempts " },
		{ "UPDATE saves SET result = '{\"tip\":null}'", "save.result " },
		{ "UPDATE runs SET exit = replace(exit, ':7', ':0')", "exit " },
		{ "UPDATE runs SET proved = NULL", "proved " },
		{ "UPDATE runs SET state = 'failed'", "run.state " },
		{ "UPDATE runs SET created_ms = 7", "events[0] " },
		{ "UPDATE runs SET kind = 'none'", "run.kind " },
	};
	const char *said;
	json_t *json;
	size_t i;

	begin();
	over();
	ck_assert_int_ne(sql("UPDATE events SET at_ms = 1"), SQLITE_OK);
	ck_assert_int_ne(sql("INSERT INTO events (run, seq, at_ms, type, data) VALUES ('" RUN "', 50, 1, 'x', '{}')"),
	                 SQLITE_OK);
	ck_assert_int_eq(sql("DROP TRIGGER events_once"), SQLITE_OK);
	for (i = 0; i < OC_COUNT(table); i++) {
		ck_assert_int_eq(sql(table[i].sql), SQLITE_OK);
		json = receipt();
		said = verdict(json);
		ck_assert_msg(strncmp(said, table[i].subject, strlen(table[i].subject)) == 0, "%s: %s", table[i].sql,
		              said);
		json_decref(json);
		end();
		begin();
		over();
		ck_assert_int_eq(sql("DROP TRIGGER events_once"), SQLITE_OK);
	}
	json = receipt();
	ck_assert_str_eq(verdict(json), "");
	json_decref(json);
	end();
}
END_TEST

/* Events of before there was a chain: said, and what comes after is chained. */
START_TEST(test_before_the_chain)
{
	char *text, *facts = NULL;
	json_t *json;

	begin();
	ck_assert_int_eq(sql("DROP TRIGGER events_once; UPDATE events SET chain = NULL; DELETE FROM events WHERE type "
	                     "IN ('call', 'answer', 'attempt')"),
	                 SQLITE_OK);
	ck_assert_int_eq(sql("UPDATE events SET seq = (SELECT count(*) FROM events e WHERE e.seq <= events.seq)"),
	                 SQLITE_OK);
	over();
	text = receipt_text();
	OK(oc_receipt_verify(text, strlen(text), &facts, &err));
	ck_assert_ptr_nonnull(strstr(facts, "\"unchained\":4"));
	json = json_loads(text, JSON_ALLOW_NUL, NULL);
	edit(json, "events.5.at_ms", json_integer(5));
	again(json);
	ck_assert_str_eq(verdict(json), "events[5] ");
	json_decref(json);
	free(text);
	free(facts);
	end();
}
END_TEST

/* A history has room for its end, whatever an agent or a host put into it. */
START_TEST(test_full)
{
	oc_error *error = NULL;
	json_t *json;
	int rc;

	begin();
	ck_assert_int_eq(sql("DROP TRIGGER events_once; UPDATE events SET seq = seq + 98990"), SQLITE_OK);
	for (rc = 0; rc == 0;)
		rc = oc_store_note(store, RUN, "x", "{}", &error);
	ck_assert_int_eq(rc, OC_ENOTFOUND);
	oc_error_free(error);
	over();
	json = fixture_run(store, RUN);
	ck_assert_str_eq(oc_json_text(json, "state"), "exited");
	json_decref(json);
	end();
}
END_TEST

/* {"a":{"a":…1}}, of so many objects. */
static char *nested(int depth)
{
	json_t *json = json_integer(1);
	char *text;

	while (depth--)
		json = json_pack("{s:o}", "a", json);
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return text;
}

START_TEST(test_deep)
{
	char *text = nested(OC_EVENT_DEPTH + 1);
	oc_error *error = NULL;
	json_t *json;

	begin();
	ck_assert_int_eq(oc_store_note(store, RUN, "x", text, &error), OC_ELIMIT);
	oc_error_free(error);
	free(text);
	text = nested(OC_EVENT_DEPTH);
	OK(oc_store_note(store, RUN, "x", text, &err));
	json = receipt();
	ck_assert_str_eq(verdict(json), "");
	json_decref(json);
	free(text);
	end();
}
END_TEST

START_TEST(test_cost)
{
	enum { ROUNDS = 2000 };
	char *text, *facts = NULL;
	int64_t at;

	begin();
	at = oc_mono_ns();
	for (int i = 0; i < ROUNDS; i++)
		OK(oc_store_note(store, RUN, "x", "{\"a\":1}", &err));
	printf("# an event with its chain: %.1f us\n", (double)(oc_mono_ns() - at) / ROUNDS / 1e3);
	over();
	at = oc_mono_ns();
	text = receipt_text();
	printf("# a receipt of %d events, %zu KiB: %.1f ms", ROUNDS, strlen(text) / 1024,
	       (double)(oc_mono_ns() - at) / 1e6);
	at = oc_mono_ns();
	OK(oc_receipt_verify(text, strlen(text), &facts, &err));
	printf(", verified in %.1f ms\n", (double)(oc_mono_ns() - at) / 1e6);
	free(facts);
	free(text);
	end();
}
END_TEST

SUITE_MAIN("receipt_store", test_unfinished, test_retried, test_store_changed, test_before_the_chain, test_full,
           test_deep, test_cost)

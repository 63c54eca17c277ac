/* SPDX-License-Identifier: Apache-2.0 */
/* A receipt holds as it was made, and with anything in it changed it doesn't, and says what: also where whoever changed it
 * computed the digests anew that he had the thought of. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "receipt_world.h"
#include "suite.h"

/* pinned attempt started running call answer call note ended exited saved */
static const struct change {
	const char *path, *value; /* JSON; NULL: removed */
	const char *subject;      /* first of what is said, the digest over all being right */
	bool chain;               /* the chain is made anew too */
} changes[] = {
	{ "run.kind", "\"none\"", "run.kind ", false },
	{ "run.work", "\"other\"", "run.work ", false },
	{ "run.binding", "\"a/b\"", "run.binding ", false },
	{ "run.command", "[\"ls\"]", "run.command ", false },
	{ "run.state", "\"failed\"", "run.state exit.state ", false },
	{ "run.error", "{\"reason\":\"x\"}", "run.error ", false },
	{ "run.over", "false", "run.over ", false },
	{ "run.ended_ms", "5", "run.ended_ms ", false },
	{ "run.created_ms", "5", "events[0] ", false },
	{ "run.id", "\"runbbbbb\"", "plan.run events[0] exit.run ", false },
	{ "run.id", "\"../../x\"", "run.id ", false },
	{ "run.id", NULL, "run.id ", false },
	{ "policy", "\"{}\"", "policy ", false },
	{ "policy", NULL, "policy ", false },
	{ "plan.notes", "[]", "plan ", false },
	{ "plan.command.argv", "[\"ls\"]", "plan run.command ", false },
	{ "plan.policy.text", "\"{}\"", "plan policy ", false },
	{ "plan", NULL, "plan ", false },
	{ "plan_digest", "\"" FIXTURE_DIGEST "\"", "plan plan_digest exit.digest ", false },
	{ "exit.status", "0", "exit ", false },
	{ "exit.run", "\"runbbbbb\"", "exit exit.run ", false },
	{ "exit.digest", "\"sha256:0\"", "exit exit.digest ", false },
	{ "exit.state", "\"refused\"", "exit exit.state ", false },
	{ "exit", NULL, "exit ", false },
	{ "proved.probes.0.detail", "\"else\"", "proved ", false },
	{ "proved.probes.0.ok", "false", "proved proved.probes[0] ", false },
	{ "proved.probes.0", NULL, "proved proved.probes ", false },
	{ "proved", NULL, "proved proved ", false },
	{ "attempts.0.at_ms", "5", "attempts ", false },
	{ "attempts.0", NULL, "attempts ", false },
	{ "calls.0.name", "\"work_send\"", "calls[0] ", false },
	{ "calls.0.answer", "\"sha256:0\"", "calls[0] ", false },
	{ "calls.0.answered_ms", "5", "calls[0] ", false },
	{ "calls.1.outcome", "\"done\"", "calls[1] ", false },
	{ "calls.1.number", "1", "calls[1] ", false },
	{ "calls.1", NULL, "calls ", false },
	{ "calls.1", "7", "calls[1] ", false },
	{ "save.result.tip", "\"4567\"", "save.result ", false },
	{ "save.final", "true", "save ", false },
	{ "save.more", "1", "save ", false },
	{ "save", NULL, "save ", false },
	{ "events.3.data.state", "\"held\"", "events[3] ", false },
	{ "events.3.at_ms", "5", "events[3] ", false },
	{ "events.3.type", "\"note:x\"", "events[3] ", false },
	{ "events.3.seq", "9", "events[3] ", false },
	{ "events.3.chain", "\"sha256:0\"", "events[3] ", false },
	{ "events.3.chain", "null", "events[3] ", false },
	{ "events.3.more", "1", "events[3].more ", false },
	{ "events.3", NULL, "events[3] ", false },
	{ "events.0", NULL, "events[0] events[0] ", false },
	{ "events.10", NULL, "save ", false },
	{ "events.7.data.outcome", "\"failed\"", "events[7] ", false },
	{ "events", "[]", "events ", false },
	/* Who makes the chain anew has to change the parts too, and these know each other. */
	{ "events.0.data.digest", "\"sha256:0\"", "plan_digest ", true },
	{ "events.1.data.number", "2", "attempts ", true },
	{ "events.4.data.name", "\"work_send\"", "calls[0] ", true },
	{ "events.5", NULL, "calls[0] ", true },
	{ "events.4", NULL, "events[4] ", true },
	{ "events.8.data.exit", "\"sha256:0\"", "exit ", true },
	{ "events.8.data.exit", "null", "exit ", true },
	{ "events.8.data.proved", "null", "proved ", true },
	{ "events.8", NULL, "exit proved ", true },
	{ "events.9.data.state", "\"failed\"", "run.state ", true },
	{ "events.9", NULL, "run.state ", true },
	{ "events.10.data.result", "\"sha256:0\"", "save.result ", true },
	{ "events.10.data.final", "true", "save ", true },
	{ "version", "2", "version ", false },
	{ "more", "1", "more ", false },
	{ "digest", "7", "digest ", false },
};

static const char *tried(const json_t *good, const struct change *c, bool digest)
{
	json_t *json = json_deep_copy(good);
	const char *said;

	edit(json, c->path, c->value ? json_loads(c->value, JSON_DECODE_ANY, NULL) : NULL);
	if (c->chain)
		chain_again(json);
	if (digest && strcmp(c->path, "digest") != 0)
		again(json);
	said = verdict(json);
	json_decref(json);
	return said;
}

START_TEST(test_changes)
{
	json_t *good;
	size_t i;

	begin();
	over();
	good = receipt();
	ck_assert_str_eq(verdict(good), "");
	ck_assert_uint_eq(json_array_size(json_object_get(good, "events")), 11);
	chain_again(good); /* the control of the control: it is what the store has made */
	again(good);
	ck_assert_str_eq(verdict(good), "");
	for (i = 0; i < OC_COUNT(changes); i++) {
		const struct change *c = &changes[i];
		const char *said = tried(good, c, true);

		ck_assert_msg(strncmp(said, c->subject, strlen(c->subject)) == 0, "%s = %s: said \"%s\", not \"%s\"",
		              c->path, c->value ? c->value : "gone", said, c->subject);
		/* And by whoever only changed it. */
		said = tried(good, c, false);
		ck_assert_msg(*said, "%s = %s holds", c->path, c->value ? c->value : "gone");
	}
	printf("# %zu changes, each named\n", OC_COUNT(changes));
	json_decref(good);
	end();
}
END_TEST

/* What no receipt can show by itself: everything made anew, in agreement.  Only its digest is another. */
START_TEST(test_made_anew)
{
	json_t *good, *other;
	char digest[OC_DIGEST_SIZE];

	begin();
	over();
	good = receipt();
	other = json_deep_copy(good);
	edit(other, "exit.status", json_integer(0));
	OK(oc_chain_digest(json_object_get(other, "exit"), digest, &err));
	edit(other, "events.8.data.exit", json_string(digest));
	chain_again(other);
	again(other);
	ck_assert_str_eq(verdict(other), "");
	ck_assert_str_ne(oc_json_text(good, "digest"), oc_json_text(other, "digest"));
	json_decref(good);
	json_decref(other);
	end();
}
END_TEST

START_TEST(test_events_moved)
{
	json_t *good, *json, *list;

	begin();
	over();
	good = receipt();
	/* two change places, with their numbers */
	json = json_deep_copy(good);
	list = json_object_get(json, "events");
	json_array_insert_new(list, 2, json_deep_copy(json_array_get(list, 3)));
	json_array_remove(list, 4);
	edit(json, "events.2.seq", json_integer(3));
	edit(json, "events.3.seq", json_integer(4));
	again(json);
	ck_assert_str_eq(verdict(json), "events[2] ");
	json_decref(json);
	/* one is put in */
	json = json_deep_copy(good);
	list = json_object_get(json, "events");
	json_array_insert_new(list, 4, json_deep_copy(json_array_get(list, 3)));
	again(json);
	ck_assert_str_eq(verdict(json), "events[4] ");
	json_decref(json);
	/* one of another run's */
	json = json_deep_copy(good);
	edit(json, "events.7",
	     json_pack("{s:i, s:i, s:s, s:{}, s:s}", "seq", 8, "at_ms", 1, "type", "note:x", "data", "chain",
	               FIXTURE_DIGEST));
	again(json);
	ck_assert_str_eq(verdict(json), "events[7] ");
	json_decref(json);
	json_decref(good);
	end();
}
END_TEST

START_TEST(test_not_a_receipt)
{
	static const char *const texts[] = {
		"", "{", "null", "[]", "{}", "7", "{\"version\":1,\"version\":1}", "{\"version\":1.5}", "\xff\xfe"
	};
	char *text, *twice;
	size_t i, len;

	begin();
	over();
	for (i = 0; i < OC_COUNT(texts); i++)
		ck_assert_msg(*verdict_of_text(texts[i], strlen(texts[i])), "%s", texts[i]);
	text = receipt_text();
	len = strlen(text);
	for (i = 0; i < len; i += 97)
		ck_assert_msg(*verdict_of_text(text, i), "cut at %zu", i);
	twice = malloc(len + 32);
	snprintf(twice, len + 32, "{\"digest\":\"x\",%s", text + 1);
	ck_assert_str_ne(verdict_of_text(twice, strlen(twice)), "");
	snprintf(twice, len + 32, "%s\n", text); /* the control: layout says nothing */
	ck_assert_str_eq(verdict_of_text(twice, strlen(twice)), "");
	free(twice);
	free(text);
	end();
}
END_TEST

static int without_memory(void *userdata)
{
	const char *text = userdata;
	oc_error *error = NULL;
	char *facts = NULL;
	int rc = oc_receipt_verify(text, strlen(text), &facts, &error);

	/* Without memory it must never be said that something in a good one was changed.  jansson's own scanner takes that for
	 * a text that it can't read. */
	if (rc == OC_EREFUSED && (!oc_error_subject(error) || strcmp(oc_error_subject(error), "receipt") != 0))
		rc = 1;
	oc_error_free(error);
	free(facts);
	return rc;
}

START_TEST(test_memory)
{
	char *text;
	long n;

	begin();
	over();
	text = receipt_text();
	n = alloc_fail_each(without_memory, text, 1);
	printf("# verify: %ld allocations failed\n", n);
	free(text);
	end();
}
END_TEST

SUITE_MAIN("receipt", test_changes, test_made_anew, test_events_moved, test_not_a_receipt, test_memory)

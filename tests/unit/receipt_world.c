/* SPDX-License-Identifier: Apache-2.0 */
#include "receipt_world.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "store/calls.h"
#include "store/works.h"
#include "suite.h"

struct fixture f;
oc_store *store;
oc_plan *plan;

void put(const char *name, json_t *taken)
{
	char path[512], *text = json_dumps(taken, JSON_COMPACT);
	int fd;

	snprintf(path, sizeof(path), "%s/runs/" RUN "/%s", f.state, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(oc_write_all(fd, text, strlen(text)), 0);
	close(fd);
	free(text);
	json_decref(taken);
}

static json_t *proof(void)
{
	json_t *list = json_array(), *one;
	size_t i;

	json_array_foreach(json_object_get(plan->json, "probes"), i, one)
	        json_array_append_new(list, json_pack("{s:O, s:b, s:s, s:i}", "id", json_object_get(one, "id"), "ok", 1,
	                                              "detail", "it was tried", "ns", 5));
	ck_assert_uint_gt(json_array_size(list), 3);
	return json_pack("{s:s, s:{s:s}, s:o, s:i}", "at", "then", "facts", "seccomp", "2", "probes", list, "ns", 9);
}

json_t *ending(const char *state, int status)
{
	return json_pack("{s:i, s:s, s:s, s:s, s:i, s:i, s:n, s:s, s:s}", "version", 1, "run", RUN, "digest",
	                 oc_plan_digest(plan), "state", state, "status", status, "signal", 0, "error", "ended",
	                 "2026-11-30T10:00:00.123Z", "launch_log", "");
}

static void call(int64_t number, const char *answer)
{
	const struct oc_call_key key = { RUN, 1, number };
	enum oc_call_found found;
	char *old = NULL;

	OK(oc_store_call_begin(store, &key, "work_status", "{\"x\":1}", &found, &old, &err));
	ck_assert_int_eq(found, OC_CALL_NEW);
	if (answer)
		OK(oc_store_call_end(store, &key, "done", answer, &err));
}

/* A run with one of each that is recorded; its Work is only a name here. */
void begin(void)
{
	int64_t n = 0;

	fixture_open(&f);
	store = fixture_store(&f);
	plan = fixture_plan(&f, RUN);
	OK(oc_plan_pin(plan, store, &err));
	OK(oc_store_attempt(store, RUN, &n, &err));
	OK(oc_store_progress(store, RUN, "started", &err));
	OK(oc_store_progress(store, RUN, "running", &err));
	call(1, "{\"result\":{}}");
	call(2, NULL);
	OK(oc_store_note(store, RUN, "agent", "{\"outcome\":\"done\",\"text\":\"a\\u0000b \\u00e9\"}", &err));
}

void over(void)
{
	json_t *work = json_pack("{s:s, s:s, s:s, s:s, s:s, s:b}", "id", "w-1", "key", "k", "checkout", "/c", "branch",
	                         "b", "baseline", "0", "own", 0);
	json_t *result = json_pack("{s:s, s:[]}", "tip", "0123", "saved");

	put("proved", proof());
	put("exit.json", ending("exited", 7));
	OK(oc_store_finish(store, RUN, &err));
	OK(oc_store_finish(store, RUN, &err)); /* settled twice, told once */
	OK(oc_store_work_add(store, work, &err));
	ck_assert_int_eq(sqlite3_exec(store->db, "UPDATE runs SET work = 'w-1'", NULL, NULL, NULL), SQLITE_OK);
	OK(oc_store_work_saved(store, "w-1", false, result, &err));
	ck_assert_int_eq(sqlite3_exec(store->db, "UPDATE runs SET work = NULL", NULL, NULL, NULL), SQLITE_OK);
	json_decref(work);
	json_decref(result);
}

void end(void)
{
	oc_plan_free(plan);
	oc_store_free(store);
	fixture_close(&f);
}

char *receipt_text(void)
{
	char *text = NULL;

	OK(oc_store_receipt(store, RUN, &text, &err));
	return text;
}

json_t *receipt(void)
{
	char *text = receipt_text();
	json_t *json = json_loads(text, JSON_ALLOW_NUL, NULL);

	free(text);
	ck_assert_ptr_nonnull(json);
	return json;
}

/* What is said of it: "" when it holds, else the subjects with a blank after each. */
const char *verdict_of_text(const char *text, size_t len)
{
	static char said[4096];
	oc_error *error = NULL;
	char *facts = NULL;
	int rc = oc_receipt_verify(text, len, &facts, &error);

	said[0] = '\0';
	ck_assert((rc == 0) == (facts != NULL) && (rc == 0) == (error == NULL));
	for (const oc_error *e = error; e; e = oc_error_next(e)) {
		ck_assert_str_eq(oc_error_reason(e), "receipt_broken");
		ck_assert_ptr_nonnull(oc_error_fix(e));
		snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s ", oc_error_subject(e));
	}
	oc_error_free(error);
	free(facts);
	return said;
}

const char *verdict(const json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);
	const char *said = verdict_of_text(text, strlen(text));

	free(text);
	return said;
}

/* As whoever changes it would: the digest over all of it made anew. */
void again(json_t *json)
{
	char digest[OC_DIGEST_SIZE];

	OK(oc_receipt_digest(json, digest, &err));
	json_object_set_new(json, "digest", json_string(digest));
}

/* … and the whole chain with it. */
void chain_again(json_t *json)
{
	const json_t *run = json_object_get(json, "run");
	char value[OC_DIGEST_SIZE];
	json_t *event;
	size_t i;

	OK(oc_chain_begin(oc_json_text(run, "id"), oc_json_integer(run, "created_ms", 0), value, &err));
	json_array_foreach(json_object_get(json, "events"), i, event)
	{
		json_object_set_new(event, "seq", json_integer((json_int_t)i + 1));
		OK(oc_chain_next(value, event, value, &err));
		json_object_set_new(event, "chain", json_string(value));
	}
}

/* A value by a path like "events.3.data"; set (taken), or removed with NULL. */
void edit(json_t *at, const char *path, json_t *value)
{
	char part[64];
	size_t n = strcspn(path, ".");

	snprintf(part, sizeof(part), "%.*s", (int)n, path);
	if (path[n]) {
		edit(json_is_array(at) ? json_array_get(at, (size_t)atoi(part)) : json_object_get(at, part),
		     path + n + 1, value);
	} else if (json_is_array(at)) {
		ck_assert_uint_lt((size_t)atoi(part), json_array_size(at));
		ck_assert_int_eq(value ? json_array_set_new(at, (size_t)atoi(part), value)
		                       : json_array_remove(at, (size_t)atoi(part)),
		                 0);
	} else {
		ck_assert_int_eq(value ? json_object_set_new(at, part, value) : json_object_del(at, part), 0);
	}
}

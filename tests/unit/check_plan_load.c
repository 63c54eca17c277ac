/* SPDX-License-Identifier: Apache-2.0 */
/* A pinned plan read back: what isn't exactly one is none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan_fixture.h"
#include "suite.h"

#define RUN "abcdefgh"

static struct fixture f;

static int mutated;

/* Texts whose keys are anybody's: names of variables, what identifies an engine. */
static bool free_form(const char *path)
{
	return strcmp(path, "launch.env") == 0 || strcmp(path, "provider.identity") == 0;
}

static void try_key(json_t *root, json_t *object, const char *path, const char *key, bool remove)
{
	json_t *value = json_incref(json_object_get(object, key));
	char other[64], at[256];
	oc_plan *plan = NULL;
	oc_error *err = NULL;
	const oc_error *e;
	bool named = false;

	snprintf(other, sizeof(other), "%s", key);
	other[0] = other[0] == 'z' ? 'y' : 'z';
	snprintf(at, sizeof(at), "%s%s%s", path, *path ? "." : "", remove ? key : other);
	json_object_del(object, key);
	if (!remove)
		json_object_set(object, other, value);
	ck_assert_msg(oc_plan_from_json(json_deep_copy(root), &plan, &err) < 0, "%s is accepted", at);
	for (e = err; e; e = oc_error_next(e))
		named = named || (oc_error_subject(e) && strcmp(oc_error_subject(e), at) == 0);
	ck_assert_msg(named, "%s is not named: %s", at, oc_error_message(err));
	oc_error_free(err);
	json_object_del(object, other);
	json_object_set_new(object, key, value);
	mutated++;
}

static void mutate(json_t *root, json_t *value, const char *path)
{
	char at[256];
	size_t i, n = 0;
	const char *keys[64], *key;
	json_t *member;

	if (json_is_object(value) && !free_form(path)) {
		json_object_foreach(value, key, member)
		{
			keys[n++] = strdup(key);
		}
		for (i = 0; i < n; i++) {
			bool optional = strncmp(path, "policy.normal", 13) == 0 ||
			                (!strcmp(path, "resolved") && !strcmp(keys[i], "git"));

			try_key(root, value, path, keys[i], false);
			if (!optional)
				try_key(root, value, path, keys[i], true);
			snprintf(at, sizeof(at), "%s%s%s", path, *path ? "." : "", keys[i]);
			mutate(root, json_object_get(value, keys[i]), at);
			free((char *)keys[i]);
		}
	}
	json_array_foreach(value, i, member)
	{
		if (i > 2) /* the first of a list stand for it */
			break;
		snprintf(at, sizeof(at), "%s[%zu]", path, i);
		mutate(root, member, at);
	}
}

START_TEST(test_every_key)
{
	oc_plan *plan, *again = NULL;
	json_t *json;

	fixture_open(&f);
	plan = fixture_plan(&f, RUN);
	json = json_deep_copy(plan->json);
	mutate(json, json, "");
	ck_assert_int_gt(mutated, 150);
	OK(oc_plan_from_json(json, &again, &err)); /* the control: unmutated, it is a plan again */
	ck_assert_str_eq(oc_plan_digest(plan), oc_plan_digest(again));
	oc_plan_free(again);
	oc_plan_free(plan);
	fixture_close(&f);
}
END_TEST

struct value {
	const char *parent, *key, *text, *subject;
};

START_TEST(test_values)
{
	static const struct value cases[] = {
		{ NULL, "version", "2", NULL },
		{ NULL, "kind", "\"machine\"", "kind" },
		{ NULL, "kind", "\"container\"", "policy.normal.read" },
		{ NULL, "run", "\"ABC\"", "run" },
		{ NULL, "run", "\"zzzzzzzz\"", "dirs.runs" },
		{ NULL, "work", "1", "work" },
		{ NULL, "probes", "[]", "probes" },
		{ NULL, "provider", "null", "provider" },
		{ NULL, "resolved", "null", "resolved" },
		{ NULL, "tools", "[\"x\"]", "tools[0]" },
		{ "command", "argv", "[]", "command.argv" },
		{ "command", "argv", "[\"sh\"]", "command.argv[0]" },
		{ "command", "cwd", "\"/a/../b\"", "command.cwd" },
		{ "command", "secrets", "[\"PATH\"]", "command.secrets[0]" },
		{ "command", "terminal", "{\"rows\":1}", "command.terminal.cols" },
		{ "command", "terminal", "{\"rows\":0,\"cols\":80}", "command.terminal" },
		{ "command", "terminal", "{\"rows\":24,\"cols\":65536}", "command.terminal" },
		{ "command", "terminal", "true", "command.terminal" },
		{ NULL, "kind", "\"attach\"", "kind" },
		{ "guest", "confined", "false", "guest.confined" },
		{ "guest", "digest", "\"sha256:0\"", "guest.digest" },
		{ "launch", "hello_retries", "11", "launch.hello_retries" },
		{ "launch", "files", "[{\"fd\":2,\"text\":\"\"}]", "launch.files" },
		{ "limits", "timeout_ms", "-1", "limits" },
		{ "launch", "env", "{\"A=B\":\"\"}", "launch.env.A=B" },
		{ "resolved", "unix_sockets", "\"some\"", "resolved.unix_sockets" },
		{ "resolved", "image", "\"a@sha256:0\"", "resolved" },
		{ "launch", "cleanup", "[\"rm\"]", "launch.cleanup" },
	};
	oc_plan *plan;
	size_t i;

	fixture_open(&f);
	plan = fixture_plan(&f, RUN);
	for (i = 0; i < OC_COUNT(cases); i++) {
		json_t *json = json_deep_copy(plan->json);
		json_t *parent = cases[i].parent ? json_object_get(json, cases[i].parent) : json;
		oc_plan *out = NULL;
		oc_error *err = NULL;

		json_object_set_new(parent, cases[i].key, json_loads(cases[i].text, JSON_DECODE_ANY, NULL));
		ck_assert_msg(oc_plan_from_json(json, &out, &err) < 0, "case %zu is accepted", i);
		if (cases[i].subject)
			ck_assert_msg(oc_error_subject(err) && !strcmp(oc_error_subject(err), cases[i].subject),
			              "case %zu: %s", i, oc_error_message(err));
		oc_error_free(err);
	}
	oc_plan_free(plan);
	fixture_close(&f);
}
END_TEST

START_TEST(test_load_strict)
{
	oc_plan *plan, *out = NULL;
	oc_error *err = NULL;
	char *text;
	size_t n, i;

	fixture_open(&f);
	plan = fixture_plan(&f, RUN);
	n = strlen(oc_plan_json(plan));
	text = malloc(n + 2);
	/* A space anywhere between members is the same plan in other words: not canonical. */
	text[0] = ' ';
	memcpy(text + 1, oc_plan_json(plan), n + 1);
	ck_assert_int_eq(oc_plan_load(text, n + 1, &out, &err), OC_EPROTO);
	oc_error_free(err);
	/* Cut anywhere, it is no plan. */
	for (i = 0; i < n; i += 97) {
		err = NULL;
		ck_assert_int_lt(oc_plan_load(oc_plan_json(plan), i, &out, &err), 0);
		oc_error_free(err);
	}
	free(text);
	oc_plan_free(plan);
	fixture_close(&f);
}
END_TEST

SUITE_MAIN("plan_load", test_every_key, test_values, test_load_strict)

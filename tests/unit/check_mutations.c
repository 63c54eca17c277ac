/* SPDX-License-Identifier: Apache-2.0 */
/* Stored plans and what providers answer: each known key with one letter wrong, left out, or with a value of another
 * type is refused, with its path.  tests/host/config.py does the same for the config. */
#include <stdio.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/workspace.h"
#include "mutate.h"
#include "plan_fixture.h"
#include "provider/client.h"
#include "suite.h"

#define RUN "abcdefgh"

static struct fixture f;

static int read_plan(const json_t *json, void *userdata OC_UNUSED, oc_error **err)
{
	oc_plan *plan = NULL;
	int rc = oc_plan_from_json(json_deep_copy(json), &plan, err);

	oc_plan_free(plan);
	return rc;
}

START_TEST(stored_plan)
{
	static const char *const free_form[] = { "launch.env", "provider.identity", NULL };
	static const char *const optional[] = { "work",
		                                "binding",
		                                "clone",
		                                "guest.links",
		                                "resolved.git",
		                                "policy.normal.write",
		                                "policy.normal.read",
		                                "policy.normal.read.allow",
		                                "policy.normal.read.deny",
		                                "policy.normal.network",
		                                "policy.normal.network.allow",
		                                "policy.normal.sockets",
		                                "policy.normal.unix_sockets",
		                                NULL };
	oc_plan *plan;
	struct mutate m = { .read = read_plan, .free_form = free_form, .optional = optional };
	size_t n;

	fixture_open(&f);
	plan = fixture_plan(&f, RUN);
	m.root = plan->json;
	n = mutate_each(&m, true);
	ck_assert_msg(n > 4000, "%zu", n);
	printf("%zu plans\n", n);
	oc_plan_free(plan);
	fixture_close(&f);
}
END_TEST

static int read_reply(const json_t *json, void *userdata OC_UNUSED, oc_error **err)
{
	struct oc_plan_input in = f.in;
	oc_plan *plan = NULL;
	int rc;

	in.reply = json;
	in.resolved = f.resolved;
	rc = oc_plan_build(&in, &plan, err);
	oc_plan_free(plan);
	return rc;
}

START_TEST(plan_reply)
{
	static const char *const free_form[] = { "launch.env", "identity", NULL };
	static const char *const optional[] = { "guest.links", "guest.hides", "proxy", NULL };
	struct mutate m = { .read = read_reply, .free_form = free_form, .optional = optional };
	oc_plan *plan;
	size_t n;

	fixture_open(&f);
	plan = fixture_plan(&f, RUN); /* sets f.in up */
	m.root = f.reply;
	n = mutate_each(&m, true);
	ck_assert_msg(n > 800, "%zu", n);
	printf("%zu answers to plan\n", n);
	oc_plan_free(plan);
	fixture_close(&f);
}
END_TEST

static json_t *parsed(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	ck_assert_ptr_nonnull(json);
	return json;
}

static int read_checks(const json_t *json, void *userdata OC_UNUSED, oc_error **err)
{
	return oc_checks_check("x", json, err);
}

static int read_hello(const json_t *json, void *userdata OC_UNUSED, oc_error **err)
{
	const char *version = NULL;

	return oc_provider_check_hello("x", json, &version, err);
}

START_TEST(other_replies)
{
	static const char *const anybody[] = { "identity", NULL };
	static const char *const optional[] = { "checks[0].detail", "checks[0].fix", NULL };
	struct mutate checks = { .read = read_checks, .free_form = anybody, .optional = optional };
	struct mutate hello = { .read = read_hello };
	json_t *one = parsed("{\"identity\":{\"a\":\"1\"},\"checks\":[{\"id\":\"a\",\"title\":\"t\",\"ok\":true,"
	                     "\"detail\":\"d\",\"fix\":\"f\",\"ms\":1}]}");
	json_t *two = parsed(
	        "{\"protocol\":1,\"name\":\"x\",\"version\":\"1\",\"kind\":\"sandbox\",\"methods\":[\"check\"]}");
	oc_error *err = NULL;

	checks.root = one;
	hello.root = two;
	ck_assert_int_gt(mutate_each(&checks, false), 250);
	ck_assert_int_gt(mutate_each(&hello, false), 250);
	/* A check that does not say whether it passed is none that passed. */
	json_object_set_new(json_array_get(json_object_get(one, "checks"), 0), "ok", json_string("true"));
	ck_assert_int_lt(read_checks(one, NULL, &err), 0);
	ck_assert_str_eq(oc_error_reason(err), "provider_failed");
	ck_assert_str_eq(oc_error_subject(err), "checks[0].ok");
	oc_error_free(err);
	json_decref(one);
	json_decref(two);
}
END_TEST

static json_t *work;

static int read_created(const json_t *json, void *userdata OC_UNUSED, oc_error **err)
{
	return oc_workspace_check_created("x", work, json, err);
}

static int read_saved(const json_t *json, void *userdata OC_UNUSED, oc_error **err)
{
	return oc_workspace_check_saved("x", work, json, err);
}

#define OID "0123456789012345678901234567890123456789"

START_TEST(workspace_replies)
{
	static const char *const optional[] = { NULL };
	struct mutate created = { .read = read_created, .optional = optional };
	struct mutate saved = { .read = read_saved, .optional = optional };
	json_t *one = parsed(
	        "{\"root\":{\"dev\":1,\"ino\":2},\"git\":{\"dev\":1,\"ino\":3},\"branch\":\"b\",\"baseline\":\"" OID
	        "\",\"origin\":\"https://x\",\"notes\":[\"n\"]}");
	json_t *two = parsed(
	        "{\"tip\":\"" OID "\",\"saved\":[{\"ref\":\"refs/heads/b\",\"commit\":\"" OID "\"}],"
	        "\"outcome\":\"moved\",\"leftover\":[{\"what\":\"files\",\"ref\":\"refs/open-conduit/w1/leftover\","
	        "\"commit\":\"" OID "\"}],\"lost\":[{\"what\":\"a\",\"why\":\"b\"}],\"notes\":[]}");

	work = parsed("{\"id\":\"w1\",\"branch\":\"b\"}");
	created.root = one;
	saved.root = two;
	ck_assert_int_gt(mutate_each(&created, true), 300);
	ck_assert_int_gt(mutate_each(&saved, true), 400);
	json_decref(one);
	json_decref(two);
	json_decref(work);
}
END_TEST

SUITE_MAIN("mutations", stored_plan, plan_reply, other_replies, workspace_replies)

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "suite.h"
#include "wire/message.h"

static int parse(const char *text, struct oc_message *m, json_t **keep)
{
	ck_assert_int_eq(oc_json_parse(text, strlen(text), OC_JSON_MAX, "test", keep, NULL), 0);
	return oc_message_parse(*keep, m, NULL);
}

START_TEST(test_kinds)
{
	struct oc_message m;
	json_t *json;

	ck_assert_int_eq(parse("{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"id\":7,\"params\":{}}", &m, &json), 0);
	ck_assert_int_eq(m.kind, OC_MESSAGE_REQUEST);
	ck_assert_int_eq(m.id, 7);
	ck_assert_str_eq(m.method, "a");
	ck_assert(json_is_object(m.value));
	json_decref(json);
	ck_assert_int_eq(parse("{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"later\":1}", &m, &json), 0);
	ck_assert_int_eq(m.kind, OC_MESSAGE_NOTIFY);
	ck_assert_ptr_null(m.value);
	json_decref(json);
	ck_assert_int_eq(parse("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":null}", &m, &json), 0);
	ck_assert_int_eq(m.kind, OC_MESSAGE_RESULT);
	ck_assert(json_is_null(m.value));
	json_decref(json);
	ck_assert_int_eq(parse("{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{}}", &m, &json), 0);
	ck_assert_int_eq(m.kind, OC_MESSAGE_ERROR);
	json_decref(json);
}
END_TEST

START_TEST(test_refuses)
{
	static const char *const bad[] = {
		"[]",
		"1",
		"{}",
		"{\"method\":\"a\"}",
		"{\"jsonrpc\":\"1.0\",\"method\":\"a\"}",
		"{\"jsonrpc\":2,\"method\":\"a\"}",
		"[{\"jsonrpc\":\"2.0\",\"method\":\"a\"}]",
		"{\"jsonrpc\":\"2.0\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":1}",
		"{\"jsonrpc\":\"2.0\",\"method\":1}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"\"}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"a\\u0000\"}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"id\":null}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"id\":\"1\"}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":null}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":1}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"result\":1}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"x\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}",
		"{\"jsonrpc\":\"2.0\",\"result\":1}",
		"{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":1}",
	};

	for (size_t i = 0; i < OC_COUNT(bad); i++) {
		struct oc_message m;
		json_t *json;

		ck_assert_msg(parse(bad[i], &m, &json) == OC_EPROTO, "%s", bad[i]);
		json_decref(json);
	}
}
END_TEST

START_TEST(test_errors_of_the_other_side)
{
	oc_error *err = NULL;
	json_t *json = json_pack("{s:i,s:s}", "code", -32601, "message", "no such method\n");

	ck_assert_int_eq(oc_message_to_error(&err, json), OC_EFAILED);
	ck_assert_str_eq(oc_error_message(err), "no such method\\n (code -32601)");
	oc_error_free(err);
	json_object_set_new(json, "data", json_pack("{s:s,s:s}", "message", "m", "reason", "sandbox_unavailable"));
	ck_assert_int_eq(oc_message_to_error(&err, json), OC_EREFUSED);
	ck_assert_str_eq(oc_error_reason(err), "sandbox_unavailable");
	oc_error_free(err);
	json_decref(json);
	json = json_object();
	ck_assert_int_eq(oc_message_to_error(&err, json), OC_EFAILED);
	oc_error_free(err);
	json_decref(json);
}
END_TEST

static int make(void *userdata)
{
	oc_error *err = NULL;
	json_t *a, *b, *c;
	int rc = 0;

	(void)userdata;
	oc_fail(&err, OC_EFAILED, 0, "x");
	a = oc_message_call(1, "m", json_object());
	b = oc_message_result(1, NULL);
	c = oc_message_error(1, -32000, err);
	if (!a || !b || !c)
		rc = OC_ENOMEM;
	json_decref(a);
	json_decref(b);
	json_decref(c);
	oc_error_free(err);
	return rc;
}

START_TEST(test_no_memory)
{
	/* json_object() of the caller may be what fails: a call without params is made then. */
	ck_assert_int_gt(alloc_fail_each(make, NULL, 1), 20);
}
END_TEST

SUITE_MAIN("message", test_kinds, test_refuses, test_errors_of_the_other_side, test_no_memory)

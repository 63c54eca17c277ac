/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "suite.h"
#include "wire/schema.h"

#define REASON "sandbox_config"

static json_t *json_of(const char *text)
{
	json_t *json = NULL;

	ck_assert_msg(oc_json_parse(text, strlen(text), OC_JSON_MAX, "test", &json, NULL) == 0, "%s", text);
	return json;
}

START_TEST(test_taken)
{
	static const char *const good[] = {
		"{\"type\":\"object\"}",
		"{\"type\":\"object\",\"title\":\"t\",\"description\":\"d\",\"default\":{\"x\":[]},\"properties\":{},"
		"\"required\":[]}",
		"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
		"\"additionalProperties\":true}}},"
		"\"required\":[\"a\"],\"additionalProperties\":false}",
		"{\"type\":\"string\",\"minLength\":0,\"maxLength\":0,\"enum\":[\"\",\"a\"]}",
		"{\"type\":\"integer\",\"minimum\":-1,\"maximum\":-1,\"enum\":[1,2]}",
		"{\"type\":\"boolean\"}",
	};

	for (size_t i = 0; i < OC_COUNT(good); i++) {
		json_t *json = json_of(good[i]);
		oc_error *err = NULL;

		ck_assert_msg(oc_schema_check(json, "s", REASON, &err) == 0, "%s: %s", good[i], oc_error_message(err));
		json_decref(json);
	}
}
END_TEST

/* The schema, and the path of the error that has to be in the chain. */
START_TEST(test_refused)
{
	static const struct {
		const char *schema, *path;
	} bad[] = {
		{ "{}", "s.type" },
		{ "[]", "s" },
		{ "true", "s" },
		{ "{\"type\":\"number\"}", "s.type" },
		{ "{\"type\":\"null\"}", "s.type" },
		{ "{\"type\":\"Object\"}", "s.type" },
		{ "{\"type\":[\"string\"]}", "s.type" },
		{ "{\"type\":\"string\",\"pattern\":\"a\"}", "s.pattern" },
		{ "{\"type\":\"string\",\"$ref\":\"#\"}", "s.$ref" },
		{ "{\"type\":\"string\",\"anyOf\":[]}", "s.anyOf" },
		{ "{\"type\":\"string\",\"format\":\"uri\"}", "s.format" },
		{ "{\"type\":\"string\",\"minlength\":1}", "s.minlength" },
		{ "{\"type\":\"string\",\"minLength\":\"1\"}", "s.minLength" },
		{ "{\"type\":\"string\",\"minLength\":-1}", "s" },
		{ "{\"type\":\"string\",\"maxLength\":-1}", "s" },
		{ "{\"type\":\"string\",\"minLength\":2,\"maxLength\":1}", "s" },
		{ "{\"type\":\"integer\",\"minimum\":2,\"maximum\":1}", "s" },
		{ "{\"type\":\"string\",\"minimum\":1}", "s.minimum" },
		{ "{\"type\":\"integer\",\"maxLength\":1}", "s.maxLength" },
		{ "{\"type\":\"boolean\",\"enum\":[true]}", "s.enum" },
		{ "{\"type\":\"string\",\"properties\":{}}", "s.properties" },
		{ "{\"type\":\"object\",\"items\":{\"type\":\"string\"}}", "s.items" },
		{ "{\"type\":\"array\",\"items\":[{\"type\":\"string\"}]}", "s.items" },
		{ "{\"type\":\"array\",\"items\":{\"type\":\"strin\"}}", "s.items.type" },
		{ "{\"type\":\"object\",\"additionalProperties\":{}}", "s.additionalProperties" },
		{ "{\"type\":\"object\",\"required\":\"a\"}", "s.required" },
		{ "{\"type\":\"object\",\"required\":[7]}", "s.required[0]" },
		{ "{\"type\":\"object\",\"required\":[\"a\"]}", "s.required[0]" },
		{ "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"x\":1}}}", "s.properties.a.x" },
		{ "{\"type\":\"object\",\"properties\":{\"a\":7}}", "s.properties.a" },
		{ "{\"type\":\"object\",\"properties\":{\"\":{\"type\":\"string\"}}}", "s.properties." },
		{ "{\"type\":\"string\",\"enum\":[]}", "s.enum" },
		{ "{\"type\":\"string\",\"enum\":[1]}", "s.enum[0]" },
		{ "{\"type\":\"string\",\"enum\":[\"a\\u0000\"]}", "s.enum[0]" },
		{ "{\"type\":\"integer\",\"enum\":[1,\"a\"]}", "s.enum[1]" },
		{ "{\"type\":\"string\",\"enum\":[\"a\",\"b\",\"a\"]}", "s.enum[2]" },
		{ "{\"type\":\"string\",\"description\":7}", "s.description" },
	};

	for (size_t i = 0; i < OC_COUNT(bad); i++) {
		json_t *json = json_of(bad[i].schema);
		oc_error *err = NULL;
		bool found = false;

		ck_assert_msg(oc_schema_check(json, "s", REASON, &err) == OC_EREFUSED, "%s", bad[i].schema);
		for (const oc_error *e = err; e; e = oc_error_next(e)) {
			found |= strcmp(oc_error_subject(e), bad[i].path) == 0;
			ck_assert_str_eq(oc_error_reason(e), REASON);
			ck_assert_ptr_nonnull(oc_error_fix(e));
		}
		ck_assert_msg(found, "%s: %s: %s", bad[i].schema, oc_error_subject(err), oc_error_message(err));
		oc_error_free(err);
		ck_assert_int_eq(oc_schema_check(json, "s", REASON, NULL), OC_EREFUSED);
		json_decref(json);
	}
}
END_TEST

static json_t *nested(int levels)
{
	json_t *schema = json_pack("{s:s}", "type", "string");

	while (--levels)
		schema = json_pack("{s:s,s:o}", "type", "array", "items", schema);
	return schema;
}

START_TEST(test_depth)
{
	json_t *fits = nested(OC_SCHEMA_DEPTH), *deeper = nested(OC_SCHEMA_DEPTH + 1);

	ck_assert_int_eq(oc_schema_check(fits, "s", REASON, NULL), 0);
	ck_assert_int_eq(oc_schema_check(deeper, "s", REASON, NULL), OC_EREFUSED);
	json_decref(fits);
	json_decref(deeper);
}
END_TEST

START_TEST(test_fits)
{
	static const char schema_text[] =
	        "{\"type\":\"object\",\"required\":[\"name\",\"n\"],\"additionalProperties\":false,\"properties\":{"
	        "\"name\":{\"type\":\"string\",\"minLength\":2,\"maxLength\":3},\"n\":{\"type\":\"integer\","
	        "\"minimum\":-1,\"maximum\":5},"
	        "\"on\":{\"type\":\"boolean\"},\"color\":{\"type\":\"string\",\"enum\":[\"red\",\"green\"]},\"k\":{"
	        "\"type\":\"integer\",\"enum\":[7]},"
	        "\"list\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"x\"],\"properties\":{"
	        "\"x\":{\"type\":\"string\"}}}},"
	        "\"any\":{\"type\":\"array\"}}}";
	static const struct {
		const char *value, *why; /* why NULL: it fits */
	} cases[] = {
		{ "{\"name\":\"ab\",\"n\":-1}", NULL },
		{ "{\"name\":\"\xc3\xa9\xc3\xa9\xf0\x9f\x98\x80\",\"n\":5}", NULL }, /* characters are counted */
		{ "{\"name\":\"abc\",\"n\":0,\"on\":false,\"color\":\"red\",\"k\":7,\"list\":[{\"x\":\"\",\"y\":[null,"
		  "true]}],\"any\":[1,\"\",{}]}",
		  NULL },
		{ "[]", "a must be of type object" },
		{ "null", "a must be of type object" },
		{ "{}", "a lacks \"name\"; a lacks \"n\"" },
		{ "{\"name\":\"a\",\"n\":0}", "a.name must be at least 2 characters long" },
		{ "{\"name\":\"abcd\",\"n\":0}", "a.name must be at most 3 characters long" },
		{ "{\"name\":\"\xf0\x9f\x98\x80\",\"n\":0}", "a.name must be at least 2 characters long" },
		{ "{\"name\":\"ab\",\"n\":-2}", "a.n must be at least -1" },
		{ "{\"name\":\"ab\",\"n\":6}", "a.n must be at most 5" },
		{ "{\"name\":\"ab\",\"n\":\"1\"}", "a.n must be of type integer" },
		{ "{\"name\":\"ab\",\"n\":true}", "a.n must be of type integer" },
		{ "{\"name\":\"ab\",\"n\":null}", "a.n must be of type integer" },
		{ "{\"name\":\"ab\",\"n\":1,\"on\":0}", "a.on must be of type boolean" },
		{ "{\"name\":\"ab\",\"n\":1,\"color\":\"Red\"}",
		  "a.color is none of the 2 values that are allowed: \"red\", \"green\"" },
		{ "{\"name\":\"ab\",\"n\":1,\"k\":8}", "a.k is none of the 1 values that are allowed: 7" },
		{ "{\"name\":\"ab\",\"n\":1,\"list\":{}}", "a.list must be of type array" },
		{ "{\"name\":\"ab\",\"n\":1,\"list\":[{\"x\":\"\"},{}]}", "a.list[1] lacks \"x\"" },
		{ "{\"name\":\"ab\",\"n\":1,\"list\":[{\"x\":1}]}", "a.list[0].x must be of type string" },
		{ "{\"name\":\"ab\",\"n\":1,\"Name\":1}", "a.Name is no parameter" },
		{ "{\"name\":\"ab\",\"n\":1,\"\\u001b[2J\":1}", "a.\\x1b[2J is no parameter" },
		{ "{\"name\":\"a\\u0000b\",\"n\":1}",
		  "a.name holds U+0000, or is a number with a fraction, or one beyond 2^53 - 1" },
		{ "{\"name\":\"ab\",\"n\":1,\"any\":[[{\"z\":\"\\u0000\"}]]}",
		  "a.any[0][0].z holds U+0000, or is a number with a fraction, or one beyond 2^53 - 1" },
	};
	json_t *schema = json_of(schema_text);

	ck_assert_int_eq(oc_schema_check(schema, "s", REASON, NULL), 0);
	for (size_t i = 0; i < OC_COUNT(cases); i++) {
		json_t *value = json_of(cases[i].value);
		struct oc_buf why;

		oc_buf_init(&why, 2048);
		ck_assert_msg(oc_schema_fits(schema, value, "a", &why) == (cases[i].why ? OC_EINVAL : 0), "%s",
		              cases[i].value);
		ck_assert_str_eq(why.data ? why.data : "", cases[i].why ? cases[i].why : "");
		oc_buf_free(&why);
		json_decref(value);
	}
	json_decref(schema);
}
END_TEST

/* However much is wrong, what is told of it is short, and it is still wrong. */
START_TEST(test_bounded)
{
	json_t *schema = json_of("{\"type\":\"object\",\"additionalProperties\":false}"), *value = json_object();
	struct oc_buf why;
	char key[600];

	for (int i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "%0500d", i);
		json_object_set_new(value, key, json_integer(1));
	}
	for (size_t max = 0; max < 4000; max += 500) {
		oc_buf_init(&why, max);
		ck_assert_int_eq(oc_schema_fits(schema, value, "a", &why), OC_EINVAL);
		ck_assert_uint_le(why.len, max);
		ck_assert_uint_le(why.len, 16 * 100);
		oc_buf_free(&why);
	}
	json_decref(schema);
	json_decref(value);
}
END_TEST

static int fits(void *userdata)
{
	json_t **two = userdata;
	struct oc_buf why;
	int rc;

	oc_buf_init(&why, 2048);
	rc = oc_schema_fits(two[0], two[1], "arguments", &why);
	oc_buf_free(&why);
	return rc == OC_EINVAL ? 0 : rc < 0 ? rc : OC_EFAILED;
}

START_TEST(test_no_memory)
{
	json_t *two[] = { json_of("{\"type\":\"object\",\"additionalProperties\":false}"),
		          json_of("{\"a\":1,\"b\":2,\"c\":3}") };

	ck_assert_int_gt(alloc_fail_each(fits, two, 0), 2);
	json_decref(two[0]);
	json_decref(two[1]);
}
END_TEST

SUITE_MAIN("schema", test_taken, test_refused, test_depth, test_fits, test_bounded, test_no_memory)

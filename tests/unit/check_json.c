/* SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "base/json.h"
#include "suite.h"

static int parse(const char *text, json_t **out, oc_error **err)
{
	return oc_json_parse(text, strlen(text), OC_JSON_MAX, "test", out, err);
}

static void refused(const char *text, int code, const char *says)
{
	json_t *json = (json_t *)&code;
	oc_error *err = NULL;

	ck_assert_msg(parse(text, &json, &err) == code, "%s", text);
	ck_assert_ptr_eq(json, (json_t *)&code);
	ck_assert_msg(strstr(oc_error_message(err), says) != NULL, "%s: %s", text, oc_error_message(err));
	oc_error_free(err);
	ck_assert_int_eq(parse(text, &json, NULL), code);
}

START_TEST(test_strict)
{
	char deep[2 * OC_JSON_DEPTH + 3];

	refused("{\"a\":1.5}", OC_EPROTO, "line 1, column 6");
	refused("[1,\n 2e3]", OC_EPROTO, "line 2, column 2");
	refused("[-0.0]", OC_EPROTO, "fraction");
	refused("[9007199254740992]", OC_EPROTO, "2^53");
	refused("[-9007199254740992]", OC_EPROTO, "2^53");
	refused("[00000000000000001]", OC_EPROTO, "2^53");
	refused("{\"a\":1,\"a\":2}", OC_EPROTO, "duplicate object key");
	refused("{\"a\":1,\"\\u0061\":2}", OC_EPROTO, "duplicate object key");
	refused("\"\xff\"", OC_EPROTO, "not UTF-8");
	refused("\"\xed\xa0\x80\"", OC_EPROTO, "not UTF-8");
	refused("", OC_EPROTO, "test: ");
	refused("\"", OC_EPROTO, "test: ");
	refused("\"\\", OC_EPROTO, "test: ");
	refused("1 2", OC_EPROTO, "end of file expected");
	for (int i = 0; i <= OC_JSON_DEPTH; i++)
		deep[i] = '[', deep[OC_JSON_DEPTH + 1 + i] = ']';
	deep[sizeof(deep) - 1] = '\0';
	refused(deep, OC_ELIMIT, "nesting");
	deep[sizeof(deep) - 2] = '\0';
	json_t *json = NULL;
	ck_assert_int_eq(parse(deep + 1, &json, NULL), 0);
	json_decref(json);
	ck_assert_int_eq(oc_json_parse("[1]", 3, 2, "test", &json, NULL), OC_ELIMIT);
	/* What a NUL byte hides is not out of the world; after a number jansson would take it for the end. */
	ck_assert_int_eq(oc_json_parse("1\0", 2, 9, "test", &json, NULL), OC_EPROTO);
	ck_assert_int_eq(oc_json_parse("[1]\0 x", 6, 9, "test", &json, NULL), OC_EPROTO);
	ck_assert_int_eq(oc_json_parse("[1]\0", 4, 9, "test", &json, NULL), OC_EPROTO);
}
END_TEST

START_TEST(test_no_secret_in_messages)
{
	oc_error *err = NULL;
	json_t *json;

	ck_assert_int_eq(parse("{\"a\": hunter2}", &json, &err), OC_EPROTO);
	ck_assert_ptr_null(strstr(oc_error_json(err), "hunter2"));
	oc_error_free(err);
}
END_TEST

START_TEST(test_accepts)
{
	static const char *const good[] = { "{}",
		                            "[]",
		                            "1",
		                            "-0",
		                            "null",
		                            "\"1.5e3\"",
		                            "\"\\\"1.5\"",
		                            "{\"1.5\":[\"2e2\"]}",
		                            " [ 9007199254740991 , -9007199254740991 ] ",
		                            "\"a\\u0000b\"" };

	for (size_t i = 0; i < OC_COUNT(good); i++) {
		json_t *json = NULL;

		ck_assert_msg(parse(good[i], &json, NULL) == 0, "%s", good[i]);
		json_decref(json);
	}
}
END_TEST

START_TEST(test_another_locale)
{
	json_t *json;

	if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "de_DE.utf8"))
		fprintf(stderr, "there is no locale de_DE.UTF-8: tried in the C locale\n");
	ck_assert_int_eq(parse("[1.5]", &json, NULL), OC_EPROTO);
	ck_assert_int_eq(parse("[1,5]", &json, NULL), 0);
	ck_assert_uint_eq(json_array_size(json), 2);
	json_decref(json);
}
END_TEST

struct fields {
	const char *s;
	int64_t i;
	bool b;
	json_t *o, *a, *l, *any, *maybe;
};

static int unpack(const char *text, struct fields *f, json_t **keep, oc_error **err)
{
	const struct oc_json_key keys[] = {
		{ "string", OC_JSON_STRING, true, &f->s },
		{ "int", OC_JSON_INT, false, &f->i },
		{ "bool", OC_JSON_BOOL, false, &f->b },
		{ "object", OC_JSON_OBJECT, false, &f->o },
		{ "array", OC_JSON_ARRAY, false, &f->a },
		{ "list", OC_JSON_STRINGS, false, &f->l },
		{ "any", OC_JSON_ANY, false, &f->any },
		{ "maybe", OC_JSON_OBJECT | OC_JSON_NULL_OK, false, &f->maybe },
		{ "ignored", OC_JSON_ANY, false, NULL },
	};

	ck_assert_int_eq(parse(text, keep, NULL), 0);
	return oc_json_unpack(*keep, "top", "sandbox_config", keys, OC_COUNT(keys), err);
}

START_TEST(test_unpack)
{
	struct fields f = { .i = 5 };
	json_t *json = NULL;

	ck_assert_int_eq(
	        unpack("{\"string\":\"x\",\"bool\":true,\"object\":{},\"array\":[1],\"list\":[\"y\"],\"any\":null,"
	               "\"maybe\":null,\"ignored\":[]}",
	               &f, &json, NULL),
	        0);
	ck_assert_str_eq(f.s, "x");
	ck_assert_int_eq(f.i, 5);
	ck_assert(f.b);
	ck_assert(json_is_object(f.o));
	ck_assert_uint_eq(json_array_size(f.a), 1);
	ck_assert_uint_eq(json_array_size(f.l), 1);
	ck_assert(json_is_null(f.any));
	ck_assert_ptr_null(f.maybe);
	ck_assert_str_eq(oc_json_text(json, "string"), "x");
	ck_assert_ptr_null(oc_json_text(json, "bool"));
	ck_assert_int_eq(oc_json_integer(json, "string", 9), 9);
	json_decref(json);
}
END_TEST

static const oc_error *about(const oc_error *err, const char *subject)
{
	while (err && strcmp(oc_error_subject(err), subject) != 0)
		err = oc_error_next(err);
	ck_assert_msg(err != NULL, "nothing about %s", subject);
	return err;
}

START_TEST(test_unpack_reports_all)
{
	struct fields f = { 0 };
	json_t *json = NULL;
	oc_error *err = NULL;
	int n = 0;

	ck_assert_int_eq(
	        unpack("{\"strin\":1,\"int\":\"1\",\"bool\":null,\"list\":[\"a\",1,\"b\\u0000\"],\"object\":[],"
	               "\"zzzzzzzzzz\":1,\"maybe\":3}",
	               &f, &json, &err),
	        OC_EREFUSED);
	ck_assert_str_eq(oc_error_message(about(err, "top.strin")), "unknown key \"strin\"; did you mean \"string\"?");
	ck_assert_str_eq(oc_error_fix(about(err, "top.strin")), "rename \"strin\" to \"string\"");
	ck_assert_str_eq(oc_error_message(about(err, "top.string")), "\"string\" is missing");
	ck_assert_str_eq(oc_error_message(about(err, "top.int")), "must be an integer");
	ck_assert_str_eq(oc_error_message(about(err, "top.list[1]")), "must be a string");
	ck_assert_str_eq(oc_error_message(about(err, "top.list[2]")), "must not contain U+0000");
	ck_assert_ptr_nonnull(strstr(oc_error_fix(about(err, "top.zzzzzzzzzz")), "known keys: \"string\", \"int\""));
	about(err, "top.bool");
	about(err, "top.object");
	about(err, "top.maybe");
	for (const oc_error *e = err; e; e = oc_error_next(e), n++) {
		ck_assert_str_eq(oc_error_reason(e), "sandbox_config");
		ck_assert_ptr_nonnull(oc_error_fix(e));
	}
	ck_assert_int_eq(n, 9);
	ck_assert_ptr_null(f.l);
	oc_error_free(err);
	json_decref(json);
}
END_TEST

START_TEST(test_unpack_bounded)
{
	json_t *json = json_object();
	oc_error *err = NULL;
	char key[16];
	int n = 0;

	for (int i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		ck_assert(oc_json_set(json, key, json_true()));
	}
	ck_assert_int_eq(oc_json_unpack(json, "", NULL, NULL, 0, &err), OC_EPROTO);
	for (const oc_error *e = err; e; e = oc_error_next(e))
		n++;
	ck_assert_int_gt(n, 1);
	ck_assert_int_le(n, 64);
	oc_error_free(err);
	ck_assert_int_eq(oc_json_unpack(json_null(), "", "x", NULL, 0, NULL), OC_EREFUSED);
	ck_assert_int_eq(oc_json_unpack(NULL, "", NULL, NULL, 0, NULL), OC_EPROTO);
	json_decref(json);
}
END_TEST

static int parse_once(void *userdata)
{
	json_t *json = NULL;
	oc_error *err = NULL;
	int rc = parse(userdata, &json, &err);

	oc_error_free(err);
	json_decref(json);
	return rc;
}

static int unpack_once(void *userdata)
{
	const struct oc_json_key keys[] = { { "a", OC_JSON_STRING, true, NULL } };
	oc_error *err = NULL;
	int rc = oc_json_unpack(userdata, "", "sandbox_config", keys, 1, &err);

	/* It must be refused, memory or not. */
	oc_error_free(err);
	return rc == OC_EREFUSED ? 0 : -1;
}

/* Nothing may be left out of what comes back, also where an allocation failed on the way. */
static int parse_whole(void *userdata)
{
	json_t *json = NULL;
	oc_error *err = NULL;
	const char *path;
	int rc = parse(userdata, &json, &err);

	oc_error_free(err);
	path = rc == 0 ? oc_json_text(json, "a") : NULL;
	if (rc == 0 &&
	    (!path || strcmp(path, "/home/alice/\xc3\xa9/.config/gcloud/\xf0\x9f\x98\x80/\t/credentials") != 0))
		rc = 1;
	json_decref(json);
	return rc;
}

START_TEST(test_nothing_left_out)
{
	char text[] =
	        "{\"a\":\"/home/alice/\\u00e9/.config/gcloud/\\ud83d\\ude00/\\t/credentials\",\"n\":-123456789012345}";
	json_t *json = NULL;

	ck_assert_int_gt(alloc_fail_each(parse_whole, text, 0), 5);
	/* The count itself: every way to write a character. */
	ck_assert_int_eq(parse("[\"\\\"\\\\\\/\\b\\u0000\\u007f\\u0080\\u07ff\\u0800\\uffff\\uD834\\uDD1E "
	                       "\xe2\x82\xac\",-1,0,7,-9]",
	                       &json, NULL),
	                 0);
	ck_assert_uint_eq(json_string_length(json_array_get(json, 0)), 4 + 1 + 1 + 2 + 2 + 3 + 3 + 4 + 1 + 3);
	json_decref(json);
}
END_TEST

START_TEST(test_no_memory)
{
	char text[] = "{\"a\":[1,\"x\",{\"b\":null}],\"c\":\"d\"}";
	json_t *json;

	ck_assert_int_gt(alloc_fail_each(parse_once, text, 0), 10);
	ck_assert_int_eq(parse("{\"aa\":1,\"b\":2}", &json, NULL), 0);
	ck_assert_int_gt(alloc_fail_each(unpack_once, json, 1), 10);
	json_decref(json);
}
END_TEST

SUITE_MAIN("json", test_strict, test_no_secret_in_messages, test_accepts, test_another_locale, test_unpack,
           test_unpack_reports_all, test_unpack_bounded, test_nothing_left_out, test_no_memory)

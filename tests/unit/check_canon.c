/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "base/json.h"
#include "base/sha256.h"
#include "suite.h"

static int canonical(const char *text, struct oc_buf *out)
{
	json_t *json = NULL;
	int rc = oc_json_parse(text, strlen(text), OC_JSON_MAX, "test", &json, NULL);

	if (rc == 0)
		rc = oc_json_canonical(json, out, NULL);
	json_decref(json);
	return rc;
}

START_TEST(test_vectors)
{
	size_t len, i, accepted = 0, refused = 0;
	char *text = suite_load("unit/vectors/jcs.json", &len), digest[OC_DIGEST_SIZE];
	json_t *all = json_loadb(text, len, JSON_ALLOW_NUL, NULL), *one;

	ck_assert(json_is_array(all));
	json_array_foreach(all, i, one)
	{
		const char *in = oc_json_text(one, "in"), *want = oc_json_text(one, "out");
		struct oc_buf out;
		int rc;

		oc_buf_init(&out, OC_JSON_MAX);
		rc = canonical(in, &out);
		if (!want) {
			ck_assert_msg(rc < 0, "accepted: %s", in);
			refused++;
		} else {
			ck_assert_msg(rc == 0, "refused: %s", in);
			ck_assert_str_eq(out.data, want);
			ck_assert_int_eq(oc_digest(out.data, out.len, digest), 0);
			ck_assert_str_eq(digest + 7, oc_json_text(one, "sha256"));
			accepted++;
		}
		oc_buf_free(&out);
	}
	ck_assert_uint_ge(accepted, 20);
	ck_assert_uint_ge(refused, 20);
	json_decref(all);
	free(text);
}
END_TEST

static void refuses(json_t *taken, int code)
{
	oc_error *err = NULL;
	struct oc_buf out;

	oc_buf_init(&out, 1000);
	ck_assert_int_eq(oc_buf_puts(&out, "before"), 0);
	ck_assert_int_eq(oc_json_canonical(taken, &out, &err), code);
	ck_assert_str_eq(out.data, "before");
	ck_assert_int_eq(oc_error_code(err), code);
	oc_error_free(err);
	oc_buf_free(&out);
	json_decref(taken);
}

START_TEST(test_refuses_what_could_not_be_parsed)
{
	json_t *deep = json_array(), *around;
	char long_text[1000] = "";

	refuses(json_real(1.0), OC_EINVAL);
	refuses(json_pack("[f]", 1.5), OC_EINVAL);
	refuses(json_integer(9007199254740992), OC_EINVAL);
	refuses(json_integer(INT64_MIN), OC_EINVAL);
	refuses(json_string_nocheck("\xff"), OC_EINVAL);
	for (int i = 0; i < OC_JSON_DEPTH; i++) {
		around = json_array();
		json_array_append_new(around, deep);
		deep = around;
	}
	refuses(deep, OC_ELIMIT);
	memset(long_text, 'x', sizeof(long_text) - 1);
	refuses(json_pack("[s]", long_text), OC_ELIMIT);
}
END_TEST

/* Few members and many are sorted each in their own way: one order all the same, whatever the order they came in. */
START_TEST(test_sorted)
{
	for (int n = 1; n <= 40; n++) {
		oc_cleanup(oc_json_decrefp) json_t *json = json_object();
		struct oc_buf is, should;
		char key[8];

		oc_buf_init(&is, 10000);
		oc_buf_init(&should, 10000);
		for (int i = 0; i < n; i++) {
			snprintf(key, sizeof(key), "k%02d", (i * 43 + 3) % n);
			ck_assert(oc_json_set(json, key, json_integer(-i)));
		}
		for (int i = 0; i < n; i++) {
			snprintf(key, sizeof(key), "k%02d", i);
			ck_assert_int_eq(oc_buf_printf(&should, "%s\"%s\":%lld", i ? "," : "{", key,
			                               (long long)oc_json_integer(json, key, 1)),
			                 0);
		}
		ck_assert_int_eq(oc_buf_puts(&should, "}"), 0);
		ck_assert_int_eq(oc_json_canonical(json, &is, NULL), 0);
		ck_assert_str_eq(is.data, should.data);
		oc_buf_free(&is);
		oc_buf_free(&should);
	}
}
END_TEST

static int canonical_once(void *userdata)
{
	struct oc_buf out;
	int rc;

	oc_buf_init(&out, 10000);
	rc = oc_json_canonical(userdata, &out, NULL);
	oc_buf_free(&out);
	return rc;
}

START_TEST(test_no_memory)
{
	json_t *json = json_pack("{s:[i,s,{s:b}],s:n}", "a", 1, "x", "k", 1, "z");
	char key[8];

	for (int i = 0; i < 40; i++) {
		snprintf(key, sizeof(key), "k%02d", i);
		ck_assert(oc_json_set(json, key, json_integer(i)));
	}
	ck_assert_int_gt(alloc_fail_each(canonical_once, json, 0), 3);
	json_decref(json);
}
END_TEST

SUITE_MAIN("canon", test_vectors, test_refuses_what_could_not_be_parsed, test_sorted, test_no_memory)

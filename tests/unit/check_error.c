/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "base/error.h"
#include "base/json.h"
#include "suite.h"

START_TEST(test_fail)
{
	oc_error *err = NULL;

	ck_assert_int_eq(oc_fail(&err, OC_EIO, ENOENT, "cannot open %s", "/x"), OC_EIO);
	ck_assert_int_eq(oc_error_code(err), OC_EIO);
	ck_assert_int_eq(oc_error_errno(err), ENOENT);
	ck_assert_str_eq(oc_error_message(err), "cannot open /x: No such file or directory");
	ck_assert_ptr_null(oc_error_reason(err));
	ck_assert_ptr_null(oc_error_subject(err));
	ck_assert_ptr_null(oc_error_fix(err));
	ck_assert_ptr_null(oc_error_next(err));
	oc_error_free(err);
	/* The description is there already; and errno as some return it. */
	ck_assert_int_eq(oc_fail(&err, OC_EIO, -ENOENT, "x: %s", strerror(ENOENT)), OC_EIO);
	ck_assert_str_eq(oc_error_message(err), "x: No such file or directory");
	ck_assert_int_eq(oc_error_errno(err), ENOENT);
	oc_error_free(err);
	ck_assert_int_eq(oc_fail(NULL, OC_EIO, 0, "x"), OC_EIO);
	ck_assert_int_eq(oc_error_code(NULL), OC_OK);
	ck_assert_ptr_nonnull(oc_error_message(NULL));
	ck_assert_ptr_null(oc_error_json(NULL));
	oc_error_free(NULL);
}
END_TEST

START_TEST(test_refuse)
{
	oc_error *err = NULL;

	ck_assert_int_eq(oc_refuse(&err, "sandbox_config", "read.deny[2]", "remove it", "no %s", "path"), OC_EREFUSED);
	ck_assert_str_eq(oc_error_json(err),
	                 "{\"code\":-6,\"errno\":0,\"fix\":\"remove it\",\"message\":\"no path\",\"more\":[],"
	                 "\"reason\":\"sandbox_config\",\"subject\":\"read.deny[2]\"}");
	ck_assert_ptr_eq(oc_error_json(err), oc_error_json(err));
	oc_prefix(&err, "policy %d", 3);
	ck_assert_str_eq(oc_error_message(err), "policy 3: no path");
	ck_assert_str_eq(oc_error_reason(err), "sandbox_config");
	ck_assert_ptr_nonnull(strstr(oc_error_json(err), "policy 3: no path"));
	oc_error_free(err);
	err = NULL;
	oc_prefix(&err, "nothing");
	oc_prefix(NULL, "nothing");
	ck_assert_ptr_null(err);
}
END_TEST

/* Also one that a provider or an older guard sent without. */
START_TEST(test_every_refusal_has_a_fix)
{
	static const char *const reasons[] = { "sandbox_denied",    "sandbox_unavailable", "sandbox_config",
		                               "sandbox_workspace", "provider_failed",     "pin_mismatch",
		                               "run_lost",          "secret_missing",      "not_yet_known" };
	json_t *json = json_pack("{s:s, s:s, s:n}", "reason", "sandbox_denied", "message", "no", "fix");
	oc_error *err = NULL;

	for (size_t i = 0; i < OC_COUNT(reasons); i++) {
		oc_refuse(&err, reasons[i], "x", NULL, "no");
		ck_assert_ptr_nonnull(oc_error_fix(err));
		oc_error_free(err);
	}
	oc_error_from_json(&err, json);
	ck_assert_ptr_nonnull(oc_error_fix(err));
	oc_error_free(err);
	json_decref(json);
}
END_TEST

START_TEST(test_texts_are_bounded_and_printable)
{
	char *big = malloc(100001);
	oc_error *err = NULL;

	/* A character of two bytes at every place where it could be cut. */
	memset(big, 'x', 100000);
	big[100000] = '\0';
	for (int i = 4090; i < 4100; i += 2)
		memcpy(big + i, "\xc3\xa9", 2);
	oc_fail(&err, OC_EFAILED, 0, "%s", big);
	ck_assert_uint_lt(strlen(oc_error_message(err)), 5000);
	ck_assert_ptr_nonnull(oc_error_json(err));
	ck_assert_ptr_null(strstr(oc_error_message(err), "\\xc3"));
	oc_error_free(err);
	oc_refuse(&err, "r", "/a\xff\x1b[0m", "x\ny", "%s", "a\nb\xe2\x80\xae");
	ck_assert_str_eq(oc_error_subject(err), "/a\\xff\\x1b[0m");
	ck_assert_str_eq(oc_error_fix(err), "x\\ny");
	ck_assert_str_eq(oc_error_message(err), "a\\nb\\u{202e}");
	ck_assert_ptr_nonnull(oc_error_json(err));
	oc_error_free(err);
	free(big);
}
END_TEST

START_TEST(test_chain)
{
	oc_error *err = NULL, *more;
	int n = 0;

	for (int i = 0; i < 100; i++) {
		more = NULL;
		oc_fail(&more, OC_EINVAL, 0, "error %d", i);
		oc_error_append(&err, more);
	}
	oc_error_append(&err, NULL);
	for (const oc_error *e = err; e; e = oc_error_next(e), n++)
		ck_assert_int_eq(atoi(oc_error_message(e) + 6), n);
	ck_assert_int_eq(n, 64);
	more = NULL;
	oc_nomem(&more);
	oc_error_append(&more, err);
	ck_assert_int_eq(oc_error_code(more), OC_ENOMEM);
	ck_assert_ptr_null(oc_error_next(more));
	ck_assert_ptr_nonnull(oc_error_json(more));
	oc_prefix(&more, "x");
	oc_error_free(more);
}
END_TEST

START_TEST(test_json_there_and_back)
{
	oc_error *err = NULL, *more = NULL, *back = NULL;
	json_t *json;

	oc_refuse(&err, "sandbox_denied", "github.com", "allow it", "no");
	oc_fail(&more, OC_EIO, EPERM, "yes");
	oc_error_append(&err, more);
	json = oc_error_to_json(err);
	ck_assert_int_eq(oc_error_from_json(&back, json), OC_EREFUSED);
	ck_assert_str_eq(oc_error_json(back), oc_error_json(err));
	ck_assert_int_eq(oc_error_errno(oc_error_next(back)), EPERM);
	ck_assert_int_eq(oc_error_from_json(NULL, json), OC_EREFUSED);
	json_decref(json);
	oc_error_free(err);
	oc_error_free(back);
}
END_TEST

static void malformed(const char *text)
{
	json_t *json = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	oc_error *err = NULL;

	ck_assert_ptr_nonnull(json);
	ck_assert_msg(oc_error_from_json(&err, json) == OC_EPROTO, "%s", text);
	ck_assert_ptr_nonnull(strstr(oc_error_message(err), "malformed"));
	oc_error_free(err);
	json_decref(json);
}

START_TEST(test_from_json_checks)
{
	json_t *json = json_pack("{s:s,s:s,s:i,s:I}", "message", "m\x1b", "reason", "r_1", "code", 5, "errno",
	                         (json_int_t)99999);
	oc_error *err = NULL;

	malformed("{}");
	malformed("[]");
	malformed("null");
	malformed("{\"message\":1}");
	malformed("{\"message\":null}");
	malformed("{\"message\":\"m\",\"reason\":\"Not a reason\"}");
	malformed("{\"message\":\"m\",\"reason\":\"\"}");
	malformed("{\"message\":\"m\\u0000\"}");
	malformed("{\"message\":\"m\",\"surprise\":1}");
	malformed("{\"message\":\"m\",\"more\":{}}");
	/* A code that is none is not believed: never success. */
	ck_assert_int_eq(oc_error_from_json(&err, json), OC_EREFUSED);
	ck_assert_int_eq(oc_error_errno(err), 0);
	ck_assert_str_eq(oc_error_message(err), "m\\x1b");
	oc_error_free(err);
	json_decref(json);
	json = json_pack("{s:s,s:i,s:[i,{s:s}]}", "message", "m", "code", -1000, "more", 1, "message", "n");
	ck_assert_int_eq(oc_error_from_json(&err, json), OC_EFAILED);
	ck_assert_int_eq(oc_error_code(oc_error_next(err)), OC_EPROTO);
	ck_assert_str_eq(oc_error_message(oc_error_next(oc_error_next(err))), "n");
	oc_error_free(err);
	json_decref(json);
	ck_assert_int_eq(oc_error_from_json(NULL, NULL), OC_EPROTO);
}
END_TEST

static int make_all(void *userdata)
{
	oc_error *err = NULL, *more = NULL, *back = NULL;
	json_t *json;
	int rc = 0;

	(void)userdata;
	/* The code is right whether there was memory for the words or not. */
	if (oc_refuse(&err, "r", "s", "f", "m") != OC_EREFUSED || oc_fail(&more, OC_EIO, EPERM, "m") != OC_EIO ||
	    !err || !more)
		rc = -100;
	oc_error_append(&err, more);
	oc_prefix(&err, "p");
	json = oc_error_to_json(err);
	if (!json || oc_error_from_json(&back, json) >= 0 || !oc_error_json(err) || !oc_error_message(back))
		rc = rc ? rc : OC_ENOMEM;
	json_decref(json);
	oc_error_free(err);
	oc_error_free(back);
	return rc == -100 ? 1 : rc;
}

START_TEST(test_no_memory)
{
	ck_assert_int_gt(alloc_fail_each(make_all, NULL, 1), 20);
}
END_TEST

SUITE_MAIN("error", test_fail, test_refuse, test_every_refusal_has_a_fix, test_texts_are_bounded_and_printable,
           test_chain, test_json_there_and_back, test_from_json_checks, test_no_memory)

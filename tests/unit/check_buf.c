/* SPDX-License-Identifier: Apache-2.0 */
#include <openconduit/error.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "base/buf.h"
#include "suite.h"

START_TEST(test_adds_and_terminates)
{
	struct oc_buf b;

	oc_buf_init(&b, 100);
	ck_assert_int_eq(oc_buf_add(&b, "", 0), 0);
	ck_assert_str_eq(b.data, "");
	ck_assert_int_eq(oc_buf_puts(&b, "abc"), 0);
	ck_assert_int_eq(oc_buf_printf(&b, "-%d-%s", 7, "x"), 0);
	ck_assert_str_eq(b.data, "abc-7-x");
	ck_assert_uint_eq(b.len, 7);
	oc_buf_consume(&b, 4);
	ck_assert_str_eq(b.data, "7-x");
	oc_buf_consume(&b, 1000);
	ck_assert_str_eq(b.data, "");
	oc_buf_free(&b);
	ck_assert_int_eq(oc_buf_puts(&b, "again"), 0);
	oc_buf_free(&b);
}
END_TEST

START_TEST(test_limit)
{
	struct oc_buf b;

	oc_buf_init(&b, 4);
	ck_assert_int_eq(oc_buf_puts(&b, "abcd"), 0);
	ck_assert_int_eq(oc_buf_add(&b, "e", 1), OC_ELIMIT);
	ck_assert_int_eq(oc_buf_printf(&b, "%s", "e"), OC_ELIMIT);
	ck_assert_int_eq(oc_buf_reserve(&b, SIZE_MAX), OC_ELIMIT);
	ck_assert_str_eq(b.data, "abcd");
	oc_buf_free(&b);
	/* What was begun to be printed is taken back. */
	oc_buf_init(&b, 10);
	ck_assert_int_eq(oc_buf_puts(&b, "abcdef"), 0);
	ck_assert_int_eq(oc_buf_printf(&b, "%s", "ghijk"), OC_ELIMIT);
	ck_assert_str_eq(b.data, "abcdef");
	ck_assert_int_eq(oc_buf_printf(&b, "%s", "ghij"), 0);
	ck_assert_str_eq(b.data, "abcdefghij");
	oc_buf_free(&b);
	/* In room that is there, at its end, and beyond it. */
	oc_buf_init(&b, 10000);
	for (int i = 0; i < 300; i++)
		ck_assert_int_eq(oc_buf_printf(&b, "%03d,", i), 0);
	ck_assert_uint_eq(b.len, 1200);
	ck_assert_str_eq(b.data + 1192, "298,299,");
	oc_buf_free(&b);
	oc_buf_init(&b, SIZE_MAX);
	ck_assert_int_eq(oc_buf_reserve(&b, SIZE_MAX), OC_ELIMIT);
	ck_assert_int_eq(oc_buf_reserve(&b, SIZE_MAX - 1), OC_ELIMIT);
	oc_buf_free(&b);
}
END_TEST

START_TEST(test_steal)
{
	struct oc_buf b;
	char *s;

	oc_buf_init(&b, 10);
	s = oc_buf_steal(&b);
	ck_assert_str_eq(s, "");
	free(s);
	ck_assert_int_eq(oc_buf_puts(&b, "x"), 0);
	s = oc_buf_steal(&b);
	ck_assert_str_eq(s, "x");
	ck_assert_ptr_null(b.data);
	ck_assert_int_eq(oc_buf_puts(&b, "0123456789"), 0);
	ck_assert_int_eq(oc_buf_puts(&b, "0"), OC_ELIMIT);
	free(s);
	oc_buf_free(&b);
}
END_TEST

START_TEST(test_strv)
{
	struct oc_strv s;

	oc_strv_init(&s, 20);
	ck_assert(!oc_strv_has(&s, "a"));
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(oc_strv_addf(&s, "n%d", i), 0);
	ck_assert_int_eq(oc_strv_add(&s, "more"), OC_ELIMIT);
	ck_assert_uint_eq(s.n, 20);
	ck_assert_ptr_null(s.v[20]);
	ck_assert(oc_strv_has(&s, "n19"));
	ck_assert(!oc_strv_has(&s, "n20"));
	oc_strv_free(&s);
	ck_assert_ptr_null(s.v);
}
END_TEST

static int fill(void *userdata)
{
	struct oc_strv s;
	struct oc_buf b;
	char *text;
	int rc;

	(void)userdata;
	oc_strv_init(&s, 100);
	oc_buf_init(&b, 1000);
	rc = oc_buf_printf(&b, "%0200d", 1);
	for (int i = 0; i < 10 && rc == 0; i++)
		rc = oc_strv_addf(&s, "%d", i);
	text = rc == 0 ? oc_buf_steal(&b) : NULL;
	rc = rc == 0 && !text ? OC_ENOMEM : rc;
	free(text);
	oc_buf_free(&b);
	oc_strv_free(&s);
	return rc;
}

START_TEST(test_no_memory)
{
	ck_assert_int_gt(alloc_fail_each(fill, NULL, 0), 10);
}
END_TEST

SUITE_MAIN("buf", test_adds_and_terminates, test_limit, test_steal, test_strv, test_no_memory)

/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "suite.h"

struct sized {
	size_t size;
	int a, b;
};
struct newer {
	size_t size;
	int a, b;
	long c;
};

START_TEST(test_copy_sized)
{
	struct {
		size_t size;
		int a;
	} older = { offsetof(struct sized, b), 7 };
	struct newer newer = { sizeof(newer), 1, 2, 0 };
	struct sized out = { 0, 9, 9 };
	size_t absurd = 3;

	ck_assert(oc_copy_sized(&out, sizeof(out), &older));
	ck_assert_int_eq(out.a, 7);
	ck_assert_int_eq(out.b, 0);
	ck_assert_uint_eq(out.size, sizeof(out));
	ck_assert(oc_copy_sized(&out, sizeof(out), &newer));
	ck_assert_int_eq(out.b, 2);
	newer.c = 1;
	ck_assert(!oc_copy_sized(&out, sizeof(out), &newer));
	ck_assert(!oc_copy_sized(&out, sizeof(out), &absurd));
	absurd = SIZE_MAX;
	ck_assert(!oc_copy_sized(&out, sizeof(out), &absurd));
}
END_TEST

START_TEST(test_random_id)
{
	char a[27], b[27];

	ck_assert_int_eq(oc_random_id(a, 26), 0);
	ck_assert_int_eq(oc_random_id(b, 26), 0);
	ck_assert_uint_eq(strspn(a, "abcdefghijklmnopqrstuvwxyz234567"), 26);
	ck_assert_uint_eq(strlen(a), 26);
	ck_assert_str_ne(a, b);
}
END_TEST

START_TEST(test_time)
{
	static const struct {
		int64_t ms;
		const char *text;
	} cases[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },         { 1795981006123, "2026-11-29T19:36:46.123Z" },
		{ -1, "1969-12-31T23:59:59.999Z" },        { INT64_MAX, "9999-12-31T23:59:59.999Z" },
		{ INT64_MIN, "0001-01-01T00:00:00.000Z" },
	};
	char out[OC_TIME_SIZE];
	int64_t before = oc_mono_ns();

	for (size_t i = 0; i < OC_COUNT(cases); i++) {
		oc_time_format(cases[i].ms, out);
		ck_assert_str_eq(out, cases[i].text);
	}
	ck_assert_int_ge(oc_mono_ns(), before);
	ck_assert_int_gt(oc_wall_ms(), 1700000000000);
}
END_TEST

SUITE_MAIN("util", test_copy_sized, test_random_id, test_time)

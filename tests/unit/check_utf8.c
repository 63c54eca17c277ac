/* SPDX-License-Identifier: Apache-2.0 */
#include <openconduit/error.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "suite.h"

START_TEST(test_valid)
{
	static const char *const good[] = { "",
		                            "a",
		                            "\xc2\x80",
		                            "\xdf\xbf",
		                            "\xe0\xa0\x80",
		                            "\xed\x9f\xbf",
		                            "\xee\x80\x80",
		                            "\xef\xbf\xbf",
		                            "\xf0\x90\x80\x80",
		                            "\xf4\x8f\xbf\xbf" };
	static const char *const bad[] = {
		"\x80",         "\xc0\x80",         "\xc1\xbf",         "\xe0\x9f\xbf",     "\xed\xa0\x80",
		"\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff",
		"\xc2",         "\xe2\x82",         "\xf0\x9f\x98",     "\xc2\x41",         "a\x80"
	};

	for (size_t i = 0; i < OC_COUNT(good); i++)
		ck_assert_msg(oc_utf8_valid(good[i], strlen(good[i])), "good %zu", i);
	for (size_t i = 0; i < OC_COUNT(bad); i++)
		ck_assert_msg(!oc_utf8_valid(bad[i], strlen(bad[i])), "bad %zu", i);
	ck_assert(oc_utf8_valid("a\0b", 3));
	/* A length that ends inside a character, with the rest of it right behind. */
	ck_assert(!oc_utf8_valid("\xe2\x82\xac", 2));
}
END_TEST

static void escapes_to(const char *in, size_t len, bool keep, const char *want)
{
	struct oc_buf b;

	oc_buf_init(&b, 1000);
	ck_assert_int_eq(oc_text_escape(&b, in, len, keep), 0);
	ck_assert_str_eq(b.data ? b.data : "", want);
	oc_buf_free(&b);
}

START_TEST(test_escape)
{
	static const struct {
		const char *in, *want;
	} cases[] = {
		{ "", "" },
		{ "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\x1b[31mred", "\\x1b[31mred" },
		{ "a\nb\r\t", "a\\nb\\x0d\\x09" },
		{ "\x7f", "\\x7f" },
		{ "\xc2\x9b"
		  "31m",
		  "\\u{9b}31m" },
		{ "\xe2\x80\xae"
		  "gpj.exe",
		  "\\u{202e}gpj.exe" },
		{ "\xe2\x81\xa6\xe2\x80\x8b\xef\xbb\xbf", "\\u{2066}\\u{200b}\\u{feff}" },
		{ "\xf3\xa0\x81\x81", "\\u{e0041}" },
		{ "\xff\xc3", "\\xff\\xc3" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },
		{ "\\x1b", "\\x1b" },
	};

	for (size_t i = 0; i < OC_COUNT(cases); i++)
		escapes_to(cases[i].in, strlen(cases[i].in), false, cases[i].want);
	escapes_to("a\n\tb\r\x1b", 6, true, "a\n\tb\\x0d\\x1b");
	escapes_to("a\0b", 3, false, "a\\x00b");
}
END_TEST

START_TEST(test_escape_is_stable_and_clean)
{
	char in[256], *once;
	struct oc_buf b;

	for (int i = 0; i < 256; i++)
		in[i] = (char)i;
	oc_buf_init(&b, 10000);
	ck_assert_int_eq(oc_text_escape(&b, in, sizeof(in), false), 0);
	ck_assert(oc_utf8_valid(b.data, b.len));
	for (size_t i = 0; i < b.len; i++)
		ck_assert_int_ge((unsigned char)b.data[i], 0x20);
	once = oc_buf_steal(&b);
	escapes_to(once, strlen(once), false, once);
	free(once);
}
END_TEST

START_TEST(test_escape_limit)
{
	struct oc_buf b;

	oc_buf_init(&b, 3);
	ck_assert_int_eq(oc_text_escape(&b, "\x1b", 1, false), OC_ELIMIT);
	oc_buf_free(&b);
}
END_TEST

START_TEST(test_excerpt)
{
	static const struct {
		const char *in;
		size_t most;
		const char *want;
	} cases[] = {
		{ "", 0, "" },
		{ "abc", 3, "abc" },
		{ "abcd", 3, "abc…" },
		{ "a", 0, "…" },
		{ "ab\xc3\xa9", 4, "ab\xc3\xa9" },
		{ "ab\xc3\xa9", 3, "ab…" },
		{ "\xf0\x9f\x98\x80x", 3, "…" },
		{ "\x1b[2Jxyz", 4, "\\x1b[2J…" },
		{ "\xff\xff\xff", 2, "\\xff\\xff…" },
		{ "\x80\x80\x80", 2, "…" },
	};
	struct oc_buf b;

	oc_buf_init(&b, 100);
	for (size_t i = 0; i < OC_COUNT(cases); i++) {
		b.len = 0;
		ck_assert_int_eq(oc_text_excerpt(&b, cases[i].in, cases[i].most), 0);
		ck_assert_str_eq(b.len ? b.data : "", cases[i].want);
	}
	oc_buf_free(&b);
	oc_buf_init(&b, 4);
	ck_assert_int_eq(oc_text_excerpt(&b, "abcdef", 2), OC_ELIMIT);
	ck_assert_int_eq(oc_text_excerpt(&b, "abcdef", 6), OC_ELIMIT);
	oc_buf_free(&b);
}
END_TEST

START_TEST(test_shell_quote)
{
	static const struct {
		const char *in, *want;
	} cases[] = {
		{ "", "''" },
		{ "plain-1.0/x_y", "plain-1.0/x_y" },
		{ "a b", "'a b'" },
		{ "it's", "'it'\\''s'" },
		{ "$(x)`y`", "'$(x)`y`'" },
		{ "~", "'~'" },
		{ "a\nb", "'a\nb'" },
		{ "*", "'*'" },
		{ "\xc3\xa9", "'\xc3\xa9'" },
	};
	struct oc_buf b;

	oc_buf_init(&b, 100);
	for (size_t i = 0; i < OC_COUNT(cases); i++) {
		b.len = 0;
		ck_assert_int_eq(oc_shell_quote(&b, cases[i].in), 0);
		ck_assert_str_eq(b.data, cases[i].want);
	}
	oc_buf_free(&b);
}
END_TEST

SUITE_MAIN("utf8", test_valid, test_escape, test_escape_is_stable_and_clean, test_escape_limit, test_excerpt,
           test_shell_quote)

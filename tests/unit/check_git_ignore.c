/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns, one by one; that whole trees come out as git add -A makes them is shown by tests/git/test_save.py. */
#include <string.h>

#include "ignore.h"
#include "suite.h"

START_TEST(globs)
{
	static const struct {
		const char *pattern, *text;
		bool match;
	} cases[] = {
		{ "a", "a", true },           { "a", "b", false },           { "*", "abc", true },
		{ "*", "a/b", false },        { "a*c", "abbc", true },       { "a?c", "abc", true },
		{ "a?c", "a/c", false },      { "[ab]", "b", true },         { "[!ab]", "b", false },
		{ "[^ab]", "c", true },       { "[a-c]", "b", true },        { "[]a]", "]", true },
		{ "[a", "a", false },         { "[/]", "/", false },         { "[[:digit:]]x", "5x", true },
		{ "[[:nope:]]", "n", false }, { "**/a", "a", true },         { "**/a", "x/y/a", true },
		{ "**/a", "xa", false },      { "a/**", "a/b/c", true },     { "a/**", "a", false },
		{ "a/**/b", "a/b", true },    { "a/**/b", "a/x/y/b", true }, { "a/**/b", "ab", false },
		{ "a**b", "axxb", true },     { "a**b", "ax/b", false },     { "\\*", "*", true },
		{ "\\*", "a", false },        { "a\\", "a", false },         { "", "", true },
		{ "*.o", ".o", true },        { "[\\]]", "]", true },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t effort = 10000;

		ck_assert_msg(glob_match(cases[i].pattern, cases[i].text, &effort) == cases[i].match, "%s %s",
		              cases[i].pattern, cases[i].text);
	}
}
END_TEST

START_TEST(effort_ends)
{
	char pattern[400] = "", text[300];
	uint64_t effort = 100000;

	for (size_t i = 0; i < 150; i++)
		memcpy(pattern + 2 * i, "*a", 3);
	memcpy(pattern + 300, "b", 2);
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	ck_assert(!glob_match(pattern, text, &effort));
	ck_assert_uint_eq(effort, 0);
}
END_TEST

static void push(struct ignore *g, const char *folder, const char *text)
{
	ck_assert(ignore_push(g, folder, text, strlen(text)));
}

START_TEST(levels)
{
	struct ignore g;

	ignore_init(&g);
	push(&g, "", "*.o\n# no\n\n/top\nfolder/\n");
	ck_assert(ignore_match(&g, "a.o", false) && ignore_match(&g, "d/a.o", false));
	ck_assert(ignore_match(&g, "top", false) && !ignore_match(&g, "d/top", false));
	ck_assert(ignore_match(&g, "d/folder", true) && !ignore_match(&g, "d/folder", false));
	push(&g, "d/", "!keep.o\n/here\nx/y\n");
	ck_assert(!ignore_match(&g, "d/keep.o", false) && ignore_match(&g, "d/a.o", false));
	ck_assert(ignore_match(&g, "d/here", false) && ignore_match(&g, "d/x/y", false) &&
	          !ignore_match(&g, "d/z/x/y", false));
	ignore_pop(&g);
	ck_assert(ignore_match(&g, "d/keep.o", false));
	push(&g, "", "a\\ \nb  \n\\#c\n\\!d\ne\r\n!\n/\n");
	ck_assert(ignore_match(&g, "a ", false) && ignore_match(&g, "b", false) && ignore_match(&g, "#c", false));
	ck_assert(ignore_match(&g, "!d", false) && ignore_match(&g, "e", false) && !ignore_match(&g, "f", false));
	ignore_free(&g);
}
END_TEST

SUITE_MAIN("git_ignore", globs, effort_ends, levels)

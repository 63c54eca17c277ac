/* SPDX-License-Identifier: Apache-2.0 */
/* References as text and as files, and setting one under its lock. */
#include <errno.h>
#include <fcntl.h>
#include <git2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beneath.h"
#include "oids.h"
#include "refs.h"
#include "setref.h"
#include "suite.h"
#include "verify.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static void put(int dir, const char *path, const char *text)
{
	int fd = make_file(dir, path, O_WRONLY | O_TRUNC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static git_oid id_of(const char *hex)
{
	git_oid id;

	ck_assert_int_eq(oid_parse(hex, strlen(hex), &id), 0);
	return id;
}

START_TEST(names)
{
	static const char *const good[] = { "refs/heads/a",  "refs/heads/a.b",      "refs/heads/a/b", "refs/heads/@",
		                            "refs/heads/-a", "refs/heads/\xc3\xa9", "refs/x" };
	static const char *const bad[] = { "refs/heads/a..b",
		                           "refs/heads/.a",
		                           "refs/heads/a.lock",
		                           "refs/heads/a.lock/b",
		                           "refs/heads/a/",
		                           "refs/heads//a",
		                           "refs/heads/a b",
		                           "refs/heads/a~",
		                           "refs/heads/a^",
		                           "refs/heads/a:",
		                           "refs/heads/a?",
		                           "refs/heads/a*",
		                           "refs/heads/a[",
		                           "refs/heads/a\\",
		                           "refs/heads/a@{b",
		                           "refs/heads/a.",
		                           "refs/heads/a\x7f",
		                           "refs/heads/a\n",
		                           "HEAD",
		                           "refs/",
		                           "refs",
		                           "",
		                           "../refs/heads/a",
		                           "refs/../a",
		                           "heads/a" };
	char longest[REF_NAME_MAX + 2];

	for (size_t i = 0; i < COUNT(good); i++)
		ck_assert_msg(ref_name_valid(good[i], strlen(good[i])), "%s", good[i]);
	for (size_t i = 0; i < COUNT(bad); i++)
		ck_assert_msg(!ref_name_valid(bad[i], strlen(bad[i])), "%s", bad[i]);
	ck_assert(!ref_name_valid("refs/a\0b", 8));
	memset(longest, 'a', sizeof(longest));
	memcpy(longest, "refs/", 5);
	ck_assert(ref_name_valid(longest, REF_NAME_MAX) && !ref_name_valid(longest, REF_NAME_MAX + 1));
}
END_TEST

START_TEST(text)
{
	static const char *const bad[] = { "",
		                           "\n",
		                           "ref:",
		                           "ref: HEAD",
		                           "ref: refs/heads/a..b",
		                           "aaaa",
		                           A "x",
		                           "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" };
	char *symbolic;
	git_oid id;

	ck_assert_int_gt(git_libgit2_init(), 0);
	ck_assert_int_eq(ref_parse(A "\n", 41, &id, &symbolic), 0);
	ck_assert(!symbolic && !strcmp(git_oid_tostr_s(&id), A));
	ck_assert_int_eq(ref_parse(A " more", 45, &id, &symbolic), 0);
	ck_assert_int_eq(ref_parse("ref:\trefs/heads/a \n", 19, &id, &symbolic), 0);
	ck_assert_str_eq(symbolic, "refs/heads/a");
	free(symbolic);
	for (size_t i = 0; i < COUNT(bad); i++)
		ck_assert_msg(ref_parse(bad[i], strlen(bad[i]), &id, &symbolic) < 0 && !symbolic, "%s", bad[i]);
}
END_TEST

START_TEST(loading)
{
	char *dir = suite_mkdir();
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct refs r;
	git_oid id;

	ck_assert_int_gt(git_libgit2_init(), 0);
	put(fd, "packed-refs",
	    "# pack-refs with: peeled\n" A " refs/heads/both\n" A " refs/tags/t\n^" B "\nnonsense\n" B
	    " refs/heads/x..y\n");
	put(fd, "refs/heads/both", B "\n");
	put(fd, "refs/heads/deep/er", "ref: refs/heads/both\n");
	put(fd, "refs/heads/a", "ref: refs/heads/b\n");
	put(fd, "refs/heads/b", "ref: refs/heads/a\n");
	put(fd, "refs/heads/held.lock", A "\n");
	put(fd, "refs/heads/bad", "bad\n");
	ck_assert_int_eq(symlinkat("/etc/passwd", fd, "refs/heads/link") | mkfifoat(fd, "refs/heads/fifo", 0600) |
	                         symlinkat("/", fd, "refs/folder"),
	                 0);
	ck_assert_int_eq(refs_load(fd, 100, &r), 0);
	ck_assert_uint_eq(r.n, 5);
	/* A line that is none, a name that is none; the bad one, the link, the FIFO, the folder that is a link. */
	ck_assert_uint_eq(r.nbad, 6);
	ck_assert_int_eq(refs_resolve(&r, refs_find(&r, "refs/heads/deep/er"), &id), 0);
	ck_assert_str_eq(git_oid_tostr_s(&id), B);
	ck_assert_int_lt(refs_resolve(&r, refs_find(&r, "refs/heads/a"), &id), 0);
	ck_assert_int_lt(refs_resolve(&r, refs_find(&r, "refs/heads/nowhere"), &id), 0);
	refs_free(&r);
	ck_assert_int_eq(refs_load(fd, 3, &r), -E2BIG);
	refs_free(&r);
	close(fd);
	suite_rmdir(dir);
}
END_TEST

START_TEST(setting)
{
	char *dir = suite_mkdir();
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), before = suite_count_fds();
	git_oid none = { { 0 } }, a = id_of(A), b = id_of(B), now;

	ck_assert_int_eq(mkdirat(fd, "refs", 0755) | mkdirat(fd, "logs", 0755), 0);
	ck_assert_int_eq(ref_value(fd, "refs/heads/x/y", &now), 0);
	ck_assert_int_eq(ref_set(fd, "refs/heads/x/y", &a, &b, "why", &now), SET_CHANGED);
	ck_assert(git_oid_is_zero(&now));
	ck_assert_int_eq(ref_set(fd, "refs/heads/x/y", &none, &a, "why", &now), SET_DONE);
	ck_assert_int_eq(ref_value(fd, "refs/heads/x/y", &now), 1);
	ck_assert(git_oid_equal(&now, &a));
	ck_assert_int_eq(ref_set(fd, "refs/heads/x/y", &none, &b, "why", &now), SET_CHANGED);
	ck_assert(git_oid_equal(&now, &a));
	ck_assert_int_eq(ref_set(fd, "refs/heads/x", &none, &b, "why", &now), SET_CLASH);
	ck_assert_int_eq(ref_set(fd, "refs/heads/x/y/z", &none, &b, "why", &now), SET_CLASH);
	put(fd, "packed-refs", A " refs/heads/p\n" A " refs/heads/q/r\n");
	ck_assert_int_eq(ref_set(fd, "refs/heads/p/z", &none, &b, "why", &now), SET_CLASH);
	ck_assert_int_eq(ref_set(fd, "refs/heads/q", &none, &b, "why", &now), SET_CLASH);
	ck_assert_int_eq(ref_set(fd, "refs/heads/p", &a, &b, "why", &now), SET_DONE);
	put(fd, "refs/heads/s", "ref: refs/heads/p\n");
	ck_assert_int_eq(ref_set(fd, "refs/heads/s", &b, &a, "why", &now), SET_CLASH);
	/* A lock of another's is left; one with what is to be set was ours. */
	put(fd, "refs/heads/p.lock", "");
	ck_assert_int_eq(ref_set(fd, "refs/heads/p", &b, &a, "why", &now), SET_LOCKED);
	ck_assert_int_eq(faccessat(fd, "refs/heads/p.lock", F_OK, 0), 0);
	put(fd, "refs/heads/p.lock", A "\n");
	ck_assert_int_eq(ref_set(fd, "refs/heads/p", &b, &a, "why", &now), SET_DONE);
	ck_assert_int_ne(faccessat(fd, "refs/heads/p.lock", F_OK, 0), 0);
	/* A folder in the way that is a link leads nowhere. */
	ck_assert_int_eq(symlinkat("/tmp", fd, "refs/out"), 0);
	ck_assert_int_eq(ref_set(fd, "refs/out/x", &none, &a, "why", &now), SET_CLASH);
	ck_assert_int_eq(suite_count_fds(), before);
	close(fd);
	suite_rmdir(dir);
}
END_TEST

START_TEST(in_use)
{
	static const char *const places[] = { "HEAD",
		                              "worktrees/w/HEAD",
		                              "rebase-merge/head-name",
		                              "worktrees/w/rebase-apply/head-name",
		                              "worktrees/w/rebase-merge/update-refs",
		                              "BISECT_START" };
	char *dir = suite_mkdir(), *where;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	put(fd, "HEAD", "ref: refs/heads/main\n");
	put(fd, "worktrees/w/HEAD", A "\n");
	ck_assert_ptr_null(branch_in_use(fd, false, "refs/heads/x"));
	for (size_t i = 0; i < COUNT(places); i++) {
		bool head = strstr(places[i], "HEAD") != NULL;

		put(fd, places[i],
		    head                         ? "ref: refs/heads/x\n"
		    : strstr(places[i], "START") ? "x\n"
		                                 : "refs/heads/x\n" A "\n" B "\n");
		where = branch_in_use(fd, false, "refs/heads/x");
		ck_assert_msg(where && !strcmp(where, places[i]), "%s", places[i]);
		free(where);
		ck_assert_msg(!branch_in_use(fd, false, "refs/heads/xy"), "%s", places[i]);
		if (head)
			put(fd, places[i], A "\n");
		else
			ck_assert_int_eq(unlinkat(fd, places[i], 0), 0);
	}
	put(fd, "HEAD", "ref: refs/heads/x\n");
	ck_assert_ptr_null(branch_in_use(fd, true, "refs/heads/x"));
	put(fd, "HEAD", "junk\n");
	where = branch_in_use(fd, false, "refs/heads/x");
	ck_assert_ptr_nonnull(where);
	free(where);
	close(fd);
	suite_rmdir(dir);
}
END_TEST

SUITE_MAIN("git_refs", names, text, loading, setting, in_use)

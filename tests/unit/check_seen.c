/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/seen.h"
#include "suite.h"

static char *dir;
static struct oc_seen *seen;

static void begin(void)
{
	dir = suite_mkdir();
	seen = oc_seen_new();
	ck_assert_ptr_nonnull(seen);
}

static void end(void)
{
	oc_seen_free(seen);
	suite_rmdir(dir);
}

static const char *name(const char *base)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, base);
	return path;
}

static void make(const char *base)
{
	int fd = open(name(base), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

START_TEST(test_once)
{
	struct stat st, real;

	begin();
	make("a");
	ck_assert_int_eq(oc_seen_lstat(seen, name("a"), &st), 0);
	ck_assert_int_eq(lstat(name("a"), &real), 0);
	ck_assert_uint_eq(st.st_ino, real.st_ino);
	ck_assert_uint_eq(st.st_mode, real.st_mode);
	ck_assert_int_eq(unlink(name("a")), 0);
	/* One moment for all who ask it; the file system has moved on. */
	ck_assert_int_eq(oc_seen_lstat(seen, name("a"), &st), 0);
	ck_assert_uint_eq(st.st_ino, real.st_ino);
	ck_assert_int_eq(oc_seen_lstat(NULL, name("a"), &st), -1);
	ck_assert_int_eq(errno, ENOENT);
	end();
}
END_TEST

START_TEST(test_errors)
{
	struct stat st;

	begin();
	ck_assert_int_eq(oc_seen_lstat(seen, name("b"), &st), -1);
	ck_assert_int_eq(errno, ENOENT);
	make("b");
	errno = 0;
	ck_assert_int_eq(oc_seen_lstat(seen, name("b"), &st), -1);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_eq(oc_seen_lstat(seen, name("b/c"), &st), -1);
	ck_assert_int_eq(errno, ENOTDIR);
	end();
}
END_TEST

START_TEST(test_link)
{
	struct stat st;

	begin();
	ck_assert_int_eq(symlink("nowhere", name("l")), 0);
	ck_assert_int_eq(oc_seen_lstat(seen, name("l"), &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	end();
}
END_TEST

/* More than it has room for: not remembered, and still true. */
START_TEST(test_full)
{
	struct stat st;
	char base[32];

	begin();
	make("there");
	for (int i = 0; i < 5000; i++) {
		snprintf(base, sizeof(base), "no-such-file-%d", i);
		ck_assert_int_eq(oc_seen_lstat(seen, name(base), &st), -1);
		ck_assert_int_eq(errno, ENOENT);
	}
	ck_assert_int_eq(oc_seen_lstat(seen, name("there"), &st), 0);
	ck_assert_int_eq(unlink(name("there")), 0);
	ck_assert_int_eq(oc_seen_lstat(seen, name("there"), &st), -1);
	end();
}
END_TEST

SUITE_MAIN("seen", test_once, test_errors, test_link, test_full)

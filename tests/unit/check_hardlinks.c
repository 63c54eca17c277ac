/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/time.h"
#include "guard/hardlinks.h"
#include "suite.h"

static char *dir;
static int fd, fds_before;

static void begin(void)
{
	fds_before = suite_count_fds();
	dir = suite_mkdir();
	fd = oc_open_dir(dir);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(mkdirat(fd, "ws", 0700) | mkdirat(fd, "ws/deep", 0700) | mkdirat(fd, "out", 0700), 0);
}

static void end(void)
{
	oc_close(fd);
	suite_rmdir(dir);
	ck_assert_int_eq(suite_count_fds(), fds_before);
}

static void file(const char *name)
{
	int f = openat(fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(f, 0);
	oc_close(f);
}

static void join(const char *from, const char *to)
{
	ck_assert_int_eq(linkat(fd, from, fd, to, 0), 0);
}

static int64_t until;

static int scan(uint64_t max, oc_error **err, const char *const *names)
{
	struct oc_hardlinks *h;
	int rc = oc_hardlinks_new(max, &h, err);

	if (rc == 0)
		oc_hardlinks_until(h, until);
	for (; rc == 0 && *names; names++) {
		char *path = oc_path_join(dir, *names);

		rc = oc_hardlinks_scan(h, path, err);
		free(path);
	}
	if (rc == 0)
		rc = oc_hardlinks_judge(h, err);
	oc_hardlinks_free(h);
	return rc;
}
#define SCAN(err, ...) scan(100000, err, (const char *const[]){ __VA_ARGS__, NULL })

static void refused(oc_error *err, const char *name)
{
	const char *subject = oc_error_subject(err);

	ck_assert_ptr_nonnull(err);
	ck_assert_str_eq(oc_error_reason(err), "sandbox_denied");
	ck_assert_ptr_nonnull(oc_error_fix(err));
	ck_assert_msg(subject && strstr(subject, name), "%s", subject);
	oc_error_free(err);
}

START_TEST(test_inside)
{
	oc_error *err = NULL;

	begin();
	file("ws/a");
	join("ws/a", "ws/b");
	join("ws/a", "ws/deep/c");
	ck_assert_int_eq(SCAN(&err, "ws"), 0);
	/* All its links are inside only as long as both grants are: */
	join("ws/a", "out/d");
	ck_assert_int_eq(SCAN(&err, "ws", "out"), 0);
	ck_assert_int_eq(SCAN(&err, "ws"), OC_EREFUSED);
	refused(err, "/ws/");
	end();
}
END_TEST

START_TEST(test_outside)
{
	oc_error *err = NULL;
	const oc_error *e;
	int n = 0;

	begin();
	file("out/secret");
	join("out/secret", "ws/deep/plain");
	file("out/second");
	join("out/second", "ws/other");
	ck_assert_int_eq(SCAN(&err, "ws"), OC_EREFUSED);
	for (e = err; e; e = oc_error_next(e))
		n++;
	ck_assert_int_eq(n, 2);
	ck_assert_ptr_nonnull(strstr(oc_error_fix(err), "package-import-method=copy"));
	oc_error_free(err);
	end();
}
END_TEST

START_TEST(test_counted_once)
{
	oc_error *err = NULL;

	begin();
	file("out/secret");
	join("out/secret", "ws/deep/plain");
	/* The nested grant must not count the one link twice and make up for the one outside. */
	ck_assert_int_eq(SCAN(&err, "ws", "ws/deep"), OC_EREFUSED);
	refused(err, "plain");
	ck_assert_int_eq(SCAN(&err, "ws/deep", "ws"), OC_EREFUSED);
	refused(err, "plain");
	ck_assert_int_eq(SCAN(&err, "ws", "ws/deep/plain"), OC_EREFUSED);
	refused(err, "plain");
	end();
}
END_TEST

START_TEST(test_single_file)
{
	oc_error *err = NULL;

	begin();
	file("out/secret");
	ck_assert_int_eq(SCAN(&err, "out/secret"), 0);
	join("out/secret", "ws/plain");
	ck_assert_int_eq(SCAN(&err, "out/secret"), OC_EREFUSED);
	refused(err, "out/secret");
	ck_assert_int_eq(SCAN(&err, "ws", "out/secret"), 0);
	end();
}
END_TEST

START_TEST(test_links_are_not_followed)
{
	oc_error *err = NULL;

	begin();
	file("out/a");
	join("out/a", "out/b");
	file("out/c");
	join("out/c", "ws/c");
	ck_assert_int_eq(unlinkat(fd, "ws/c", 0), 0);
	ck_assert_int_eq(symlinkat("../out", fd, "ws/dir"), 0);
	ck_assert_int_eq(symlinkat("../out/a", fd, "ws/file"), 0);
	ck_assert_int_eq(symlinkat("dir", fd, "ws/loop"), 0);
	ck_assert_int_eq(mkfifoat(fd, "ws/fifo", 0600), 0);
	ck_assert_int_eq(SCAN(&err, "ws"), 0);
	end();
}
END_TEST

START_TEST(test_bounds)
{
	oc_error *err = NULL;
	char name[64];
	int i;

	begin();
	for (i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "ws/f%d", i);
		file(name);
	}
	ck_assert_int_eq(scan(31, &err, (const char *const[]){ "ws", NULL }), 0);
	ck_assert_int_eq(scan(30, &err, (const char *const[]){ "ws", NULL }), OC_EREFUSED);
	refused(err, "ws");
	end();
}
END_TEST

START_TEST(test_time)
{
	oc_error *err = NULL;
	char name[64];
	int i;

	begin();
	for (i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "ws/f%d", i);
		file(name);
	}
	until = oc_mono_ns() + 60000000000;
	ck_assert_int_eq(SCAN(&err, "ws"), 0);
	until = oc_mono_ns();
	ck_assert_int_eq(SCAN(&err, "ws"), OC_EREFUSED);
	refused(err, "ws");
	until = 0;
	end();
}
END_TEST

START_TEST(test_deep)
{
	oc_error *err = NULL;
	int at, next, i;

	begin();
	at = openat(fd, "ws", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (i = 0; i < 400; i++) {
		ck_assert_int_eq(mkdirat(at, "deeper-and-deeper", 0700), 0);
		next = openat(at, "deeper-and-deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ck_assert_int_ge(next, 0);
		oc_close(at);
		at = next;
	}
	file("out/secret");
	ck_assert_int_eq(SCAN(&err, "ws"), 0);
	ck_assert_int_eq(linkat(fd, "out/secret", at, "plain", 0), 0);
	ck_assert_int_eq(SCAN(&err, "ws"), OC_EREFUSED);
	refused(err, "deeper"); /* the name may be cut: it is longer than any path */
	oc_close(at);
	ck_assert_int_eq(oc_remove_tree(fd, "ws"), 0);
	end();
}
END_TEST

START_TEST(test_missing)
{
	oc_error *err = NULL;

	begin();
	ck_assert_int_eq(SCAN(&err, "nowhere"), OC_EREFUSED);
	refused(err, "nowhere");
	end();
}
END_TEST

/* A directory that can't be listed could hold anything. */
START_TEST(test_unreadable)
{
	oc_error *err = NULL;

	begin();
	ck_assert_int_eq(fchmodat(fd, "ws/deep", 0300, 0), 0);
	if (geteuid() == 0) {
		ck_assert_int_eq(fchown(fd, 65534, 65534), 0);
		ck_assert_int_eq(fchownat(fd, "ws", 65534, 65534, 0) | fchownat(fd, "ws/deep", 65534, 65534, 0), 0);
		ck_assert_int_eq(seteuid(65534), 0);
	}
	ck_assert_int_eq(SCAN(&err, "ws"), OC_EREFUSED);
	refused(err, "deep");
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(fchmodat(fd, "ws/deep", 0700, 0), 0);
	end();
}
END_TEST

SUITE_MAIN("hardlinks", test_inside, test_outside, test_counted_once, test_single_file, test_links_are_not_followed,
           test_bounds, test_time, test_deep, test_missing, test_unreadable)

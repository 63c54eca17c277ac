/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "base/fd.h"
#include "base/path.h"
#include "suite.h"

static char *dir;
static int dirfd_;
static int fds_before;

static void begin(void)
{
	fds_before = suite_count_fds();
	dir = suite_mkdir();
	dirfd_ = oc_open_dir(dir);
	ck_assert_int_ge(dirfd_, 0);
}

static void end(void)
{
	oc_close(dirfd_);
	suite_rmdir(dir);
	ck_assert_int_eq(suite_count_fds(), fds_before);
}

static int count_entries(void)
{
	DIR *d = opendir(dir);
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void holds(const char *name, const char *want)
{
	struct oc_buf b;

	oc_buf_init(&b, 1000);
	ck_assert_int_eq(oc_read_file(dirfd_, name, 1000, &b), 0);
	ck_assert_str_eq(b.data, want);
	oc_buf_free(&b);
}

START_TEST(test_write_and_create)
{
	struct stat st;

	begin();
	umask(0077);
	ck_assert_int_eq(oc_write_file(dirfd_, "f", "one", 3, 0644), 0);
	holds("f", "one");
	ck_assert_int_eq(fstatat(dirfd_, "f", &st, 0), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0644);
	ck_assert_int_eq(oc_write_file(dirfd_, "f", "two", 3, 0600), 0);
	holds("f", "two");
	ck_assert_int_eq(oc_create_file(dirfd_, "f", "three", 5, 0600), -EEXIST);
	holds("f", "two");
	ck_assert_int_eq(oc_create_file(dirfd_, "g", "three", 5, 0400), 0);
	holds("g", "three");
	ck_assert_int_eq(fstatat(dirfd_, "g", &st, 0), 0);
	ck_assert_uint_eq(st.st_nlink, 1);
	/* Nothing temporary is left, whatever happened. */
	ck_assert_int_eq(count_entries(), 2);
	ck_assert_int_eq(oc_write_file(dirfd_, "..", "x", 1, 0600), -EINVAL);
	ck_assert_int_eq(oc_write_file(dirfd_, "", "x", 1, 0600), -EINVAL);
	ck_assert_int_eq(oc_write_file(dirfd_, "none/x", "x", 1, 0600), -ENOENT);
	end();
}
END_TEST

START_TEST(test_write_does_not_follow_links)
{
	struct stat st;

	begin();
	ck_assert_int_eq(oc_write_file(dirfd_, "target", "keep", 4, 0600), 0);
	ck_assert_int_eq(symlinkat("target", dirfd_, "l"), 0);
	ck_assert_int_eq(oc_create_file(dirfd_, "l", "x", 1, 0600), -EEXIST);
	ck_assert_int_eq(oc_write_file(dirfd_, "l", "new", 3, 0600), 0);
	holds("target", "keep");
	ck_assert_int_eq(fstatat(dirfd_, "l", &st, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert(S_ISREG(st.st_mode));
	end();
}
END_TEST

START_TEST(test_write_fails_whole)
{
	begin();
	ck_assert_int_eq(mkdirat(dirfd_, "d", 0700), 0);
	ck_assert_int_eq(oc_write_file(dirfd_, "d", "x", 1, 0600), -EISDIR);
	ck_assert_int_eq(count_entries(), 1);
	end();
}
END_TEST

START_TEST(test_read_refuses)
{
	struct oc_buf b;

	begin();
	oc_buf_init(&b, 100);
	ck_assert_int_eq(oc_buf_puts(&b, "before"), 0);
	ck_assert_int_eq(oc_write_file(dirfd_, "f", "12345", 5, 0600), 0);
	ck_assert_int_eq(symlinkat("f", dirfd_, "l"), 0);
	ck_assert_int_eq(mkfifoat(dirfd_, "p", 0600), 0);
	ck_assert_int_eq(mkdirat(dirfd_, "d", 0700), 0);
	ck_assert_int_eq(oc_read_file(dirfd_, "l", 100, &b), -ELOOP);
	ck_assert_int_eq(oc_read_file(dirfd_, "p", 100, &b), -EINVAL);
	ck_assert_int_eq(oc_read_file(dirfd_, "d", 100, &b), -EISDIR);
	ck_assert_int_eq(oc_read_file(dirfd_, "none", 100, &b), -ENOENT);
	ck_assert_int_eq(oc_read_file(dirfd_, "f", 4, &b), -EFBIG);
	ck_assert_str_eq(b.data, "before");
	ck_assert_int_eq(oc_read_file(dirfd_, "f", 5, &b), 0);
	ck_assert_str_eq(b.data, "before12345");
	oc_buf_free(&b);
	oc_buf_init(&b, 4);
	ck_assert_int_eq(oc_read_file(dirfd_, "f", 100, &b), -EFBIG);
	oc_buf_free(&b);
	/* An empty file is text, and a file that says it has no size is read too. */
	ck_assert_int_eq(oc_write_file(dirfd_, "e", "", 0, 0600), 0);
	holds("e", "");
	oc_buf_init(&b, 100000);
	ck_assert_int_eq(oc_read_file(AT_FDCWD, "/proc/self/status", 100000, &b), 0);
	ck_assert_uint_gt(b.len, 100);
	oc_buf_free(&b);
	end();
}
END_TEST

START_TEST(test_mkdirs)
{
	char *path;
	struct stat st;

	begin();
	path = oc_path_join(dir, "a/b/c");
	umask(0);
	ck_assert_int_eq(oc_mkdirs(path, 0700), 0);
	ck_assert_int_eq(oc_mkdirs(path, 0755), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0700);
	free(path);
	ck_assert_int_eq(symlinkat("a", dirfd_, "l"), 0);
	path = oc_path_join(dir, "l");
	ck_assert_int_lt(oc_mkdirs(path, 0700), 0);
	ck_assert_int_eq(oc_open_dir(path), -ENOTDIR);
	free(path);
	path = oc_path_join(dir, "l/x");
	ck_assert_int_eq(oc_mkdirs(path, 0700), 0);
	free(path);
	path = oc_path_join(dir, "f/x");
	ck_assert_int_eq(oc_write_file(dirfd_, "f", "", 0, 0600), 0);
	ck_assert_int_eq(oc_mkdirs(path, 0700), -ENOTDIR);
	free(path);
	ck_assert_int_eq(oc_mkdirs("relative", 0700), -EINVAL);
	ck_assert_int_eq(oc_mkdirs("/tmp/../x", 0700), -EINVAL);
	ck_assert_int_eq(oc_mkdirs("/", 0700), 0);
	end();
}
END_TEST

static void put(int at, const char *name)
{
	ck_assert_int_eq(close(openat(at, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
}

START_TEST(test_remove_tree)
{
	int d;

	begin();
	ck_assert_int_eq(oc_remove_tree(dirfd_, "none"), 0);
	put(dirfd_, "file");
	ck_assert_int_eq(oc_remove_tree(dirfd_, "file"), 0);
	put(dirfd_, "keep");
	ck_assert_int_eq(mkdirat(dirfd_, "outside", 0700), 0);
	ck_assert_int_eq(mkdirat(dirfd_, "t", 0700), 0);
	d = openat(dirfd_, "t", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put(d, "f");
	ck_assert_int_eq(symlinkat("../keep", d, "link-to-file"), 0);
	ck_assert_int_eq(symlinkat("../outside", d, "link-to-dir"), 0);
	ck_assert_int_eq(mkfifoat(d, "fifo", 0600), 0);
	for (int i = 0; i < 300; i++) {
		char name[32];

		snprintf(name, sizeof(name), "d%d", i);
		ck_assert_int_eq(mkdirat(d, name, 0700), 0);
		snprintf(name, sizeof(name), "d%d/f", i);
		put(d, name);
	}
	ck_assert_int_eq(mkdirat(d, "d0/shut", 0700), 0);
	put(d, "d0/shut/f");
	ck_assert_int_eq(fchmodat(d, "d0/shut", 0, 0), 0);
	ck_assert_int_eq(fchmodat(d, "d0", 0500, 0), 0);
	oc_close(d);
	ck_assert_int_eq(oc_remove_tree(dirfd_, "t"), 0);
	ck_assert_int_eq(count_entries(), 2);
	ck_assert_int_eq(symlinkat("outside", dirfd_, "l"), 0);
	ck_assert_int_eq(oc_remove_tree(dirfd_, "l"), 0);
	ck_assert_int_eq(count_entries(), 2);
	end();
}
END_TEST

START_TEST(test_remove_deep_tree)
{
	const int depth = 3000;
	int at, next;

	begin();
	at = dup(dirfd_);
	for (int i = 0; i < depth; i++) {
		ck_assert_int_eq(mkdirat(at, "deep", 0700), 0);
		next = openat(at, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ck_assert_int_ge(next, 0);
		close(at);
		at = next;
	}
	close(at);
	ck_assert_int_eq(oc_remove_tree(dirfd_, "deep"), 0);
	ck_assert_int_eq(count_entries(), 0);
	end();
}
END_TEST

START_TEST(test_remove_tree_stops_at_mounts)
{
	char *inner;

	if (geteuid() != 0) {
		fprintf(stderr, "not root: a mount inside a tree is not tried\n");
		return;
	}
	begin();
	inner = oc_path_join(dir, "t/m");
	ck_assert_int_eq(oc_mkdirs(inner, 0700), 0);
	ck_assert_int_eq(mkdirat(dirfd_, "precious", 0700), 0);
	put(dirfd_, "precious/f");
	char *source = oc_path_join(dir, "precious");

	/* A bind mount, so that the device is the same. */
	if (mount(source, inner, "", MS_BIND, "") < 0) {
		fprintf(stderr, "no mounting here: a mount inside a tree is not tried\n");
	} else {
		ck_assert_int_eq(oc_remove_tree(dirfd_, "t"), -EXDEV);
		holds("precious/f", "");
		ck_assert_int_eq(umount2(inner, MNT_DETACH), 0);
	}
	ck_assert_int_eq(oc_remove_tree(dirfd_, "t"), 0);
	free(source);
	free(inner);
	end();
}
END_TEST

START_TEST(test_memfd)
{
	int before = suite_count_fds(), fd = oc_memfd("settings", "hello", 5);
	char text[8] = { 0 };

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(read(fd, text, sizeof(text)), 5);
	ck_assert_str_eq(text, "hello");
	ck_assert_int_eq(write(fd, "x", 1), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(ftruncate(fd, 0), -1);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
	ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ck_assert_int_eq(oc_close(fd), -1);
	ck_assert_int_eq(suite_count_fds(), before);
}
END_TEST

START_TEST(test_send_without_sigpipe)
{
	int pair[2];

	/* SIGPIPE is at its default here: it would end the test. */
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(oc_fd_nonblock(pair[0]), 0);
	ck_assert_int_eq(oc_send(pair[0], "x", 1), 1);
	oc_close(pair[1]);
	ck_assert_int_eq(oc_send(pair[0], "x", 1), -EPIPE);
	oc_close(pair[0]);
	errno = 77;
	ck_assert_int_eq(oc_close(-1), -1);
	ck_assert_int_eq(oc_close(pair[0]), -1);
	ck_assert_int_eq(errno, 77);
}
END_TEST

static int read_it(void *userdata)
{
	struct oc_buf b;
	int rc;

	oc_buf_init(&b, 1000);
	rc = oc_read_file(*(int *)userdata, "f", 1000, &b);
	oc_buf_free(&b);
	return rc;
}

START_TEST(test_no_memory)
{
	begin();
	ck_assert_int_eq(oc_write_file(dirfd_, "f", "x", 1, 0600), 0);
	ck_assert_int_gt(alloc_fail_each(read_it, &dirfd_, 0), 0);
	end();
}
END_TEST

START_TEST(test_remove_temps)
{
	static const char *const names[] = { ".oc-abcdefghijklmnopqrst.tmp", ".oc-abcdefghijklmnopqrst.tm",
		                             ".oc-abcdefghijklmnopqrs.tmp", "plan.json",
		                             "x.oc-bcdefghijklmnopqrst.tmp" };
	char *made = suite_mkdir();
	int fd = oc_open_dir(made), before = suite_count_fds();

	for (size_t i = 0; i < OC_COUNT(names); i++)
		ck_assert_int_eq(oc_create_file(fd, names[i], "x", 1, 0600), 0);
	ck_assert_int_eq(oc_remove_temps(fd), 0);
	for (size_t i = 0; i < OC_COUNT(names); i++)
		ck_assert_int_eq(faccessat(fd, names[i], F_OK, AT_SYMLINK_NOFOLLOW), i ? 0 : -1);
	ck_assert_int_eq(suite_count_fds(), before);
	ck_assert_int_eq(oc_remove_temps(-1), -EBADF);
	oc_close(fd);
	suite_rmdir(made);
}
END_TEST

SUITE_MAIN("fd", test_remove_temps, test_write_and_create, test_write_does_not_follow_links, test_write_fails_whole,
           test_read_refuses, test_mkdirs, test_remove_tree, test_remove_deep_tree, test_remove_tree_stops_at_mounts,
           test_memfd, test_send_without_sigpipe, test_no_memory)

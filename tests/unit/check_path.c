/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "base/path.h"
#include "suite.h"

START_TEST(test_clean)
{
	static const char *const good[] = { "/", "/a", "/a/b", "/.a", "/..a", "/a..", "/a/...", "/ " };
	static const char *const bad[] = {
		"", "a", "/a/", "//", "//a", "/a//b", "/.", "/..", "/a/.", "/a/../b", "./a"
	};

	for (size_t i = 0; i < OC_COUNT(good); i++)
		ck_assert_msg(oc_path_clean(good[i]), "%s", good[i]);
	for (size_t i = 0; i < OC_COUNT(bad); i++)
		ck_assert_msg(!oc_path_clean(bad[i]), "%s", bad[i]);
	ck_assert(!oc_path_clean(NULL));
}
END_TEST

START_TEST(test_within)
{
	ck_assert(oc_path_within("/", "/"));
	ck_assert(oc_path_within("/", "/a"));
	ck_assert(oc_path_within("/a", "/a"));
	ck_assert(oc_path_within("/a", "/a/b"));
	ck_assert(!oc_path_within("/a", "/ab"));
	ck_assert(!oc_path_within("/a/b", "/a"));
	ck_assert(!oc_path_within("/a", "/"));
}
END_TEST

static void expect_and_free(char *got, const char *want)
{
	ck_assert_str_eq(got, want);
	free(got);
}

START_TEST(test_join_parent_base)
{
	expect_and_free(oc_path_join("/", "a"), "/a");
	expect_and_free(oc_path_join("/a", "b/c"), "/a/b/c");
	expect_and_free(oc_path_parent("/a/b"), "/a");
	expect_and_free(oc_path_parent("/a"), "/");
	expect_and_free(oc_path_parent("/"), "/");
	ck_assert_str_eq(oc_path_base("/a/b"), "b");
	ck_assert_str_eq(oc_path_base("/"), "/");
}
END_TEST

static char *dir;

static char *below(const char *name)
{
	char *out = oc_path_join(dir, name);

	ck_assert_ptr_nonnull(out);
	return out;
}

/* want: below dir unless absolute. */
static void resolves(const char *name, const char *want, bool want_missing)
{
	char *path = below(name), *full = *want == '/' ? strdup(want) : below(want), *out = NULL;
	bool missing = !want_missing;
	int rc = oc_path_resolve(path, &out, &missing);

	ck_assert_msg(rc == 0, "%s: %s", name, strerror(-rc));
	ck_assert_str_eq(out, full);
	ck_assert_msg(missing == want_missing, "%s", name);
	if (!missing) {
		char *real = realpath(path, NULL);

		ck_assert_str_eq(out, real);
		free(real);
	}
	free(out);
	free(full);
	free(path);
}

static void refuses(const char *name, int want)
{
	char *path = *name == '/' ? strdup(name) : below(name), *out = (char *)path;
	bool missing;

	ck_assert_msg(oc_path_resolve(path, &out, &missing) == want, "%s", name);
	ck_assert_ptr_eq(out, path);
	free(path);
}

static void link_to(const char *target, const char *name)
{
	char *path = below(name);

	ck_assert_int_eq(symlink(target, path), 0);
	free(path);
}

START_TEST(test_resolve)
{
	char *path;

	dir = suite_mkdir();
	path = below("d");
	ck_assert_int_eq(mkdir(path, 0700), 0);
	free(path);
	path = below("d/f");
	ck_assert_int_eq(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	free(path);
	link_to("d", "l");
	link_to("./d/../d//f", "lf");
	link_to("gone/below", "dangling");
	link_to("/etc", "abs");
	link_to("gone/../d", "back");
	link_to("loop", "loop");
	resolves("d/f", "d/f", false);
	resolves("l/f", "d/f", false);
	resolves("lf", "d/f", false);
	resolves("l/x/y", "d/x/y", true);
	resolves("dangling", "gone/below", true);
	resolves("dangling/z", "gone/below/z", true);
	resolves("abs/no-such-file-here/x", "/etc/no-such-file-here/x", true);
	refuses("loop", -ELOOP);
	refuses("d/f/x", -ENOTDIR);
	refuses("back", -ENOENT);
	refuses("relative/../x", -EINVAL);
	suite_rmdir(dir);
}
END_TEST

START_TEST(test_resolve_long)
{
	char *path = malloc(70000), *out;
	bool missing;

	dir = suite_mkdir();
	memset(path, 'a', 300);
	path[0] = '/';
	path[300] = '\0';
	ck_assert_int_eq(oc_path_resolve(path, &out, &missing), -ENAMETOOLONG);
	path[0] = '\0';
	for (size_t i = 0; i < 20000; i++)
		memcpy(path + 2 * i, "/a", 3);
	ck_assert_int_eq(oc_path_resolve(path, &out, &missing), -ENAMETOOLONG);
	ck_assert_int_eq(oc_path_resolve("/", &out, &missing), 0);
	ck_assert_str_eq(out, "/");
	free(out);
	free(path);
	suite_rmdir(dir);
}
END_TEST

static int resolve_one(void *userdata)
{
	char *out = NULL;
	int rc = oc_path_resolve(userdata, &out, NULL);

	free(out);
	return rc;
}

START_TEST(test_no_memory)
{
	char *path;

	dir = suite_mkdir();
	link_to("gone", "l");
	path = below("l/x");
	ck_assert_int_gt(alloc_fail_each(resolve_one, path, 0), 2);
	free(path);
	suite_rmdir(dir);
}
END_TEST

SUITE_MAIN("path", test_clean, test_within, test_join_parent_base, test_resolve, test_resolve_long, test_no_memory)

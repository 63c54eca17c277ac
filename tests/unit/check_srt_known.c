/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../providers/srt/known.h"
#include "suite.h"

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static int version(struct known *known, const char *path, json_t **out)
{
	json_t *json = known_json(known, path);
	int v = (int)json_integer_value(json_object_get(json, "v"));

	if (out)
		*out = json;
	json_decref(json);
	return v;
}

/* The same object says that the file was not read again. */
START_TEST(test_remembered)
{
	struct known *known = known_new();
	char *dir = suite_mkdir(), *old, *new, path[600];
	struct timespec times[2];
	json_t *first, *second;
	struct stat st;

	snprintf(path, sizeof(path), "%s/a.json", dir);
	put(path, "{\"v\":1}");
	ck_assert_int_eq(version(known, path, NULL), 1);
	/* What changed a moment ago is not remembered: two changes within a tick look alike. */
	put(path, "{\"v\":2}");
	ck_assert_int_eq(version(known, path, NULL), 2);
	sleep(4);
	ck_assert_int_eq(version(known, path, &first), 2);
	ck_assert_int_eq(version(known, path, &second), 2);
	ck_assert_ptr_eq(first, second);
	old = known_digest(known, path);
	/* Of the same size, and with its modification time set back. */
	ck_assert_int_eq(stat(path, &st), 0);
	put(path, "{\"v\":3}");
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	ck_assert_int_eq(version(known, path, NULL), 3);
	new = known_digest(known, path);
	ck_assert_ptr_nonnull(old);
	ck_assert_ptr_nonnull(new);
	ck_assert_str_ne(old, new);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_ptr_null(known_json(known, path));
	ck_assert_ptr_null(known_digest(known, path));
	free(old);
	free(new);
	known_free(known);
	suite_rmdir(dir);
}
END_TEST

/* More files than there are places, and none to remember in. */
START_TEST(test_many)
{
	static const char *const paths[] = { "/bin/sh",   "/bin/ls",    "/bin/cat",   "/bin/cp",    "/bin/mv",
		                             "/bin/rm",   "/bin/ln",    "/bin/mkdir", "/bin/chmod", "/bin/echo",
		                             "/bin/true", "/bin/false", "/bin/sleep" };
	struct known *known = known_new();
	size_t i, round;

	for (round = 0; round < 3; round++)
		for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
			char *a = known_digest(known, paths[i]), *b = known_digest(NULL, paths[i]);

			ck_assert_ptr_nonnull(a);
			ck_assert_str_eq(a, b);
			free(a);
			free(b);
		}
	known_free(known);
	known_free(NULL);
}
END_TEST

SUITE_MAIN("srt_known", test_remembered, test_many)

/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of objects, deltas, the take and the map of ids; what real git says of them is asked by
 * tests/git/test_save_hostile.py. */
#include <errno.h>
#include <fcntl.h>
#include <git2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "packfile.h"
#include "suite.h"
#include "take.h"
#include "verify.h"

START_TEST(dotgit)
{
	static const char *const is[] = { ".git",
		                          ".GIT",
		                          ".git ",
		                          ".git.",
		                          ".git . .",
		                          "git~1",
		                          "GIT~1",
		                          ".git::$DATA",
		                          "git~1.",
		                          ".g\xe2\x80\x8cit",
		                          "\xef\xbb\xbf.git",
		                          ".gi\xe2\x81\xaat",
		                          ".git\\x" };
	static const char *const is_not[] = { ".gitx", ".gi", "git",        "git~2",           ".git_",
		                              "x.git", "",    ".gitignore", ".g\xe2\x80\x8ait" };
	static const char *const modules[] = { ".gitmodules",        ".GitModules",
		                               "gitmod~1",           "GITMOD~4",
		                               "gi7eba~1",           "gi7eb~11",
		                               ".gitmodules ",       ".gitmod\xe2\x80\x8dules",
		                               ".gitmodules::$DATA", "x\\.gitmodules" };
	static const char *const others[] = { "gitmodules", "gitmod~5", "gi7eba", ".gitmodulesx", "gi7ebb~1" };

	for (size_t i = 0; i < COUNT(is); i++)
		ck_assert_msg(is_dotgit(is[i]) && verify_name(is[i], strlen(is[i])), "%s", is[i]);
	for (size_t i = 0; i < COUNT(is_not); i++)
		ck_assert_msg(!is_dotgit(is_not[i]), "%s", is_not[i]);
	for (size_t i = 0; i < COUNT(modules); i++)
		ck_assert_msg(is_gitmodules(modules[i]), "%s", modules[i]);
	for (size_t i = 0; i < COUNT(others); i++)
		ck_assert_msg(!is_gitmodules(others[i]), "%s", others[i]);
	ck_assert(is_gitattributes(".gitattributes") && is_gitattributes("gi7d29~1") &&
	          !is_gitattributes("gitattributes"));
}
END_TEST

START_TEST(trees)
{
	static const struct {
		const char *text;
		size_t len;
		bool good;
	} cases[] = {
#define ID            "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1"
#define T(text, good) { text, sizeof(text) - 1, good }
		T("", true),
		T("100644 a\0" ID, true),
		T("100644 a\0" ID "100644 b\0" ID, true),
		T("100644 b\0" ID "100644 a\0" ID, false),
		T("100644 a\0" ID "100644 a\0" ID, false),
		T("100644 a.b\0" ID "40000 a\0" ID, true),
		T("40000 a\0" ID "100644 a.b\0" ID, false),
		T("100644 a\0" ID "100644 a.b\0" ID "40000 a\0" ID, false),
		T("100644 a\0" ID "100644 a.b\0" ID "100644 a.b.c\0" ID "40000 a.b\0" ID "40000 a\0" ID, false),
		T("100644 a\0" ID "100644 a-b\0" ID "40000 a-c\0" ID "40000 ab\0" ID, true),
		T("0100644 a\0" ID, false),
		T("100664 a\0" ID, false),
		T("100644 a", false),
		T("100644 a\0\1\1", false),
		T("100644a\0" ID, false),
		T(" a\0" ID, false),
		T("160000 a\0" ID, true),
#undef T
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		ck_assert_msg(!verify_tree(cases[i].text, cases[i].len) == cases[i].good, "%zu", i);
}
END_TEST

START_TEST(modules)
{
	static const char good[] = "[submodule \"a\"]\n\tpath = a ; x\n\turl = \"https://a.test/\\\"x\" # "
	                           "y\n\n[core]\nx\n[submodule.B]\nurl=../b\n";
	static const char *const bad[] = { "[submodule \"a\"]\nurl = -x\n",
		                           "[submodule \"..\"]\n",
		                           "[submodule \"a/../b\"]\n",
		                           "[submodule \"\"]\n",
		                           "[submodule \"a\"]\nurl = \"\n",
		                           "[submodule \"a\"\n",
		                           "nonsense here\n",
		                           "[submodule \"a\"]\nurl = a\\qb\n",
		                           "[submodule \"a\"]\nupdate = !x",
		                           "[submodule \"a\"]\npath=-x",
		                           "[submodule \"a\"]\nurl=http://" };

	ck_assert_ptr_null(verify_gitmodules(good, sizeof(good) - 1));
	for (size_t i = 0; i < COUNT(bad); i++)
		ck_assert_msg(verify_gitmodules(bad[i], strlen(bad[i])) != NULL, "%s", bad[i]);
}
END_TEST

START_TEST(deltas)
{
	char text[] = "0123456789";
	struct object base = { .type = GIT_OBJECT_BLOB, .data = text, .len = 10 }, out = { 0 };
	static const struct {
		const char *delta;
		size_t len;
		const char *result; /* NULL: refused */
	} cases[] = {
#define D(delta, result) { delta, sizeof(delta) - 1, result }
		D("\x0a\x03\x91\x02\x03", "234"),
		D("\x0a\x05\x02"
		  "ab"
		  "\x91\x07\x03",
		  "ab789"),
		D("\x0b\x03\x91\x02\x03", NULL), /* of another base */
		D("\x0a\x04\x91\x02\x03", NULL), /* too short */
		D("\x0a\x02\x91\x02\x03", NULL), /* too long */
		D("\x0a\x03\x91\x08\x03", NULL), /* beyond the base */
		D("\x0a\x03\x91\x02", NULL),     /* cut */
		D("\x0a\x03\x05"
		  "ab",
		  NULL), /* cut */
		D("\x0a\x03\x00"
		  "abc",
		  NULL),                                 /* reserved */
		D("\x0a\x80\x80\x80\x80\x80\x80", NULL), /* a length without end */
		D("", NULL),
#undef D
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		int rc = delta_apply(&base, (const unsigned char *)cases[i].delta, cases[i].len, &out);

		ck_assert_msg((rc == 0) == (cases[i].result != NULL), "%zu", i);
		if (!rc)
			ck_assert_str_eq(out.data, cases[i].result);
		object_free(&out);
	}
}
END_TEST

/* What take_back() takes back leaves no trace, whether it was written already or not. */
START_TEST(take)
{
	char *dir = suite_mkdir(), *big = malloc(3 << 20);
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), before = suite_count_fds();
	struct object small = { .type = GIT_OBJECT_BLOB, .data = (char[]){ "small" }, .len = 5 },
	              large = { .type = GIT_OBJECT_BLOB, .data = big, .len = 3 << 20 };
	uint64_t size[2];

	ck_assert_int_eq(getentropy(big, 256), 0);
	for (size_t i = 256; i < 3 << 20; i++)
		big[i] = (char)(big[i - 256] * 31 + big[i - 1] + (char)i);
	for (int round = 0; round < 2; round++) {
		struct take t;
		struct pack_entry e;
		struct take_mark mark;
		char got[5];

		ck_assert_int_eq(take_open(&t, fd) | take_add(&t, &small), 0);
		mark = take_here(&t);
		if (round)
			ck_assert_int_eq(take_add(&t, &large) | take_add(&t, &small) | take_add(&t, &large) |
			                         take_back(&t, mark),
			                 0);
		ck_assert_int_eq(take_add(&t, &small) | take_finish(&t), 0);
		size[round] = t.size;
		ck_assert_uint_eq(t.count, 2);
		ck_assert_int_eq((int)lseek(t.fd, 0, SEEK_END), (int)t.size);
		ck_assert_int_eq(pack_entry_at(t.fd, t.size, mark.size, &e), 0);
		ck_assert(e.kind == 3 && e.len == 5);
		ck_assert_int_eq(pread(t.fd, got, 4, 8), 4);
		ck_assert_mem_eq(got, "\0\0\0\2", 4);
		take_close(&t);
	}
	ck_assert_uint_eq(size[0], size[1]);
	ck_assert_int_eq(suite_count_fds(), before);
	close(fd);
	free(big);
	suite_rmdir(dir);
}
END_TEST

START_TEST(ids)
{
	struct oids o;
	git_oid id = { { 0 } };

	oids_init(&o, 5000);
	ck_assert_uint_eq(oids_get(&o, &id), OIDS_NONE);
	for (uint32_t i = 0; i < 5000; i++) {
		memcpy(id.id + 12, &i, sizeof(i)); /* all in one place of the table */
		ck_assert_int_eq(oids_put(&o, &id, i), 0);
	}
	id.id[0] = 1;
	ck_assert_int_eq(oids_put(&o, &id, 1), -E2BIG);
	id.id[0] = 0;
	for (uint32_t i = 0; i < 5000; i++) {
		memcpy(id.id + 12, &i, sizeof(i));
		ck_assert_uint_eq(oids_get(&o, &id), i);
	}
	oids_free(&o);
	ck_assert_int_lt(oid_parse("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 39, &id), 0);
	ck_assert_int_lt(oid_parse("gaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 40, &id), 0);
}
END_TEST

SUITE_MAIN("git_objects", dotgit, trees, modules, deltas, take, ids)

/* SPDX-License-Identifier: Apache-2.0 */
/* What a run has in the engine, as it is read after whatever happened. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "objects.h"
#include "suite.h"

static void put(const char *dir, const char *text, size_t len)
{
	char path[600];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/objects", dir);
	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, len), (ssize_t)len);
	close(fd);
}

static int reopen(const char *dir, struct objects *o)
{
	struct refusal r = { 0 };
	int rc = objects_open(dir, false, o, &r);

	ck_assert(rc == 0 || (r.reason && r.subject && r.message));
	refusal_clear(&r);
	return rc;
}

START_TEST(test_written_is_read)
{
	struct refusal r = { 0 };
	char *dir = suite_mkdir();
	struct objects o, again;
	int before = suite_count_fds();

	ck_assert_int_eq(objects_open(dir, true, &o, &r), 0);
	ck_assert(objects_empty(&o));
	ck_assert_int_eq(objects_intend(&o, KIND_NETWORK, "oc-abc", &r), 0);
	ck_assert_int_eq(reopen(dir, &again), 0);
	ck_assert_str_eq(again.v[KIND_NETWORK].name, "oc-abc");
	ck_assert_ptr_null(again.v[KIND_NETWORK].id);
	objects_close(&again);
	ck_assert_int_eq(objects_made(&o, KIND_NETWORK, "0123", &r), 0);
	ck_assert_int_eq(objects_intend(&o, KIND_CONTAINER, "oc-abc-run", &r), 0);
	ck_assert_int_eq(reopen(dir, &again), 0);
	ck_assert_str_eq(again.v[KIND_NETWORK].id, "0123");
	ck_assert_ptr_null(again.v[KIND_CONTAINER].id);
	objects_close(&again);
	/* By its id, and what has none by its name. */
	ck_assert_int_eq(objects_gone(&o, KIND_NETWORK, &r), 0);
	ck_assert_int_eq(objects_gone(&o, KIND_CONTAINER, &r), 0);
	ck_assert_int_eq(objects_gone(&o, KIND_GATEWAY, &r), 0);
	ck_assert(objects_empty(&o));
	ck_assert_int_eq(reopen(dir, &again), 0);
	ck_assert(objects_empty(&again));
	objects_close(&again);
	objects_close(&o);
	ck_assert_int_eq(suite_count_fds(), before);
	suite_rmdir(dir);
}
END_TEST

/* Wherever a write is torn, what the lines before it say is what counts. */
START_TEST(test_torn)
{
	static const char text[] = "intend network oc-abc\nmade network 0123\nintend container oc-abc-run\n";
	char *dir = suite_mkdir();
	struct refusal r = { 0 };
	struct objects o;
	size_t n;

	for (n = 0; n < sizeof(text); n++) {
		size_t lines = (n >= 22) + (n >= 40) + (n >= 68);

		put(dir, text, n);
		ck_assert_int_eq(reopen(dir, &o), 0);
		ck_assert((o.v[KIND_NETWORK].name != NULL) == (lines > 0));
		ck_assert((o.v[KIND_NETWORK].id != NULL) == (lines > 1));
		ck_assert((o.v[KIND_CONTAINER].name != NULL) == (lines > 2));
		/* What is written next is a line of its own. */
		ck_assert_int_eq(objects_intend(&o, KIND_EGRESS, "oc-egress", &r), 0);
		objects_close(&o);
		ck_assert_int_eq(reopen(dir, &o), 0);
		ck_assert_str_eq(o.v[KIND_EGRESS].name, "oc-egress");
		objects_close(&o);
	}
	suite_rmdir(dir);
}
END_TEST

START_TEST(test_strange)
{
	static const char *const bad[] = {
		"made\n",
		"made network\n",
		"made network \n",
		"made sandbox 1\n",
		"unmake network 1\n",
		"made network a b\n",
		"made network ../x\n",
		"intend network A?force=1\n",
		"\n",
		"made network \x01\n",
	};
	char *dir = suite_mkdir();
	struct objects o;
	size_t i;

	for (i = 0; i < COUNT(bad); i++) {
		put(dir, bad[i], strlen(bad[i]));
		ck_assert_msg(reopen(dir, &o) < 0, "%s is read", bad[i]);
	}
	put(dir, "made network 1\n", 15);
	ck_assert_int_eq(reopen(dir, &o), 0);
	objects_close(&o);
	suite_rmdir(dir);
}
END_TEST

START_TEST(test_no_file)
{
	char *dir = suite_mkdir(), path[600];
	struct refusal r = { 0 };
	struct objects o;

	ck_assert_int_eq(reopen(dir, &o), 0);
	ck_assert(objects_empty(&o));
	ck_assert_int_eq(o.fd, -1);
	objects_close(&o);
	/* A link could lead what is written elsewhere. */
	(void)snprintf(path, sizeof(path), "%s/objects", dir);
	ck_assert_int_eq(symlink("elsewhere", path), 0);
	ck_assert_int_lt(objects_open(dir, true, &o, &r), 0);
	refusal_clear(&r);
	suite_rmdir(dir);
}
END_TEST

/* An engine's id goes into a path and into the file. */
START_TEST(test_hostile_id)
{
	char *dir = suite_mkdir();
	struct refusal r = { 0 };
	struct objects o;

	ck_assert_int_eq(objects_open(dir, true, &o, &r), 0);
	ck_assert_int_lt(objects_made(&o, KIND_NETWORK, "1\ngone network 1", &r), 0);
	ck_assert_str_eq(r.reason, "provider_failed");
	refusal_clear(&r);
	ck_assert_int_lt(objects_made(&o, KIND_NETWORK, "../../x", &r), 0);
	refusal_clear(&r);
	ck_assert_int_eq(objects_made(&o, KIND_NETWORK, "0123456789abcdef", &r), 0);
	objects_close(&o);
	suite_rmdir(dir);
}
END_TEST

SUITE_MAIN("docker_objects", test_written_is_read, test_torn, test_strange, test_no_file, test_hostile_id)

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "guard/journal.h"
#include "guard/protocol.h"
#include "suite.h"

static char *dir;
static int run_dir, fds_before;
static struct oc_journal j;

struct seen {
	char text[4096];
	size_t len, bytes[3], records;
	uint64_t next;
};

static void begin_at(char *path)
{
	oc_error *err = NULL;

	dir = path;
	run_dir = oc_open_dir(dir);
	ck_assert_int_ge(run_dir, 0);
	ck_assert_int_eq(oc_journal_open(&j, run_dir, 8 << 20, &err), 0);
}

static void begin(void)
{
	fds_before = suite_count_fds();
	begin_at(suite_mkdir());
}

static void end(void)
{
	oc_journal_close(&j);
	oc_close(run_dir);
	suite_rmdir(dir);
	ck_assert_int_eq(suite_count_fds(), fds_before);
}

static void reopen(void)
{
	oc_journal_close(&j);
	ck_assert_int_eq(oc_journal_open(&j, run_dir, 8 << 20, NULL), 0);
}

static void collect(int stream, uint64_t next, const void *data, size_t len, void *userdata)
{
	struct seen *s = userdata;

	ck_assert_uint_gt(next, s->next);
	ck_assert(stream == 0 ? data == NULL : data != NULL);
	s->next = next;
	s->bytes[stream] += len;
	s->records++;
	if (stream && s->len + len < sizeof(s->text)) {
		memcpy(s->text + s->len, data, len);
		s->len += len;
	}
}

static struct seen read_from(uint64_t position, size_t budget, int want)
{
	struct seen s = { .next = position };
	oc_error *err = NULL;
	int rc = oc_journal_read(run_dir, &position, budget, collect, &s, &err);

	ck_assert_msg(rc == want, "%d: %s", rc, err ? oc_error_message(err) : "");
	if (rc >= 0)
		ck_assert_uint_eq(position, s.next);
	oc_error_free(err);
	return s;
}

static void append(const char *name, const void *data, size_t len)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", OC_GUARD_JOURNAL, name);
	fd = openat(run_dir, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(oc_write_all(fd, data, len), 0);
	oc_close(fd);
}

START_TEST(test_write_and_read)
{
	struct seen s;

	begin();
	s = read_from(0, 1000, 0);
	ck_assert_uint_eq(s.records, 0);
	oc_journal_write(&j, 1, "one", 3);
	oc_journal_write(&j, 2, "two", 3);
	oc_journal_write(&j, 1, "", 0);
	s = read_from(0, 1000, 0);
	ck_assert_mem_eq(s.text, "onetwo", 6);
	ck_assert_uint_eq(s.records, 2);
	ck_assert_uint_eq(s.next, j.next);
	ck_assert_uint_eq(s.next, 2 * (8 + 3));
	s = read_from(11, 1000, 0);
	ck_assert_mem_eq(s.text, "two", 3);
	s = read_from(0, 1, 1); /* the budget ends it, and there is more */
	ck_assert_uint_eq(s.records, 1);
	read_from(j.next + 1, 1000, OC_EINVAL);
	end();
}
END_TEST

START_TEST(test_no_journal)
{
	uint64_t position = 0;

	begin();
	ck_assert_int_eq(unlinkat(run_dir, OC_GUARD_JOURNAL, AT_REMOVEDIR), 0);
	ck_assert_int_eq(oc_journal_read(run_dir, &position, 10, collect, NULL, NULL), 0);
	/* A link in its place is not followed. */
	ck_assert_int_eq(symlinkat("/etc", run_dir, OC_GUARD_JOURNAL), 0);
	ck_assert_int_lt(oc_journal_read(run_dir, &position, 10, collect, NULL, NULL), 0);
	end();
}
END_TEST

START_TEST(test_torn_tail)
{
	static const char torn[] = "\x10\0\0\0\1\0\0\0half";
	struct seen s;
	size_t cut;

	for (cut = 1; cut < sizeof(torn) - 1; cut++) {
		begin();
		oc_journal_write(&j, 1, "whole", 5);
		append("0000000000000000", torn, cut);
		s = read_from(0, 1000, 0);
		ck_assert_uint_eq(s.records, 1);
		reopen();
		ck_assert_uint_eq(j.next, 13);
		oc_journal_write(&j, 2, "after", 5);
		s = read_from(0, 1000, 0);
		ck_assert_mem_eq(s.text, "wholeafter", 10);
		end();
	}
}
END_TEST

START_TEST(test_damage)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {
		{ "\1\0\0\0\3\0\0\0x", 9 },         /* no such stream */
		{ "\1\0\0\0\1\1\0\0x", 9 },         /* reserved byte set */
		{ "\xff\xff\xff\xff\1\0\0\0x", 9 }, /* longer than a segment */
		{ "\1\0\0\0\0\0\0\0x", 9 },         /* a gap that is none */
	};
	size_t i;

	for (i = 0; i < OC_COUNT(bad); i++) {
		begin();
		oc_journal_write(&j, 1, "whole", 5);
		append("0000000000000000", bad[i].bytes, bad[i].len);
		read_from(13, 1000, OC_EPROTO);
		/* The writer goes on behind what is whole. */
		reopen();
		ck_assert_uint_eq(j.next, 13);
		end();
	}
}
END_TEST

static size_t segments(void)
{
	struct oc_segments s;

	ck_assert_int_eq(oc_segments_list(j.dir, &s), 0);
	return s.n;
}

START_TEST(test_wrap)
{
	static char data[65536];
	size_t i, total = 0;
	struct seen s;

	begin();
	memset(data, 'x', sizeof(data));
	for (i = 0; i < 160; i++) {
		oc_journal_write(&j, 1, data, sizeof(data));
		total += sizeof(data);
		/* Read and acknowledged: what goes then is no loss. */
		if (i < 60)
			oc_journal_ack(&j, j.next);
	}
	ck_assert_uint_eq(segments(), 2);
	ck_assert_uint_eq(j.output, total);
	ck_assert_uint_gt(oc_journal_first(&j), 0);
	ck_assert_uint_gt(j.lost, 0);
	ck_assert_uint_lt(j.lost, total - 59 * sizeof(data));
	s = read_from(0, SIZE_MAX, 0);
	ck_assert_uint_eq(s.bytes[0], oc_journal_first(&j));
	ck_assert_uint_gt(s.bytes[1], 4 << 20);
	ck_assert_uint_eq(s.next, j.next);
	ck_assert_uint_eq(s.bytes[1] % sizeof(data), 0);
	reopen();
	ck_assert_uint_eq(j.next, s.next);
	end();
}
END_TEST

/* A disk of 1 MiB: what doesn't fit is a gap, and nothing is half there. */
START_TEST(test_no_space)
{
	static char data[32768];
	char *path, filler[64];
	struct seen s;
	size_t i;
	int fd;

	path = suite_mkdir();
	if (mount("none", path, "tmpfs", 0, "size=1m,mode=0700") < 0) {
		printf("# skipped: a tmpfs can't be mounted here: %s\n", strerror(errno));
		suite_rmdir(path);
		return;
	}
	fds_before = suite_count_fds();
	begin_at(path);
	memset(data, 'y', sizeof(data));
	snprintf(filler, sizeof(filler), "filler");
	fd = openat(run_dir, filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(posix_fallocate(fd, 0, 512 << 10), 0);
	for (i = 0; i < 64; i++)
		oc_journal_write(&j, 1, data, sizeof(data));
	ck_assert_uint_gt(j.gap, 0);
	ck_assert_uint_eq(j.lost, j.gap);
	s = read_from(0, SIZE_MAX, 0);
	ck_assert_uint_eq(s.bytes[1] + j.gap, 64 * sizeof(data));
	ck_assert_uint_eq(s.bytes[0], 0);
	/* Room again: the gap is said first, then output goes on. */
	ck_assert_int_eq(unlinkat(run_dir, filler, 0), 0);
	oc_close(fd);
	oc_journal_write(&j, 2, "later", 5);
	s = read_from(0, SIZE_MAX, 0);
	ck_assert_uint_eq(s.bytes[2], 5);
	ck_assert_uint_eq(s.bytes[0], j.lost);
	ck_assert_uint_eq(s.bytes[0] + s.bytes[1], 64 * sizeof(data));
	oc_journal_close(&j);
	oc_close(run_dir);
	ck_assert_int_eq(umount(path), 0);
	suite_rmdir(path);
	ck_assert_int_eq(suite_count_fds(), fds_before);
}
END_TEST

SUITE_MAIN("journal", test_write_and_read, test_no_journal, test_torn_tail, test_damage, test_wrap, test_no_space)

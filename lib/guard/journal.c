/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "guard/protocol.h"

static uint64_t last_start(const struct oc_journal *j)
{
	return j->all.start[j->all.n - 1];
}

/* The end of the last whole record of a segment. */
static int whole_records(int fd, uint64_t *end)
{
	unsigned char head[OC_RECORD_HEADER];
	struct stat st;
	uint64_t at = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	while (pread(fd, head, sizeof(head), (off_t)at) == (ssize_t)sizeof(head)) {
		int stream;
		uint32_t len = oc_record_parse(head, &stream);

		if (len == OC_RECORD_BAD || at + sizeof(head) + len > (uint64_t)st.st_size)
			break;
		at += sizeof(head) + len;
	}
	*end = at;
	return ftruncate(fd, (off_t)at) < 0 ? -errno : 0;
}

static int resume(struct oc_journal *j)
{
	uint64_t end = 0;
	int rc = oc_segments_list(j->dir, &j->all);
	unsigned i;

	if (rc < 0 || j->all.n == 0)
		return rc;
	j->fd = oc_segment_open(j->dir, last_start(j), O_RDWR);
	if (j->fd < 0)
		return j->fd;
	rc = whole_records(j->fd, &end);
	j->next = j->acked = last_start(j) + end;
	for (i = 0; i < j->all.n; i++)
		j->payload[i] = (i + 1 < j->all.n ? j->all.start[i + 1] : j->next) - j->all.start[i];
	return rc;
}

int oc_journal_open(struct oc_journal *j, int run_dir, int64_t bytes, oc_error **err)
{
	int rc;

	memset(j, 0, sizeof(*j));
	j->fd = -1;
	j->keep = (unsigned)OC_MAX((int64_t)2, OC_MIN(bytes / OC_JOURNAL_SEGMENT, (int64_t)OC_JOURNAL_SEGMENTS));
	if (mkdirat(run_dir, OC_GUARD_JOURNAL, 0700) < 0 && errno != EEXIST)
		return oc_fail(err, OC_EIO, errno, "Can't make the journal: %s", strerror(errno));
	j->dir = openat(run_dir, OC_GUARD_JOURNAL, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (j->dir < 0)
		return oc_fail(err, OC_EIO, errno, "Can't open the journal: %s", strerror(errno));
	rc = resume(j);
	if (rc < 0)
		return oc_fail(err, OC_EIO, -rc, "Can't continue the journal: %s", strerror(-rc));
	return 0;
}

void oc_journal_close(struct oc_journal *j)
{
	j->fd = oc_close(j->fd);
	j->dir = oc_close(j->dir);
}

/* The oldest segment goes; what nobody acknowledged of it is lost. */
static void drop_oldest(struct oc_journal *j)
{
	uint64_t start = j->all.start[0], end = j->all.start[1];
	char name[OC_SEGMENT_NAME];

	snprintf(name, sizeof(name), "%016" PRIx64, start);
	if (unlinkat(j->dir, name, 0) < 0 && errno != ENOENT)
		return;
	if (j->acked < end)
		j->lost += OC_MIN(j->payload[0], end - OC_MAX(j->acked, start));
	memmove(j->all.start, j->all.start + 1, (j->all.n - 1) * sizeof(j->all.start[0]));
	memmove(j->payload, j->payload + 1, (j->all.n - 1) * sizeof(j->payload[0]));
	j->all.n--;
}

static int next_segment(struct oc_journal *j)
{
	int fd;

	if (j->all.n == OC_COUNT(j->all.start))
		return -E2BIG;
	fd = oc_segment_open(j->dir, j->next, O_RDWR | O_CREAT | O_EXCL);
	if (fd < 0)
		return fd;
	oc_close(j->fd);
	j->fd = fd;
	j->all.start[j->all.n] = j->next;
	j->payload[j->all.n++] = 0;
	while (j->all.n > j->keep) {
		unsigned before = j->all.n;

		drop_oldest(j);
		if (j->all.n == before)
			break;
	}
	return 0;
}

static int put(struct oc_journal *j, int stream, const void *data, size_t len)
{
	unsigned char head[OC_RECORD_HEADER] = { (unsigned char)len, (unsigned char)(len >> 8),
		                                 (unsigned char)(len >> 16), (unsigned char)(len >> 24),
		                                 (unsigned char)stream };
	struct iovec iov[2] = { { head, sizeof(head) }, { (void *)(uintptr_t)data, len } };
	size_t size = sizeof(head) + len;
	uint64_t at = j->fd < 0 ? 0 : j->next - last_start(j);
	ssize_t n;

	if (j->fd < 0 || (at && at + size > OC_JOURNAL_SEGMENT)) {
		int rc = next_segment(j);

		if (rc < 0)
			return rc;
		at = 0;
	}
	do {
		n = pwritev(j->fd, iov, 2, (off_t)at);
	} while (n < 0 && errno == EINTR);
	if (n == (ssize_t)size) {
		j->next += size;
		return 0;
	}
	/* A record half there would be taken for one that is still being written: for ever. */
	if (n > 0)
		(void)!ftruncate(j->fd, (off_t)at);
	return n < 0 ? -errno : -ENOSPC;
}

static int put_gap(struct oc_journal *j)
{
	unsigned char lost[8];
	unsigned i;
	int rc;

	for (i = 0; i < 8; i++)
		lost[i] = (unsigned char)(j->gap >> (8 * i));
	rc = put(j, 0, lost, sizeof(lost));
	if (rc == 0)
		j->gap = 0;
	return rc;
}

/* Is there room for a gap record and this behind it?  Asked before, because a record that a reader saw can't be taken back,
 * and without asking a full disk would fill its last bytes with gap records. */
static bool room_after_gap(const struct oc_journal *j, size_t len)
{
	uint64_t at = j->fd < 0 ? 0 : j->next - last_start(j);
	size_t size = 2 * OC_RECORD_HEADER + 8 + len;

	if (j->fd < 0 || at + size > OC_JOURNAL_SEGMENT)
		return true;
	return fallocate(j->fd, FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)size) == 0 || errno == EOPNOTSUPP;
}

static int put_after_gap(struct oc_journal *j, int stream, const void *data, size_t len)
{
	int rc = 0;

	if (j->gap)
		rc = room_after_gap(j, len) ? put_gap(j) : -ENOSPC;
	return rc < 0 ? rc : put(j, stream, data, len);
}

void oc_journal_write(struct oc_journal *j, int stream, const void *data, size_t len)
{
	if (!len)
		return;
	j->output += len;
	if (put_after_gap(j, stream, data, len) == 0) {
		j->payload[j->all.n - 1] += len;
		return;
	}
	j->gap += len;
	j->lost += len;
}

void oc_journal_ack(struct oc_journal *j, uint64_t next)
{
	if (next > j->acked && next <= j->next)
		j->acked = next;
}

uint64_t oc_journal_first(const struct oc_journal *j)
{
	return j->all.n ? j->all.start[0] : 0;
}

void oc_journal_settle(struct oc_journal *j)
{
	if (j->gap)
		(void)put_gap(j);
	if (j->fd >= 0)
		(void)fdatasync(j->fd);
}

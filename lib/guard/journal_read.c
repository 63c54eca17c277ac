/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the journal of a run while its guard writes it.  Nothing is locked: the writer only appends, makes the next
 * segment before it removes the oldest, and names each by its position, so whatever a reader sees half done (a record
 * whose end is not there, a segment that vanished) it can tell from what is: it stops there, or looks again. */
#include "guard/protocol.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard/segments.h"

#define CHUNK 131072u

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool parse_name(const char *name, uint64_t *start)
{
	if (strlen(name) != 16 || strspn(name, "0123456789abcdef") != 16)
		return false;
	*start = strtoull(name, NULL, 16);
	return true;
}

int oc_segments_list(int journal_dir, struct oc_segments *out)
{
	int fd = openat(journal_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int rc = 0;

	out->n = 0;
	if (!dir) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (rc == 0 && (errno = 0, entry = readdir(dir))) {
		uint64_t start;

		if (!parse_name(entry->d_name, &start))
			continue;
		if (out->n == OC_COUNT(out->start))
			rc = -E2BIG;
		else
			out->start[out->n++] = start;
	}
	if (rc == 0 && errno)
		rc = -errno;
	closedir(dir);
	qsort(out->start, out->n, sizeof(out->start[0]), compare);
	return rc;
}

int oc_segment_open(int journal_dir, uint64_t start, int flags)
{
	char name[OC_SEGMENT_NAME];
	int fd;

	snprintf(name, sizeof(name), "%016" PRIx64, start);
	fd = openat(journal_dir, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	return fd < 0 ? -errno : fd;
}

uint32_t oc_record_parse(const unsigned char *p, int *stream)
{
	uint32_t len = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;

	if (p[4] > 2 || p[5] || p[6] || p[7] || len > OC_JOURNAL_SEGMENT - OC_RECORD_HEADER || (p[4] == 0 && len != 8))
		return OC_RECORD_BAD;
	*stream = p[4];
	return len;
}

struct reading {
	uint64_t position;
	size_t budget;
	oc_journal_fn fn;
	void *userdata;
	unsigned char *data;
	size_t cap;
};

static void deliver(struct reading *r, int stream, const unsigned char *payload, uint32_t len)
{
	uint64_t lost = 0;
	unsigned i;

	r->position += OC_RECORD_HEADER + len;
	if (stream) {
		r->budget -= OC_MIN(r->budget, len);
		r->fn(stream, r->position, payload, len, r->userdata);
		return;
	}
	for (i = 0; i < 8; i++)
		lost |= (uint64_t)payload[i] << (8 * i);
	r->fn(0, r->position, NULL, (size_t)lost, r->userdata);
}

static int grow(struct reading *r, size_t need)
{
	unsigned char *bigger = need <= r->cap ? r->data : realloc(r->data, need);

	if (!bigger)
		return -ENOMEM;
	r->data = bigger;
	r->cap = OC_MAX(r->cap, need);
	return 0;
}

/* Complete records at the position; 1: progress, 0: none there, negative errno. */
static int read_chunk(struct reading *r, int fd, uint64_t start)
{
	ssize_t n = pread(fd, r->data, r->cap, (off_t)(r->position - start));
	size_t at = 0;
	uint32_t len = 0;

	if (n < 0)
		return errno == EINTR ? 1 : -errno;
	while (r->budget && (size_t)n - at >= OC_RECORD_HEADER) {
		int stream;

		len = oc_record_parse(r->data + at, &stream);
		if (len == OC_RECORD_BAD)
			return -EBADMSG;
		if ((size_t)n - at - OC_RECORD_HEADER < len)
			break;
		deliver(r, stream, r->data + at + OC_RECORD_HEADER, len);
		at += OC_RECORD_HEADER + len;
	}
	if (at)
		return 1;
	if ((size_t)n == r->cap && OC_RECORD_HEADER + (size_t)len > r->cap)
		return grow(r, OC_RECORD_HEADER + (size_t)len) < 0 ? -ENOMEM : 1;
	return 0;
}

static int read_segment(struct reading *r, int journal_dir, uint64_t start)
{
	oc_cleanup(oc_closep) int fd = oc_segment_open(journal_dir, start, O_RDONLY);
	struct stat st;
	int rc = 1;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > (off_t)OC_JOURNAL_SEGMENT)
		return -EBADMSG;
	if (r->position - start > (uint64_t)st.st_size)
		return -ERANGE;
	while (r->budget && rc > 0)
		rc = read_chunk(r, fd, start);
	return rc;
}

/* What lies before `to` can't be had any more. */
static void skip(struct reading *r, uint64_t to)
{
	uint64_t lost = to - r->position;

	r->position = to;
	r->fn(0, to, NULL, (size_t)lost, r->userdata);
}

/* One step from the segments as they are now; 1: go on, 0: at the end, negative errno. */
static int step(struct reading *r, int journal_dir, bool again)
{
	struct oc_segments s;
	int rc = oc_segments_list(journal_dir, &s);
	unsigned i = 0;

	if (rc < 0 || s.n == 0)
		return rc;
	if (r->position < s.start[0]) {
		skip(r, s.start[0]);
		return 1;
	}
	while (i + 1 < s.n && s.start[i + 1] <= r->position)
		i++;
	rc = read_segment(r, journal_dir, s.start[i]);
	/* Removed since it was listed, or written and closed since it was read: look again. */
	if (rc == -ENOENT && again)
		return step(r, journal_dir, false);
	if (rc != 0 || i + 1 == s.n)
		return rc;
	if (again)
		return step(r, journal_dir, false);
	skip(r, s.start[i + 1]);
	return 1;
}

static int complain(oc_error **err, int rc, uint64_t position)
{
	if (rc == -ENOMEM)
		return oc_nomem(err);
	if (rc == -ERANGE)
		return oc_fail(err, OC_EINVAL, 0, "The journal has no position %" PRIu64, position);
	if (rc == -EBADMSG || rc == -E2BIG)
		return oc_fail(err, OC_EPROTO, 0, "The journal is damaged at position %" PRIu64, position);
	return oc_fail(err, OC_EIO, -rc, "Can't read the journal: %s", strerror(-rc));
}

int oc_journal_read(int run_dir, uint64_t *position, size_t budget, oc_journal_fn fn, void *userdata, oc_error **err)
{
	oc_cleanup(oc_closep) int dir =
	        openat(run_dir, OC_GUARD_JOURNAL, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct reading r = { *position, OC_MAX(budget, (size_t)1), fn, userdata, NULL, 0 };
	int rc;

	if (dir < 0 && errno == ENOENT)
		return 0;
	if (dir < 0)
		return oc_fail(err, OC_EIO, errno, "Can't open the journal: %s", strerror(errno));
	rc = grow(&r, CHUNK) < 0 ? -ENOMEM : 1;
	while (rc > 0 && r.budget)
		rc = step(&r, dir, true);
	free(r.data);
	*position = r.position;
	return rc < 0 ? complain(err, rc, r.position) : rc > 0;
}

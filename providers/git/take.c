/* SPDX-License-Identifier: Apache-2.0 */
/* No deltas: they cost the most time of a pack, the checkout's own gc makes better ones, and a file without them can be
 * checked by the second phase in one pass, with nothing in it that can grow. */
#include "take.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "be32.h"

#define BUFFER (1u << 20)

size_t pack_head(unsigned char out[16], unsigned kind, uint64_t len)
{
	size_t n = 0;

	out[n] = (unsigned char)(kind << 4 | (len & 15u));
	for (len >>= 4; len; len >>= 7) {
		out[n++] |= 0x80u;
		out[n] = (unsigned char)(len & 0x7fu);
	}
	return n + 1;
}

static int flush(struct take *t)
{
	if (t->used && write_all(t->fd, t->buffer, t->used))
		return -errno;
	t->flushed += t->used;
	t->used = 0;
	return 0;
}

static int put(struct take *t, const void *data, size_t len)
{
	const unsigned char *at = data;
	int result = 0;

	while (len && !result) {
		size_t room = BUFFER - t->used, some = len < room ? len : room;

		memcpy(t->buffer + t->used, at, some);
		t->used += some;
		t->size += some;
		at += some;
		len -= some;
		if (t->used == BUFFER)
			result = flush(t);
	}
	return result;
}

int take_open(struct take *t, int dir)
{
	static const unsigned char head[TAKE_HEADER] = { 'P', 'A', 'C', 'K', 0, 0, 0, 2 };

	*t = (struct take){ .fd = openat(dir, TAKE_NAME, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600) };
	if (t->fd < 0)
		return -errno;
	t->buffer = malloc(BUFFER);
	if (!t->buffer || deflateInit(&t->z, Z_BEST_SPEED) != Z_OK)
		return -ENOMEM;
	t->z_ready = true;
	return put(t, head, sizeof(head));
}

void take_close(struct take *t)
{
	closep(&t->fd);
	free(t->buffer);
	if (t->z_ready)
		deflateEnd(&t->z);
	t->buffer = NULL;
	t->z_ready = false;
}

static int deflate_all(struct take *t, const struct object *o)
{
	unsigned char block[65536];
	int done, result = 0;

	if (deflateReset(&t->z) != Z_OK)
		return -EIO;
	t->z.next_in = (unsigned char *)o->data;
	t->z.avail_in = (unsigned)o->len;
	do {
		t->z.next_out = block;
		t->z.avail_out = sizeof(block);
		done = deflate(&t->z, Z_FINISH);
		if (done != Z_OK && done != Z_BUF_ERROR && done != Z_STREAM_END)
			return -EIO;
		result = put(t, block, sizeof(block) - t->z.avail_out);
	} while (!result && done != Z_STREAM_END);
	return result;
}

int take_add(struct take *t, const struct object *o)
{
	unsigned char head[16];
	int result;

	if (t->count >= TAKE_COUNT || t->size > TAKE_MAX)
		return -E2BIG;
	result = put(t, head, pack_head(head, (unsigned)o->type, o->len));
	if (!result)
		result = o->raw.len ? put(t, o->raw.data, o->raw.len) : deflate_all(t, o);
	t->count++;
	return result;
}

struct take_mark take_here(const struct take *t)
{
	return (struct take_mark){ t->count, t->size };
}

int take_back(struct take *t, struct take_mark mark)
{
	t->count = mark.count;
	t->size = mark.size;
	if (mark.size >= t->flushed) {
		t->used = (size_t)(mark.size - t->flushed);
		return 0;
	}
	t->used = 0;
	t->flushed = mark.size;
	if (ftruncate(t->fd, (off_t)mark.size) || lseek(t->fd, (off_t)mark.size, SEEK_SET) < 0)
		return -errno;
	return 0;
}

int take_finish(struct take *t)
{
	unsigned char n[4];
	int result = flush(t);

	be32_write(n, t->count);
	if (!result && pwrite(t->fd, n, sizeof(n), 8) != (ssize_t)sizeof(n))
		result = errno ? -errno : -EIO;
	return result;
}

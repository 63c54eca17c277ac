/* SPDX-License-Identifier: Apache-2.0 */
/* Reading single entries of a pack: headers, compressed bytes, deltas.  Every length is checked before memory is asked
 * for, and chains of deltas end: to an earlier place each step goes back, and no chain has more than CHAIN_MAX steps. */
#include "pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 16384u

void object_free(struct object *o)
{
	free(o->data);
	text_clear(&o->raw);
	*o = (struct object){ 0 };
}

static ssize_t read_at(int fd, void *data, size_t len, uint64_t offset)
{
	ssize_t n;

	do
		n = pread(fd, data, len, (off_t)offset);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* The distance back of an offset delta: seven bits a byte, each continuation one more than it says. */
static int read_distance(const unsigned char *p, const unsigned char *end, uint64_t *out)
{
	const unsigned char *start = p;
	uint64_t value;

	if (p == end)
		return -1;
	value = *p & 0x7fu;
	while (*p++ & 0x80u) {
		if (p == end || value > (UINT64_MAX >> 8))
			return -1;
		value = ((value + 1) << 7) | (*p & 0x7fu);
	}
	*out = value;
	return (int)(p - start);
}

int pack_entry_at(int fd, uint64_t size, uint64_t offset, struct pack_entry *e)
{
	unsigned char head[48];
	const unsigned char *p = head, *end;
	ssize_t n = offset < size
	                    ? read_at(fd, head, size - offset < sizeof(head) ? (size_t)(size - offset) : sizeof(head),
	                              offset)
	                    : 0;
	uint64_t back;
	unsigned shift = 4;
	int used;

	if (n <= 0)
		return n < 0 ? (int)n : -EBADMSG;
	end = head + n;
	e->kind = *p >> 4 & 7u;
	e->len = *p & 15u;
	while (*p++ & 0x80u) {
		if (p == end || shift > 53)
			return -EBADMSG;
		e->len |= (uint64_t)(*p & 0x7fu) << shift;
		shift += 7;
	}
	if (e->kind == PACK_OFFSET_DELTA) {
		used = read_distance(p, end, &back);
		if (used < 0 || !back || back >= offset)
			return -EBADMSG;
		e->base_offset = offset - back;
		p += used;
	} else if (e->kind == PACK_NAMED_DELTA) {
		if (end - p < GIT_OID_RAWSZ)
			return -EBADMSG;
		memcpy(e->base.id, p, GIT_OID_RAWSZ);
		p += GIT_OID_RAWSZ;
	} else if (e->kind < 1 || e->kind > 4) {
		return -EBADMSG;
	}
	e->data = offset + (uint64_t)(p - head);
	return 0;
}

/* Inflate up to room bytes: 1 when the stream ended there, 0 when there is no room left. */
static int inflate_some(z_stream *z, int fd, uint64_t size, uint64_t *at, unsigned char *block, char *out, size_t room,
                        struct text *raw)
{
	z->next_out = (unsigned char *)out;
	z->avail_out = (unsigned)room;
	for (;;) {
		int result = inflate(z, Z_NO_FLUSH);
		uint64_t left = size - *at;
		ssize_t n;

		if (result == Z_STREAM_END)
			return 1;
		if (result != Z_OK && result != Z_BUF_ERROR)
			return result == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
		if (!z->avail_out)
			return 0;
		if (z->avail_in)
			return -EBADMSG;
		n = left ? read_at(fd, block, left < BLOCK ? (size_t)left : BLOCK, *at) : 0;
		if (n <= 0)
			return n < 0 ? (int)n : -EBADMSG;
		if (raw && !text_add(raw, block, (size_t)n))
			return -ENOMEM;
		*at += (uint64_t)n;
		z->next_in = block;
		z->avail_in = (unsigned)n;
	}
}

int inflate_at(z_stream *z, int fd, uint64_t size, uint64_t offset, char *out, size_t len, uint64_t *end,
               struct text *raw)
{
	unsigned char block[BLOCK];
	char sink[4096];
	size_t done = 0;
	uint64_t at = offset;
	int result = 0;

	if (inflateReset(z) != Z_OK)
		return -EIO;
	z->avail_in = 0;
	while (result == 0) {
		size_t left = len - done, room = out ? left : left < sizeof(sink) ? left : sizeof(sink);
		char *to = out ? out + done : sink;

		/* Once it is all there one byte more is offered, which must not be taken. */
		if (!left) {
			to = sink;
			room = 1;
		}
		result = inflate_some(z, fd, size, &at, block, to, room, raw);
		if (result < 0)
			return result;
		done += room - z->avail_out;
		if (done > len)
			return -EBADMSG;
	}
	*end = at - z->avail_in;
	if (raw)
		raw->len -= z->avail_in;
	return done == len ? 0 : -EBADMSG;
}

static int read_size(const unsigned char **p, const unsigned char *end, uint64_t *out)
{
	unsigned shift = 0;

	*out = 0;
	for (;; shift += 7) {
		if (*p == end || shift > 56)
			return -1;
		*out |= (uint64_t)(**p & 0x7fu) << shift;
		if (!(*(*p)++ & 0x80u))
			return 0;
	}
}

/* "Copy from the base": which bytes of offset and length follow is in the command's bits. */
static int read_copy(unsigned command, const unsigned char **p, const unsigned char *end, size_t *from, size_t *n)
{
	unsigned i;

	*from = *n = 0;
	for (i = 0; i < 7; i++) {
		size_t *to = i < 4 ? from : n;

		if (!(command & 1u << i))
			continue;
		if (*p == end)
			return -1;
		*to |= (size_t) * (*p)++ << 8 * (i < 4 ? i : i - 4);
	}
	if (!*n)
		*n = 0x10000;
	return 0;
}

static int apply_all(const struct object *base, const unsigned char *p, const unsigned char *end, struct object *out)
{
	size_t done = 0, from, n;

	while (p < end) {
		unsigned command = *p++;

		if (command & 0x80u) {
			if (read_copy(command, &p, end, &from, &n) < 0 || from > base->len || n > base->len - from ||
			    n > out->len - done)
				return -EBADMSG;
			memcpy(out->data + done, base->data + from, n);
		} else {
			n = command;
			if (!n || n > (size_t)(end - p) || n > out->len - done)
				return -EBADMSG;
			memcpy(out->data + done, p, n);
			p += n;
		}
		done += n;
	}
	return done == out->len ? 0 : -EBADMSG;
}

int delta_apply(const struct object *base, const unsigned char *delta, size_t len, struct object *out)
{
	const unsigned char *p = delta, *end = delta + len;
	uint64_t from, to;
	int result;

	if (read_size(&p, end, &from) < 0 || read_size(&p, end, &to) < 0 || from != base->len)
		return -EBADMSG;
	if (to > OBJECT_MAX)
		return -EFBIG;
	*out = (struct object){ .type = base->type, .data = malloc((size_t)to + 1), .len = (size_t)to };
	if (!out->data)
		return -ENOMEM;
	result = apply_all(base, p, end, out);
	if (result)
		object_free(out);
	else
		out->data[out->len] = 0;
	return result;
}

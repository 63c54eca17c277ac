/* SPDX-License-Identifier: Apache-2.0 */
/* The codec of the channel, the same code on both of its ends.  It trusts neither: a length is
 * checked before anything is allocated for it, and every getter knows where the payload ends. */
#include "guest/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What may wait here unread: a whole frame and what came behind it in one read. */
#define READER_MAX (4u * OC_FRAME_MAX)

void oc_frame_reader_init(struct oc_frame_reader *r)
{
	memset(r, 0, sizeof(*r));
}

void oc_frame_reader_free(struct oc_frame_reader *r)
{
	/* Secrets went through here. */
	if (r->data) {
		memset(r->data, 0, r->cap);
		__asm__ volatile("" : : "r"(r->data) : "memory");
	}
	free(r->data);
	oc_frame_reader_init(r);
}

static void compact(struct oc_frame_reader *r)
{
	if (!r->taken)
		return;
	memmove(r->data, r->data + r->taken, r->len - r->taken);
	r->len -= r->taken;
	r->taken = 0;
}

/* Not realloc(): it would leave the old bytes, secrets among them, in freed memory. */
static int grow(struct oc_frame_reader *r, size_t need)
{
	size_t cap = r->cap ? r->cap : 4096;
	unsigned char *data;

	while (cap < need)
		cap *= 2;
	data = malloc(cap);
	if (!data)
		return -ENOMEM;
	if (r->data) {
		memcpy(data, r->data, r->len);
		memset(r->data, 0, r->cap);
		__asm__ volatile("" : : "r"(r->data) : "memory");
		free(r->data);
	}
	r->data = data;
	r->cap = cap;
	return 0;
}

int oc_frame_feed(struct oc_frame_reader *r, const void *data, size_t len)
{
	compact(r);
	if (len > READER_MAX || r->len > READER_MAX - len)
		return -ENOMEM;
	if (r->len + len > r->cap && grow(r, r->len + len) < 0)
		return -ENOMEM;
	if (len)
		memcpy(r->data + r->len, data, len);
	r->len += len;
	return 0;
}

static uint32_t get_u32(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static bool known_type(uint8_t type)
{
	return (type >= OC_FRAME_HELLO && type <= OC_FRAME_RESIZE) ||
	       (type >= OC_FRAME_FACT && type <= OC_FRAME_PONG) ||
	       (type >= OC_FRAME_BELT && type <= OC_FRAME_BELT_CLOSE) ||
	       (type >= OC_FRAME_BELT_OPENED && type <= OC_FRAME_BELT_CLOSED);
}

int oc_frame_next(struct oc_frame_reader *r, struct oc_frame *out)
{
	const unsigned char *p;
	size_t left = r->len - r->taken;
	uint32_t len;

	if (left < OC_FRAME_HEADER)
		return 0;
	p = r->data + r->taken; /* only now: before the first byte there is no data to point into */
	len = get_u32(p);
	if (len > OC_FRAME_MAX || !known_type(p[4]) || p[5] || p[6] || p[7])
		return -EPROTO;
	if (left - OC_FRAME_HEADER < len)
		return 0;
	out->type = p[4];
	out->len = len;
	out->data = p + OC_FRAME_HEADER;
	r->taken += OC_FRAME_HEADER + len;
	return 1;
}

void oc_frame_header(unsigned char out[OC_FRAME_HEADER], enum oc_frame_type type, uint32_t len)
{
	oc_put_u32(out, len);
	out[4] = (unsigned char)type;
	out[5] = out[6] = out[7] = 0;
}

bool oc_get_u8(struct oc_cursor *c, uint8_t *v)
{
	if (c->end - c->p < 1)
		return false;
	*v = *c->p++;
	return true;
}

bool oc_get_u16(struct oc_cursor *c, uint16_t *v)
{
	if (c->end - c->p < 2)
		return false;
	*v = (uint16_t)(c->p[0] | c->p[1] << 8);
	c->p += 2;
	return true;
}

bool oc_get_u32(struct oc_cursor *c, uint32_t *v)
{
	if (c->end - c->p < 4)
		return false;
	*v = get_u32(c->p);
	c->p += 4;
	return true;
}

bool oc_get_u64(struct oc_cursor *c, uint64_t *v)
{
	if (c->end - c->p < 8)
		return false;
	*v = (uint64_t)get_u32(c->p) | (uint64_t)get_u32(c->p + 4) << 32;
	c->p += 8;
	return true;
}

bool oc_get_bytes(struct oc_cursor *c, void *out, size_t n)
{
	if ((size_t)(c->end - c->p) < n)
		return false;
	if (n)
		memcpy(out, c->p, n);
	c->p += n;
	return true;
}

bool oc_get_string(struct oc_cursor *c, bool rest, const char **s, size_t *len)
{
	size_t left = (size_t)(c->end - c->p);
	const unsigned char *nul = left ? memchr(c->p, 0, left) : NULL;

	if (rest ? nul != NULL : nul == NULL)
		return false;
	*s = (const char *)c->p;
	*len = rest ? left : (size_t)(nul - c->p);
	c->p += *len + (rest ? 0 : 1);
	return true;
}

void oc_put_u16(unsigned char out[2], uint16_t v)
{
	out[0] = (unsigned char)v;
	out[1] = (unsigned char)(v >> 8);
}

void oc_put_u32(unsigned char out[4], uint32_t v)
{
	for (int i = 0; i < 4; i++)
		out[i] = (unsigned char)(v >> (8 * i));
}

void oc_put_u64(unsigned char out[8], uint64_t v)
{
	for (int i = 0; i < 8; i++)
		out[i] = (unsigned char)(v >> (8 * i));
}

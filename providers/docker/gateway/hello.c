/* SPDX-License-Identifier: Apache-2.0 */
#include "hello.h"

#include <string.h>

#define RECORD_HEADER  5
#define HANDSHAKE      22
#define CLIENT_HELLO   1
#define RECORD_LONGEST 16384
#define SERVER_NAME    0

/* The handshake's own bytes, taken out of their records. */
struct flight {
	uint8_t bytes[GW_HELLO_MAX];
	size_t len;
};

/* False: these are no handshake records. */
static bool unwrap(const uint8_t *p, size_t len, struct flight *f)
{
	f->len = 0;
	while (len > 0) {
		size_t size, have;

		if (p[0] != HANDSHAKE || (len > 1 && p[1] != 3))
			return f->len > 0;
		if (len < RECORD_HEADER)
			return true;
		size = (size_t)p[3] << 8 | p[4];
		if (size == 0 || size > RECORD_LONGEST)
			return false;
		have = OC_MIN(size, len - RECORD_HEADER);
		have = OC_MIN(have, sizeof(f->bytes) - f->len);
		memcpy(f->bytes + f->len, p + RECORD_HEADER, have);
		f->len += have;
		if (have < size)
			return true;
		p += RECORD_HEADER + size;
		len -= RECORD_HEADER + size;
	}
	return true;
}

struct cursor {
	const uint8_t *p;
	size_t left;
	bool short_of;
};

static uint32_t number(struct cursor *c, size_t bytes)
{
	uint32_t v = 0;

	if (c->left < bytes) {
		c->short_of = true;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		v = v << 8 | c->p[i];
	c->p += bytes;
	c->left -= bytes;
	return v;
}

static struct cursor part(struct cursor *c, size_t len)
{
	struct cursor out = { c->p, len, false };

	if (c->left < len) {
		c->short_of = out.short_of = true;
		out.left = 0;
		return out;
	}
	c->p += len;
	c->left -= len;
	return out;
}

/* A list of names, in practice of one host name (type 0). */
static bool host_name(struct cursor c, char out[OC_HOST_MAX])
{
	struct cursor list = part(&c, number(&c, 2)), name;
	uint32_t type = number(&list, 1);
	bool address;

	name = part(&list, number(&list, 2));
	return !c.short_of && !list.short_of && type == 0 &&
	       !oc_host_normalise((const char *)name.p, name.left, out, &address) && !address;
}

static enum gw_hello extensions(struct cursor c, char out[OC_HOST_MAX])
{
	struct cursor all = part(&c, number(&c, 2));

	while (all.left > 0 && !all.short_of) {
		uint32_t type = number(&all, 2);
		struct cursor data = part(&all, number(&all, 2));

		if (type == SERVER_NAME && !all.short_of)
			return host_name(data, out) ? GW_HELLO_NAME : GW_HELLO_NONE;
	}
	return GW_HELLO_NONE;
}

enum gw_hello gw_hello_name(const uint8_t *bytes, size_t len, char out[OC_HOST_MAX])
{
	struct flight f;
	struct cursor c, hello;
	uint32_t size;

	if (!unwrap(bytes, len, &f))
		return GW_HELLO_NONE;
	if (f.len > 0 && f.bytes[0] != CLIENT_HELLO)
		return GW_HELLO_NONE;
	c = (struct cursor){ f.bytes, f.len, false };
	(void)number(&c, 1);
	size = number(&c, 3);
	if (size > sizeof(f.bytes) - 4)
		return GW_HELLO_NONE;
	hello = part(&c, size);
	if (c.short_of)
		return GW_HELLO_MORE;
	(void)part(&hello, 2 + 32);
	(void)part(&hello, number(&hello, 1)); /* session */
	(void)part(&hello, number(&hello, 2)); /* ciphers */
	(void)part(&hello, number(&hello, 1)); /* compression */
	return hello.short_of ? GW_HELLO_NONE : extensions(hello, out);
}

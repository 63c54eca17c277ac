/* SPDX-License-Identifier: Apache-2.0 */
#include "dns.h"

#include <string.h>

#include "policy/host.h"

#define HEADER     12
#define CLASS_IN   1
#define TYPE_CNAME 5
#define TYPE_OPT   41
#define RECORDS    256 /* of one message; each is looked at once for each alias */
#define UDP_SIZE   1232

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* name as labels; bytes, or 0. */
static size_t put_name(uint8_t *out, const char *name)
{
	size_t n = 0, len;

	while (*name) {
		len = strcspn(name, ".");
		if (len == 0 || len > 63 || n + len + 2 > 255)
			return 0;
		out[n++] = (uint8_t)len;
		memcpy(out + n, name, len);
		n += len;
		name += len;
		name += *name == '.';
	}
	out[n++] = 0;
	return n > 1 ? n : 0;
}

size_t gw_dns_query(uint8_t out[GW_DNS_QUERY_MAX], uint16_t id, const char *name, uint16_t type)
{
	/* One question, recursion desired, and one OPT record, so that an answer need not be short. */
	static const uint8_t head[HEADER - 2] = { 1, 0, 0, 1, 0, 0, 0, 0, 0, 1 };
	size_t n = HEADER, len;

	put16(out, id);
	memcpy(out + 2, head, sizeof(head));
	len = put_name(out + n, name);
	if (len == 0)
		return 0;
	n += len;
	put16(out + n, type);
	put16(out + n + 2, CLASS_IN);
	n += 4;
	memset(out + n, 0, 11);
	put16(out + n + 1, TYPE_OPT);
	put16(out + n + 3, UDP_SIZE);
	return n + 11;
}

/* The name at `at`, lower case with dots, "" for one with bytes that no host has; where the next thing is, or 0: broken.
 * Each jump has to lead to before where the last began, so it ends. */
static size_t get_name(const uint8_t *msg, size_t len, size_t at, char out[OC_HOST_MAX])
{
	size_t n = 0, next = 0, first = at;
	bool odd = false;

	while (at < len && msg[at] != 0) {
		size_t size = msg[at];

		if ((size & 0xc0) == 0xc0) {
			size_t to = at + 1 < len ? (size & 0x3f) << 8 | msg[at + 1] : len;

			next = next ? next : at + 2;
			if (to >= first)
				return 0;
			at = first = to;
			continue;
		}
		if (size > 63 || at + 1 + size >= len || n + size + 1 > OC_HOST_MAX)
			return 0;
		for (size_t i = 1; i <= size; i++) {
			uint8_t c = msg[at + i];

			c = c >= 'A' && c <= 'Z' ? (uint8_t)(c + 'a' - 'A') : c;
			odd |= !c || !strchr("abcdefghijklmnopqrstuvwxyz0123456789-_", c);
			out[n++] = (char)c;
		}
		out[n++] = '.';
		at += size + 1;
	}
	if (at >= len)
		return 0;
	out[odd || n == 0 ? 0 : n - 1] = '\0';
	return next ? next : at + 1;
}

struct record {
	char name[OC_HOST_MAX];
	uint16_t type, class, size;
	size_t data, next;
};

static bool get_record(const uint8_t *msg, size_t len, size_t at, struct record *r)
{
	at = get_name(msg, len, at, r->name);
	if (at == 0 || len - at < 10)
		return false;
	r->type = get16(msg + at);
	r->class = get16(msg + at + 2);
	r->size = get16(msg + at + 8);
	r->data = at + 10;
	r->next = r->data + r->size;
	return r->next <= len;
}

static bool take(const uint8_t *msg, const struct record *r, uint16_t type, struct gw_ip *out)
{
	if (r->type != type || r->class != CLASS_IN || r->size != (type == GW_DNS_A ? 4 : 16))
		return false;
	if (type == GW_DNS_A)
		gw_ip_from4(msg + r->data, out);
	else
		memcpy(out->bytes, msg + r->data, sizeof(out->bytes));
	return true;
}

struct answers {
	const uint8_t *msg;
	size_t len, at;
	unsigned n;
};

/* The addresses of `name`; if there are none its alias, put into name.  -1: broken; 0: that is all; 1: an alias. */
static int look_up(const struct answers *a, char name[OC_HOST_MAX], uint16_t type, struct gw_ip *out, size_t max,
                   size_t *n)
{
	char alias[OC_HOST_MAX] = "";
	size_t at = a->at;
	struct record r;

	for (unsigned i = 0; i < a->n; i++, at = r.next) {
		if (!get_record(a->msg, a->len, at, &r))
			return -1;
		if (strcmp(r.name, name) != 0)
			continue;
		if (*n < max && take(a->msg, &r, type, &out[*n]))
			(*n)++;
		else if (r.type == TYPE_CNAME && r.class == CLASS_IN && !get_name(a->msg, r.next, r.data, alias))
			return -1;
	}
	if (*n || !alias[0])
		return 0;
	memcpy(name, alias, OC_HOST_MAX);
	return 1;
}

static enum gw_dns follow(const struct answers *a, const char *host, uint16_t type, struct gw_ip *out, size_t max,
                          size_t *n)
{
	char name[OC_HOST_MAX];
	int rc = 1;

	memset(name, 0, sizeof(name));
	memcpy(name, host, strlen(host));
	for (int i = 0; i <= GW_DNS_ALIASES && rc > 0; i++)
		rc = look_up(a, name, type, out, max, n);
	if (rc == 0)
		return GW_DNS_ANSWERED;
	*n = 0;
	return GW_DNS_BROKEN;
}

/* Where the answers begin, or 0: another question. */
static size_t after_question(const uint8_t *msg, size_t len, const char *name, uint16_t type)
{
	char asked[OC_HOST_MAX];
	size_t at = get_name(msg, len, HEADER, asked);

	if (at == 0 || len - at < 4 || strcmp(asked, name) != 0 || get16(msg + at) != type ||
	    get16(msg + at + 2) != CLASS_IN)
		return 0;
	return at + 4;
}

enum gw_dns gw_dns_answer(const uint8_t *msg, size_t len, uint16_t id, const char *name, uint16_t type,
                          struct gw_ip *out, size_t max, size_t *n)
{
	struct answers a = { .msg = msg, .len = len };

	*n = 0;
	/* A response to a standard query with one question. */
	if (len < HEADER || get16(msg) != id || (msg[2] & 0xf8) != 0x80 || get16(msg + 4) != 1)
		return GW_DNS_OTHER;
	a.at = after_question(msg, len, name, type);
	a.n = get16(msg + 6);
	if (a.at == 0)
		return GW_DNS_OTHER;
	if (msg[2] & 2)
		return GW_DNS_TRUNCATED;
	if ((msg[3] & 15) == 3)
		return GW_DNS_ANSWERED;
	if (msg[3] & 15)
		return GW_DNS_FAILED;
	return a.n > RECORDS ? GW_DNS_BROKEN : follow(&a, name, type, out, max, n);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "dns.h"
#include "suite.h"

struct message {
	uint8_t b[GW_DNS_ANSWER_MAX];
	size_t n;
};

static void put(struct message *m, const void *bytes, size_t len)
{
	memcpy(m->b + m->n, bytes, len);
	m->n += len;
}

static void put16(struct message *m, unsigned v)
{
	const uint8_t b[2] = { (uint8_t)(v >> 8), (uint8_t)v };

	put(m, b, 2);
}

static void put_name(struct message *m, const char *name)
{
	while (*name) {
		uint8_t len = (uint8_t)strcspn(name, ".");

		put(m, &len, 1);
		put(m, name, len);
		name += len + (name[len] == '.');
	}
	put(m, "", 1);
}

/* An answer to github.com A with n records to come. */
static struct message answer(unsigned n)
{
	struct message m = { .n = 0 };

	put16(&m, 0x1234);
	put16(&m, 0x8180);
	put16(&m, 1);
	put16(&m, n);
	put16(&m, 0);
	put16(&m, 0);
	put_name(&m, "github.com");
	put16(&m, GW_DNS_A);
	put16(&m, 1);
	return m;
}

static void record(struct message *m, const char *name, unsigned type, const void *data, size_t len)
{
	if (name)
		put_name(m, name);
	else
		put16(m, 0xc00c);
	put16(m, type);
	put16(m, 1);
	put(m, "\0\0\0\0", 4);
	put16(m, (unsigned)len);
	put(m, data, len);
}

static void alias(struct message *m, const char *from, const char *to)
{
	struct message name = { .n = 0 };

	put_name(&name, to);
	record(m, from, 5, name.b, name.n);
}

static enum gw_dns parse(const struct message *m, struct gw_ip *out, size_t max, size_t *n)
{
	uint8_t *copy = malloc(m->n ? m->n : 1);
	enum gw_dns said;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, m->b, m->n);
	said = gw_dns_answer(copy, m->n, 0x1234, "github.com", GW_DNS_A, out, max, n);
	free(copy);
	return said;
}

START_TEST(questions)
{
	uint8_t q[GW_DNS_QUERY_MAX];
	char name[300];
	size_t n = gw_dns_query(q, 0xabcd, "github.com", GW_DNS_AAAA);

	ck_assert_uint_eq(n, 12 + 12 + 4 + 11);
	ck_assert(q[0] == 0xab && q[1] == 0xcd && q[2] == 1 && q[5] == 1);
	ck_assert_mem_eq(q + 12, "\6github\3com\0\0\34\0\1", 16);
	memset(name, 'a', sizeof(name));
	for (size_t i = 63; i < 253; i += 64)
		name[i] = '.';
	name[253] = '\0';
	ck_assert_uint_gt(gw_dns_query(q, 1, name, GW_DNS_A), 255);
	ck_assert_uint_le(gw_dns_query(q, 1, name, GW_DNS_A), sizeof(q));
	name[253] = 'a';
	name[254] = '\0';
	ck_assert_uint_eq(gw_dns_query(q, 1, name, GW_DNS_A), 0);
	ck_assert_uint_eq(gw_dns_query(q, 1, "", GW_DNS_A), 0);
	ck_assert_uint_eq(gw_dns_query(q, 1, "a..b", GW_DNS_A), 0);
	memset(name, 'a', 64);
	name[64] = '\0';
	ck_assert_uint_eq(gw_dns_query(q, 1, name, GW_DNS_A), 0);
}
END_TEST

START_TEST(answers)
{
	struct message m = answer(4);
	struct gw_ip out[3];
	char text[GW_IP_TEXT];
	size_t n;

	record(&m, NULL, GW_DNS_A, "\214\122\160\3", 4);
	record(&m, "other.example", GW_DNS_A, "\1\1\1\1", 4);
	record(&m, "GitHub.Com", GW_DNS_A, "\214\122\160\4", 4);
	record(&m, NULL, GW_DNS_AAAA, "0123456789abcdef", 16);
	ck_assert_int_eq(parse(&m, out, 3, &n), GW_DNS_ANSWERED);
	ck_assert_uint_eq(n, 2);
	gw_ip_print(&out[1], text);
	ck_assert_str_eq(text, "140.82.112.4");
	ck_assert_int_eq(parse(&m, out, 1, &n), GW_DNS_ANSWERED);
	ck_assert_uint_eq(n, 1);
}
END_TEST

START_TEST(aliases)
{
	struct message m = answer(3);
	struct gw_ip out[3];
	size_t n;

	record(&m, "c.example", GW_DNS_A, "\1\2\3\4", 4);
	alias(&m, "b.example", "c.example");
	alias(&m, "github.com", "b.example");
	ck_assert_int_eq(parse(&m, out, 3, &n), GW_DNS_ANSWERED);
	ck_assert_uint_eq(n, 1);
	/* A ring, and a chain that is too long. */
	m = answer(2);
	alias(&m, "github.com", "b.example");
	alias(&m, "b.example", "github.com");
	ck_assert_int_eq(parse(&m, out, 3, &n), GW_DNS_BROKEN);
	ck_assert_uint_eq(n, 0);
	m = answer(GW_DNS_ALIASES + 2);
	alias(&m, "github.com", "a0");
	for (char i = 0; i < GW_DNS_ALIASES; i++) {
		const char from[] = { 'a', (char)('0' + i), 0 }, to[] = { 'a', (char)('1' + i), 0 };

		alias(&m, from, to);
	}
	record(&m, "a8", GW_DNS_A, "\1\2\3\4", 4);
	ck_assert_int_eq(parse(&m, out, 3, &n), GW_DNS_BROKEN);
	/* One that leads nowhere. */
	m = answer(1);
	alias(&m, "github.com", "b.example");
	ck_assert_int_eq(parse(&m, out, 3, &n), GW_DNS_ANSWERED);
	ck_assert_uint_eq(n, 0);
}
END_TEST

/* Header, question or name of someone else's: as if it had not come. */
START_TEST(others)
{
	static const struct {
		size_t at;
		uint8_t byte;
		enum gw_dns want;
	} rows[] = {
		{ 0, 0x13, GW_DNS_OTHER },     { 1, 0x35, GW_DNS_OTHER }, { 2, 0x01, GW_DNS_OTHER },
		{ 2, 0x89, GW_DNS_OTHER },     { 5, 2, GW_DNS_OTHER },    { 5, 0, GW_DNS_OTHER },
		{ 14, 'x', GW_DNS_OTHER },     { 25, 28, GW_DNS_OTHER },  { 27, 3, GW_DNS_OTHER },
		{ 2, 0x83, GW_DNS_TRUNCATED }, { 3, 3, GW_DNS_ANSWERED }, { 3, 2, GW_DNS_FAILED },
		{ 3, 5, GW_DNS_FAILED },       { 6, 2, GW_DNS_BROKEN },   { 7, 2, GW_DNS_BROKEN },
		{ 14, 'I', GW_DNS_ANSWERED },
	};
	struct gw_ip out[3];
	size_t n;

	for (size_t i = 0; i < OC_COUNT(rows); i++) {
		struct message m = answer(1);

		record(&m, NULL, GW_DNS_A, "\1\2\3\4", 4);
		m.b[rows[i].at] = rows[i].byte;
		ck_assert_msg(parse(&m, out, 3, &n) == rows[i].want, "byte %zu", rows[i].at);
	}
}
END_TEST

START_TEST(compression)
{
	static const uint16_t loops[] = { 28, 29, 40, 0x3fff };
	struct gw_ip out[3];
	size_t n;

	for (size_t i = 0; i < OC_COUNT(loops); i++) {
		struct message m = answer(1);

		put16(&m, 0xc000u | loops[i]);
		put16(&m, GW_DNS_A);
		put16(&m, 1);
		put(&m, "\0\0\0\0\0\4\1\2\3\4", 10);
		ck_assert_int_eq(parse(&m, out, 3, &n), GW_DNS_BROKEN);
		ck_assert_uint_eq(n, 0);
	}
	/* Backwards twice is good; a label kind that isn't one is not. */
	struct message m = answer(2);

	record(&m, NULL, GW_DNS_A, "\1\2\3\4", 4);
	put16(&m, 0xc01c);
	put16(&m, GW_DNS_A);
	put16(&m, 1);
	put(&m, "\0\0\0\0\0\4\1\2\3\5", 10);
	ck_assert_int_eq(parse(&m, out, 3, &n), GW_DNS_ANSWERED);
	ck_assert_uint_eq(n, 2);
	m.b[m.n - 16] = 0x80;
	ck_assert_int_eq(parse(&m, out, 3, &n), GW_DNS_BROKEN);
}
END_TEST

/* Every prefix and every one-byte change: an answer each time, and no address that isn't there. */
START_TEST(mutations)
{
	struct message m = answer(2), copy;
	struct gw_ip out[3];
	size_t n, good = 0;

	alias(&m, "github.com", "b.example");
	record(&m, "b.example", GW_DNS_A, "\1\2\3\4", 4);
	for (size_t len = 0; len < m.n; len++) {
		copy = m;
		copy.n = len;
		ck_assert_int_ne(parse(&copy, out, 3, &n), GW_DNS_ANSWERED);
		ck_assert_uint_eq(n, 0);
	}
	for (size_t at = 0; at < m.n; at++)
		for (int c = 0; c < 256; c++) {
			copy = m;
			copy.b[at] = (uint8_t)c;
			good += parse(&copy, out, 3, &n) == GW_DNS_ANSWERED && n == 1;
		}
	ck_assert_uint_gt(good, m.n);
	ck_assert_uint_lt(good, m.n * 200);
}
END_TEST

SUITE_MAIN("gateway_dns", questions, answers, aliases, others, compression, mutations)

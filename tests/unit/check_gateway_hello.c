/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "hello.h"
#include "suite.h"

struct message {
	uint8_t b[1024];
	size_t n;
};

static void put(struct message *m, const void *bytes, size_t len)
{
	memcpy(m->b + m->n, bytes, len);
	m->n += len;
}

static void put_number(struct message *m, size_t v, size_t bytes)
{
	while (bytes-- > 0) {
		const uint8_t b = (uint8_t)(v >> 8 * bytes);

		put(m, &b, 1);
	}
}

static void put_sni(struct message *m, const char *name)
{
	size_t len = strlen(name);

	put_number(m, 0, 2);
	put_number(m, len + 5, 2);
	put_number(m, len + 3, 2);
	put_number(m, 0, 1);
	put_number(m, len, 2);
	put(m, name, len);
}

/* A ClientHello with this name, or none, in records of at most `piece` bytes. */
static struct message hello(const char *name, size_t piece)
{
	struct message ext = { .n = 0 }, body = { .n = 0 }, m = { .n = 0 };

	put(&ext, "\0\13\0\2\1\0", 6);
	if (name)
		put_sni(&ext, name);
	put(&ext, "\0\20\0\5\0\3\2h2", 9);
	put(&body, "\3\3", 2);
	body.n += 32;
	put(&body, "\4sess\0\4\23\1\23\2\1\0", 13);
	put_number(&body, ext.n, 2);
	put(&body, ext.b, ext.n);
	memmove(body.b + 4, body.b, body.n);
	body.b[0] = 1;
	body.b[1] = 0;
	body.b[2] = (uint8_t)(body.n >> 8);
	body.b[3] = (uint8_t)body.n;
	body.n += 4;
	for (size_t at = 0; at < body.n; at += piece) {
		size_t len = OC_MIN(piece, body.n - at);

		put(&m, "\26\3\1", 3);
		put_number(&m, len, 2);
		put(&m, body.b + at, len);
	}
	return m;
}

static enum gw_hello read_name(const struct message *m, size_t len, char out[OC_HOST_MAX])
{
	uint8_t *copy = malloc(len ? len : 1);
	enum gw_hello said;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, m->b, len);
	out[0] = '\0';
	said = gw_hello_name(copy, len, out);
	free(copy);
	return said;
}

START_TEST(names)
{
	static const size_t pieces[] = { 1024, 100, 7, 1 };
	char name[OC_HOST_MAX];

	for (size_t i = 0; i < OC_COUNT(pieces); i++) {
		struct message m = hello("Evil.Example", pieces[i]);

		for (size_t n = 0; n < m.n; n++)
			ck_assert_int_eq(read_name(&m, n, name), GW_HELLO_MORE);
		ck_assert_int_eq(read_name(&m, m.n, name), GW_HELLO_NAME);
		ck_assert_str_eq(name, "evil.example");
	}
}
END_TEST

START_TEST(without)
{
	static const char *const wrong[] = { "", "192.0.2.1", "a..b", "a b", "a\nb", "[::1]", "b\303\274cher" };
	char name[OC_HOST_MAX];
	struct message m = hello(NULL, 1024);

	ck_assert_int_eq(read_name(&m, m.n, name), GW_HELLO_NONE);
	for (size_t i = 0; i < OC_COUNT(wrong); i++) {
		m = hello(wrong[i], 1024);
		ck_assert_msg(read_name(&m, m.n, name) == GW_HELLO_NONE, "%s", wrong[i]);
	}
	m = (struct message){ .b = "GET / HTTP/1.1\r\n", .n = 16 };
	ck_assert_int_eq(read_name(&m, 1, name), GW_HELLO_NONE);
	m = (struct message){ .b = "\26\3\1\0\4\2\0\0\0", .n = 9 };
	ck_assert_int_eq(read_name(&m, m.n, name), GW_HELLO_NONE);
	m = (struct message){ .b = "\26\3\1\0\4\1\377\377\377", .n = 9 };
	ck_assert_int_eq(read_name(&m, m.n, name), GW_HELLO_NONE);
	m = (struct message){ .b = "\26\3\1\0\0", .n = 5 };
	ck_assert_int_eq(read_name(&m, m.n, name), GW_HELLO_NONE);
}
END_TEST

/* Every one-byte change: an answer, and a name only if it is a host. */
START_TEST(mutations)
{
	struct message m = hello("evil.example", 1024);
	char name[OC_HOST_MAX], again[OC_HOST_MAX];
	size_t named = 0;
	bool address;

	for (size_t at = 0; at < m.n; at++)
		for (int c = 0; c < 256; c++) {
			struct message copy = m;

			copy.b[at] = (uint8_t)c;
			if (read_name(&copy, copy.n, name) != GW_HELLO_NAME)
				continue;
			named++;
			ck_assert_ptr_null(oc_host_normalise(name, strlen(name), again, &address));
			ck_assert_str_eq(name, again);
		}
	ck_assert_uint_gt(named, 10000);
}
END_TEST

SUITE_MAIN("gateway_hello", names, without, mutations)

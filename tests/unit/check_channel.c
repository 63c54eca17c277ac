/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "guest/channel.h"
#include "suite.h"

static void feed_frame(struct oc_frame_reader *r, enum oc_frame_type type, const void *data, uint32_t len)
{
	unsigned char head[OC_FRAME_HEADER];

	oc_frame_header(head, type, len);
	ck_assert_int_eq(oc_frame_feed(r, head, sizeof(head)), 0);
	ck_assert_int_eq(oc_frame_feed(r, data, len), 0);
}

START_TEST(test_header)
{
	unsigned char head[OC_FRAME_HEADER];
	const unsigned char want[] = { 0x04, 0x03, 0x02, 0x01, 37, 0, 0, 0 };

	oc_frame_header(head, OC_FRAME_EXIT, 0x01020304);
	ck_assert_mem_eq(head, want, sizeof(want));
}
END_TEST

START_TEST(test_round_trip)
{
	struct oc_frame_reader r;
	struct oc_frame f;

	oc_frame_reader_init(&r);
	ck_assert_int_eq(oc_frame_next(&r, &f), 0);
	feed_frame(&r, OC_FRAME_ARG, "one", 3);
	feed_frame(&r, OC_FRAME_PREPARE, "", 0);
	feed_frame(&r, OC_FRAME_ARG, "\0\xff", 2);
	ck_assert_int_eq(oc_frame_next(&r, &f), 1);
	ck_assert_uint_eq(f.type, OC_FRAME_ARG);
	ck_assert_uint_eq(f.len, 3);
	ck_assert_mem_eq(f.data, "one", 3);
	ck_assert_int_eq(oc_frame_next(&r, &f), 1);
	ck_assert_uint_eq(f.type, OC_FRAME_PREPARE);
	ck_assert_uint_eq(f.len, 0);
	ck_assert_int_eq(oc_frame_next(&r, &f), 1);
	ck_assert_mem_eq(f.data, "\0\xff", 2);
	ck_assert_int_eq(oc_frame_next(&r, &f), 0);
	oc_frame_reader_free(&r);
}
END_TEST

/* However the stream is cut, the same frames come out. */
START_TEST(test_every_cut)
{
	unsigned char stream[3 * OC_FRAME_HEADER + 10 + 0 + 200];
	size_t len = 0;
	const uint32_t sizes[] = { 10, 0, 200 };

	for (int i = 0; i < 3; i++) {
		oc_frame_header(stream + len, OC_FRAME_ENV, sizes[i]);
		len += OC_FRAME_HEADER;
		memset(stream + len, 'a' + i, sizes[i]);
		len += sizes[i];
	}
	for (size_t step = 1; step <= len; step++) {
		struct oc_frame_reader r;
		struct oc_frame f;
		int n = 0;

		oc_frame_reader_init(&r);
		for (size_t at = 0; at < len; at += step) {
			ck_assert_int_eq(oc_frame_feed(&r, stream + at, at + step > len ? len - at : step), 0);
			while (oc_frame_next(&r, &f) == 1) {
				ck_assert_uint_eq(f.len, sizes[n]);
				for (uint32_t i = 0; i < f.len; i++)
					ck_assert_uint_eq(f.data[i], 'a' + (unsigned)n);
				n++;
			}
		}
		ck_assert_int_eq(n, 3);
		oc_frame_reader_free(&r);
	}
}
END_TEST

static int first(const unsigned char head[OC_FRAME_HEADER])
{
	struct oc_frame_reader r;
	struct oc_frame f;
	int result;

	oc_frame_reader_init(&r);
	ck_assert_int_eq(oc_frame_feed(&r, head, OC_FRAME_HEADER), 0);
	result = oc_frame_next(&r, &f);
	oc_frame_reader_free(&r);
	return result;
}

/* Refused by the header alone: nobody waits for, or allocates, a payload that will not be taken. */
START_TEST(test_bad_headers)
{
	unsigned char head[OC_FRAME_HEADER];

	oc_frame_header(head, OC_FRAME_ARG, OC_FRAME_MAX);
	ck_assert_int_eq(first(head), 0);
	oc_frame_header(head, OC_FRAME_ARG, OC_FRAME_MAX + 1);
	ck_assert_int_eq(first(head), -EPROTO);
	oc_frame_header(head, OC_FRAME_ARG, 0xffffffffu);
	ck_assert_int_eq(first(head), -EPROTO);
	for (int i = 5; i < 8; i++) {
		oc_frame_header(head, OC_FRAME_ARG, 0);
		ck_assert_int_eq(first(head), 1);
		head[i] = 1;
		ck_assert_int_eq(first(head), -EPROTO);
	}
	for (int type = 0; type < 256; type++) {
		bool known = (type >= 1 && type <= 18) || (type >= 32 && type <= 38) || (type >= 40 && type <= 42);

		oc_frame_header(head, (enum oc_frame_type)type, 0);
		ck_assert_int_eq(first(head), known ? 1 : -EPROTO);
	}
}
END_TEST

START_TEST(test_bounded)
{
	struct oc_frame_reader r;
	unsigned char *data = calloc(1, OC_FRAME_MAX);
	int fed = 0;

	ck_assert_ptr_nonnull(data);
	oc_frame_reader_init(&r);
	while (fed < 64 && oc_frame_feed(&r, data, OC_FRAME_MAX) == 0)
		fed++;
	ck_assert_int_ge(fed, 1);
	ck_assert_int_lt(fed, 64);
	ck_assert_int_eq(oc_frame_feed(&r, data, SIZE_MAX), -ENOMEM);
	oc_frame_reader_free(&r);
	free(data);
}
END_TEST

START_TEST(test_longest)
{
	struct oc_frame_reader r;
	struct oc_frame f;
	unsigned char *data = malloc(OC_FRAME_MAX);

	ck_assert_ptr_nonnull(data);
	memset(data, 0xfe, OC_FRAME_MAX);
	oc_frame_reader_init(&r);
	for (int i = 0; i < 3; i++) {
		feed_frame(&r, OC_FRAME_ARG, data, OC_FRAME_MAX);
		ck_assert_int_eq(oc_frame_next(&r, &f), 1);
		ck_assert_uint_eq(f.len, OC_FRAME_MAX);
		ck_assert_mem_eq(f.data, data, OC_FRAME_MAX);
	}
	oc_frame_reader_free(&r);
	free(data);
}
END_TEST

START_TEST(test_numbers)
{
	unsigned char buf[12] = { 0 };
	struct oc_cursor c = { buf, buf + 12 };
	uint32_t v32 = 7;
	uint64_t v64 = 7;
	uint8_t v8 = 7;

	oc_put_u64(buf, 0x0123456789abcdefull);
	oc_put_u32(buf + 8, 0xfedcba98u);
	ck_assert_uint_eq(buf[0], 0xef);
	ck_assert(oc_get_u64(&c, &v64));
	ck_assert(v64 == 0x0123456789abcdefull);
	ck_assert(oc_get_u32(&c, &v32));
	ck_assert_uint_eq(v32, 0xfedcba98u);
	ck_assert(!oc_get_u8(&c, &v8));
	ck_assert_uint_eq(v8, 7);
	c = (struct oc_cursor){ buf, buf + 3 };
	ck_assert(!oc_get_u32(&c, &v32));
	ck_assert_uint_eq(v32, 0xfedcba98u);
	ck_assert(c.p == buf);
	ck_assert(!oc_get_u64(&c, &v64));
	ck_assert(!oc_get_bytes(&c, buf + 4, 4));
	ck_assert(oc_get_u8(&c, &v8));
	ck_assert_uint_eq(v8, 0xef);
}
END_TEST

START_TEST(test_strings)
{
	const unsigned char text[] = "id\0a\0\0rest";
	struct oc_cursor c = { text, text + sizeof(text) - 1 };
	const char *s;
	size_t len;

	ck_assert(oc_get_string(&c, false, &s, &len));
	ck_assert_uint_eq(len, 2);
	ck_assert(oc_get_string(&c, false, &s, &len));
	ck_assert_uint_eq(len, 1);
	ck_assert(!oc_get_string(&c, true, &s, &len)); /* a NUL inside */
	ck_assert(oc_get_string(&c, false, &s, &len));
	ck_assert_uint_eq(len, 0);
	ck_assert(!oc_get_string(&c, false, &s, &len)); /* none after it */
	ck_assert(oc_get_string(&c, true, &s, &len));
	ck_assert_uint_eq(len, 4);
	ck_assert_mem_eq(s, "rest", 4);
	ck_assert(oc_get_string(&c, true, &s, &len));
	ck_assert_uint_eq(len, 0);
	ck_assert(!oc_get_string(&c, false, &s, &len));
}
END_TEST

SUITE_MAIN("channel", test_header, test_round_trip, test_every_cut, test_bad_headers, test_bounded, test_longest,
           test_numbers, test_strings)

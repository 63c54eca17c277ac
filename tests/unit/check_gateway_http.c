/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "http.h"
#include "suite.h"

static enum gw_scan scan(const char *text, size_t len, size_t *head)
{
	char *copy = malloc(len ? len : 1);
	enum gw_scan s;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, text, len);
	s = gw_http_scan(copy, len, 64, head);
	free(copy);
	return s;
}

START_TEST(heads)
{
	static const char whole[] = "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\nmore";
	static const char *const bad[] = {
		"\r\n", "GET\n", "GET\rx", "a\r\nb\n\n", "a\001", "a\177", "\n", "GET\r\n\n"
	};
	char longer[128];
	size_t head = 0, end = sizeof(whole) - 5;

	for (size_t n = 0; n < end; n++)
		ck_assert_int_eq(scan(whole, n, &head), GW_SCAN_MORE);
	for (size_t n = end; n < sizeof(whole); n++) {
		ck_assert_int_eq(scan(whole, n, &head), GW_SCAN_WHOLE);
		ck_assert_uint_eq(head, end);
	}
	ck_assert_int_eq(scan("a\0b", 3, &head), GW_SCAN_BAD);
	for (size_t i = 0; i < OC_COUNT(bad); i++)
		ck_assert_msg(scan(bad[i], strlen(bad[i]), &head) == GW_SCAN_BAD, "%zu", i);
	memset(longer, 'a', sizeof(longer));
	ck_assert_int_eq(scan(longer, 63, &head), GW_SCAN_MORE);
	ck_assert_int_eq(scan(longer, 64, &head), GW_SCAN_LONG);
	memcpy(longer + 60, "\r\n\r\n", 4);
	ck_assert_int_eq(scan(longer, 128, &head), GW_SCAN_WHOLE);
	memcpy(longer + 60, "a\r\n\r\n", 5);
	ck_assert_int_eq(scan(longer, 128, &head), GW_SCAN_LONG);
}
END_TEST

static const struct {
	const char *in, *out;
} forwards[] = {
	{ "GET http://A.example HTTP/1.1\r\nHost: evil\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n" },
	{ "GET http://a.example?q HTTP/1.0\r\n\r\n",
	  "GET /?q HTTP/1.0\r\nHost: a.example\r\nConnection: close\r\n\r\n" },
	{ "OPTIONS http://a.example HTTP/1.1\r\nHost: x\r\n\r\n",
	  "OPTIONS * HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n" },
	{ "GET http://a.example:8080/x/?y=http://b/ HTTP/1.1\r\nHost: x\r\nX-A: b\r\n\r\n",
	  "GET /x/?y=http://b/ HTTP/1.1\r\nHost: a.example:8080\r\nX-A: b\r\nConnection: close\r\n\r\n" },
	{ "GET http://[2606:4700:0::1]/ HTTP/1.1\r\nHost: x\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: [2606:4700::1]\r\nConnection: close\r\n\r\n" },
	{ "POST http://a.example/ HTTP/1.1\r\nHost: x\r\nContent-Length: 00012\r\nConnection: X-A ,content-length, "
	  "x-b\r\nX-a: 1\r\nX-B: 2\r\n"
	  "X-C: 3\r\nKeep-Alive: 5\r\nTE: trailers\r\nTrailer: a\r\nUpgrade: h2c\r\nProxy-Authorization: "
	  "s\r\nProxy-Connection: a\r\n\r\n",
	  "POST / HTTP/1.1\r\nHost: a.example\r\nX-C: 3\r\nContent-Length: 12\r\nConnection: close\r\n\r\n" },
	{ "PUT http://a.example/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:  Chunked \r\nConnection: Connection\r\n\r\n",
	  "PUT / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" },
};

START_TEST(forwarded)
{
	for (size_t i = 0; i < OC_COUNT(forwards); i++) {
		struct gw_request r;
		size_t len;
		const char *why = gw_http_request(forwards[i].in, strlen(forwards[i].in), &r);
		char *out;

		ck_assert_msg(why == NULL, "%zu: %s", i, why);
		out = gw_http_forward(forwards[i].in, strlen(forwards[i].in), &r, &len);
		ck_assert_ptr_nonnull(out);
		ck_assert_msg(len == strlen(forwards[i].out) && memcmp(out, forwards[i].out, len) == 0, "%zu: %.*s", i,
		              (int)len, out);
		free(out);
	}
}
END_TEST

START_TEST(replies)
{
	static const char in[] =
	        "HTTP/1.1 200 OK\r\nConnection: keep-alive, X-H\r\nX-H: 1\r\nKeep-Alive: 5\r\nContent-Length: 3\r\n"
	        "Transfer-Encoding: x\r\nProxy-Authenticate: y\r\n\r\n";
	static const char want[] =
	        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: x\r\nProxy-Authenticate: y\r\n"
	        "Connection: close\r\n\r\n";
	static const struct {
		const char *head;
		int status;
	} rows[] = { { "HTTP/1.1 200 OK\r\n\r\n", 200 }, { "HTTP/1.0 404\r\n\r\n", 404 },
		     { "HTTP/2.0 200 OK\r\n\r\n", 0 },   { "HTTP/1.1 20x OK\r\n\r\n", 0 },
		     { "HTTP/1.1 2000 \r\n\r\n", 0 },    { "ICY 200 OK\r\n\r\n  ", 0 },
		     { "HTTP/1.1 099 x\r\n\r\n", 0 },    { "HTTP/1.1  200 O\r\n\r\n", 0 },
		     { "HTTP/1.1 101 S\r\n\r\n", 101 } };
	size_t len;
	char *out = gw_http_reply(in, sizeof(in) - 1, true, &len);

	ck_assert_ptr_nonnull(out);
	ck_assert_msg(len == sizeof(want) - 1 && memcmp(out, want, len) == 0, "%.*s", (int)len, out);
	free(out);
	out = gw_http_reply("HTTP/1.1 100 Continue\r\n\r\n", 25, false, &len);
	ck_assert_mem_eq(out, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	free(out);
	for (size_t i = 0; i < OC_COUNT(rows); i++)
		ck_assert_msg(gw_http_status(rows[i].head, strlen(rows[i].head)) == rows[i].status, "%s", rows[i].head);
}
END_TEST

/* Cut anywhere, a body ends at the same byte. */
static ssize_t chunk_end(const char *text, size_t len, size_t cut)
{
	struct gw_chunks c = { 0 };
	ssize_t a = gw_chunks_take(&c, text, cut), b;

	if (a < 0 || c.ended)
		return c.ended ? a : -1;
	b = gw_chunks_take(&c, text + cut, len - cut);
	if (b < 0)
		return -1;
	return c.ended ? a + b : -2;
}

START_TEST(chunks)
{
	static const char body[] = "5\r\nhello\r\n0A;x=\"y\"\r\n0123456789\r\n0\r\nT: v\r\nU: w\r\n\r\nGET /";
	static const char *const bad[] = { "\r\n",        "x\r\n",        "+5\r\nhello",
		                           "5 \r\n",      "0x5\r\n",      "5\nhello",
		                           "5\r\nhelloX", "5\r\nhello\n", "1000000000000000\r\n",
		                           ";\r\n",       "0\r\n a\r\n",  "0\r\n:a\r\n",
		                           "0\r\na\001",  "5;\001\r\n",   "0\r\na\r\r" };
	char trailers[GW_TRAILERS + 64];

	for (size_t cut = 0; cut < sizeof(body) - 1; cut++)
		ck_assert_int_eq(chunk_end(body, sizeof(body) - 1, cut), (ssize_t)sizeof(body) - 1 - 5);
	for (size_t i = 0; i < OC_COUNT(bad); i++)
		ck_assert_msg(chunk_end(bad[i], strlen(bad[i]), 1) == -1, "%s", bad[i]);
	ck_assert_int_eq(chunk_end("5\r\nhel", 6, 2), -2);
	ck_assert_int_eq(chunk_end("0\r\n\r\n", 5, 2), 5);
	memset(trailers, 'a', sizeof(trailers));
	memcpy(trailers, "0\r\n", 3);
	ck_assert_int_eq(chunk_end(trailers, 3 + GW_TRAILERS, 5), -2);
	ck_assert_int_eq(chunk_end(trailers, sizeof(trailers), 5), -1);
}
END_TEST

static void request_of(const char *head, struct gw_request *r)
{
	ck_assert_ptr_null(gw_http_request(head, strlen(head), r));
}

START_TEST(answers)
{
	char out[GW_ANSWER_MAX];
	struct gw_request r;
	size_t len;

	request_of("CONNECT blocked.example:443 HTTP/1.1\r\nHost: x\r\n\r\n", &r);
	len = gw_answer_denied(out, &r, "not_listed");
	ck_assert_uint_gt(len, 0);
	ck_assert_ptr_nonnull(strstr(out, "HTTP/1.1 403 blocked by network.allow: blocked.example:443\r\n"));
	ck_assert_ptr_nonnull(strstr(out, "\r\nContent-Type: application/json\r\n"));
	ck_assert_ptr_nonnull(strstr(out,
	                             "\r\nX-Open-Conduit: blocked\r\nConnection: close\r\n\r\n{\"error\":"
	                             "\"open-conduit: blocked.example:443 is not in network.allow\",\"message\":\""));
	ck_assert_ptr_nonnull(strstr(out, "\\\"network\\\": {\\\"allow\\\": [\\\"blocked.example:443\\\"]}"));
	request_of("GET http://blocked.example/ HTTP/1.1\r\nHost: x\r\n\r\n", &r);
	(void)gw_answer_denied(out, &r, "not_listed");
	ck_assert_ptr_nonnull(strstr(out, "text/plain"));
	ck_assert_ptr_nonnull(strstr(out, "\"network\": {\"allow\": [\"blocked.example:80\"]}"));
	request_of("GET http://blocked.example/ HTTP/1.1\r\nHost: x\r\nAccept: text/html, Application/JSON;q=1\r\n\r\n",
	           &r);
	(void)gw_answer_denied(out, &r, "metadata");
	ck_assert_ptr_nonnull(strstr(out, "application/json"));
	ck_assert_ptr_nonnull(strstr(out, "403 blocked: blocked.example:80 is a cloud metadata address\r\n"));
	ck_assert_ptr_null(strstr(out, "169.254"));
	(void)gw_answer_failed(out, &r, 504, "timed_out");
	ck_assert_ptr_nonnull(strstr(out, "HTTP/1.1 504 blocked.example:80: timed_out\r\n"));
	ck_assert_ptr_null(strstr(out, "X-Open-Conduit"));
	(void)gw_answer_refused(out, 431, "too long");
	ck_assert_ptr_nonnull(strstr(out, "HTTP/1.1 431 Request Header Fields Too Large\r\n"));
}
END_TEST

/* The longest host fits, whatever is said of it. */
START_TEST(longest)
{
	static const char *const whys[] = { "not_listed", "private", "loopback", "link_local",
		                            "metadata",   "own",     "special" };
	char out[GW_ANSWER_MAX];
	struct gw_request r = { .target = { .connect = true, .port = 65535 } };

	memset(r.target.host, 'a', OC_HOST_MAX - 1);
	for (size_t i = 0; i < OC_COUNT(whys); i++)
		ck_assert_uint_gt(gw_answer_denied(out, &r, whys[i]), 600);
	ck_assert_uint_gt(gw_answer_failed(out, &r, 502, "unreachable"), 600);
}
END_TEST

SUITE_MAIN("gateway_http", heads, forwarded, replies, chunks, answers, longest)

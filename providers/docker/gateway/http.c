/* SPDX-License-Identifier: Apache-2.0 */
#include "http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What stands for itself between two lines' ends; no head is longer than its buffer, so no text below is. */
struct text {
	const char *s;
	size_t len;
};
struct header {
	struct text line, name, value;
};

enum gw_scan gw_http_scan(const char *bytes, size_t len, size_t max, size_t *head)
{
	for (size_t i = 0; i < len && i < max; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (c == '\n' && (i == 0 || bytes[i - 1] != '\r'))
			return GW_SCAN_BAD;
		if (i > 0 && bytes[i - 1] == '\r' && c != '\n')
			return GW_SCAN_BAD;
		if ((c < ' ' && c != '\r' && c != '\n' && c != '\t') || c == 0x7f)
			return GW_SCAN_BAD;
		if (i == 1 && c == '\n')
			return GW_SCAN_BAD; /* no first line */
		if (c == '\n' && i >= 3 && bytes[i - 2] == '\n') {
			*head = i + 1;
			return GW_SCAN_WHOLE;
		}
	}
	return len >= max ? GW_SCAN_LONG : GW_SCAN_MORE;
}

static bool is(struct text t, const char *word)
{
	return t.len == strlen(word) && strncasecmp(t.s, word, t.len) == 0;
}

static struct text trim(const char *s, size_t len)
{
	while (len > 0 && (*s == ' ' || *s == '\t')) {
		s++;
		len--;
	}
	while (len > 0 && (s[len - 1] == ' ' || s[len - 1] == '\t'))
		len--;
	return (struct text){ s, len };
}

/* The next header at *at, which begins after the first line's end; false at the empty line. */
static bool next_header(const char *head, size_t len, size_t *at, struct header *h)
{
	const char *s = head + *at, *end = memchr(s, '\r', len - *at), *colon;

	if (!end || end == s)
		return false;
	h->line = (struct text){ s, (size_t)(end - s) + 2 };
	*at += h->line.len;
	colon = memchr(s, ':', (size_t)(end - s));
	h->name = (struct text){ s, colon ? (size_t)(colon - s) : 0 };
	h->value = colon ? trim(colon + 1, (size_t)(end - colon) - 1) : (struct text){ s, 0 };
	return true;
}

static size_t first_header(const char *head, size_t len)
{
	const char *end = memchr(head, '\r', len);

	return end ? (size_t)(end - head) + 2 : len;
}

/* Does a list with commas have this word? */
static bool lists(struct text list, struct text word)
{
	while (list.len > 0) {
		const char *comma = memchr(list.s, ',', list.len);
		size_t n = comma ? (size_t)(comma - list.s) : list.len;
		struct text item = trim(list.s, n);

		if (item.len == word.len && strncasecmp(item.s, word.s, item.len) == 0)
			return true;
		n += comma ? 1 : 0;
		list.s += n;
		list.len -= n;
	}
	return false;
}

static bool asks_json(struct text accept)
{
	static const char json[] = "application/json";

	for (size_t i = 0; i + sizeof(json) - 1 <= accept.len; i++)
		if (strncasecmp(accept.s + i, json, sizeof(json) - 1) == 0)
			return true;
	return false;
}

const char *gw_http_request(const char *head, size_t len, struct gw_request *out)
{
	struct gw_request r = { .length = 0 };
	const char *why = oc_target_parse(head, len, &r.target);
	struct header h;
	size_t at;

	if (why)
		return why;
	at = first_header(head, len);
	r.old = head[at - 3] == '0';
	while (next_header(head, len, &at, &h)) {
		if (is(h.name, "accept"))
			r.json |= asks_json(h.value);
		if (is(h.name, "transfer-encoding"))
			r.chunked = true;
		/* At most 18 digits: oc_target_parse() has seen to that. */
		if (is(h.name, "content-length"))
			for (size_t i = 0; i < h.value.len; i++)
				r.length = r.length * 10 + (uint64_t)(h.value.s[i] - '0');
	}
	*out = r;
	return NULL;
}

/* Of this connection alone, or named by a Connection header: not passed on.  Framing and Host are made anew. */
static bool is_hop(const char *head, size_t len, const struct header *h, bool request)
{
	static const char *const hop[] = { "connection", "keep-alive", "te", "trailer", "upgrade", "proxy-connection" };
	static const char *const own[] = { "host", "content-length", "transfer-encoding" };
	size_t at = first_header(head, len);
	struct header other;

	for (size_t i = 0; i < OC_COUNT(hop); i++)
		if (is(h->name, hop[i]))
			return true;
	for (size_t i = 0; i < OC_COUNT(own); i++)
		if (is(h->name, own[i]))
			return request;
	if (request && h->name.len > 6 && strncasecmp(h->name.s, "proxy-", 6) == 0)
		return true;
	while (next_header(head, len, &at, &other))
		if (is(other.name, "connection") && lists(other.value, h->name))
			return true;
	return false;
}

struct out {
	char *bytes;
	size_t n, max;
};

static void put(struct out *o, const char *s, size_t len)
{
	if (o->max - o->n >= len) {
		memcpy(o->bytes + o->n, s, len);
		o->n += len;
	}
}

static void put_headers(struct out *o, const char *head, size_t len, bool request)
{
	size_t at = first_header(head, len);
	struct header h;

	while (next_header(head, len, &at, &h))
		if (!is_hop(head, len, &h, request))
			put(o, h.line.s, h.line.len);
}

/* In memory of the caller's. */
static struct out out_in(char *bytes, size_t max)
{
	return (struct out){ bytes, 0, max };
}

/* METHOD path HTTP/1.x; the path is what follows the authority. */
static void put_request_line(struct out *o, const char *head, size_t len, const struct gw_request *r)
{
	size_t line = first_header(head, len) - 2, method = strcspn(head, " ");
	const char *path = head + method + 1 + strlen("http://"), *end = head + line - strlen(" HTTP/1.1");

	put(o, head, method + 1);
	while (path < end && *path != '/' && *path != '?')
		path++;
	if (path == end && method == 7 && memcmp(head, "OPTIONS", method) == 0)
		put(o, "*", 1);
	else if (path == end || *path == '?')
		put(o, "/", 1);
	put(o, path, (size_t)(end - path));
	put(o, r->old ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n", 11);
}

char *gw_http_forward(const char *head, size_t len, const struct gw_request *r, size_t *out_len)
{
	bool v6 = r->target.address && strchr(r->target.host, ':');
	char line[OC_HOST_MAX + 64], *bytes = malloc(len + 512);
	struct out o = out_in(bytes, len + 512);
	int n;

	if (!bytes)
		return NULL;
	put_request_line(&o, head, len, r);
	n = snprintf(line, sizeof(line), v6 ? "Host: [%s]" : "Host: %s", r->target.host);
	put(&o, line, (size_t)n);
	n = r->target.port == 80 ? snprintf(line, sizeof(line), "\r\n")
	                         : snprintf(line, sizeof(line), ":%u\r\n", r->target.port);
	put(&o, line, (size_t)n);
	put_headers(&o, head, len, true);
	if (r->chunked)
		put(&o, "Transfer-Encoding: chunked\r\n", 28);
	n = snprintf(line, sizeof(line), "Content-Length: %llu\r\n", (unsigned long long)r->length);
	if (r->length)
		put(&o, line, (size_t)n);
	put(&o, "Connection: close\r\n\r\n", 21);
	*out_len = o.n;
	return bytes;
}

int gw_http_status(const char *head, size_t len)
{
	int status = 0;

	if (len < 14 || memcmp(head, "HTTP/1.", 7) != 0 || head[8] != ' ')
		return 0;
	for (int i = 9; i < 12; i++) {
		if (head[i] < '0' || head[i] > '9')
			return 0;
		status = status * 10 + (head[i] - '0');
	}
	return status >= 100 && (head[12] == ' ' || head[12] == '\r') ? status : 0;
}

char *gw_http_reply(const char *head, size_t len, bool last, size_t *out_len)
{
	char *bytes = malloc(len + 64);
	struct out o = out_in(bytes, len + 64);

	if (!bytes)
		return NULL;
	put(&o, head, first_header(head, len));
	put_headers(&o, head, len, false);
	if (last)
		put(&o, "Connection: close\r\n", 19);
	put(&o, "\r\n", 2);
	*out_len = o.n;
	return bytes;
}

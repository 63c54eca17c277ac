/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway's HTTP: a first byte of 0 is followed by a chunked body, 1 by a reply's head, any other by a request.  What is
 * passed on is one head, with one Host, that the same parser reads as the same request to the same host. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fuzz.h"
#include "http.h"

static size_t count(const char *text, size_t len, const char *line)
{
	size_t n = 0, want = strlen(line);

	for (size_t i = 0; i + want <= len; i++)
		n += strncasecmp(text + i, line, want) == 0;
	return n;
}

/* The path of what is passed on may hold a URL; that of a proxy's request is its own. */
static void passed_on(const char *out, size_t len, const struct gw_request *r)
{
	size_t head = 0;

	FUZZ_CHECK(gw_http_scan(out, len, len, &head) == GW_SCAN_WHOLE && head == len);
	FUZZ_CHECK(count(out, len, "\r\nHost:") == 1);
	FUZZ_CHECK(count(out, len, "\r\nConnection:") == 1 && count(out, len, "\r\nProxy-") == 0);
	FUZZ_CHECK(count(out, len, "\r\nUpgrade:") == 0 && count(out, len, "\r\nTE:") == 0);
	FUZZ_CHECK(count(out, len, "\r\nContent-Length:") == (r->length && !r->chunked));
	FUZZ_CHECK(count(out, len, "\r\nTransfer-Encoding:") == r->chunked);
}

static void request(const char *bytes, size_t size)
{
	struct gw_request r;
	size_t head = 0, len;
	char *out, again[OC_HOST_MAX];
	bool address;

	if (gw_http_scan(bytes, size, GW_HEAD_MAX, &head) != GW_SCAN_WHOLE)
		return;
	FUZZ_CHECK(head <= size && head <= GW_HEAD_MAX);
	if (gw_http_request(bytes, head, &r))
		return;
	FUZZ_CHECK(r.target.port != 0 && r.target.host[0]);
	if (!r.target.address)
		FUZZ_CHECK(!oc_host_normalise(r.target.host, strlen(r.target.host), again, &address) &&
		           !strcmp(again, r.target.host));
	if (r.target.connect)
		return;
	out = gw_http_forward(bytes, head, &r, &len);
	if (!out)
		abort();
	passed_on(out, len, &r);
	free(out);
}

static void reply(const char *bytes, size_t size)
{
	size_t head = 0, len, again = 0;
	char *out;

	if (gw_http_scan(bytes, size, GW_REPLY_MAX, &head) != GW_SCAN_WHOLE || !gw_http_status(bytes, head))
		return;
	out = gw_http_reply(bytes, head, true, &len);
	if (!out)
		abort();
	FUZZ_CHECK(gw_http_scan(out, len, len, &again) == GW_SCAN_WHOLE && again == len);
	FUZZ_CHECK(count(out, len, "\r\nConnection:") == 1 && gw_http_status(out, len) == gw_http_status(bytes, head));
	free(out);
}

/* Cut anywhere, a body ends at the same byte. */
static void body(const char *bytes, size_t size)
{
	struct gw_chunks whole = { 0 }, piece = { 0 };
	ssize_t end = gw_chunks_take(&whole, bytes, size), at = 0, n = 0;

	FUZZ_CHECK(end <= (ssize_t)size && (end < 0 || whole.ended || end == (ssize_t)size));
	while (at < (ssize_t)size && !piece.ended && (n = gw_chunks_take(&piece, bytes + at, 1)) > 0)
		at += n;
	FUZZ_CHECK(end < 0 ? n < 0 : at == end && piece.ended == whole.ended);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;

	if (size && data[0] == 0)
		body(bytes + 1, size - 1);
	else if (size && data[0] == 1)
		reply(bytes + 1, size - 1);
	else
		request(bytes, size);
	return 0;
}

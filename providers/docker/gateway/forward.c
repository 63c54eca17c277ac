/* SPDX-License-Identifier: Apache-2.0 */
/* A request for http://: its head made anew, its body by its framing and no further, one reply.  The next request needs a
 * connection of its own, so nothing after this one is ever read as a request. */
#include "proxy.h"

#include <stdlib.h>

#include "answer.h"

void gw_forward_open(struct gw_proxy *p, struct gw_conn *c)
{
	struct gw_errand *e = c->errand;

	c->state = GW_FORWARD;
	gw_clock(p, c, GW_CLOCK_QUIET);
	if (!gw_end_write(p, &c->server, e->head, e->head_len)) {
		gw_conn_end(p, c);
		return;
	}
	c->client.moved = e->head_len;
	free(e->head);
	e->head = NULL;
	gw_forward_step(p, c);
}

static bool body_ended(const struct gw_errand *e)
{
	return e->request.chunked ? e->chunks.ended : e->request.length == 0;
}

/* How many of the bytes are the body's, -1: they are no chunks. */
static ssize_t share(const struct gw_errand *e, const char *bytes, size_t len)
{
	struct gw_chunks ahead = e->chunks;

	if (e->request.chunked)
		return gw_chunks_take(&ahead, bytes, len);
	return (ssize_t)OC_MIN(e->request.length, len);
}

static void sent(struct gw_proxy *p, struct gw_conn *c, size_t len)
{
	struct gw_errand *e = c->errand;

	if (e->request.chunked)
		(void)gw_chunks_take(&e->chunks, p->scratch, len);
	else
		e->request.length -= len;
	gw_end_discard(p, &c->client, len);
	c->client.moved += len;
}

/* One piece of the body; false: nothing can be done now. */
static bool body(struct gw_proxy *p, struct gw_conn *c)
{
	ssize_t n;
	size_t len;

	if (!gw_end_flush(p, &c->server) || body_ended(c->errand) || !c->server.writable)
		return false;
	n = gw_end_peek(p, &c->client, GW_SCRATCH);
	n = n > 0 ? share(c->errand, p->scratch, (size_t)n) : n;
	if (n < 0)
		c->client.broken = true;
	if (n <= 0)
		return false;
	len = gw_end_put(&c->server, p->scratch, (size_t)n);
	sent(p, c, len);
	return len > 0;
}

/* A head that can't be passed on: the reply is ours. */
static void no_reply(struct gw_proxy *p, struct gw_conn *c)
{
	char text[GW_ANSWER_MAX];
	size_t len = gw_answer_failed(text, &c->errand->request, 502, "no HTTP/1.x reply");

	(void)gw_end_write(p, &c->client, text, len);
	gw_conn_finish(p, c);
}

static void pass_head(struct gw_proxy *p, struct gw_conn *c, size_t head, int status)
{
	bool last = status >= 200;
	size_t len;
	char *text = gw_http_reply(p->scratch, head, last, &len);

	gw_end_discard(p, &c->server, head);
	c->server.moved += head;
	if (!text || !gw_end_write(p, &c->client, text, len))
		c->client.broken = true;
	c->errand->replied = last;
	free(text);
}

/* The head of a reply, and of each that comes before the last one (100, 103); 101 was not asked for. */
static bool reply_head(struct gw_proxy *p, struct gw_conn *c)
{
	ssize_t n = gw_end_peek(p, &c->server, GW_REPLY_MAX);
	size_t head = 0;
	int status;

	if (n == 0 && !c->server.ended && !c->server.broken)
		return false;
	switch (n ? gw_http_scan(p->scratch, (size_t)n, GW_REPLY_MAX, &head) : GW_SCAN_BAD) {
	case GW_SCAN_MORE:
		if (c->server.last)
			break;
		c->server.readable = false;
		return false;
	case GW_SCAN_WHOLE:
		status = gw_http_status(p->scratch, head);
		if (status && status != 101) {
			pass_head(p, c, head, status);
			return true;
		}
		break;
	default:
		break;
	}
	no_reply(p, c);
	return false;
}

static bool reply(struct gw_proxy *p, struct gw_conn *c)
{
	while (!c->errand->replied)
		if (!gw_end_flush(p, &c->client) || !reply_head(p, c))
			return false;
	return gw_move(p, &c->server, &c->client);
}

void gw_forward_step(struct gw_proxy *p, struct gw_conn *c)
{
	int rounds = 0;
	bool more;

	while (rounds < 8 && body(p, c))
		rounds++;
	more = reply(p, c) || rounds == 8;
	if (c->dead || c->state != GW_FORWARD)
		return;
	gw_clock(p, c, GW_CLOCK_QUIET);
	if (c->client.shut)
		gw_conn_finish(p, c);
	else if (c->client.broken || c->client.failed || (c->client.ended && !body_ended(c->errand)))
		gw_conn_reset(p, c);
	else if (c->server.broken && c->errand->replied)
		gw_conn_reset(p, c);
	else if (more)
		gw_conn_busy(p, c);
}

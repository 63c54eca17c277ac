/* SPDX-License-Identifier: Apache-2.0 */
/* A connection from its head to its end; what happens between is in lookup.c, dial.c, tunnel.c and forward.c. */
#include "proxy.h"

#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "answer.h"

static void refuse(struct gw_proxy *p, struct gw_conn *c, const char *text, size_t len)
{
	gw_clock(p, c, GW_CLOCK_DRAIN);
	c->state = GW_REFUSED;
	if (len == 0 || !gw_end_write(p, &c->client, text, len)) {
		gw_conn_end(p, c);
		return;
	}
	gw_conn_step(p, c);
}

static void bad(struct gw_proxy *p, struct gw_conn *c, int status, const char *what)
{
	char text[GW_ANSWER_MAX];

	gw_event(p->events, "bad %llu %s", (unsigned long long)c->id, what);
	refuse(p, c, text, gw_answer_refused(text, status, what));
}

void gw_conn_accept(struct gw_proxy *p, int fd, bool over)
{
	struct gw_conn *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return;
	}
	c->client.source = (struct gw_source){ fd, GW_CLIENT };
	c->server.source = (struct gw_source){ -1, GW_SERVER };
	c->clock = GW_CLOCKS;
	c->over = over;
	c->id = ++p->ids;
	c->since = p->now;
	p->n++;
	p->n_over += over;
	c->client.writable = true;
	gw_clock(p, c, GW_CLOCK_HEAD);
	if (!gw_watch(p, &c->client.source, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET))
		gw_conn_end(p, c);
	else if (over)
		bad(p, c, 503, "as many connections as there can be are open: close some");
}

static const char *name_of(const struct gw_conn *c)
{
	return c->errand->request.target.host;
}

void gw_conn_denied(struct gw_proxy *p, struct gw_conn *c, const char *why)
{
	char text[GW_ANSWER_MAX];

	gw_event(p->events, "deny %llu %s %u %s", (unsigned long long)c->id, name_of(c), c->errand->request.target.port,
	         why);
	refuse(p, c, text, gw_answer_denied(text, &c->errand->request, why));
}

void gw_conn_failed(struct gw_proxy *p, struct gw_conn *c, const char *event, int status, const char *why)
{
	char text[GW_ANSWER_MAX];

	gw_event(p->events, "%s %llu %s %u %s", event, (unsigned long long)c->id, name_of(c),
	         c->errand->request.target.port, why);
	refuse(p, c, text, gw_answer_failed(text, &c->errand->request, status, why));
}

/* The request is taken out of the socket; what follows it is the tunnel's or the body's. */
static void decide(struct gw_proxy *p, struct gw_conn *c, size_t len)
{
	struct gw_errand *e = calloc(1, sizeof(*e));
	const char *why;
	int rule;

	if (!e) {
		bad(p, c, 503, "out of memory");
		return;
	}
	c->errand = e;
	e->lookup.source.fd = -1;
	why = gw_http_request(p->scratch, len, &e->request);
	if (why) {
		bad(p, c, 400, why);
		return;
	}
	rule = oc_host_match(p->policy->rules, p->policy->n_rules, e->request.target.host, e->request.target.address,
	                     e->request.target.port);
	if (rule < 0) {
		gw_conn_denied(p, c, "not_listed");
		return;
	}
	e->rule = (size_t)rule;
	if (!e->request.target.connect && !(e->head = gw_http_forward(p->scratch, len, &e->request, &e->head_len)))
		bad(p, c, 503, "out of memory");
	else
		gw_lookup_start(p, c);
}

static void read_head(struct gw_proxy *p, struct gw_conn *c)
{
	ssize_t n = gw_end_peek(p, &c->client, GW_HEAD_MAX + 1);
	size_t len = 0;

	if (n == 0) {
		if (c->client.ended)
			gw_conn_end(p, c);
		return;
	}
	switch (gw_http_scan(p->scratch, (size_t)n, GW_HEAD_MAX, &len)) {
	case GW_SCAN_WHOLE:
		gw_end_discard(p, &c->client, len);
		decide(p, c, len);
		break;
	case GW_SCAN_BAD:
		bad(p, c, 400, "no request of HTTP/1.0 or HTTP/1.1");
		break;
	case GW_SCAN_LONG:
		bad(p, c, 431, "a request head of more than 16 KiB");
		break;
	default:
		/* Peeked at, so it is there until more comes: nothing to read before. */
		c->client.readable = false;
	}
}

/* A closed socket with bytes in it resets the connection, and the answer would be lost with it. */
static void drain(struct gw_proxy *p, struct gw_conn *c)
{
	ssize_t n;

	if (!gw_end_flush(p, &c->client))
		return;
	gw_end_shut(&c->client, NULL);
	while ((n = gw_end_peek(p, &c->client, GW_SCRATCH)) > 0 && c->drained < GW_DRAIN_BYTES) {
		gw_end_discard(p, &c->client, (size_t)n);
		c->drained += (uint32_t)n;
	}
	if (c->client.ended || c->drained >= GW_DRAIN_BYTES)
		gw_conn_end(p, c);
}

void gw_conn_step(struct gw_proxy *p, struct gw_conn *c)
{
	switch (c->state) {
	case GW_HEAD:
		read_head(p, c);
		break;
	case GW_HELLO:
	case GW_TUNNEL:
		gw_tunnel_step(p, c);
		break;
	case GW_FORWARD:
		gw_forward_step(p, c);
		break;
	case GW_REFUSED:
		drain(p, c);
		break;
	default:
		break;
	}
	if (!c->dead && c->client.broken && c->state != GW_HELLO && c->state != GW_TUNNEL)
		gw_conn_reset(p, c);
}

void gw_conn_event(struct gw_proxy *p, struct gw_conn *c, struct gw_end *end, uint32_t events)
{
	end->last |= (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
	if (c->state == GW_DIALLING && end == &c->server) {
		gw_dial_event(p, c, events);
		return;
	}
	end->readable |= (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
	end->writable |= (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0;
	end->failed |= (events & EPOLLERR) != 0;
	/* Nobody is there any more, and nothing was promised yet. */
	if (c->state < GW_HELLO && events & (EPOLLERR | EPOLLHUP))
		gw_conn_end(p, c);
	else
		gw_conn_step(p, c);
}

void gw_conn_due(struct gw_proxy *p, struct gw_conn *c, enum gw_clock clock)
{
	if (clock == GW_CLOCK_IDLE) {
		gw_conn_reset(p, c);
		return;
	}
	if (clock == GW_CLOCK_QUIET) {
		gw_conn_quiet(p, c);
		return;
	}
	c->client.readable = true;
	switch (c->state) {
	case GW_HEAD:
		/* One that sent nothing is let go without a word, as a client keeps connections ready. */
		if (gw_end_peek(p, &c->client, 1) > 0)
			bad(p, c, 408, "the request's head did not come within 10 s");
		else
			gw_conn_end(p, c);
		break;
	case GW_LOOKING_UP:
		gw_lookup_due(p, c);
		break;
	case GW_DIALLING:
		gw_dial_due(p, c);
		break;
	case GW_HELLO:
		c->state = GW_TUNNEL;
		gw_conn_busy(p, c);
		break;
	default:
		gw_conn_end(p, c);
	}
}

void gw_conn_busy(struct gw_proxy *p, struct gw_conn *c)
{
	if (c->busy || c->dead)
		return;
	c->busy = true;
	c->next_busy = p->busy;
	p->busy = c;
}

void gw_conn_finish(struct gw_proxy *p, struct gw_conn *c)
{
	c->state = GW_REFUSED;
	gw_clock(p, c, GW_CLOCK_DRAIN);
	gw_conn_step(p, c);
}

void gw_conn_end(struct gw_proxy *p, struct gw_conn *c)
{
	if (c->dead)
		return;
	c->dead = true;
	c->next_dead = p->dead;
	p->dead = c;
}

/* What is still under way to an end is not cut off: then it ends in order. */
static void reset_end(struct gw_end *e, const struct gw_end *other)
{
	const struct linger now = { .l_onoff = 1 };
	int queued = 0;

	if (e->source.fd < 0 || other->held || e->text_len)
		return;
	if (ioctl(e->source.fd, SIOCOUTQ, &queued) == 0 && queued == 0)
		(void)setsockopt(e->source.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

void gw_conn_reset(struct gw_proxy *p, struct gw_conn *c)
{
	if (c->dead)
		return;
	reset_end(&c->client, &c->server);
	reset_end(&c->server, &c->client);
	gw_conn_end(p, c);
}

static void free_end(struct gw_proxy *p, struct gw_end *e)
{
	p->kept -= e->text_len;
	gw_pipes_give(&p->pipes, e->pipe, e->held);
	free(e->text);
	if (e->source.fd >= 0)
		close(e->source.fd);
}

void gw_conn_free(struct gw_proxy *p, struct gw_conn *c)
{
	if (c->opened)
		gw_event(p->events, "end %llu %llu %llu %lld", (unsigned long long)c->id,
		         (unsigned long long)c->client.moved, (unsigned long long)c->server.moved,
		         (long long)(p->now - c->since));
	free_end(p, &c->client);
	free_end(p, &c->server);
	if (c->errand) {
		gw_lookup_close(&c->errand->lookup);
		free(c->errand->head);
		free(c->errand);
	}
	free(c->name);
	p->n--;
	p->n_over -= c->over;
	free(c);
}

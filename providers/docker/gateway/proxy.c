/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define BATCH      128
#define ACCEPTS    64 /* of one listener before the others have their turn */
#define WAIT_AGAIN 100

/* A model's answer may take long, so an open tunnel may be silent for hours; a request may not. */
static const int64_t limits[GW_CLOCKS] = {
	[GW_CLOCK_HEAD] = 10000,  [GW_CLOCK_LOOKUP] = 1500,  [GW_CLOCK_DIAL] = 10000, [GW_CLOCK_HELLO] = 1000,
	[GW_CLOCK_QUIET] = 60000, [GW_CLOCK_IDLE] = 7140000, [GW_CLOCK_DRAIN] = 2000
};

static int64_t read_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool gw_watch(struct gw_proxy *p, struct gw_source *s, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = s };

	return epoll_ctl(p->epoll, EPOLL_CTL_ADD, s->fd, &ev) == 0;
}

static void off_clock(struct gw_proxy *p, struct gw_conn *c)
{
	if (c->clock == GW_CLOCKS)
		return;
	*(c->earlier ? &c->earlier->later : &p->clocks[c->clock].first) = c->later;
	*(c->later ? &c->later->earlier : &p->clocks[c->clock].last) = c->earlier;
	c->earlier = c->later = NULL;
	c->clock = GW_CLOCKS;
}

void gw_clock(struct gw_proxy *p, struct gw_conn *c, enum gw_clock clock)
{
	if (c->dead)
		return;
	off_clock(p, c);
	c->clock = (uint8_t)clock;
	c->due = p->now + limits[clock];
	c->earlier = p->clocks[clock].last;
	*(c->earlier ? &c->earlier->later : &p->clocks[clock].first) = c;
	p->clocks[clock].last = c;
}

static int next_due(const struct gw_proxy *p)
{
	int64_t first = INT64_MAX;

	if (p->busy)
		return 0;
	for (size_t i = 0; i < GW_CLOCKS; i++)
		if (p->clocks[i].first)
			first = OC_MIN(first, p->clocks[i].first->due);
	if (!p->listening)
		first = OC_MIN(first, p->now + WAIT_AGAIN);
	return first == INT64_MAX ? -1 : first <= p->now ? 0 : (int)(first - p->now);
}

static void ring(struct gw_proxy *p)
{
	for (size_t i = 0; i < GW_CLOCKS; i++)
		while (p->clocks[i].first && p->clocks[i].first->due <= p->now) {
			struct gw_conn *c = p->clocks[i].first;

			off_clock(p, c);
			gw_conn_due(p, c, (enum gw_clock)i);
		}
}

static void listen_or_not(struct gw_proxy *p, bool on)
{
	if (p->listening == on)
		return;
	for (size_t i = 0; i < p->policy->n_listen; i++) {
		struct epoll_event ev = { .events = EPOLLIN, .data.ptr = &p->listeners[i] };

		(void)epoll_ctl(p->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, p->listeners[i].fd, &ev);
	}
	p->listening = on;
}

static void accept_some(struct gw_proxy *p, int listener)
{
	for (int i = 0; i < ACCEPTS; i++) {
		bool over = p->n - p->n_over >= p->n_max;
		int fd;

		if (over && p->n_over == GW_REFUSED_MAX) {
			listen_or_not(p, false);
			return;
		}
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0 && errno != EAGAIN)
			listen_or_not(p, false);
		if (fd < 0)
			return;
		gw_conn_accept(p, fd, over);
	}
}

static struct gw_conn *owner(struct gw_source *s)
{
	size_t offset = s->kind == GW_CLIENT ? offsetof(struct gw_conn, client) : offsetof(struct gw_conn, server);

	return (struct gw_conn *)(void *)((char *)s - offset);
}

static void serve(struct gw_proxy *p, struct gw_source *s, uint32_t events)
{
	struct gw_conn *c;

	if (s->kind == GW_LISTENER) {
		accept_some(p, s->fd);
		return;
	}
	if (s->kind == GW_LOOKUP) {
		struct gw_lookup *l = (struct gw_lookup *)(void *)s;

		if (!l->conn->dead)
			gw_lookup_event(p, l);
		return;
	}
	c = owner(s);
	if (!c->dead)
		gw_conn_event(p, c, s->kind == GW_CLIENT ? &c->client : &c->server, events);
}

/* Only between two batches of events: one batch may name both ends of a connection. */
static void bury(struct gw_proxy *p)
{
	struct gw_conn *c;
	bool room = p->dead;

	while ((c = p->dead)) {
		p->dead = c->next_dead;
		off_clock(p, c);
		gw_conn_free(p, c);
	}
	if (room || !p->listening)
		listen_or_not(p, true);
}

static void step_busy(struct gw_proxy *p)
{
	struct gw_conn *c = p->busy, *next;

	p->busy = NULL;
	for (; c; c = next) {
		next = c->next_busy;
		c->busy = false;
		if (!c->dead)
			gw_conn_step(p, c);
	}
}

/* The one byte that the other end never sends, or its end: the run is over. */
static bool control_ended(struct gw_proxy *p, uint32_t events)
{
	return p->control.fd >= 0 && events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP);
}

static bool tell(struct gw_proxy *p)
{
	int left = gw_events_flush(p->events);
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP, .data.ptr = &p->control };

	if (left < 0)
		return false;
	if (p->control_waits != (left > 0)) {
		p->control_waits = left > 0;
		ev.events |= left > 0 ? EPOLLOUT : 0;
		(void)epoll_ctl(p->epoll, EPOLL_CTL_MOD, p->control.fd, &ev);
	}
	return true;
}

int gw_proxy_run(struct gw_proxy *p)
{
	struct epoll_event ev[BATCH];

	for (;;) {
		int n = epoll_wait(p->epoll, ev, BATCH, next_due(p));

		if (n < 0 && errno != EINTR)
			return errno;
		p->now = read_clock();
		for (int i = 0; i < n; i++) {
			struct gw_source *s = ev[i].data.ptr;

			if (s->kind != GW_CONTROL)
				serve(p, s, ev[i].events);
			else if (control_ended(p, ev[i].events))
				return 0;
		}
		step_busy(p);
		ring(p);
		bury(p);
		if (!tell(p))
			return 0;
	}
}

bool gw_proxy_start(struct gw_proxy *p, const struct gw_policy *policy, struct gw_events *events, const int *listeners,
                    size_t n_max)
{
	memset(p, 0, sizeof(*p));
	p->policy = policy;
	p->events = events;
	p->n_max = n_max;
	p->now = read_clock();
	p->control = (struct gw_source){ events->fd, GW_CONTROL };
	for (size_t i = 0; i < policy->n_listen; i++)
		p->listeners[i] = (struct gw_source){ listeners[i], GW_LISTENER };
	p->scratch = malloc(GW_SCRATCH);
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!p->scratch || p->epoll < 0 || !gw_watch(p, &p->control, EPOLLIN | EPOLLRDHUP))
		return false;
	listen_or_not(p, true);
	return true;
}

void gw_proxy_stop(struct gw_proxy *p)
{
	for (size_t i = 0; i < GW_CLOCKS; i++)
		while (p->clocks[i].first) {
			gw_conn_end(p, p->clocks[i].first);
			bury(p);
			(void)gw_events_flush(p->events);
		}
	bury(p);
	listen_or_not(p, false);
	for (size_t i = 0; i < p->policy->n_listen; i++)
		close(p->listeners[i].fd);
	while (p->pipes.idle) {
		struct gw_pipe *pipe = p->pipes.idle;

		p->pipes.idle = pipe->next;
		gw_pipes_give(&p->pipes, pipe, 1);
	}
	close(p->epoll);
	free(p->scratch);
}

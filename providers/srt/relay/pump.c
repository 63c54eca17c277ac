/* SPDX-License-Identifier: Apache-2.0 */
#include "pump.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS 64

struct pair;
struct side {
	struct pair *pair;
	struct side *other;
	int fd;
	bool added;        /* to the epoll descriptor */
	uint32_t events;   /* as it was told */
	bool connecting;   /* not there yet: nothing is read from the other end */
	bool ended;        /* no more comes from it */
	bool closed;       /* it takes no more: it was told the other's end, or is broken */
	char *held;        /* what came from the other end and is to be written here; NULL: nothing */
	size_t from, upto; /* the part of held that is left */
};
struct pair {
	struct side side[2];
	bool dead;
	struct pair *next, *prev, *next_dead;
};
struct relay {
	int epoll, listener;
	bool listens; /* the listener is being watched */
	struct relay_address target;
	struct pair *pairs, *dead;
	size_t n;
	char scratch[RELAY_BUFFER];
};

static void watch_listener(struct relay *r, bool on)
{
	struct epoll_event ev = { .events = EPOLLIN };

	if (r->listener < 0 || r->listens == on)
		return;
	if (epoll_ctl(r->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, r->listener, &ev) == 0)
		r->listens = on;
}

struct relay *relay_new(int listener, const struct relay_address *target)
{
	struct relay *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->listener = listener;
	if (target)
		r->target = *target;
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll >= 0)
		watch_listener(r, true);
	if (r->epoll >= 0 && r->listens == (listener >= 0))
		return r;
	relay_free(r);
	return NULL;
}

static void kill_pair(struct relay *r, struct pair *p)
{
	if (p->dead)
		return;
	p->dead = true;
	p->next_dead = r->dead;
	r->dead = p;
}

/* Only between two batches of events: one batch may name both ends of a pair. */
static void bury(struct relay *r)
{
	bool room = r->dead;
	struct pair *p;

	while ((p = r->dead)) {
		r->dead = p->next_dead;
		*(p->prev ? &p->prev->next : &r->pairs) = p->next;
		if (p->next)
			p->next->prev = p->prev;
		for (int i = 0; i < 2; i++) {
			close(p->side[i].fd);
			free(p->side[i].held);
		}
		free(p);
		r->n--;
	}
	if (room)
		watch_listener(r, true);
}

/* An end whose own input has ended and that waits for nothing is watched still, for its hanging up (events 0); one that
 * hung up and still has input, which the other end can't take yet, must not be: epoll would tell of it for ever. */
static void rewatch(struct relay *r, struct side *s, bool hung_up)
{
	struct epoll_event ev = { .data.ptr = s };
	bool keep;

	if (!s->ended && !s->other->held && !s->other->connecting)
		ev.events |= EPOLLIN;
	if (s->held || s->connecting)
		ev.events |= EPOLLOUT;
	keep = ev.events || !(hung_up || s->closed);
	if (keep && s->added && ev.events == s->events)
		return;
	if (!keep && !s->added)
		return;
	if (epoll_ctl(r->epoll, !keep ? EPOLL_CTL_DEL : s->added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, s->fd, &ev) < 0) {
		kill_pair(r, s->pair);
		return;
	}
	s->added = keep;
	s->events = ev.events;
}

static void drop_held(struct side *s)
{
	free(s->held);
	s->held = NULL;
	s->from = s->upto = 0;
}

/* It takes nothing any more, so there is no use in what the other end still sends. */
static void broken(struct side *s)
{
	drop_held(s);
	s->closed = true;
	s->other->ended = true;
}

/* What was read from the other end, as far as it goes; -1: broken. */
static ssize_t put(struct side *s, const char *bytes, size_t len)
{
	ssize_t n;

	do
		n = send(s->fd, bytes, len, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN)
		return -1;
	return n < 0 ? 0 : n;
}

static bool hold(struct side *s, const char *bytes, size_t len)
{
	s->held = malloc(len);
	if (!s->held)
		return false;
	memcpy(s->held, bytes, len);
	s->from = 0;
	s->upto = len;
	return true;
}

static void flush_held(struct side *s)
{
	ssize_t n = put(s, s->held + s->from, s->upto - s->from);

	if (n < 0)
		broken(s);
	else if ((s->from += (size_t)n) == s->upto)
		drop_held(s);
}

static void pull(struct relay *r, struct side *s)
{
	struct side *to = s->other;
	ssize_t n = recv(s->fd, r->scratch, sizeof(r->scratch), 0), done;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		s->ended = true;
		if (n < 0)
			broken(s);
		return;
	}
	done = put(to, r->scratch, (size_t)n);
	if (done < 0)
		broken(to);
	else if (done < n && !hold(to, r->scratch + done, (size_t)(n - done)))
		kill_pair(r, s->pair);
}

/* The end of an end's input is passed on once all before it was. */
static void pass_end(struct side *s)
{
	if (s->other->ended && !s->held && !s->closed && !s->connecting) {
		s->closed = true;
		(void)shutdown(s->fd, SHUT_WR);
	}
}

static void connected(struct relay *r, struct side *s)
{
	int err = 0;
	socklen_t len = sizeof(err);

	s->connecting = false;
	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0 || err)
		kill_pair(r, s->pair);
}

static void serve(struct relay *r, struct side *s, uint32_t events)
{
	struct pair *p = s->pair;
	bool hung_up = events & (EPOLLHUP | EPOLLERR);

	if (p->dead)
		return;
	if (s->connecting)
		connected(r, s);
	if (s->held && (events & EPOLLOUT || hung_up))
		flush_held(s);
	if (!s->ended && !s->other->held && (events & EPOLLIN || hung_up))
		pull(r, s);
	if (hung_up && s->ended && !s->closed)
		broken(s);
	pass_end(&p->side[0]);
	pass_end(&p->side[1]);
	if (p->side[0].closed && p->side[1].closed)
		kill_pair(r, p);
	if (p->dead)
		return;
	rewatch(r, s, hung_up);
	rewatch(r, s->other, !s->other->added);
}

static bool add(struct relay *r, int a, int b, bool connecting)
{
	struct pair *p = calloc(1, sizeof(*p));

	if (!p) {
		close(a);
		close(b);
		return false;
	}
	p->side[0] = (struct side){ .pair = p, .other = &p->side[1], .fd = a };
	p->side[1] = (struct side){ .pair = p, .other = &p->side[0], .fd = b, .connecting = connecting };
	p->next = r->pairs;
	if (p->next)
		p->next->prev = p;
	r->pairs = p;
	r->n++;
	rewatch(r, &p->side[0], false);
	rewatch(r, &p->side[1], false);
	return !p->dead;
}

bool relay_join(struct relay *r, int a, int b)
{
	return add(r, a, b, false);
}

static void set(int fd, int level, int name, int value)
{
	if (value)
		(void)setsockopt(fd, level, name, &value, sizeof(value));
}

static int dial(const struct relay_address *to, bool *connecting)
{
	int fd = socket(to->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (to->at.any.sa_family != AF_UNIX) {
		set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
		set(fd, SOL_SOCKET, SO_KEEPALIVE, to->keepalive);
		set(fd, IPPROTO_TCP, TCP_KEEPIDLE, to->keepidle);
		set(fd, IPPROTO_TCP, TCP_KEEPINTVL, to->keepintvl);
		set(fd, IPPROTO_TCP, TCP_KEEPCNT, to->keepcnt);
	}
	*connecting = false;
	if (connect(fd, &to->at.any, to->len) == 0)
		return fd;
	*connecting = errno == EINPROGRESS;
	if (*connecting)
		return fd;
	close(fd);
	return -1;
}

static void accept_some(struct relay *r)
{
	while (r->n < RELAY_PAIRS) {
		bool connecting;
		int a = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), b;

		if (a < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			break;
		if (a < 0)
			return;
		set(a, IPPROTO_TCP, TCP_NODELAY, 1);
		b = dial(&r->target, &connecting);
		if (b < 0)
			close(a);
		else
			(void)add(r, a, b, connecting);
	}
	/* Full, here or in the whole system: until a pair ends, or, with none that could, for a while. */
	if (r->n)
		watch_listener(r, false);
	else
		(void)poll(NULL, 0, 100);
}

int relay_step(struct relay *r, int timeout_ms)
{
	struct epoll_event ev[EVENTS];
	int i, n = epoll_wait(r->epoll, ev, EVENTS, timeout_ms);

	if (n < 0)
		return errno == EINTR ? 0 : -1;
	for (i = 0; i < n; i++) {
		if (ev[i].data.ptr)
			serve(r, ev[i].data.ptr, ev[i].events);
		else
			accept_some(r);
	}
	bury(r);
	return n;
}

size_t relay_pairs(const struct relay *r)
{
	return r->n;
}

void relay_free(struct relay *r)
{
	if (!r)
		return;
	for (struct pair *p = r->pairs; p; p = p->next)
		kill_pair(r, p);
	r->listener = -1;
	bury(r);
	if (r->epoll >= 0)
		close(r->epoll);
	free(r);
}

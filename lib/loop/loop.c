/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/loop.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"

#define BATCH   64
#define UNARMED INT64_MAX

enum kind { KIND_IO, KIND_TIMER, KIND_CHILD };

struct oc_source {
	struct oc_loop *loop;
	struct oc_source *prev, *next;
	enum kind kind;
	bool dead, polled; /* polled: in the epoll set */
	int fd;            /* -1 for timers */
	unsigned events;
	int64_t deadline; /* of a timer, ns */
	union {
		oc_io_fn io;
		oc_timer_fn timer;
		oc_child_fn child;
	} fn;
	void *userdata;
};

struct oc_loop {
	int epoll_fd, timer_fd;
	int64_t armed; /* what timer_fd is set to */
	struct oc_source *sources, *graveyard;
	bool dispatching, dead;
};

static int poll_add(struct oc_loop *loop, int fd, uint32_t events, void *ptr)
{
	struct epoll_event ev = { .events = events, .data.ptr = ptr };

	return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

int oc_loop_new(struct oc_loop **out, oc_error **err)
{
	struct oc_loop *loop = calloc(1, sizeof(*loop));
	int rc;

	if (!loop)
		return oc_nomem(err);
	loop->armed = UNARMED;
	loop->timer_fd = -1;
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0)
		goto fail;
	loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (loop->timer_fd < 0)
		goto fail;
	/* The loop itself stands for its timer among the sources. */
	rc = poll_add(loop, loop->timer_fd, EPOLLIN, loop);
	if (rc < 0) {
		errno = -rc;
		goto fail;
	}
	*out = loop;
	return 0;
fail:
	rc = oc_fail(err, OC_EIO, errno, "cannot make an event loop");
	oc_loop_free(loop);
	return rc;
}

static void unlink_source(struct oc_source *s)
{
	if (s->prev)
		s->prev->next = s->next;
	else
		s->loop->sources = s->next;
	if (s->next)
		s->next->prev = s->prev;
}

static void bury(struct oc_loop *loop)
{
	while (loop->graveyard) {
		struct oc_source *s = loop->graveyard;

		loop->graveyard = s->next;
		free(s);
	}
}

static void release_loop(struct oc_loop *loop)
{
	bury(loop);
	oc_close(loop->timer_fd);
	oc_close(loop->epoll_fd);
	free(loop);
}

void oc_loop_free(struct oc_loop *loop)
{
	if (!loop || loop->dead)
		return;
	while (loop->sources)
		oc_source_free(loop->sources);
	loop->dead = true;
	if (!loop->dispatching)
		release_loop(loop);
}

int oc_loop_fd(const struct oc_loop *loop)
{
	return loop->epoll_fd;
}

/* One descriptor serves all timers: set to the nearest, moved only when that changes. */
static void rearm(struct oc_loop *loop)
{
	struct itimerspec when = { 0 };
	int64_t nearest = UNARMED;

	for (const struct oc_source *s = loop->sources; s; s = s->next)
		if (s->kind == KIND_TIMER)
			nearest = OC_MIN(nearest, s->deadline);
	if (nearest == loop->armed)
		return;
	if (nearest != UNARMED) {
		/* All zero would disarm it; a time long past is what is meant. */
		when.it_value.tv_sec = nearest / 1000000000;
		when.it_value.tv_nsec = OC_MAX(nearest % 1000000000, (int64_t)1);
	}
	if (timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &when, NULL) == 0)
		loop->armed = nearest;
}

static struct oc_source *new_source(struct oc_loop *loop, enum kind kind, int fd, void *userdata)
{
	struct oc_source *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct oc_source){
		.loop = loop, .kind = kind, .fd = fd, .deadline = UNARMED, .userdata = userdata, .next = loop->sources
	};
	if (loop->sources)
		loop->sources->prev = s;
	loop->sources = s;
	return s;
}

static uint32_t to_epoll(unsigned events)
{
	return (events & OC_READ ? (uint32_t)EPOLLIN : 0) | (events & OC_WRITE ? (uint32_t)EPOLLOUT : 0);
}

int oc_loop_add_fd(struct oc_loop *loop, int fd, unsigned events, oc_io_fn fn, void *userdata, struct oc_source **out,
                   oc_error **err)
{
	struct oc_source *s = new_source(loop, KIND_IO, fd, userdata);
	int rc;

	if (!s)
		return oc_nomem(err);
	s->fn.io = fn;
	s->events = events;
	rc = poll_add(loop, fd, to_epoll(events), s);
	if (rc < 0) {
		oc_source_free(s);
		return oc_fail(err, OC_EIO, -rc, "cannot watch descriptor %d", fd);
	}
	s->polled = true;
	*out = s;
	return 0;
}

void oc_source_set_events(struct oc_source *s, unsigned events)
{
	struct epoll_event ev = { .events = to_epoll(events), .data.ptr = s };

	if (s->dead || s->kind != KIND_IO || events == s->events)
		return;
	if (epoll_ctl(s->loop->epoll_fd, EPOLL_CTL_MOD, s->fd, &ev) == 0)
		s->events = events;
}

int oc_loop_add_timer(struct oc_loop *loop, int64_t ms, oc_timer_fn fn, void *userdata, struct oc_source **out,
                      oc_error **err)
{
	struct oc_source *s = new_source(loop, KIND_TIMER, -1, userdata);

	if (!s)
		return oc_nomem(err);
	s->fn.timer = fn;
	oc_source_set_timer(s, ms);
	*out = s;
	return 0;
}

void oc_source_set_timer(struct oc_source *s, int64_t ms)
{
	int64_t now = oc_mono_ns();

	if (s->dead || s->kind != KIND_TIMER)
		return;
	if (ms < 0 || ms > (INT64_MAX - 1 - now) / 1000000)
		s->deadline = UNARMED;
	else
		s->deadline = now + ms * 1000000;
	rearm(s->loop);
}

int oc_loop_add_child(struct oc_loop *loop, int pidfd, oc_child_fn fn, void *userdata, struct oc_source **out,
                      oc_error **err)
{
	struct oc_source *s = new_source(loop, KIND_CHILD, -1, userdata);
	int rc;

	if (!s)
		return oc_nomem(err);
	s->fn.child = fn;
	rc = poll_add(loop, pidfd, EPOLLIN, s);
	if (rc < 0) {
		oc_source_free(s);
		return oc_fail(err, OC_EIO, -rc, "cannot watch a child");
	}
	s->fd = pidfd;
	s->polled = true;
	*out = s;
	return 0;
}

static void stop_polling(struct oc_source *s)
{
	if (s->polled)
		epoll_ctl(s->loop->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
	s->polled = false;
}

void oc_source_free(struct oc_source *s)
{
	struct oc_loop *loop;

	if (!s || s->dead)
		return;
	loop = s->loop;
	s->dead = true;
	stop_polling(s);
	if (s->kind == KIND_CHILD)
		oc_close(s->fd);
	unlink_source(s);
	/* An event that is already in the batch still points here. */
	s->prev = NULL;
	s->next = loop->graveyard;
	loop->graveyard = s;
	if (s->kind == KIND_TIMER)
		rearm(loop);
	if (!loop->dispatching)
		bury(loop);
}

static int run_child(struct oc_source *s)
{
	siginfo_t info;
	int rc;

	do {
		memset(&info, 0, sizeof(info));
		rc = waitid(P_PIDFD, (id_t)s->fd, &info, WEXITED | WNOHANG);
	} while (rc < 0 && errno == EINTR);
	if (rc == 0 && info.si_pid == 0)
		return 0;
	if (rc < 0)
		memset(&info, 0, sizeof(info));
	stop_polling(s);
	s->fn.child(&info, s->userdata);
	return 1;
}

static int run_io(struct oc_source *s, uint32_t events)
{
	unsigned ready = (events & EPOLLIN ? OC_READ : 0) | (events & EPOLLOUT ? OC_WRITE : 0) |
	                 (events & (EPOLLHUP | EPOLLERR) ? OC_HANGUP : 0);

	/* What an earlier callback of this batch no longer wants is not reported. */
	ready &= s->events | OC_HANGUP;
	if (!ready)
		return 0;
	s->fn.io(s->fd, ready, s->userdata);
	return 1;
}

static struct oc_source *expired(struct oc_loop *loop, int64_t now)
{
	struct oc_source *first = NULL;

	for (struct oc_source *s = loop->sources; s; s = s->next)
		if (s->kind == KIND_TIMER && s->deadline <= now && (!first || s->deadline < first->deadline))
			first = s;
	return first;
}

/* In order of their deadlines.  `now` stays, so a timer set again for 0 ms waits for the next dispatch. */
static int run_timers(struct oc_loop *loop)
{
	int64_t now = oc_mono_ns();
	struct oc_source *s;
	uint64_t ticks;
	int n = 0;

	/* Takes the event back; nothing there is fine too. */
	if (read(loop->timer_fd, &ticks, sizeof(ticks)) == (ssize_t)sizeof(ticks))
		loop->armed = UNARMED;
	while (!loop->dead && (s = expired(loop, now))) {
		s->deadline = UNARMED;
		s->fn.timer(s->userdata);
		n++;
	}
	if (!loop->dead)
		rearm(loop);
	return n;
}

static int run_event(struct oc_loop *loop, const struct epoll_event *ev)
{
	struct oc_source *s = ev->data.ptr;

	if (ev->data.ptr == loop)
		return run_timers(loop);
	if (s->dead || !s->polled)
		return 0;
	return s->kind == KIND_CHILD ? run_child(s) : run_io(s, ev->events);
}

int oc_loop_dispatch(struct oc_loop *loop, oc_error **err)
{
	struct epoll_event events[BATCH];
	int n, ran = 0;

	if (loop->dispatching || loop->dead)
		return oc_fail(err, OC_EINVAL, 0, "the event loop is running already");
	n = epoll_wait(loop->epoll_fd, events, BATCH, 0);
	if (n < 0)
		return errno == EINTR ? 0 : oc_fail(err, OC_EIO, errno, "cannot wait for events");
	loop->dispatching = true;
	for (int i = 0; i < n && !loop->dead; i++)
		ran += run_event(loop, &events[i]);
	loop->dispatching = false;
	if (loop->dead)
		release_loop(loop);
	else
		bury(loop);
	return ran;
}

int oc_loop_wait(struct oc_loop *loop, int timeout_ms, oc_error **err)
{
	struct pollfd pfd = { .fd = loop->epoll_fd, .events = POLLIN };

	if (loop->dispatching || loop->dead)
		return oc_fail(err, OC_EINVAL, 0, "the event loop is running already");
	/* A signal ends the wait: whoever waits may have something to look at. */
	if (poll(&pfd, 1, timeout_ms) < 0 && errno != EINTR)
		return oc_fail(err, OC_EIO, errno, "cannot wait for events");
	return oc_loop_dispatch(loop, err);
}

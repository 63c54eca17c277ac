/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "serve.h"

#define LOOK_MS    1000   /* at what other processes did */
#define SETTLE_MS  30000  /* after somebody changed something */
#define REST_MS    300000 /* without that: a host that was killed changes nothing */
#define LOCK_TRIES 20
#define LOCK_MS    100

enum { POLL_CONTEXT, POLL_SIGNAL, POLL_LISTEN, POLL_SETTLE, POLL_CLIENTS };

void serve_say(struct serve *s, const char *what, const oc_error *err)
{
	host_report(s->h, what, err);
	out_flush(&s->h->err);
	oc_error_free((oc_error *)(uintptr_t)err);
}

static void watch(struct serve_poll *p, int fd, short events)
{
	p->v[p->n++] = (struct pollfd){ .fd = fd, .events = events };
}

static void collect(struct serve *s, struct serve_poll *p)
{
	p->n = 0;
	watch(p, oc_context_fd(s->h->ctx), POLLIN);
	watch(p, s->signals, POLLIN);
	watch(p, s->listen, POLLIN);
	watch(p, s->settle.pidfd, POLLIN);
	for (size_t i = 0; i < SERVE_CLIENTS; i++) {
		struct line *l = &s->clients[i].line;

		watch(p, l->fd, line_waits(l) ? POLLOUT : POLLIN);
	}
	for (size_t i = 0; i < SERVE_JOBS_MAX; i++) {
		if (!s->slots[i].number)
			continue;
		watch(p, s->slots[i].child.pidfd, POLLIN);
		watch(p, s->slots[i].child.out, POLLIN);
	}
	p->n += errands_poll(s->h, p->v + p->n);
}

static void take_signal(struct serve *s)
{
	struct signalfd_siginfo info;

	/* SIGHUP: there is nothing to read anew, the config is read for each run. */
	while (read(s->signals, &info, sizeof(info)) == sizeof(info))
		s->over |= info.ssi_signo != SIGHUP;
}

/* What other processes changed. */
static void look(struct serve *s)
{
	int64_t changes = s->changes;
	oc_error *err = NULL;
	bool changed;

	s->looked = host_mono_ms();
	if (oc_store_changes(s->h->store, &changes, &err) < 0)
		serve_say(s, "the store can't be read", err);
	changed = changes != s->changes;
	s->changes = changes;
	if (changed)
		hosted_look(s);
	if (s->settle_wanted == s->settle_begun && (changed || s->looked > s->settle_at + REST_MS)) {
		serve_settle(s, NULL);
		s->settle_at += changed && !s->draining ? SETTLE_MS : 0;
	}
	if (!changed && !s->look && !s->watch && !s->unripe)
		return;
	s->look = false;
	serve_adopt(s);
	serve_queue(s);
}

static bool drained(const struct serve *s)
{
	bool busy = s->settle.pid || (s->settle_wanted > s->settle_over && !s->settle_pause);

	for (size_t i = 0; i < SERVE_JOBS_MAX; i++)
		busy |= s->slots[i].number && !s->slots[i].hold;
	return s->draining && !busy && !s->look && !s->kept && !s->adopted && !s->starting && !s->started;
}

static int wait_time(const struct serve *s)
{
	long long now = host_mono_ms(), until = s->looked + LOOK_MS;

	if (s->look)
		return 0;
	if (!s->settle.pid && s->settle_wanted > s->settle_begun && s->settle_at < until)
		until = s->settle_at;
	if (routes_wait(s) >= 0 && now + routes_wait(s) < until)
		until = now + routes_wait(s);
	if (s->hurry >= 0 && now + s->hurry < until)
		until = now + s->hurry;
	return until > now ? (int)(until - now) : 0;
}

static bool turn(struct serve *s, struct serve_poll *p)
{
	oc_error *err = NULL;

	collect(s, p);
	if (poll(p->v, p->n, wait_time(s)) < 0)
		return errno == EINTR;
	if (p->v[POLL_SIGNAL].revents)
		take_signal(s);
	if (p->v[POLL_CONTEXT].revents && oc_context_dispatch(s->h->ctx, &err) < 0) {
		serve_say(s, "the daemon ends", err);
		return false;
	}
	for (size_t i = 0; i < SERVE_CLIENTS; i++)
		if (s->clients[i].line.fd >= 0 && p->v[POLL_CLIENTS + i].revents)
			serve_client_turn(s, &s->clients[i], p->v[POLL_CLIENTS + i].revents);
	serve_clients_late(s);
	if (p->v[POLL_LISTEN].revents)
		serve_accept(s);
	errands_turn(s->h);
	serve_adopted_turn(s);
	for (size_t i = 0; i < SERVE_JOBS_MAX; i++)
		if (s->slots[i].number)
			serve_slot_turn(s, &s->slots[i]);
	serve_settle_turn(s);
	routes_turn(s);
	if (s->look || host_mono_ms() >= s->looked + LOOK_MS)
		look(s);
	return true;
}

static int loop(struct serve *s)
{
	struct serve_poll *p = calloc(1, sizeof(*p));
	bool good = p != NULL;

	while (good && !s->over) {
		good = turn(s, p);
		if (drained(s)) {
			serve_clients_drained(s);
			s->over = true;
		}
	}
	free(p);
	return good ? EXIT_GOOD : EXIT_NO;
}

/* One that is ending has it for a moment yet. */
static bool alone(struct serve *s)
{
	static const struct refusal r = { "serve_running", "serve.lock",
		                          "a daemon is at work in this state directory already",
		                          "open-conduit serve --status" };

	s->lock = place_lock_file(s->h, true);
	for (int i = 0; s->lock >= 0 && i < LOCK_TRIES; i++) {
		if (place_lock(s->lock, 0))
			return true;
		poll(NULL, 0, LOCK_MS);
	}
	if (s->lock >= 0)
		host_refuse(s->h, "not started", &r);
	else
		out_printf(&s->h->err, "open-conduit: serve.lock can't be opened: %s\n", strerror(errno));
	return false;
}

static bool begin(struct serve *s)
{
	struct rlimit files;
	sigset_t set;

	for (size_t i = 0; i < SERVE_CLIENTS; i++)
		s->clients[i].line.fd = -1;
	for (size_t i = 0; i < SERVE_JOBS_MAX; i++)
		s->slots[i].child.pidfd = s->slots[i].child.out = -1;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		s->fd_limit = files.rlim_cur;
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals >= 0 && alone(s) && place_token_make(s->h, s->token) && serve_listen(s);
}

static void end(struct serve *s)
{
	serve_notify("STOPPING=1");
	if (s->listen >= 0)
		place_leave(s->h);
	routes_end(s);
	hosted_leave(s);
	serve_adopted_forget(s);
	for (size_t i = 0; i < SERVE_CLIENTS; i++)
		line_end(&s->clients[i].line);
	for (size_t i = 0; i < SERVE_JOBS_MAX; i++)
		child_forget(&s->slots[i].child);
	child_forget(&s->settle);
	/* The lock last: who has it next finds nothing of ours. */
	for (size_t i = 0; i < 3; i++) {
		int fd = i == 0 ? s->listen : i == 1 ? s->signals : s->lock;

		if (fd >= 0)
			close(fd);
	}
}

int serve_daemon(struct host *h, int jobs)
{
	struct serve *s = calloc(1, sizeof(*s));
	int status = EXIT_NO;

	if (!s)
		return status;
	s->h = h;
	s->jobs = jobs;
	s->hurry = -1;
	s->lock = s->listen = s->signals = s->settle.pidfd = s->settle.out = -1;
	s->began = host_mono_ms();
	if (begin(s)) {
		/* What was left is settled first of all, by a process of its own: a store with years in it delays nobody. */
		serve_settle(s, NULL);
		s->look = true;
		serve_notify("READY=1\nSTATUS=running");
		out_printf(&h->err, "open-conduit: serving %s, at most %d runs at once\n", oc_context_state_dir(h->ctx),
		           jobs);
		out_flush(&h->err);
		status = loop(s);
	}
	end(s);
	free(s);
	return status;
}

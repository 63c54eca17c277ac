/* SPDX-License-Identifier: Apache-2.0 */
/* While the container is there, and what comes after. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ask.h"
#include "channel.h"
#include "cleanup.h"
#include "common/checks.h"
#include "session.h"

#define AGAIN_MS 1000
#define LAST_MS  2000

enum { SIGNAL, GUARD, CONTAINER, GATEWAY, FD, DESCRIPTORS };

/* Until the channel is handed over the guard's end of it shows here that it is gone; its orders are not for us. */
static void fill_poll(const struct session *s, int fd, struct pollfd p[DESCRIPTORS])
{
	p[SIGNAL] = (struct pollfd){ .fd = s->signals, .events = POLLIN };
	p[GUARD] = (struct pollfd){ .fd = s->handed ? -1 : 0, .events = POLLRDHUP };
	p[CONTAINER] = (struct pollfd){ .fd = s->container.pidfd, .events = POLLIN };
	p[GATEWAY] = (struct pollfd){ .fd = s->gateway.pidfd, .events = POLLIN };
	p[FD] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

static int engine_failed(struct session *s, int rc)
{
	return refuse(s->r, "sandbox_unavailable", "engine", "open-conduit doctor",
	              "the engine can't be waited for: %s", strerror(-rc));
}

/* What ends the wait, whatever it is for. */
static int check_end(struct session *s, const struct pollfd p[DESCRIPTORS])
{
	if (p[SIGNAL].revents || p[GUARD].revents) {
		s->ended = true;
		return -1;
	}
	if (p[FD].revents)
		return 0;
	if (p[CONTAINER].revents)
		return refuse(s->r, "sandbox_unavailable", "container", "open-conduit doctor",
		              "the container ended before its guest was there");
	if (p[GATEWAY].revents)
		return refuse(s->r, "sandbox_unavailable", "gateway", "open-conduit doctor", "the gateway ended");
	return 0;
}

int session_await(struct session *s, int fd, int timeout_ms, const char *what)
{
	long end = now_ms() + timeout_ms;

	for (;;) {
		struct pollfd p[DESCRIPTORS];
		long left = end - now_ms();
		int rc;

		fill_poll(s, fd, p);
		rc = engine_poll(s->engine, p, DESCRIPTORS, left > 0 ? (int)left : 0);
		if (rc < 0 && rc != -EINTR)
			return engine_failed(s, rc);
		if (check_end(s, p) < 0)
			return -1;
		if (p[FD].revents || fd < 0)
			return 0;
		if (left <= 0)
			return refuse(s->r, "sandbox_unavailable", what, "open-conduit doctor",
			              "the %s was not there within %d seconds", what, timeout_ms / 1000);
	}
}

static void read_events(struct session *s)
{
	char data[4096];
	ssize_t n;

	while ((n = recv(s->gateway.socket, data, sizeof(data), 0)) > 0)
		events_feed(&s->events, data, (size_t)n);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	close(s->gateway.socket);
	s->gateway.socket = -1;
}

/* 1: it is over.  An answer that never came is none: the engine is asked again, as long as it takes, since the container may be
 * there still. */
static int ask_again(struct session *s)
{
	cleanup_free char *path = format("/containers/%s/json", s->container.id),
	                  *wait = format("/containers/%s/wait?condition=not-running", s->container.id);
	struct reply reply = { 0 };
	long status;
	bool running;

	if (!path || !wait)
		return no_memory(s->r);
	engine_ask(s->engine, "GET", path, NULL, ASK_MS, &reply);
	status = reply.status;
	running = json_is_true(json_object_get(json_object_get(reply.json, "State"), "Running"));
	reply_clear(&reply);
	if (status == 404 || (status == 200 && !running))
		return 1;
	if (status == 200)
		s->container.wait = engine_begin(s->engine, "POST", wait, NULL, 0);
	return 0;
}

/* 1: the container is over. */
static int check_wait(struct session *s)
{
	struct reply reply = { 0 };
	long status;

	if (!s->container.wait)
		return ask_again(s);
	if (!request_done(s->container.wait))
		return 0;
	request_take(s->container.wait, &reply);
	s->container.wait = NULL;
	status = reply.status;
	reply_clear(&reply);
	return status == 200 || status == 404 ? 1 : ask_again(s);
}

/* The gateway's end is the end of the run's network, and so of the run; but both end when the container's network goes. */
static int gateway_ended(struct session *s)
{
	return refuse(s->r, "sandbox_unavailable", "gateway", "open-conduit doctor",
	              "the gateway ended while the run was there: the run was stopped");
}

static int turn(struct session *s)
{
	struct pollfd p[DESCRIPTORS];
	int rc;

	fill_poll(s, s->gateway.socket, p);
	rc = engine_poll(s->engine, p, DESCRIPTORS, s->container.wait ? -1 : AGAIN_MS);
	if (rc < 0 && rc != -EINTR)
		return engine_failed(s, rc);
	if (p[FD].revents)
		read_events(s);
	if (p[SIGNAL].revents) {
		s->ended = true;
		return -1;
	}
	/* The engine says it a tenth of a second later; until it does the process is gone, and the container isn't. */
	if (p[CONTAINER].revents) {
		close(s->container.pidfd);
		close(s->gateway.pidfd);
		s->container.pidfd = s->gateway.pidfd = -1;
		if (s->gateway.socket >= 0)
			(void)shutdown(s->gateway.socket, SHUT_WR);
	}
	rc = check_wait(s);
	if (rc)
		return rc;
	return s->container.pidfd >= 0 && (s->gateway.socket < 0 || p[GATEWAY].revents) ? gateway_ended(s) : 0;
}

/* Also where only a child of the agent was killed: then the run went on, and the operator wants to know why something failed. */
static void tell_memory(struct session *s)
{
	cleanup_json json_t *shown = NULL;
	const json_t *limit = json_object_get(json_object_get(s->spec.container, "HostConfig"), "Memory");

	if (session_inspect(s, &s->container, &shown) < 0) {
		refusal_clear(s->r);
		return;
	}
	if (json_is_true(json_object_get(json_object_get(shown, "State"), "OOMKilled")))
		(void)fprintf(
		        stderr,
		        "open-conduit-provider-docker: the kernel ended a process of the run at its memory limit of "
		        "%lld bytes; raise limits.memory in the binding's policy\n",
		        (long long)json_integer_value(limit));
}

/* A gateway tells of what was under way when it is told to end; one that hangs is not waited for. */
static void last_words(struct session *s)
{
	long end = now_ms() + LAST_MS;

	if (s->gateway.socket >= 0)
		(void)shutdown(s->gateway.socket, SHUT_WR);
	while (s->gateway.socket >= 0) {
		struct pollfd p = { .fd = s->gateway.socket, .events = POLLIN };
		long left = end - now_ms();

		if (left <= 0 || (poll(&p, 1, (int)left) < 0 && errno != EINTR))
			return;
		read_events(s);
	}
}

int session_serve(struct session *s)
{
	int rc;

	do
		rc = turn(s);
	while (rc == 0);
	last_words(s);
	/* A guard that has the guest's word for the end doesn't wait for the engine's: it sends the signal. */
	if (rc == 1 || s->ended)
		tell_memory(s);
	return rc == 1 ? 0 : -1;
}

static void close_part(struct session *s, struct part *p, const char *folder)
{
	if (p->under_way)
		request_drop(p->under_way);
	if (p->wait)
		request_drop(p->wait);
	if (p->pidfd >= 0)
		close(p->pidfd);
	if (p->socket >= 0)
		close(p->socket);
	if (s->spec.live)
		channel_close(s->spec.live, folder, &p->listener);
	json_decref(p->asked);
	free(p->name);
	free(p->id);
}

int session_end(struct session *s)
{
	int rc = 0;

	/* A gateway ends by itself when its socket does. */
	close_part(s, &s->gateway, "gate");
	close_part(s, &s->container, "channel");
	events_close(&s->events);
	if (s->objects.fd >= 0) {
		const struct cleanup_input in = { .engine = s->engine,
			                          .objects = &s->objects,
			                          .run = s->spec.run,
			                          .instance = s->spec.instance,
			                          .lock = s->lock,
			                          .turn = &s->turn };

		rc = cleanup_all(&in, s->r);
	}
	objects_close(&s->objects);
	engine_free(s->engine);
	json_decref(s->values);
	spec_clear(&s->spec);
	if (s->lock >= 0)
		close(s->lock);
	if (s->signals >= 0)
		close(s->signals);
	return rc;
}

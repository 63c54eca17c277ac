/* SPDX-License-Identifier: Apache-2.0 */
/* From made to handed over.  Both are started at once; the channel goes to the guest when its gateway answers, because the first that
 * the guest does with it is to try the gateway. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ask.h"
#include "channel.h"
#include "mounts.h"
#include "session.h"

#define MEET_MS 120000

static int begin_wait(struct session *s, struct part *p)
{
	cleanup_free char *path = format("/containers/%s/wait?condition=next-exit", p->id);

	p->wait = path ? engine_begin(s->engine, "POST", path, NULL, 0) : NULL;
	return p->wait ? 0 : no_memory(s->r);
}

/* An exit that comes before the engine has the question would never be told. */
static int await_registered(struct session *s, struct part *p)
{
	while (!request_answered(p->wait)) {
		int rc = engine_poll(s->engine, NULL, 0, MEET_MS);

		if (rc < 0 && rc != -EINTR)
			return refuse(s->r, "sandbox_unavailable", "engine", NULL, "the engine can't be waited for: %s",
			              strerror(-rc));
	}
	return 0;
}

static int begin_start(struct session *s, struct part *p)
{
	cleanup_free char *path = format("/containers/%s/start", p->id);

	p->under_way = path ? engine_begin(s->engine, "POST", path, NULL, ASK_MS) : NULL;
	return p->under_way ? 0 : no_memory(s->r);
}

static int started(struct session *s, struct part *p)
{
	struct request *request = p->under_way;

	p->under_way = NULL;
	return ask_take(request, p->kind == KIND_GATEWAY ? "starting the gateway" : "starting the container", NULL,
	                s->r);
}

static int ended_at_once(struct session *s, const struct part *p, const json_t *state)
{
	const char *error = text_of(state, "Error");
	char words[200];

	channel_last_words(p->listener, words, sizeof(words));
	return refuse(s->r, "sandbox_unavailable", p->what, "open-conduit doctor",
	              "the %s ended at once, with status %lld%s%s%s%s", p->what,
	              (long long)json_integer_value(json_object_get(state, "ExitCode")), error && *error ? ": " : "",
	              error ? error : "", *words ? ": " : "", words);
}

/* Its first process is known to us by number and by descriptor: a number alone may be somebody else's later. */
static int look(struct session *s, struct part *p, json_t **shown)
{
	const json_t *state;

	if (session_inspect(s, p, shown) < 0)
		return -1;
	state = json_object_get(*shown, "State");
	p->pid = (pid_t)json_integer_value(json_object_get(state, "Pid"));
	p->pidfd = p->pid > 0 ? (int)syscall(SYS_pidfd_open, p->pid, 0) : -1;
	return p->pidfd >= 0 ? 0 : ended_at_once(s, p, state);
}

static int meet(struct session *s, struct part *p)
{
	while (p->socket < 0) {
		if (session_await(s, p->listener, MEET_MS, p->what) < 0)
			return -1;
		p->socket = channel_accept(p->listener, p->pid);
		if (p->socket < 0 && errno != EAGAIN)
			return refuse(s->r, "sandbox_unavailable", p->what, NULL, "the %s can't be met: %s", p->what,
			              strerror(errno));
	}
	return 0;
}

/* From here on the guard and the guest are alone; what stays at our descriptor 0 is nothing. */
static int hand_over(struct session *s)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || channel_send(s->container.socket, 0) < 0 || dup3(null, 0, O_CLOEXEC) < 0) {
		refuse(s->r, "sandbox_unavailable", "channel", NULL, "the channel can't be handed over: %s",
		       strerror(errno));
		if (null >= 0)
			close(null);
		return -1;
	}
	close(null);
	s->handed = true;
	close(s->container.socket);
	s->container.socket = -1;
	channel_close(s->spec.live, "channel", &s->container.listener);
	return 0;
}

int session_start(struct session *s)
{
	cleanup_json json_t *gateway = NULL, *container = NULL;

	/* The engine opens the paths at the start: what was looked at before has to be there still. */
	if (session_await(s, -1, 0, NULL) < 0 || mounts_verify(s->spec.sources, s->r) < 0)
		return -1;
	if (begin_wait(s, &s->container) < 0 || begin_wait(s, &s->gateway) < 0 ||
	    await_registered(s, &s->container) < 0 || await_registered(s, &s->gateway) < 0 ||
	    begin_start(s, &s->gateway) < 0 || begin_start(s, &s->container) < 0)
		return -1;
	if (started(s, &s->gateway) < 0 || look(s, &s->gateway, &gateway) < 0 || meet(s, &s->gateway) < 0)
		return -1;
	channel_close(s->spec.live, "gate", &s->gateway.listener);
	if (session_instruct(s, gateway) < 0)
		return -1;
	if (started(s, &s->container) < 0 || look(s, &s->container, &container) < 0 || meet(s, &s->container) < 0)
		return -1;
	if (hand_over(s) < 0)
		return -1;
	turn_leave(&s->turn);
	return 0;
}

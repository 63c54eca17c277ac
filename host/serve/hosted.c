/* SPDX-License-Identifier: Apache-2.0 */
/* Agents that the daemon speaks with: those it started whose input stays open.  What it knows of one it has from the store and
 * from the run's output, which is never acknowledged and so comes again from its beginning: the next daemon knows the same. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "executor/agent.h"
#include "serve.h"

#define LEAVE_MS 2000 /* for the ends of input to reach their guards */
#define STEP_MS  50

static json_t *record_of(struct host *h, const char *run)
{
	oc_error *err = NULL;
	char *text = NULL;

	if (oc_store_run(h->store, run, &text, &err) >= 0)
		return host_parse(h, "the record of a run", text);
	oc_error_free(err);
	return NULL;
}

void hosted_begin(struct serve_adopted *a)
{
	json_t *run = a->work ? record_of(a->s->h, a->id) : NULL;
	const struct executor *e = agent_executor_of(run);

	if (e && e->inject && agent_was_hosted(run))
		a->agent = calloc(1, sizeof(*a->agent));
	if (a->agent) {
		*a->agent = (struct agent){ .h = a->s->h, .executor = e, .work = a->work, .run = a->id };
		if (agent_take_over(a->agent, run) < 0)
			hosted_end(a); /* its output is judged from the disk, as ever; it takes nothing */
	}
	json_decref(run);
}

void hosted_end(struct serve_adopted *a)
{
	if (a->agent)
		agent_end(a->agent);
	free(a->agent);
	a->agent = NULL;
}

void hosted_state(oc_run *run, const char *state, const char *json, void *userdata)
{
	struct serve_adopted *a = userdata;

	(void)json;
	if (a->agent && !strcmp(state, "running"))
		agent_talk.running(run, a->agent);
}

void hosted_output(oc_run *run, int stream, uint64_t next, const void *data, size_t len, void *userdata)
{
	struct serve_adopted *a = userdata;

	(void)run;
	(void)next;
	if (a->agent && data && stream == 1)
		agent_talk.output(data, len, NULL, a->agent);
}

int hosted_turn(struct serve_adopted *a)
{
	if (!a->agent || !a->run || a->ended)
		return -1;
	(void)agent_talk.turn(a->run, a->agent);
	return agent_wait(a->agent);
}

void hosted_look(struct serve *s)
{
	for (struct serve_adopted *a = s->adopted; a; a = a->next)
		if (a->agent)
			a->agent->look = true;
}

static bool unsent(const struct serve *s)
{
	for (const struct serve_adopted *a = s->adopted; a; a = a->next)
		if (a->agent && a->run && oc_run_unsent(a->run))
			return true;
	return false;
}

/* Nobody may come after us: they do what they have, and end. */
void hosted_leave(struct serve *s)
{
	struct pollfd p = { .fd = oc_context_fd(s->h->ctx), .events = POLLIN };
	long long until = host_mono_ms() + LEAVE_MS;

	for (struct serve_adopted *a = s->adopted; a; a = a->next)
		if (a->agent && a->run && a->agent->written && !a->agent->closed)
			(void)agent_close(a->agent);
	while (unsent(s) && host_mono_ms() < until)
		if (poll(&p, 1, STEP_MS) > 0 && oc_context_dispatch(s->h->ctx, NULL) < 0)
			return;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent.h"

#include <stdlib.h>
#include <string.h>

#include "render.h"
#include "serve/place.h"

#define LOOK_MS   250 /* for messages that were queued */
#define RETRY_MS  50
#define SETTLE_MS 500 /* a job in the background that ends makes a turn begin by itself */

static bool add_mark(struct agent *a, const char *mark, int64_t number)
{
	struct agent_mark *m = a->n_marks < AGENT_MARKS_MAX ? reallocarray(a->marks, a->n_marks + 1, sizeof(*m)) : NULL;

	if (!m)
		return false;
	a->marks = m;
	m += a->n_marks++;
	*m = (struct agent_mark){ .number = number };
	snprintf(m->mark, sizeof(m->mark), "%s", mark);
	return true;
}

static void tell(struct agent *a, const char *what, oc_error *err)
{
	bool json = a->h->json;

	a->h->json = false; /* there is one answer, and it comes later */
	host_report(a->h, what, err);
	a->h->json = json;
	oc_error_free(err);
}

/* A message may have gone in with the prompt: then they have one mark. */
static void delivered(struct agent *a, const char *mark)
{
	for (size_t i = 0; mark && i < a->n_marks; i++) {
		struct agent_mark *m = &a->marks[i];
		oc_error *err = NULL;

		if (m->delivered || strcmp(m->mark, mark))
			continue;
		m->delivered = true;
		a->outcome.delivered |= !m->number;
		a->outcome.taken |= !m->number;
		if (m->number &&
		    oc_work_message(a->h->store, a->work, m->number, "given", "delivered", NULL, NULL, &err) < 0)
			tell(a, "it can't be recorded that a message was delivered", err);
	}
}

static void set(char **to, const char *text)
{
	free(*to);
	*to = text ? strdup(text) : NULL;
}

void agent_because(struct agent_outcome *o, const char *reason, const char *subject, const char *message,
                   const char *fix)
{
	set(&o->reason, reason);
	set(&o->subject, subject);
	set(&o->message, message);
	set(&o->fix, fix);
}

void agent_outcome_free(struct agent_outcome *o)
{
	agent_because(o, NULL, NULL, NULL, NULL);
	*o = (struct agent_outcome){ 0 };
}

static void turn_over(struct agent_outcome *o, const struct talk_event *e)
{
	o->finished = true;
	o->failed = e->failed;
	if (!e->failed)
		return;
	agent_because(o, e->why->reason, e->why->subject, e->why->message, e->why->fix);
	o->no_session |= e->why->no_session;
}

static void event(const struct talk_event *e, void *userdata)
{
	struct agent *a = userdata;

	switch (e->kind) {
	case TALK_STARTED:
		snprintf(a->outcome.session, sizeof(a->outcome.session), "%s", e->id ? e->id : "");
		a->outcome.finished = false;
		a->outcome.no_tools = a->needs_tools; /* until it is in the list that follows */
		break;
	case TALK_SERVER:
		if (e->name && !strcmp(e->name, AGENT_TOOLS_NAME) && !e->failed)
			a->outcome.no_tools = false;
		break;
	case TALK_TAKEN:
		for (size_t i = 0; e->id && i < a->n_marks; i++)
			a->outcome.taken |= !a->marks[i].number && !strcmp(a->marks[i].mark, e->id);
		break;
	case TALK_DELIVERED:
		delivered(a, e->id);
		break;
	case TALK_TURN:
		turn_over(&a->outcome, e);
		break;
	default:
		a->outcome.finished = false;
	}
	if (a->shown)
		render_event(a->shown, e, a->h->out.ascii);
}

static void flush(struct agent *a)
{
	oc_error *err = NULL;
	int rc;

	if (!a->unsent.len)
		return;
	rc = oc_run_write(a->handle, a->unsent.data, a->unsent.len, &err);
	/* Any other failure: nobody reads any more, and the run tells how it ended. */
	if (rc != OC_ELIMIT)
		text_free(&a->unsent);
	oc_error_free(err);
}

static void end_input(struct agent *a)
{
	oc_error *err = NULL;

	a->closed = true;
	if (oc_run_write_end(a->handle, &err) < 0)
		oc_error_free(err);
}

static bool note(struct agent *a, const char *type)
{
	oc_error *err = NULL;

	if (oc_store_note(a->h->store, a->run, type, "{}", &err) >= 0)
		return true;
	oc_error_free(err);
	return false;
}

bool agent_close(struct agent *a)
{
	if (a->hosted && !a->closed && !note(a, AGENT_CLOSED))
		return false;
	serve_fault("agent:closing");
	end_input(a);
	return true;
}

static void running(oc_run *run, void *userdata)
{
	struct agent *a = userdata;
	bool stays;

	a->handle = run;
	if (a->written)
		return;
	a->written = true;
	/* Said before the first word, so that whoever finds it half done knows. */
	stays = !a->detach || (a->hosted && note(a, AGENT_HOSTED));
	serve_fault("agent:hosted");
	if (a->prompt)
		text_puts(&a->unsent, a->prompt->line);
	flush(a);
	if (!stays || a->closed)
		end_input(a); /* nobody will be there to say more, or to see that it is done */
}

/* Given is said before it is: a message that is written and not known to be given could be given twice. */
static void give(struct agent *a, const json_t *message)
{
	int64_t number = json_integer_value(json_object_get(message, "number"));
	const char *text = host_string(message, "text"), *state = host_string(message, "state");
	char mark[AGENT_MARK_SIZE];
	oc_error *err = NULL;
	int rc;

	if (!text || !state || strcmp(state, "waiting") || host_uuid(mark) < 0)
		return;
	rc = oc_work_message(a->h->store, a->work, number, "waiting", "given", a->run, mark, &err);
	if (rc < 0)
		tell(a, "a message can't be given", err);
	if (rc <= 0 || !add_mark(a, mark, number))
		return;
	serve_fault("agent:given");
	a->executor->talk->message(&a->unsent, mark, text);
	flush(a);
	serve_fault("agent:written");
	out_printf(&a->h->err, "open-conduit: message %lld is given to the agent%s%s\n", (long long)number,
	           a->hosted ? " of run " : "", a->hosted ? a->run : "");
	out_flush(&a->h->err);
}

/* A line at a time, so that one that is half written where a host is killed is the only one. */
static bool full(const struct agent *a)
{
	return a->hosted && (a->unsent.len || oc_run_unsent(a->handle));
}

static void take_messages(struct agent *a)
{
	oc_error *err = NULL;
	char *text = NULL;
	json_t *list, *one;
	size_t i;

	a->looked = host_mono_ms();
	a->look = false;
	if (oc_work_messages(a->h->store, a->work, &text, &err) < 0) {
		oc_error_free(err); /* a store that is busy is asked again */
		a->look = a->hosted;
		return;
	}
	list = json_loads(text, JSON_ALLOW_NUL, NULL);
	free(text);
	json_array_foreach(list, i, one)
	{
		a->look = full(a);
		if (a->look)
			break;
		give(a, one);
	}
	json_decref(list);
}

static bool all_delivered(const struct agent *a)
{
	for (size_t i = 0; i < a->n_marks; i++)
		if (!a->marks[i].delivered)
			return false;
	return true;
}

/* Nothing goes on, and nothing is on its way.  An interrupt ends what was queued, too. */
static bool is_done(struct agent *a)
{
	if (!a->executor->talk->idle(a->reader) || !(a->interrupted || all_delivered(a))) {
		a->idle_since = 0;
		return false;
	}
	if (!a->idle_since)
		a->idle_since = host_mono_ms();
	return !a->tasks_seen || host_mono_ms() - a->idle_since >= SETTLE_MS;
}

static bool wants_messages(const struct agent *a)
{
	if (a->interrupted || !a->executor->inject)
		return false;
	return a->hosted ? a->look && !full(a) : host_mono_ms() - a->looked >= LOOK_MS;
}

int agent_wait(const struct agent *a)
{
	if (!a->written || a->closed || a->stopped)
		return -1;
	return a->unsent.len || a->look ? RETRY_MS : a->idle_since ? LOOK_MS : -1;
}

static int turn(oc_run *run, void *userdata)
{
	struct agent *a = userdata;

	if (!a->written || a->closed || a->stopped)
		return -1;
	a->handle = run;
	flush(a);
	a->tasks_seen |= a->outcome.finished && !a->executor->talk->idle(a->reader);
	if (wants_messages(a))
		take_messages(a);
	if (is_done(a)) {
		if (!a->interrupted && a->executor->inject)
			take_messages(a); /* the last look: what comes later waits for the next turn */
		if (a->interrupted || (all_delivered(a) && !a->look))
			(void)agent_close(a);
	}
	return a->unsent.len ? RETRY_MS : LOOK_MS;
}

static bool interrupt(oc_run *run, void *userdata)
{
	struct agent *a = userdata;

	a->handle = run;
	if (!a->written || a->closed || a->interrupted || !a->executor->talk->interrupt)
		return false;
	a->interrupted = true;
	a->executor->talk->interrupt(&a->unsent);
	flush(a);
	return true;
}

/* Without its toolbelt an agent that was promised one does other things than what it was asked for. */
static void stop_without_tools(struct agent *a)
{
	oc_error *err = NULL;

	if (!a->outcome.no_tools || a->stopped || !a->handle)
		return;
	a->stopped = true;
	if (oc_run_stop(a->handle, -1, &err) < 0)
		oc_error_free(err);
}

static void output(const void *data, size_t len, struct text *shown, void *userdata)
{
	struct agent *a = userdata;

	a->shown = shown;
	a->executor->talk->read(a->reader, data, len);
	a->shown = NULL;
	stop_without_tools(a);
}

const struct exec_talk agent_talk = {
	.running = running,
	.output = output,
	.turn = turn,
	.interrupt = interrupt,
};

int agent_begin(struct agent *a)
{
	bool good;

	a->reader = a->executor->talk->open(event, a);
	good = a->reader != NULL;
	if (a->prompt)
		good = good && add_mark(a, a->prompt->mark, 0);
	for (size_t i = 0; a->prompt && good && i < a->prompt->n_messages; i++)
		good = add_mark(a, a->prompt->mark, a->prompt->messages[i]);
	return good ? 0 : OC_ENOMEM;
}

int agent_watch(struct agent *a, const char *mark, int64_t number)
{
	return add_mark(a, mark, number) ? 0 : OC_ENOMEM;
}

void agent_end(struct agent *a)
{
	a->executor->talk->close(a->reader);
	agent_outcome_free(&a->outcome);
	text_free(&a->unsent);
	free(a->marks);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What waits is looked through from its rows alone, oldest first: a Work has one turn at a time, in the order they were
 * asked for, and a busy one is passed over.  A row whose starter is gone is decided after a settling has seen what it left:
 * started again where no run of its id is there, never where one is. */
#include <stdlib.h>
#include <string.h>

#include "runs.h"
#include "serve.h"

#define HOLD_MS 1000 /* before a Work that somebody else has is tried again */

struct serve_slot *serve_slot_of(struct serve *s, long long number)
{
	for (size_t i = 0; i < SERVE_JOBS_MAX; i++)
		if (s->slots[i].number == number)
			return &s->slots[i];
	return NULL;
}

struct serve_slot *serve_slot_free(struct serve *s)
{
	return serve_slot_of(s, 0);
}

static bool is(const json_t *row, const char *state)
{
	const char *now = host_string(row, "state");

	return now && !strcmp(now, state);
}

static bool move(struct serve *s, const char *run, const char *from, const char *to, const json_t *error)
{
	char *text = error ? json_dumps(error, JSON_COMPACT) : NULL;
	oc_error *err = NULL;
	int rc = oc_queue_move(s->h->store, run, from, to, text, &err);

	if (rc < 0)
		serve_say(s, "the queue can't be written", err);
	free(text);
	s->look = true;
	return rc > 0;
}

/* NULL: there is no such run. */
static bool over(const char *state)
{
	return !state || runs_state_over(state);
}

static void free_slot(struct serve_slot *slot)
{
	child_forget(&slot->child);
	*slot = (struct serve_slot){ .child = { .pidfd = -1, .out = -1 } };
}

static void look_later(struct serve *s, struct serve_slot *slot)
{
	child_forget(&slot->child);
	slot->look = true;
	slot->after = serve_settle(s, NULL);
}

/* Being started, and not by us: the child of a daemon that was killed, while it has its lock. */
static void orphan(struct serve *s, const json_t *row)
{
	long long number = json_integer_value(json_object_get(row, "number"));
	struct serve_slot *slot = serve_slot_free(s);

	s->watch = true;
	if (!slot || place_locked(s->lock, number) != 0)
		return;
	slot->number = number;
	snprintf(slot->run, sizeof(slot->run), "%s", host_string(row, "id"));
	look_later(s, slot);
}

/* Names of Works that a row before this one has. */
static bool taken(json_t *works, const json_t *row)
{
	const char *binding = host_string(row, "binding"), *key = host_string(row, "key");
	char name[1024];
	bool is_taken;

	if (!key)
		return false;
	snprintf(name, sizeof(name), "%s/%s", binding, key);
	is_taken = json_object_get(works, name) != NULL;
	json_object_set_new(works, name, json_true());
	return is_taken;
}

static void count(struct serve *s, const json_t *rows, json_t *works)
{
	const json_t *row;
	size_t i;

	s->queued = s->starting = s->started = 0;
	s->watch = false;
	json_array_foreach(rows, i, row)
	{
		bool starting = is(row, "starting"), started = is(row, "started");

		s->queued += is(row, "queued");
		if (started && over(host_string(row, "run"))) {
			move(s, host_string(row, "id"), "started", NULL, NULL);
			continue;
		}
		s->starting += starting;
		s->started += started;
		if (starting || started)
			(void)taken(works, row);
		if (starting && !serve_slot_of(s, json_integer_value(json_object_get(row, "number"))))
			orphan(s, row);
	}
}

static void start(struct serve *s, const json_t *row)
{
	struct serve_slot *slot = serve_slot_free(s);

	if (!slot)
		return;
	slot->number = json_integer_value(json_object_get(row, "number"));
	snprintf(slot->run, sizeof(slot->run), "%s", host_string(row, "id"));
	if (serve_launch(s, slot, row)) {
		s->queued--;
		s->starting++;
	} else {
		(void)move(s, slot->run, "starting", "queued", NULL);
		slot->hold = host_mono_ms() + HOLD_MS;
	}
}

void serve_queue(struct serve *s)
{
	json_t *works = json_object(), *rows = NULL, *row;
	oc_error *err = NULL;
	char *text = NULL;
	size_t i;

	if (oc_queue_list(s->h->store, &text, &err) < 0)
		serve_say(s, "the queue can't be read", err);
	else
		rows = host_parse(s->h, "the queue", text);
	count(s, rows, works);
	json_array_foreach(rows, i, row)
	{
		if (!is(row, "queued") || taken(works, row) || s->draining ||
		    s->starting + s->started >= (size_t)s->jobs ||
		    serve_slot_of(s, json_integer_value(json_object_get(row, "number"))))
			continue;
		start(s, row);
	}
	json_decref(rows);
	json_decref(works);
}

/* The state of a run, new: 1; 0: there is no such run; negative: that can't be told. */
static int run_state(struct serve *s, const char *id, char **out)
{
	oc_error *err = NULL;
	char *text = NULL;
	json_t *run;
	int rc = oc_store_run(s->h->store, id, &text, &err);

	if (rc == OC_ENOTFOUND) {
		oc_error_free(err);
		return 0;
	}
	if (rc < 0) {
		serve_say(s, "a run's record can't be read", err);
		return rc;
	}
	run = host_parse(s->h, "the record", text);
	*out = host_string(run, "state") ? strdup(host_string(run, "state")) : NULL;
	json_decref(run);
	return *out ? 1 : OC_ENOMEM;
}

static void refuse(struct serve *s, const char *run, const json_t *error)
{
	static const struct refusal none = { "run_lost", "run",
		                             "its host ended without a word, before anything of it ran",
		                             "open-conduit runs list" };
	json_t *own = json_is_object(error) ? NULL : host_refusal_json(&none);

	(void)move(s, run, "starting", "refused", own ? own : error);
	json_decref(own);
}

/* Its starter is gone, and a settling has seen what it left. */
static void decide(struct serve *s, struct serve_slot *slot)
{
	static const struct refusal lost = {
		"run_lost", "run",
		"its host was killed after it was pinned and before anything of it ran, so it is not started by itself",
		"open-conduit runs list"
	};
	char *state = NULL;
	json_t *error;
	int rc = run_state(s, slot->run, &state);

	if (rc < 0) {
		look_later(s, slot);
		return;
	}
	if (rc == 0) {
		(void)move(s, slot->run, "starting", "queued", NULL);
		slot->look = false;
		slot->hold = host_mono_ms() + HOLD_MS;
		return;
	}
	if (!strcmp(state, "launched") || !strcmp(state, "held")) {
		/* Its guard waits for a host that is gone, and gives up by itself. */
		slot->hold = host_mono_ms() + HOLD_MS;
		free(state);
		return;
	}
	if (!strcmp(state, "pinned") || !strcmp(state, "planned")) {
		error = host_refusal_json(&lost);
		refuse(s, slot->run, error);
		json_decref(error);
	} else {
		(void)move(s, slot->run, "starting", "started", NULL);
	}
	free(state);
	free_slot(slot);
}

static void concluded(struct serve *s, struct serve_slot *slot)
{
	json_t *answer = slot->child.said.len
	                         ? json_loadb(slot->child.said.data, slot->child.said.len, JSON_ALLOW_NUL, NULL)
	                         : NULL;
	const json_t *error = json_object_get(answer, "error");
	const char *reason = host_string(error, "reason");
	char *state = NULL;

	serve_fault("serve:child-over");
	if (!slot->child.exited || !answer || run_state(s, slot->run, &state) < 0) {
		look_later(s, slot);
	} else if (state && slot->child.status && !over(state)) {
		look_later(s, slot);
	} else if (state) {
		/* It runs, or ran, or its record says why it didn't. */
		(void)move(s, slot->run, "starting", "started", NULL);
		serve_fault("serve:started");
		free_slot(slot);
	} else if (reason && !strcmp(reason, "work_busy")) {
		(void)move(s, slot->run, "starting", "queued", NULL);
		child_forget(&slot->child);
		slot->hold = host_mono_ms() + HOLD_MS;
	} else {
		refuse(s, slot->run, error);
		free_slot(slot);
	}
	free(state);
	json_decref(answer);
}

void serve_slot_turn(struct serve *s, struct serve_slot *slot)
{
	if (slot->hold) {
		if (host_mono_ms() < slot->hold)
			return;
		slot->hold = 0;
		if (slot->look)
			look_later(s, slot);
		else
			free_slot(slot);
		s->look = true;
	} else if (slot->look) {
		if (s->settle_over >= slot->after)
			decide(s, slot);
	} else if (child_turn(&slot->child)) {
		concluded(s, slot);
	}
}

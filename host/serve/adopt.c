/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that go on without the host that started them: the daemon is their host then.  It answers what they call and sees
 * their end; their output is on the disk, and is read here only of agents that are spoken with (hosted.c). */
#include <stdlib.h>
#include <string.h>

#include "serve.h"

#define AGE_MS   15000 /* of a run whose host has not said that it went: by then it has, or was killed */
#define AGAIN_MS 3000

static void ended(oc_run *run, const char *record, void *userdata)
{
	struct serve_adopted *a = userdata;

	(void)run;
	(void)record;
	a->ended = true;
}

/* Another host took it over (to stop it, maybe), or its guard is gone: the next look tells. */
static void failed(oc_run *run, const oc_error *err, void *userdata)
{
	struct serve_adopted *a = userdata;

	(void)run;
	(void)err;
	a->failed = true;
}

static void call(oc_run *run, oc_toolcall *toolcall, void *userdata)
{
	struct serve_adopted *a = userdata;

	(void)run;
	serve_call(a->s->h, a->binding, a->work, a->id, toolcall);
}

static bool open_run(struct serve_adopted *a)
{
	oc_run_ops ops = OC_RUN_OPS_INIT;
	oc_error *err = NULL;

	ops.ended = ended;
	ops.failed = failed;
	ops.call = call;
	hosted_begin(a);
	if (a->agent) {
		ops.state = hosted_state;
		ops.output = hosted_output;
	}
	serve_fault("serve:adopting");
	/* It was running, so its guard has written that it was started: a run is connected to here, or refused, and never
	 * launched. */
	if (oc_run_open(a->s->h->store, a->id, &ops, a, &a->run, &err) < 0) {
		oc_error_free(err);
		a->run = NULL;
		hosted_end(a);
		return false;
	}
	serve_fault("serve:adopted");
	return true;
}

static void note(struct serve_adopted *a)
{
	oc_error *err = NULL;

	if (oc_store_note(a->s->h->store, a->id, "adopted", "{}", &err) < 0)
		serve_say(a->s, "an adopted run's history can't be written", err);
}

static void take(struct serve *s, const json_t *row)
{
	struct serve_adopted *a = calloc(1, sizeof(*a));

	if (!a)
		return;
	a->s = s;
	snprintf(a->id, sizeof(a->id), "%s", host_string(row, "id"));
	a->binding = host_string(row, "binding") ? strdup(host_string(row, "binding")) : NULL;
	a->work = host_string(row, "work") ? strdup(host_string(row, "work")) : NULL;
	a->seen = true;
	a->next = s->adopted;
	s->adopted = a;
	if (!open_run(a)) {
		a->again = host_mono_ms() + AGAIN_MS;
		serve_settle(s, NULL);
	} else if (!json_is_true(json_object_get(row, "left"))) {
		note(a);
	}
}

static void drop(struct serve_adopted *a)
{
	oc_run_free(a->run);
	hosted_end(a);
	free(a->binding);
	free(a->work);
	free(a);
}

/* Those that are not running any more, and not connected to, are the settling's. */
static void drop_unseen(struct serve *s)
{
	struct serve_adopted **at = &s->adopted;

	while (*at) {
		struct serve_adopted *a = *at;

		if (a->seen || a->run) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		drop(a);
	}
}

bool serve_ripe(const json_t *row)
{
	long long age = host_now_ms() - host_time_ms(json_object_get(row, "created"));

	/* A clock that was set back makes nothing younger. */
	return json_is_true(json_object_get(row, "left")) || age > AGE_MS || age < 0;
}

static struct serve_adopted *find(struct serve *s, const char *id)
{
	struct serve_adopted *a = s->adopted;

	while (a && strcmp(a->id, id) != 0)
		a = a->next;
	return a;
}

void serve_adopt(struct serve *s)
{
	json_t *rows = NULL, *row;
	oc_error *err = NULL;
	char *text = NULL;
	size_t i;

	if (oc_store_kept(s->h->store, &text, &err) < 0)
		serve_say(s, "the runs that go on can't be listed", err);
	else
		rows = host_parse(s->h, "the list of runs", text);
	for (struct serve_adopted *a = s->adopted; rows && a; a = a->next)
		a->seen = false;
	s->unripe = false;
	json_array_foreach(rows, i, row)
	{
		struct serve_adopted *a = find(s, host_string(row, "id"));

		if (a)
			a->seen = true;
		else if (serve_ripe(row))
			take(s, row);
		else
			s->unripe = true;
	}
	if (rows) {
		s->kept = json_array_size(rows);
		drop_unseen(s);
	}
	json_decref(rows);
}

static void finish(struct serve *s, struct serve_adopted *a)
{
	oc_error *err = NULL;

	serve_fault("serve:ended");
	if (oc_run_finish(a->run, &err) < 0)
		serve_say(s, "a run ended, but what it left could not all be settled", err);
	serve_fault("serve:finished");
	serve_settle(s, a->id);
	s->look = true;
}

void serve_adopted_turn(struct serve *s)
{
	struct serve_adopted **at = &s->adopted;

	s->hurry = -1;
	while (*at) {
		struct serve_adopted *a = *at;
		int wait = hosted_turn(a);

		if (wait >= 0 && (s->hurry < 0 || wait < s->hurry))
			s->hurry = wait;
		if (a->ended) {
			finish(s, a);
			*at = a->next;
			drop(a);
			continue;
		}
		if (a->failed) {
			oc_run_free(a->run);
			a->run = NULL;
			hosted_end(a);
			a->failed = false;
			a->again = host_mono_ms() + AGAIN_MS;
			serve_settle(s, NULL);
		} else if (!a->run && a->seen && host_mono_ms() >= a->again && !open_run(a)) {
			a->again = host_mono_ms() + AGAIN_MS;
		}
		at = &a->next;
	}
}

void serve_adopted_forget(struct serve *s)
{
	while (s->adopted) {
		struct serve_adopted *a = s->adopted;

		s->adopted = a->next;
		drop(a);
	}
}

size_t serve_adopted_count(const struct serve *s)
{
	size_t n = 0;

	for (const struct serve_adopted *a = s->adopted; a; a = a->next)
		n += a->run != NULL;
	return n;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a run has in the engine: networks, then both containers at the same time; nothing is started before all of it was looked at. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "common/checks.h"
#include "compare.h"
#include "create.h"
#include "fill.h"
#include "networks.h"
#include "session.h"

#define TELL_MS 1000

static int begin(struct session *s, struct part *p)
{
	cleanup_free char *path = format("/containers/create?name=%s", p->name);

	p->asked = fill(p->template, s->values, s->r);
	if (!p->asked || objects_intend(&s->objects, p->kind, p->name, s->r) < 0)
		return -1;
	p->under_way = path ? engine_begin(s->engine, "POST", path, p->asked, ASK_MS) : NULL;
	return p->under_way ? 0 : no_memory(s->r);
}

/* A limit that the engine can't apply is a warning, and no limit. */
static int check_warnings(struct session *s, const json_t *reply, const char *what)
{
	const char *first = json_string_value(json_array_get(json_object_get(reply, "Warnings"), 0));

	if (!first)
		return 0;
	return refuse(s->r, "sandbox_unavailable", "engine", "open-conduit doctor",
	              "the engine made the %s with a warning: %s", what, first);
}

static int take(struct session *s, struct part *p, json_t **out)
{
	const char *what = p->kind == KIND_GATEWAY ? "making the gateway" : "making the container";
	struct reply reply = { 0 };
	int rc = 0;

	request_take(p->under_way, &reply);
	p->under_way = NULL;
	if (reply.status == 201)
		*out = json_incref(reply.json);
	else
		rc = objects_refused(&s->objects, p->kind, reply.status, s->r) < 0 ? -1
		                                                                   : ask_refuse(&reply, what, s->r);
	reply_clear(&reply);
	return rc;
}

static int made(struct session *s, struct part *p)
{
	cleanup_json json_t *reply = NULL;

	if (take(s, p, &reply) < 0)
		return -1;
	p->id = text_of(reply, "Id") ? strdup(text_of(reply, "Id")) : NULL;
	if (!p->id)
		return refuse(s->r, "sandbox_unavailable", "engine", "open-conduit doctor",
		              "the engine made a %s without an id", p->what);
	if (objects_made(&s->objects, p->kind, p->id, s->r) < 0)
		return -1;
	return check_warnings(s, reply, p->what);
}

int session_inspect(struct session *s, const struct part *p, json_t **out)
{
	cleanup_free char *path = format("/containers/%s/json", p->id);

	return path ? ask(s->engine, "GET", path, NULL, "looking at a container", out, s->r) : no_memory(s->r);
}

static int compare(struct session *s, struct part *p, const json_t *networks)
{
	cleanup_json json_t *shown = NULL;

	if (session_inspect(s, p, &shown) < 0)
		return -1;
	return compare_container(p->asked, p->facts, networks, p->name, shown, s->r);
}

/* By id, what they are called. */
static json_t *network_names(const struct session *s)
{
	cleanup_free char *own = create_name(text_of(s->values, CREATE_ATTEMPT), ""),
	                  *egress = create_egress_name(s->spec.instance);

	if (!own || !egress)
		return NULL;
	return json_pack("{s:s, s:s}", text_of(s->values, CREATE_NETWORK), own, text_of(s->values, CREATE_EGRESS),
	                 egress);
}

static int too_long(struct session *s)
{
	return refuse(
	        s->r, "sandbox_unavailable", "engine", "docker ps  # is the engine overloaded?",
	        "the run waited %d minutes for its turn: at most %d are made at once in this engine, which has as "
	        "many processors, and %d or more are before it",
	        TURN_MS / 60000, s->turn.places, turn_before(&s->turn, 1000));
}

/* The guard reads it, gives it time and tells the host. */
static void tell_guard(const char *line)
{
	(void)fprintf(stderr, "%s\n", line);
}

/* Nothing is there yet, so that a signal or the guard's end need only be seen. */
static int wait_turn(struct session *s)
{
	int64_t begin = now_ms();
	bool told = false;
	int ms, rc;

	while ((rc = turn_look(&s->turn, &ms)) == 0) {
		int64_t waited = now_ms() - begin;

		if (waited >= TURN_MS)
			return too_long(s);
		if (waited >= TELL_MS && !told) {
			tell_guard("waiting");
			told = true;
		}
		if (session_await(s, -1, ms, NULL) < 0)
			return -1;
	}
	if (told)
		tell_guard("waiting over");
	return rc;
}

int session_turn(struct session *s)
{
	if (s->now) {
		turn_hurry(&s->turn, TURN_NOW_MS);
		return 0;
	}
	if (turn_queue(&s->turn, false) == 0 && wait_turn(s) == 1)
		return 0;
	return s->ended || s->r->reason ? -1
	                                : refuse(s->r, "sandbox_unavailable", s->spec.lock, NULL,
	                                         "the place in the queue can't be taken: %s", strerror(errno));
}

int session_make(struct session *s)
{
	const struct networks_input in = {
		.engine = s->engine,
		.network = s->spec.network,
		.egress = s->spec.egress,
		.instance = s->spec.instance,
		.range = s->spec.range,
		.objects = &s->objects,
	};
	cleanup_json json_t *names = NULL;

	if (session_await(s, -1, 0, NULL) < 0 || networks_make(&in, s->values, s->r) < 0)
		return -1;
	names = network_names(s);
	if (!names)
		return no_memory(s->r);
	if (session_await(s, -1, 0, NULL) < 0 || begin(s, &s->gateway) < 0 || begin(s, &s->container) < 0)
		return -1;
	if (made(s, &s->gateway) < 0 || made(s, &s->container) < 0)
		return -1;
	if (compare(s, &s->gateway, names) < 0)
		return -1;
	return compare(s, &s->container, names);
}

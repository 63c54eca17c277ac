/* SPDX-License-Identifier: Apache-2.0 */
#include "cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "common/checks.h"
#include "create.h"
#include "networks.h"
#include "spec.h"

#define TRIES   120
#define STEP_MS 250
#define LATE_MS 10000 /* in all: an engine under load makes networks one after the other, each in a second or more */

static void pause_ms(int ms)
{
	(void)poll(NULL, 0, ms);
}

static bool label_is(const json_t *labels, const char *name, const char *value)
{
	const char *there = text_of(labels, name);

	return there && !strcmp(there, value);
}

/* Somebody else's object may have any name, and labels that were copied: both have to fit. */
static bool is_ours(const struct cleanup_input *in, enum kind kind, const json_t *shown)
{
	const json_t *labels =
	        json_object_get(kind <= KIND_GATEWAY ? json_object_get(shown, "Config") : shown, "Labels");

	return label_is(labels, CREATE_LABEL "instance", in->instance) &&
	       label_is(labels, CREATE_LABEL "role", kind_name(kind)) &&
	       (kind == KIND_EGRESS || label_is(labels, CREATE_LABEL "run", in->run));
}

/* What was intended, by its name: *id is new, or NULL.  1: there is nothing of that name. */
static int look_up(const struct cleanup_input *in, enum kind kind, char **id, struct refusal *r)
{
	cleanup_free char *path =
	        format(kind <= KIND_GATEWAY ? "/containers/%s/json" : "/networks/%s", in->objects->v[kind].name);
	struct reply reply = { 0 };
	int rc = 0;

	if (!path)
		return no_memory(r);
	engine_ask(in->engine, "GET", path, NULL, ASK_MS, &reply);
	if (reply.status == 200 && is_ours(in, kind, reply.json) && text_of(reply.json, "Id"))
		*id = strdup(text_of(reply.json, "Id"));
	else if (reply.status == 404)
		rc = 1;
	else if (reply.status != 200)
		rc = ask_refuse(&reply, "looking for what a run left", r);
	reply_clear(&reply);
	return rc;
}

/* *id: new; NULL where there is nothing (any more).  Who was killed while the engine was making something is not waited for by it:
 * it may be there a moment later. */
static int find_id(const struct cleanup_input *in, enum kind kind, char **id, struct refusal *r)
{
	const char *known = in->objects->v[kind].id;
	int rc;

	*id = known ? strdup(known) : NULL;
	if (known || !in->objects->v[kind].name)
		return known && !*id ? no_memory(r) : 0;
	while ((rc = look_up(in, kind, id, r)) == 1 && now_ms() < in->late)
		pause_ms(STEP_MS);
	return rc < 0 ? -1 : 0;
}

/* The engine is removing it for somebody else already. */
static int await_gone(const struct cleanup_input *in, const char *id, struct refusal *r)
{
	cleanup_free char *path = format("/containers/%s/json", id);
	int i;

	for (i = 0; path && i < TRIES; i++) {
		struct reply reply = { 0 };
		long status;

		engine_ask(in->engine, "GET", path, NULL, ASK_MS, &reply);
		status = reply.status;
		reply_clear(&reply);
		if (status == 404)
			return 0;
		pause_ms(STEP_MS);
	}
	return refuse(r, "container_running", id, "docker rm -fv %s", "container %s can't be removed", id);
}

static struct request *begin_removal(const struct cleanup_input *in, const char *id)
{
	cleanup_free char *path = format("/containers/%s?force=1&v=1", id);

	return path ? engine_begin(in->engine, "DELETE", path, NULL, ASK_MS) : NULL;
}

static int end_removal(const struct cleanup_input *in, enum kind kind, const char *id, struct request *request,
                       struct refusal *r)
{
	struct reply reply = { 0 };
	int rc = 0;

	if (!request)
		return no_memory(r);
	request_take(request, &reply);
	if (reply.status == 409)
		rc = await_gone(in, id, r);
	else if (reply.status != 204 && reply.status != 404)
		rc = ask_refuse(&reply, "removing a container", r);
	reply_clear(&reply);
	return rc < 0 ? rc : objects_gone(in->objects, kind, r);
}

/* Both at once: the engine takes a quarter of a second for each. */
static int remove_containers(const struct cleanup_input *in, char *ids[2], struct refusal *r)
{
	struct request *requests[2] = { NULL, NULL };
	int k, rc = 0;

	for (k = 0; k < 2; k++) {
		if (find_id(in, (enum kind)k, &ids[k], r) < 0)
			rc = -1;
		else if (ids[k])
			requests[k] = begin_removal(in, ids[k]);
		else if (objects_gone(in->objects, (enum kind)k, r) < 0)
			rc = -1;
	}
	for (k = 0; k < 2; k++)
		if (ids[k] && end_removal(in, (enum kind)k, ids[k], requests[k], r) < 0)
			rc = -1;
	return rc;
}

/* An endpoint may outlive its container for a moment, or for ever after a crash of the engine.  Ours are taken off. */
static int detach(const struct cleanup_input *in, const char *network, char *const ids[2], struct refusal *r)
{
	cleanup_free char *path = format("/networks/%s", network), *off = format("/networks/%s/disconnect", network);
	cleanup_json json_t *shown = NULL;
	const char *id;
	json_t *end;

	if (!path || !off)
		return no_memory(r);
	if (ask(in->engine, "GET", path, NULL, "looking at a network", &shown, r) < 0)
		return -1;
	json_object_foreach(json_object_get(shown, "Containers"), id, end)
	{
		cleanup_json json_t *body = json_pack("{s:s, s:b}", "Container", id, "Force", 1);
		struct reply reply = { 0 };

		if ((!ids[0] || strcmp(ids[0], id) != 0) && (!ids[1] || strcmp(ids[1], id) != 0))
			return refuse(r, "sandbox_unavailable", network, "docker network disconnect NETWORK CONTAINER",
			              "network %s can't be removed: the container %s, which is not ours, is on it",
			              network, text_of(end, "Name") ? text_of(end, "Name") : id);
		engine_ask(in->engine, "POST", off, body, ASK_MS, &reply);
		reply_clear(&reply);
	}
	return 0;
}

static int remove_network(const struct cleanup_input *in, char *const ids[2], struct refusal *r)
{
	cleanup_free char *id = NULL, *path = NULL;
	int i, rc = find_id(in, KIND_NETWORK, &id, r);

	if (rc < 0 || !id)
		return rc < 0 ? rc : objects_gone(in->objects, KIND_NETWORK, r);
	path = format("/networks/%s", id);
	if (!path)
		return no_memory(r);
	for (i = 0; i < TRIES; i++) {
		struct reply reply = { 0 };

		engine_ask(in->engine, "DELETE", path, NULL, ASK_MS, &reply);
		if (reply.status == 204 || reply.status == 404)
			rc = 1;
		else if (reply.status != 403)
			rc = ask_refuse(&reply, "removing a network", r);
		else
			rc = detach(in, id, ids, r);
		reply_clear(&reply);
		if (rc)
			return rc < 0 ? rc : objects_gone(in->objects, KIND_NETWORK, r);
		pause_ms(STEP_MS);
	}
	return refuse(r, "sandbox_unavailable", id, "docker network rm NETWORK", "network %s can't be removed", id);
}

/* Who is last turns off the light; what a crashed run still has on it is in the way, and is for that run's cleanup. */
static int remove_egress(const struct cleanup_input *in, struct refusal *r)
{
	cleanup_free char *id = NULL, *path = NULL;
	struct reply reply = { 0 };
	int rc = 0;

	if (find_id(in, KIND_EGRESS, &id, r) < 0)
		return -1;
	path = id ? format("/networks/%s", id) : NULL;
	if (path && in->lock >= 0 && networks_lock_alone(in->lock)) {
		engine_ask(in->engine, "DELETE", path, NULL, ASK_MS, &reply);
		if (reply.status != 204 && reply.status != 404 && reply.status != 403)
			rc = ask_refuse(&reply, "removing the instance's network", r);
		reply_clear(&reply);
	}
	return rc < 0 ? rc : objects_gone(in->objects, KIND_EGRESS, r);
}

int cleanup_all(const struct cleanup_input *input, struct refusal *r)
{
	struct cleanup_input in = *input;
	char *ids[2] = { NULL, NULL };
	int rc;

	if (!objects_empty(in.objects))
		turn_hurry(in.turn, TURN_END_MS);
	in.late = now_ms() + LATE_MS;
	rc = remove_containers(&in, ids, r);
	if (rc == 0)
		rc = remove_network(&in, ids, r);
	if (rc == 0)
		rc = remove_egress(&in, r);
	turn_leave(in.turn);
	free(ids[0]);
	free(ids[1]);
	return rc;
}

void cleanup_report(struct refusal *r)
{
	cleanup_json json_t *out =
	        json_pack("{s:s, s:s*, s:s, s:s*}", "reason", r->reason ? r->reason : "provider_failed", "subject",
	                  r->subject, "message", r->message ? r->message : "out of memory", "fix", r->fix);
	cleanup_free char *text = out ? json_dumps(out, JSON_COMPACT) : NULL;

	(void)fprintf(stderr, "refused %s\n",
	              text ? text : "{\"reason\":\"provider_failed\",\"message\":\"out of memory\"}");
}

static int clean(const struct spec *s, struct objects *o, bool *unasked, struct refusal *r)
{
	struct engine *engine = NULL;
	struct turn turn;
	int lock, rc;

	if (engine_open_pinned(s->endpoint, s->engine, &engine, r) < 0) {
		*unasked = true;
		engine_free(engine);
		return -1;
	}
	lock = networks_lock(s->lock, r);
	turn_init(&turn, lock, engine_info(engine, r));
	const struct cleanup_input in = {
		.engine = engine, .objects = o, .run = s->run, .instance = s->instance, .lock = lock, .turn = &turn
	};
	rc = lock < 0 ? -1 : cleanup_all(&in, r);
	if (lock >= 0)
		close(lock);
	engine_free(engine);
	return rc;
}

static void remove_files(int live)
{
	static const char *const files[] = { "objects", "channel/sock", "gate/sock" };
	size_t i;

	for (i = 0; i < COUNT(files); i++)
		(void)unlinkat(live, files[i], 0);
}

/* All in the one folder that was there at first: where who started this was killed, a further attempt may have made itself another
 * at the same place meanwhile. */
static int clean_spec(const struct spec *s, bool *unasked, struct refusal *r)
{
	int live = open(s->live, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc;
	cleanup_free char *at = format("/proc/self/fd/%d", live);
	struct objects o;

	if (live < 0 && errno == ENOENT)
		return 0;
	if (live < 0)
		return refuse(r, "sandbox_unavailable", s->live, NULL, "%s can't be opened: %s", s->live,
		              strerror(errno));
	rc = at ? objects_open(at, false, &o, r) : no_memory(r);
	if (at && rc == 0 && !objects_empty(&o))
		rc = clean(s, &o, unasked, r);
	if (rc == 0)
		remove_files(live);
	if (at)
		objects_close(&o);
	close(live);
	return rc;
}

int cleanup_spec(const char *text, size_t len, bool *unasked, struct refusal *r)
{
	struct spec s;
	int rc = spec_parse(text, len, &s, r);

	*unasked = false;
	if (rc == 0)
		rc = clean_spec(&s, unasked, r);
	spec_clear(&s);
	return rc;
}

int cleanup_main(void)
{
	struct refusal r = { 0 };
	struct spec s;
	bool unasked = false;
	int rc = spec_read(3, &s, &r);

	if (rc == 0)
		rc = clean_spec(&s, &unasked, &r);
	spec_clear(&s);
	if (rc < 0)
		cleanup_report(&r);
	refusal_clear(&r);
	return rc == 0 ? 0 : unasked ? 3 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What an answer about a repository asks for: new issues begin Works, and what is said on them reaches their agents.  Each step
 * is written down before it is done, with the id of the run that it makes, so that doing it again does nothing more. */
#include <stdlib.h>
#include <string.h>

#include "route.h"
#include "runs.h"
#include "work/work.h"

#define SEEN_MAX    1000
#define EARLY_MS    600000   /* clocks, and what GitHub shows late */
#define BEHIND_MS   86400000 /* a day: how far back a daemon that begins has to ask */
#define ABOUT_MAX   8192
#define BATCH_MAX   40000 /* of the 64 KiB of one value */
#define MESSAGE_MAX 65000

static json_int_t integer(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

const json_t *routed_data(const json_t *work)
{
	return json_object_get(json_object_get(work, "data"), "route");
}

bool routed_keep(struct route *r, const char *work, const char *name, const json_t *value)
{
	char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	oc_error *err = NULL;
	int rc = value && !text ? OC_ENOMEM : oc_work_set(r->s->h->store, work, name, text, &err);

	if (rc < 0)
		serve_say(r->s, "what a route has seen can't be kept", err);
	free(text);
	return rc >= 0;
}

static bool is_of(const struct route *r, const json_t *work)
{
	const char *scope = host_string(work, "scope"), *binding = host_string(work, "binding");
	const char *repository = host_string(routed_data(work), "repository");
	char full[600];

	snprintf(full, sizeof(full), "%s/%s", scope ? scope : "", binding ? binding : "");
	return repository && !strcmp(repository, r->repository) && !strcmp(full, r->binding);
}

json_t *routed_works(struct route *r)
{
	oc_error *err = NULL;
	json_t *list = NULL;
	char *text = NULL;

	if (oc_work_list(r->s->h->store, 0, 0, &text, &err) < 0)
		serve_say(r->s, "the Works can't be listed", err);
	else
		list = host_parse(r->s->h, "the list of Works", text);
	for (size_t i = json_array_size(list); i-- > 0;)
		if (!is_of(r, json_array_get(list, i)))
			json_array_remove(list, i);
	return list;
}

/* Is there a run of this id, or one that waits by it? */
static bool is_made(struct route *r, const char *run)
{
	char *text = NULL;
	bool made = oc_queue_request(r->s->h->store, run, &text, NULL) >= 0 ||
	            oc_store_run(r->s->h->store, run, &text, NULL) >= 0;

	free(text);
	return made;
}

bool routed_queue(struct route *r, const char *run, const char *key, const json_t *input)
{
	char *text = json_dumps(input, JSON_COMPACT), *request = NULL;
	json_t *whole = text ? json_pack("{s:s}", "input", text) : NULL;
	oc_error *err = NULL;
	int rc = OC_ENOMEM;

	request = whole ? json_dumps(whole, JSON_COMPACT) : NULL;
	if (request)
		rc = oc_queue_add(r->s->h->store, run, r->binding, key, request, &err);
	serve_fault("serve:routed");
	if (rc == OC_EEXISTS) {
		oc_error_free(err); /* it was queued, and ran */
		rc = 0;
	} else if (rc < 0) {
		serve_say(r->s, "a turn of a route can't be queued", err);
	}
	r->s->look = true;
	json_decref(whole);
	free(request);
	free(text);
	return rc >= 0;
}

/* ---- what was seen ---- */

static bool has(const json_t *list, const json_t *value)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_equal(json_array_get(list, i), value))
			return true;
	return false;
}

static bool is_seen(const json_t *data, const json_t *comment)
{
	return integer(comment, "id") <= integer(data, "floor") ||
	       integer(comment, "created") < integer(data, "begun") - EARLY_MS ||
	       has(json_object_get(data, "seen"), json_object_get(comment, "id"));
}

/* What is older than all that is kept was seen. */
static void prune(json_t *data)
{
	json_t *seen = json_object_get(data, "seen");

	while (json_array_size(seen) > SEEN_MAX) {
		size_t least = 0;

		for (size_t i = 1; i < json_array_size(seen); i++)
			if (json_integer_value(json_array_get(seen, i)) <
			    json_integer_value(json_array_get(seen, least)))
				least = i;
		json_object_set(data, "floor", json_array_get(seen, least));
		json_array_remove(seen, least);
	}
}

static void see(json_t *data, const json_t *id, const struct route *r)
{
	if (!has(json_object_get(data, "seen"), id))
		json_array_append(json_object_get(data, "seen"), (json_t *)(uintptr_t)id);
	prune(data);
	if (r->since > integer(data, "through"))
		json_object_set_new(data, "through", json_integer(r->since));
}

/* ---- an issue that is new ---- */

static json_t *input_of(const json_t *about, const json_t *comments)
{
	json_t *input = json_deep_copy(about);

	json_object_set(input, "comments", (json_t *)(uintptr_t)comments);
	return input;
}

/* What of an issue fits beside what else a Work keeps. */
static json_t *about_of(const json_t *issue, bool shortly)
{
	const char *body = host_string(issue, "body");
	size_t n = body ? strlen(body) : 0;

	n = shortly && n > ABOUT_MAX ? text_valid(body, ABOUT_MAX) : n;
	return json_pack("{s:O, s:O, s:o, s:O, s:O}", "number", json_object_get(issue, "number"), "title",
	                 json_object_get(issue, "title"), "body", json_stringn(body ? body : "", n), "url",
	                 json_object_get(issue, "url"), "author", json_object_get(issue, "author"));
}

static json_t *find_work(struct route *r, const char *key)
{
	char full[900], *text = NULL;

	snprintf(full, sizeof(full), "%s/%s", r->binding, key);
	return oc_work_get(r->s->h->store, full, &text, NULL) >= 0 ? host_parse(r->s->h, "the Work", text) : NULL;
}

static json_t *make_work(struct route *r, const struct routed *to, const char *key, const json_t *about)
{
	char *text = json_dumps(about, JSON_COMPACT);
	struct turn_input input = { 0 };
	json_t *work = NULL;

	if (text && turn_input_read(r->s->h, text, &input) == 0)
		work = work_open_binding(r->s->h, to->binding, key, &input);
	turn_input_free(&input);
	free(text);
	out_flush(&r->s->h->err);
	serve_fault("serve:work");
	return work;
}

static json_t *new_data(const struct route *r, const json_t *issue, long long now)
{
	char run[HOST_RUN_ID + 1];

	if (host_run_id(run) < 0)
		return NULL;
	return json_pack("{s:s, s:O, s:I, s:I, s:s, s:b, s:O, s:i}", "repository", r->repository, "number",
	                 json_object_get(issue, "number"), "begun", (json_int_t)now, "through",
	                 (json_int_t)(now - EARLY_MS), "first", run, "queued", 0, "seen", json_object_get(issue, "ids"),
	                 "floor", 0);
}

/* A Work that its operator began is taken as it is: what is said from now on reaches its agent. */
static bool take_over(struct route *r, const json_t *work, json_t *data)
{
	json_object_set_new(data, "queued", json_true());
	return routed_keep(r, host_string(work, "id"), "route", data);
}

static bool begin_turn(struct route *r, const json_t *work, json_t *data, const json_t *issue, bool fresh)
{
	const char *id = host_string(work, "id"), *run = host_string(data, "first");
	json_t *about = about_of(issue, false), *input = input_of(about, json_object_get(issue, "comments"));
	bool good = true;

	if (!is_made(r, run)) {
		/* What it begins with was seen, if it is this that is queued. */
		json_object_set(data, "seen", json_object_get(issue, "ids"));
		good = routed_keep(r, id, "route", data) && routed_queue(r, run, host_string(work, "key"), input);
	}
	json_object_set_new(data, "queued", json_true());
	good = good && routed_keep(r, id, "route", data);
	if (good && fresh) {
		out_printf(&r->s->h->err, "open-conduit: the route %s: issue %lld of %s is a Work now\n", r->name,
		           (long long)integer(issue, "number"), r->repository);
		out_flush(&r->s->h->err);
	}
	json_decref(input);
	json_decref(about);
	return good;
}

/* True: it is seen to, or never will be. */
static bool begin(struct route *r, const struct routed *to, const json_t *issue, long long now)
{
	json_t *about = about_of(issue, true), *work, *data = NULL;
	char key[40];
	bool good = true, over;

	snprintf(key, sizeof(key), "issue-%lld", (long long)integer(issue, "number"));
	work = find_work(r, key);
	over = work && !strcmp(host_string(work, "state"), "finished");
	if (!work)
		work = make_work(r, to, key, about);
	if (work && !over) {
		data = routed_data(work) ? json_deep_copy(routed_data(work)) : new_data(r, issue, now);
		good = data && routed_keep(r, host_string(work, "id"), "route-issue", about);
		if (good && !routed_data(work) && json_array_size(json_object_get(work, "runs")))
			good = take_over(r, work, data);
		else
			good = good && begin_turn(r, work, data, issue, !routed_data(work));
	} else {
		/* Finished by its operator, or refused with words: it isn't begun again by itself. */
		json_array_append(r->done, json_object_get(issue, "number"));
	}
	json_decref(data);
	json_decref(work);
	json_decref(about);
	return good;
}

static bool begin_all(struct route *r, const struct routed *to, const json_t *answer)
{
	const json_t *issues = json_object_get(answer, "issues"), *issue;
	bool good = true;
	size_t i;

	if (!json_is_array(issues))
		return true;
	json_decref(r->open);
	r->open = json_array();
	json_array_foreach(issues, i, issue)
	{
		json_array_append(r->open, json_object_get(issue, "number"));
		if (json_object_get(issue, "title"))
			good = begin(r, to, issue, (long long)integer(answer, "now")) && good;
	}
	return good;
}

/* ---- what is said ---- */

static json_t *work_of(const json_t *works, const json_t *number)
{
	json_t *work;
	size_t i;

	json_array_foreach(works, i, work)
	{
		if (json_is_true(json_object_get(routed_data(work), "queued")) &&
		    json_equal(json_object_get(routed_data(work), "number"), number))
			return work;
	}
	return NULL;
}

static char *message_of(const json_t *comment)
{
	const char *author = host_string(comment, "author"), *body = host_string(comment, "body"),
	           *url = host_string(comment, "url");
	char *text = NULL;

	if (asprintf(&text, "%.100s wrote: %.*s (%.400s)", author, (int)text_valid(body, strnlen(body, MESSAGE_MAX)),
	             body, url) < 0)
		return NULL;
	return text;
}

/* The run that gives it, if none that goes on does: one that was not made yet, or a new one. */
static bool want_turn(struct route *r, json_t *data)
{
	const char *next = host_string(data, "next");
	char run[HOST_RUN_ID + 1];

	if (next && !is_made(r, next))
		return true;
	if (host_run_id(run) < 0)
		return false;
	return json_object_set_new(data, "next", json_string(run)) == 0;
}

/* Sent and seen are one. */
static bool send_comment(struct route *r, const json_t *work, json_t *data, const json_t *comment)
{
	char *text = message_of(comment), *value = NULL;
	oc_error *err = NULL;
	int64_t rc = OC_ENOMEM;

	if (text && want_turn(r, data)) {
		see(data, json_object_get(comment, "id"), r);
		value = json_dumps(data, JSON_COMPACT);
	}
	serve_fault("serve:comment");
	if (value)
		rc = oc_work_send_set(r->s->h->store, host_string(work, "id"), text, "route", value, &err);
	serve_fault("serve:sent");
	if (rc < 0)
		serve_say(r->s, "a comment can't be given", err);
	hosted_look(r->s);
	free(value);
	free(text);
	return rc >= 0;
}

/* Never into a turn that runs: comments are a part of the input of one of their own. */
static bool put_aside(json_t *data, const json_t *comment)
{
	json_t *aside = json_object_get(data, "aside");
	char *text;
	size_t n;

	if (!aside)
		json_object_set_new(data, "aside", aside = json_array());
	text = json_dumps(aside, JSON_COMPACT);
	n = text ? strlen(text) : BATCH_MAX;
	free(text);
	text = json_dumps(comment, JSON_COMPACT);
	n += text ? strlen(text) : BATCH_MAX;
	free(text);
	return (n <= BATCH_MAX || !json_array_size(aside)) &&
	       json_array_append(aside, (json_t *)(uintptr_t)comment) == 0;
}

/* ---- turns for what was said ---- */

/* The same as was written down, whoever was killed since: its run, its comments, then that they were seen. */
static bool queue_pending(struct route *r, const json_t *work, json_t *data, const json_t *pending)
{
	const char *id = host_string(work, "id"), *run = host_string(pending, "run");
	const json_t *comments = json_object_get(pending, "comments"), *comment;
	json_t *input = input_of(json_object_get(json_object_get(work, "data"), "route-issue"), comments);
	bool good = run && routed_queue(r, run, host_string(work, "key"), input);
	size_t i;

	json_array_foreach(comments, i, comment) see(data, json_object_get(comment, "id"), r);
	good = good && routed_keep(r, id, "route", data);
	serve_fault("serve:pending");
	good = good && routed_keep(r, id, "route-pending", NULL);
	json_object_del(json_object_get(work, "data"), "route-pending");
	json_decref(input);
	return good;
}

static json_t *shortened(const json_t *comments)
{
	json_t *out = json_deep_copy(comments), *one = json_array_get(out, 0);
	const char *body = host_string(one, "body");

	/* One that is too long alone is cut; its page has the rest. */
	if (body && strlen(body) > BATCH_MAX / 6)
		json_object_set_new(one, "body", json_stringn(body, text_valid(body, BATCH_MAX / 6)));
	return out;
}

static bool queue_aside(struct route *r, const json_t *work)
{
	json_t *data = (json_t *)(uintptr_t)routed_data(work), *aside = json_object_get(data, "aside");
	json_t *pending = json_object_get(json_object_get(work, "data"), "route-pending");
	char run[HOST_RUN_ID + 1];
	json_t *kept = NULL;
	bool good = true;

	if (json_is_object(pending))
		good = queue_pending(r, work, data, pending);
	if (good && json_array_size(aside)) {
		kept = host_run_id(run) < 0
		               ? NULL
		               : json_pack("{s:s, s:o}", "run", run, "comments",
		                           json_array_size(aside) == 1 ? shortened(aside) : json_deep_copy(aside));
		json_object_del(data, "aside");
		good = kept && routed_keep(r, host_string(work, "id"), "route-pending", kept);
		serve_fault("serve:aside");
		good = good && queue_pending(r, work, data, kept);
	}
	json_decref(kept);
	return good;
}

static bool hear(struct route *r, const struct routed *to, const json_t *works, const json_t *comment)
{
	const json_t *work = work_of(works, json_object_get(comment, "number"));
	json_t *data = (json_t *)(uintptr_t)routed_data(work);

	if (!work || is_seen(data, comment) || !has(r->open, json_object_get(comment, "number")))
		return true;
	if (!strcmp(to->route->active_policy, "inject"))
		return send_comment(r, work, data, comment);
	return put_aside(data, comment) || (queue_aside(r, work) && put_aside(data, comment));
}

static bool is_queued(struct route *r, const char *key)
{
	oc_error *err = NULL;
	char *text = NULL;
	json_t *rows, *row;
	bool found = false;
	size_t i;

	if (oc_queue_list(r->s->h->store, &text, &err) < 0) {
		oc_error_free(err);
		return true; /* looked at again */
	}
	rows = host_parse(r->s->h, "the queue", text);
	json_array_foreach(rows, i, row)
	{
		const char *is = host_string(row, "key"), *binding = host_string(row, "binding");
		const char *state = host_string(row, "state");

		found |= is && binding && state && !strcmp(is, key) && !strcmp(binding, r->binding) &&
		         strcmp(state, "refused") != 0;
	}
	json_decref(rows);
	return found;
}

static bool is_under_way(struct route *r, const char *key)
{
	json_t *work = find_work(r, key);
	const json_t *newest = json_array_get(json_object_get(work, "runs"), 0);
	const char *state = host_string(newest, "state");
	bool live = state && !runs_state_over(state);

	json_decref(work);
	return live || is_queued(r, key);
}

static bool has_messages(struct route *r, const char *work)
{
	char *text = NULL;
	json_t *list = oc_work_messages(r->s->h->store, work, &text, NULL) < 0
	                       ? NULL
	                       : host_parse(r->s->h, "the messages", text);
	bool any = !list || json_array_size(list);

	json_decref(list);
	return any;
}

/* A turn for what no turn took. */
static bool queue_next(struct route *r, const json_t *work)
{
	const char *id = host_string(work, "id"), *key = host_string(work, "key");
	json_t *data = (json_t *)(uintptr_t)routed_data(work), *none = json_array(), *input;
	const char *next = host_string(data, "next");
	bool good = true, made = next && is_made(r, next);

	if (next && !made && is_under_way(r, key)) {
		json_decref(none);
		return true;
	}
	if (next) {
		input = input_of(json_object_get(json_object_get(work, "data"), "route-issue"), none);
		if (!made && has_messages(r, id))
			good = routed_queue(r, next, key, input);
		json_decref(input);
		json_object_del(data, "next");
		good = good && routed_keep(r, id, "route", data);
	}
	json_decref(none);
	return good;
}

bool routed_turns(struct route *r, const json_t *works)
{
	const json_t *work;
	bool good = true;
	size_t i;

	json_array_foreach(works, i, work)
	{
		if (json_is_true(json_object_get(routed_data(work), "queued")))
			good = queue_aside(r, work) && queue_next(r, work) && good;
	}
	return good;
}

/* So that a daemon that begins needn't ask about years. */
static void keep_up(struct route *r, const json_t *works)
{
	const json_t *work;
	size_t i;

	json_array_foreach(works, i, work)
	{
		json_t *data = (json_t *)(uintptr_t)routed_data(work);

		if (!r->since || integer(data, "through") + BEHIND_MS > r->since)
			continue;
		json_object_set_new(data, "through", json_integer(r->since));
		(void)routed_keep(r, host_string(work, "id"), "route", data);
	}
}

bool routed_take(struct route *r, const struct routed *to, const json_t *answer)
{
	const json_t *comments = json_object_get(answer, "comments"), *comment;
	bool good = begin_all(r, to, answer);
	json_t *works = routed_works(r);
	size_t i;

	good = good && works;
	json_array_foreach(comments, i, comment) good = good && hear(r, to, works, comment);
	good = routed_turns(r, works) && good;
	if (good)
		keep_up(r, works);
	json_decref(works);
	return good;
}

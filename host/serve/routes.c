/* SPDX-License-Identifier: Apache-2.0 */
/* Routes, polled: each has a moment at which it is asked next, and one question under way at most.  The config is read anew for
 * each; while it has an error none is asked. */
#include <stdlib.h>
#include <string.h>

#include "github_ask.h"
#include "route.h"

#define POLL_MS    60000
#define PAUSE_MAX  1800000
#define OVERLAP_MS 120000 /* what GitHub shows late */

static long long poll_ms(void)
{
#ifdef OC_FAULTS
	const char *own = getenv("OPEN_CONDUIT_POLL_MS");

	if (own)
		return strtoll(own, NULL, 10);
#endif
	return POLL_MS;
}

/* ---- what the config has ---- */

static const struct config_extension *extension_of(const struct config_scope *s, const struct config_route *r)
{
	for (size_t i = 0; i < s->n_extensions; i++)
		if (s->extensions[i].type && !strcmp(s->extensions[i].type, r->handler) &&
		    s->extensions[i].connection && s->extensions[i].config && s->extensions[i].config->repo)
			return &s->extensions[i];
	return NULL;
}

static const struct config_connection *connection_of(const struct config *c, const char *id)
{
	for (size_t i = 0; i < c->n_connections; i++)
		if (!strcmp(c->connections[i].id, id))
			return &c->connections[i];
	return NULL;
}

/* False: it is no route of this handler's, or leads nowhere. */
static bool routed_of(const struct config *c, const struct config_scope *s, const struct config_route *route,
                      struct routed *out)
{
	const struct config_extension *e = strcmp(route->handler, "github") == 0 ? extension_of(s, route) : NULL;
	char full[600];

	snprintf(full, sizeof(full), "%s/%s", s->id, route->binding);
	out->route = route;
	out->binding = config_binding(c, full, NULL);
	out->connection = e ? connection_of(c, e->connection) : NULL;
	out->repository = e ? e->config->repo : NULL;
	return out->binding && out->connection;
}

static void route_free(struct route *r)
{
	errand_leave(r->errand);
	json_decref(r->etags);
	json_decref(r->open);
	json_decref(r->done);
	json_decref(r->error);
	free(r->login);
	free(r->name);
	free(r->binding);
	free(r->repository);
	free(r);
}

static bool same(const struct route *r, const char *name, const struct routed *to)
{
	return !strcmp(r->name, name) && !strcmp(r->binding, to->binding->full) &&
	       !strcmp(r->repository, to->repository);
}

static struct route *route_new(struct serve *s, const char *name, const struct routed *to)
{
	struct route *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	*r = (struct route){ .next = s->routes,
		             .s = s,
		             .name = strdup(name),
		             .binding = strdup(to->binding->full),
		             .repository = strdup(to->repository),
		             .done = json_array() };
	s->routes = r;
	return r;
}

/* One that points elsewhere by now is another. */
static void match(struct serve *s, const struct config_scope *scope, const struct routed *to)
{
	char name[600];
	struct route *r;
	size_t n = 0;

	snprintf(name, sizeof(name), "%s/%s", scope->id, to->route->name);
	for (r = s->routes; r && !same(r, name, to); r = r->next)
		n++;
	if (!r && n < ROUTES_MAX)
		r = route_new(s, name, to);
	if (r && r->name && r->binding && r->repository)
		r->there = true;
}

static void match_all(struct serve *s, const struct config *c)
{
	struct route **at = &s->routes;
	struct routed to;

	for (struct route *r = s->routes; r; r = r->next)
		r->there = false;
	for (size_t i = 0; i < c->n_scopes; i++)
		for (size_t k = 0; k < c->scopes[i].n_routes; k++)
			if (routed_of(c, &c->scopes[i], &c->scopes[i].routes[k], &to))
				match(s, &c->scopes[i], &to);
	while (*at) {
		struct route *r = *at;

		if (r->there) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		route_free(r);
	}
}

static bool find(const struct config *c, const struct route *r, struct routed *to)
{
	for (size_t i = 0; i < c->n_scopes; i++)
		for (size_t k = 0; k < c->scopes[i].n_routes; k++) {
			char name[600];

			snprintf(name, sizeof(name), "%s/%s", c->scopes[i].id, c->scopes[i].routes[k].name);
			if (routed_of(c, &c->scopes[i], &c->scopes[i].routes[k], to) && same(r, name, to))
				return true;
		}
	return false;
}

/* The config; NULL: there is none, or one with errors, which is said once. */
static struct config *read_config(struct serve *s)
{
	struct report report = { 0 };
	struct config *c = NULL;
	bool good = config_load(NULL, NULL, &c, &report) >= 0, was = s->routes_bad;

	s->routes_bad = !good;
	for (size_t i = 0; !good && !was && i < report.n; i++) {
		const struct finding *f = &report.v[i];

		if (f->warning)
			continue;
		out_printf(&s->h->err, "open-conduit: no route is followed while the config has an error: %s\n",
		           f->message);
		out_flush(&s->h->err);
		break;
	}
	report_free(&report);
	return c;
}

/* ---- asking ---- */

static void failed(struct route *r, const json_t *error, long long wait)
{
	const char *message = host_string(error, "message"), *before = host_string(r->error, "message");
	long long pause = poll_ms() << (r->failures < 5 ? r->failures : 5);

	r->failures++;
	pause = pause > PAUSE_MAX ? PAUSE_MAX : pause;
	r->at = host_mono_ms() + (wait > pause ? wait : pause);
	if (!before || !message || strcmp(before, message) != 0) {
		out_printf(&r->s->h->err, "open-conduit: the route %s\n", r->name);
		host_report_json(r->s->h, "nothing is heard of its repository", error);
		out_flush(&r->s->h->err);
	}
	json_decref(r->error);
	r->error = json_deep_copy(error);
}

static void went_well(struct route *r, const json_t *answer)
{
	long long wait = (long long)json_integer_value(json_object_get(answer, "wait"));
	const char *login = host_string(answer, "login");

	if (r->error) {
		out_printf(&r->s->h->err, "open-conduit: the route %s is heard again\n", r->name);
		out_flush(&r->s->h->err);
	}
	json_decref(r->error);
	r->error = NULL;
	r->failures = 0;
	r->last = host_now_ms();
	r->at = host_mono_ms() + (wait > poll_ms() ? wait : poll_ms());
	if (login && !r->login)
		r->login = strdup(login);
	r->since = (long long)json_integer_value(json_object_get(answer, "since"));
	if (!r->since)
		r->since = (long long)json_integer_value(json_object_get(answer, "now")) - OVERLAP_MS;
	json_decref(r->etags);
	r->etags = json_deep_copy(json_object_get(answer, "etag"));
}

static void answered(struct host *h, const json_t *answer, void *userdata)
{
	static const struct refusal undone = { NULL, "state.db", "not all that was heard could be kept",
		                               "open-conduit runs list" };
	struct route *r = userdata;
	struct config *c;
	struct routed to;
	json_t *error = NULL;

	(void)h;
	r->errand = NULL;
	serve_fault("serve:polled");
	if (json_object_get(answer, "error")) {
		failed(r, json_object_get(answer, "error"),
		       (long long)json_integer_value(json_object_get(answer, "wait")));
		return;
	}
	c = read_config(r->s);
	if (c && find(c, r, &to)) {
		if (routed_take(r, &to, answer))
			went_well(r, answer);
		else
			failed(r, error = host_refusal_json(&undone), 0);
	}
	json_decref(error);
	config_free(c);
	r->s->look = true;
}

/* Numbers that need no more than what is new of them, and since when that is. */
static void known(struct route *r, json_t *request)
{
	json_t *works = routed_works(r), *work, *numbers = json_array();
	long long since = 0;
	size_t i;

	json_array_foreach(works, i, work)
	{
		const json_t *data = routed_data(work);
		long long through = (long long)json_integer_value(json_object_get(data, "through"));

		if (!json_is_true(json_object_get(data, "queued")))
			continue;
		json_array_append(numbers, json_object_get(data, "number"));
		since = !since || through < since ? through : since;
	}
	json_array_extend(numbers, r->done);
	(void)routed_turns(r, works);
	json_decref(works);
	/* A daemon that has just begun has heard nothing since the oldest of them was written to. */
	r->since = r->since ? r->since : since;
	json_object_set_new(request, "known", numbers);
}

static void ask(struct route *r, const struct routed *to)
{
	json_t *error = NULL, *request = github_request(to->connection, r->repository, "poll", &error);

	if (request) {
		json_object_set_new(request, "label", json_string(to->binding->name));
		known(r, request);
		json_object_set_new(request, "since", json_integer(r->since));
		if (r->etags && r->open)
			json_object_set(request, "etag", r->etags);
		if (r->login)
			json_object_set_new(request, "login", json_string(r->login));
		r->at = host_mono_ms() + poll_ms();
		/* Where it can't be started answered() was called. */
		r->errand = errand_start(r->s->h, GITHUB_PROGRAM, request, answered, r);
	} else {
		failed(r, error, 0);
	}
	json_decref(error);
}

void routes_turn(struct serve *s)
{
	long long now = host_mono_ms();
	struct config *c = NULL;
	struct routed to;
	bool due = now >= s->routes_at && !s->draining;

	for (struct route *r = s->routes; r && !due; r = r->next)
		due = !r->errand && !s->draining && now >= r->at;
	if (!due)
		return;
	s->routes_at = now + poll_ms();
	c = read_config(s);
	if (c)
		match_all(s, c);
	for (struct route *r = s->routes; r; r = r->next) {
		if (r->errand || now < r->at)
			continue;
		if (c && find(c, r, &to))
			ask(r, &to);
		else
			r->at = now + poll_ms();
	}
	config_free(c);
}

int routes_wait(const struct serve *s)
{
	long long now = host_mono_ms(), until = s->routes_at;

	if (s->draining)
		return -1;
	for (const struct route *r = s->routes; r; r = r->next)
		if (!r->errand && r->at < until)
			until = r->at;
	return until > now ? (int)(until - now) : 0;
}

json_t *routes_status(const struct serve *s)
{
	json_t *list = json_array();

	for (const struct route *r = s->routes; r; r = r->next)
		json_array_append_new(list,
		                      json_pack("{s:s, s:s, s:s, s:o, s:O?}", "route", r->name, "binding", r->binding,
		                                "repository", r->repository, "polled",
		                                r->last ? json_integer(r->last) : json_null(), "error", r->error));
	return list;
}

void routes_end(struct serve *s)
{
	while (s->routes) {
		struct route *r = s->routes;

		s->routes = r->next;
		route_free(r);
	}
}

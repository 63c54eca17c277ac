/* SPDX-License-Identifier: Apache-2.0 */
/* What may be asked of the daemon: submit, look, status, drain. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve.h"

static json_t *library_error(oc_error *taken)
{
	json_t *json = host_error_json(taken);

	oc_error_free(taken);
	return json;
}

/* A run to be started.  It comes with its id, so that who asked can find out what became of it when no answer came. */
static json_t *submit(struct serve *s, const json_t *params, json_t **error)
{
	static const struct refusal draining = { "serve_draining", "serve",
		                                 "the daemon starts nothing new: it is being drained",
		                                 "open-conduit serve" };
	const char *run = host_string(params, "run");
	char *request = json_dumps(json_object_get(params, "request"), JSON_COMPACT);
	oc_error *err = NULL;
	int rc = -1;

	if (s->draining) {
		*error = host_refusal_json(&draining);
	} else {
		serve_fault("serve:submit");
		rc = oc_queue_add(s->h->store, run, host_string(params, "binding"), host_string(params, "key"), request,
		                  &err);
		serve_fault("serve:submitted");
	}
	free(request);
	if (rc < 0 && !*error)
		*error = library_error(err);
	s->look = true;
	return rc < 0 ? NULL : json_pack("{s:s, s:s}", "run", run, "state", "queued");
}

static json_t *status(struct serve *s)
{
	return json_pack("{s:i, s:i, s:I, s:i, s:b, s:I, s:I, s:I, s:I, s:o}", "version", 1, "pid", (int)getpid(),
	                 "up_ms", (json_int_t)(host_mono_ms() - s->began), "jobs", s->jobs, "draining", s->draining,
	                 "queued", (json_int_t)s->queued, "starting", (json_int_t)s->starting, "started",
	                 (json_int_t)s->started, "adopted", (json_int_t)serve_adopted_count(s), "routes",
	                 routes_status(s));
}

json_t *serve_method(struct serve *s, struct serve_client *c, const char *method, const json_t *params, json_t **error)
{
	static const struct refusal unknown = { NULL, "method", "this daemon has no such method",
		                                "open-conduit serve --status" };

	if (!strcmp(method, "submit"))
		return submit(s, params, error);
	if (!strcmp(method, "status"))
		return status(s);
	if (!strcmp(method, "drain")) {
		s->draining = s->look = c->drains = true;
		serve_settle(s, NULL);
		serve_notify("STATUS=draining: nothing new is started");
		return status(s);
	}
	*error = host_refusal_json(&unknown);
	return NULL;
}

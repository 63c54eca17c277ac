/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a run's tokens: each that its guard has is revoked, and what can't be says until when it is good. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "github/state.h"

#define SECONDS_MIN 1
#define SECONDS_MAX 100

struct revoke {
	struct github *g;
	struct state s;
	const char *run;
	json_t *revoked, *left;
};

/* The record's times are text. */
static long long expires(const json_t *token)
{
	const char *text = json_string_value(json_object_get(token, "expires"));
	struct tm tm = { 0 };

	return text && strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? (long long)timegm(&tm) * 1000 : 0;
}

static void leave(struct revoke *r, const json_t *token, const char *why)
{
	json_array_append_new(r->left, json_pack("{s:O, s:I, s:s}", "id", json_object_get(token, "id"), "expires",
	                                         (json_int_t)expires(token), "why", why));
}

/* The refusal becomes why it was left. */
static void leave_refused(struct revoke *r, const json_t *token)
{
	const char *message = json_string_value(json_object_get(r->g->error, "message"));

	leave(r, token, message ? message : "out of memory");
	github_forgive(r->g);
}

/* Where its service is; its record is ours, but what it says may be old. */
static bool aim(struct github *g, const json_t *token)
{
	const json_t *about = json_object_get(token, "about");

	g->api = json_string_value(json_object_get(about, "api"));
	g->repository = json_string_value(json_object_get(about, "repository"));
	if (github_api_fits(g->api))
		return true;
	github_refuse(g, "github_answer", json_string_value(json_object_get(token, "id")), "wait until it has expired",
	              "the record of the token doesn't say where GitHub is");
	return false;
}

/* It is in nobody's memory any more. */
static void by_itself(struct revoke *r, const json_t *token, const char *id)
{
	const char *at = json_string_value(json_object_get(token, "expires"));
	bool asked = strcmp(json_string_value(json_object_get(token, "state")), "asked") == 0;
	char why[200];

	if (expires(token) + 1000 <= github_now_ms()) {
		if (!state_end(r->g, &r->s, r->run, id, "expired", NULL))
			leave_refused(r, token);
		return;
	}
	snprintf(why, sizeof(why), "%s: it expires by itself at %.40s",
	         asked ? "nobody heard whether it was made" : "the guard that held it is gone",
	         at ? at : "a moment that isn't known");
	if (!state_end(r->g, &r->s, r->run, id, "made", why))
		github_forgive(r->g);
	leave(r, token, why);
	json_object_set_new(json_array_get(r->left, json_array_size(r->left) - 1), "gone", json_true());
}

static void end_one(struct revoke *r, const json_t *token, const char *id, const struct app_token *value)
{
	bool done;

	github_fault("github:revoking");
	done = aim(r->g, token) && app_revoke(r->g, value) == 0;
	if (done)
		github_fault("github:revoked");
	if (done && state_end(r->g, &r->s, r->run, id, "revoked", NULL)) {
		json_array_append_new(r->revoked, json_string(id));
		return;
	}
	if (!done) {
		const char *message = json_string_value(json_object_get(r->g->error, "message"));

		(void)state_end(r->g, &r->s, r->run, id, "made", message);
	}
	leave_refused(r, token);
}

static void one(struct revoke *r, const json_t *token)
{
	const char *id = json_string_value(json_object_get(token, "id")),
	           *state = json_string_value(json_object_get(token, "state"));
	struct app_token value = { .len = 0 };
	oc_error *err = NULL;
	int rc;

	if (!id || !state || (strcmp(state, "asked") != 0 && strcmp(state, "made") != 0))
		return;
	rc = oc_token_take(r->s.store, r->run, id, value.value, &value.len, &err);
	if (rc >= 0 && value.len <= GITHUB_TOKEN_MAX) {
		value.value[value.len] = 0;
		end_one(r, token, id, &value);
	} else if (rc == OC_ENOTFOUND) {
		by_itself(r, token, id);
	} else {
		state_refuse(r->g, err);
		err = NULL;
		leave_refused(r, token);
	}
	oc_error_free(err);
	explicit_bzero(&value, sizeof(value));
}

static json_t *listed(struct revoke *r)
{
	oc_error *err = NULL;
	char *text = NULL;
	json_t *list = NULL;

	if (oc_token_list(r->s.store, r->run, &text, &err) < 0)
		state_refuse(r->g, err);
	else
		list = json_loads(text, 0, NULL);
	free(text);
	return list;
}

json_t *op_revoke(struct github *g)
{
	struct revoke r = { .g = g, .run = json_string_value(json_object_get(g->request, "run")) };
	long long seconds = json_integer_value(json_object_get(g->request, "seconds"));
	json_t *list = NULL, *told = NULL;
	const json_t *token;
	size_t i;

	if (seconds >= SECONDS_MIN && seconds <= SECONDS_MAX)
		github_more_time(g, (int)seconds);
	r.revoked = json_array();
	r.left = json_array();
	if (r.run && r.revoked && r.left && state_open(g, &r.s))
		list = listed(&r);
	json_array_foreach(list, i, token)
	{
		one(&r, token);
	}
	if (list)
		told = json_pack("{s:O, s:O}", "revoked", r.revoked, "left", r.left);
	json_decref(list);
	json_decref(r.revoked);
	json_decref(r.left);
	state_close(&r.s);
	return told;
}

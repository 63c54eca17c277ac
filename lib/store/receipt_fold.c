/* SPDX-License-Identifier: Apache-2.0 */
/* What a run's events come to, for comparing with what else is said of the run. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/receipt.h"
#include "store/tokens.h"

void oc_fold_free(struct oc_fold *f)
{
	json_decref(f->attempts);
	json_decref(f->calls);
	json_decref(f->tokens);
	memset(f, 0, sizeof(*f));
}

void oc_fold_call(const json_t *call, char out[48])
{
	snprintf(out, 48, "%" PRId64 "/%" PRId64, oc_json_integer(call, "attempt", -1),
	         oc_json_integer(call, "number", -1));
}

static bool wrong(struct oc_fold *f, const char *why)
{
	f->wrong = why;
	return true;
}

static int pinned(struct oc_fold *f, const json_t *data)
{
	if (f->pinned || f->at)
		return wrong(f, "a run is pinned once, and first");
	f->pinned = data;
	return 0;
}

static int call(struct oc_fold *f, const json_t *data)
{
	json_t *one = json_copy((json_t *)data);
	char key[48];

	oc_fold_call(data, key);
	if (json_object_get(f->calls, key)) {
		json_decref(one);
		return wrong(f, "a call is recorded once");
	}
	if (json_object_size(one) != json_object_size(data) || !oc_json_set(one, "outcome", json_string("unknown")) ||
	    !oc_json_set(one, "answer", json_null()) || !oc_json_set(one, "answered_ms", json_null())) {
		json_decref(one);
		return OC_ENOMEM;
	}
	return oc_json_set(f->calls, key, one) ? 0 : OC_ENOMEM;
}

static int answer(struct oc_fold *f, const json_t *data)
{
	json_t *one;
	char key[48];

	oc_fold_call(data, key);
	one = json_object_get(f->calls, key);
	/* One from before there was a chain has no event of its own. */
	if (!one)
		return f->unchained ? 0 : wrong(f, "it answers no call");
	if (!json_is_null(json_object_get(one, "answer")))
		return wrong(f, "a call is answered once");
	return json_object_update(one, (json_t *)data) == 0 ? 0 : OC_ENOMEM;
}

/* It is asked for once, and its state only goes forward; what is said of it without one is why it is not over. */
static int token(struct oc_fold *f, const json_t *data)
{
	const char *id = oc_json_text(data, "id"), *state = oc_json_text(data, "state");
	const char *was = id ? oc_json_text(f->tokens, id) : NULL;
	int rank = oc_token_rank(state);

	if (!id || (!state ? json_object_get(data, "state") != NULL : !rank))
		return wrong(f, "it is of no token, or of no state of one");
	if (!was && rank != 1)
		return wrong(f, "that token was never asked for");
	if (was && state && rank <= oc_token_rank(was))
		return wrong(f, "a token is asked for once, and never goes back");
	if (was && !state)
		return oc_token_rank(was) < 3 ? 0 : wrong(f, "that token was over");
	if (was && oc_token_rank(was) == 2 && strcmp(state, "never") == 0)
		return wrong(f, "a token that was made can't be one that never was");
	return oc_json_set(f->tokens, id, json_string(state)) ? 0 : OC_ENOMEM;
}

static int one_event(struct oc_fold *f, const char *type, json_t *data)
{
	if (strcmp(type, "pinned") == 0)
		return pinned(f, data);
	if (f->at == 0)
		return wrong(f, "the first event of a run is that it is pinned");
	if (strcmp(type, "state") == 0)
		f->state = data;
	else if (strcmp(type, "ended") == 0)
		f->ended = data;
	else if (strcmp(type, "retry") == 0)
		f->ended = NULL;
	else if (strcmp(type, "saved") == 0)
		f->saved = data;
	else if (strcmp(type, "attempt") == 0)
		return oc_json_append(f->attempts, json_incref(data)) ? 0 : OC_ENOMEM;
	else if (strcmp(type, "call") == 0)
		return call(f, data);
	else if (strcmp(type, "answer") == 0)
		return answer(f, data);
	else if (strcmp(type, "token") == 0)
		return token(f, data);
	return 0;
}

int oc_fold(const json_t *events, struct oc_fold *f, oc_error **err)
{
	json_t *event;
	int rc = 0;

	memset(f, 0, sizeof(*f));
	f->events = json_array_size(events);
	f->attempts = json_array();
	f->calls = json_object();
	f->tokens = json_object();
	if (!f->attempts || !f->calls || !f->tokens)
		return oc_nomem(err);
	json_array_foreach(events, f->at, event)
	{
		const char *type = oc_json_text(event, "type");
		json_t *data = json_object_get(event, "data");

		f->unchained += json_is_null(json_object_get(event, "chain"));
		if (!type || !json_is_object(data))
			rc = wrong(f, "it is no event");
		else
			rc = one_event(f, type, data);
		if (rc != 0)
			break;
	}
	return rc < 0 ? oc_nomem(err) : 0;
}

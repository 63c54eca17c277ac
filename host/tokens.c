/* SPDX-License-Identifier: Apache-2.0 */
#include "tokens.h"

#include <stdlib.h>
#include <string.h>

#include "errand.h"
#include "github_ask.h"

#define END_S    30 /* at the end of its own run, whose caller waits; what is left is tried again */
#define SETTLE_S 10 /* before a command about something else, which is waiting; what is left is tried again */

/* The runs that have one which is not over, each once: new; or NULL after saying why. */
static json_t *runs_with(struct host *h, const char *run)
{
	json_t *tokens, *one, *runs = json_object();
	oc_error *err = NULL;
	char *text = NULL;
	size_t i;

	if (oc_token_list(h->store, run, &text, &err) < 0) {
		host_report(h, "the tokens that runs left can't be listed", err);
		oc_error_free(err);
		json_decref(runs);
		return NULL;
	}
	tokens = host_parse(h, "the list of tokens", text);
	json_array_foreach(tokens, i, one)
	{
		const char *state = host_string(one, "state"), *id = host_string(one, "run");

		if (state && id && (!strcmp(state, "asked") || !strcmp(state, "made")))
			json_object_set_new(runs, id, json_true());
	}
	json_decref(tokens);
	return runs;
}

static void tell_left(struct host *h, const char *run, const json_t *left)
{
	const char *why = host_string(left, "why");
	char at[64];

	host_time(json_object_get(left, "expires"), at, sizeof(at));
	out_printf(&h->err, "open-conduit: run %s: a token of its git is not revoked: %s (it ends by itself: %s)\n",
	           run, why ? why : "it is not said why", at);
	out_flush(&h->err);
}

static bool revoke(struct host *h, const char *run, bool tell)
{
	json_t *request = json_pack("{s:s, s:s, s:i}", "op", "revoke", "run", run, "seconds", tell ? END_S : SETTLE_S);
	json_t *answer = errand_wait(h, GITHUB_PROGRAM, request), *one;
	const json_t *error = json_object_get(answer, "error"), *left = json_object_get(answer, "left");
	bool good = answer && !error;
	size_t i;

	if (error)
		host_report_json(h, "a token of a run's git is not revoked yet", error);
	/* One that nobody holds can't be revoked by anybody: it is in the run's record, and no reason to try again. */
	json_array_foreach(left, i, one)
	{
		bool gone = json_is_true(json_object_get(one, "gone"));

		good = good && gone;
		if (!gone || tell)
			tell_left(h, run, one);
	}
	json_decref(answer);
	return good;
}

bool tokens_revoke(struct host *h, const char *run)
{
	bool json = h->json, good = true;
	json_t *runs, *value;
	const char *id;

	h->json = false; /* what is told here is no answer of a command */
	runs = runs_with(h, run);
	good = runs != NULL;
	json_object_foreach(runs, id, value) good = revoke(h, id, run != NULL) && good;
	json_decref(runs);
	h->json = json;
	return good;
}

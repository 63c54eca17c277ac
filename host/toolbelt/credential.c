/* SPDX-License-Identifier: Apache-2.0 */
/* github.git.credential: for the run's git alone.  What it gets is made for the Work's one repository and kept by the run's
 * guard, which puts it into the answer: it is never here. */
#include <stdlib.h>
#include <string.h>

#include "github_ask.h"
#include "later.h"

#define SPARE_MS (10 * 60 * 1000LL) /* that one has to live on to be given again: a long push may begin with it */

static void give(struct host *h, oc_toolcall *call, const char *id, long long expires)
{
	const struct toolbelt_refusal r = { .reason = "failed", .message = "the answer is none that was asked for" };
	char text[100];
	oc_error *err = NULL;

	if (!id) {
		toolbelt_refuse(h, call, &r);
		return;
	}
	snprintf(text, sizeof(text), "{\"username\":\"x-access-token\",\"expires\":%lld}", expires);
	toolbelt_tell(h, oc_toolcall_reply_token(call, text, id, &err), err);
}

static void minted(struct host *h, oc_toolcall *call, const json_t *answer)
{
	give(h, call, host_string(answer, "token"), (long long)json_integer_value(json_object_get(answer, "expires")));
}

/* One that was made for this run and is good for long enough: given, and true. */
static bool give_again(const struct toolbelt *t, oc_toolcall *call)
{
	json_t *tokens = NULL, *one;
	oc_error *err = NULL;
	char *text = NULL;
	bool given = false;
	size_t i;

	if (oc_token_list(t->h->store, t->run, &text, &err) >= 0)
		tokens = json_loads(text, 0, NULL);
	json_array_foreach(tokens, i, one)
	{
		long long expires = host_time_ms(json_object_get(one, "expires"));
		const char *state = host_string(one, "state");

		if (given || !state || strcmp(state, "made") != 0 || expires < host_now_ms() + SPARE_MS)
			continue;
		give(t->h, call, host_string(one, "id"), expires);
		given = true;
	}
	json_decref(tokens);
	oc_error_free(err);
	free(text);
	return given;
}

static void mint(const struct toolbelt *t, oc_toolcall *call)
{
	json_t *error = NULL, *request = github_request(t->binding->link, t->binding->repo, "mint", &error);

	if (error) {
		toolbelt_refuse_json(t->h, call, error);
		json_decref(error);
		return;
	}
	if (request)
		json_object_set_new(request, "run", json_string(t->run));
	later_start(t, call, request, minted, false);
}

void toolbelt_git_credential(const struct toolbelt *t, oc_toolcall *call, const json_t *arguments)
{
	static const struct toolbelt_refusal nothing = { .reason = "sandbox_config",
		                                         .message = "the binding has no connection, or no repository",
		                                         .fix = "open-conduit config check" };
	static const struct toolbelt_refusal personal = {
		.reason = "sandbox_config",
		.message = "the connection signs in by a personal token, which is made for more than a run: of that "
		           "kind no run gets one from here",
		.fix = "set \"auth\": \"app\" on the connection, or select the token in the binding's secret_names as "
		       "GH_TOKEN"
	};

	(void)arguments;
	if (!t->binding->link || !t->binding->repo)
		toolbelt_refuse(t->h, call, &nothing);
	else if (!github_is_app(t->binding->link))
		toolbelt_refuse(t->h, call, &personal);
	else if (!give_again(t, call) && !later_join(t, call, minted))
		mint(t, call);
}

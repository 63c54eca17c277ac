/* SPDX-License-Identifier: Apache-2.0 */
/* Why a turn of Claude Code failed: its result names a status of the API, an error of its own, or neither, and the words
 * of its text are the last resort. */
#include <stdio.h>
#include <string.h>

#include "claude_reader.h"

#define MESSAGE_MAX 600

static const char FIX_SIGN_IN[] = "claude setup-token; open-conduit secret set claude-token; then in the binding: "
                                  "\"secret_names\": [\"claude-token\"], \"config\": {\"secret_env\": "
                                  "{\"claude-token\": \"CLAUDE_CODE_OAUTH_TOKEN\"}}";
static const char FIX_LATER[] = "run the turn again later: what it did so far is kept, and its session goes on";
static const char FIX_PAY[] = "look at the account's plan and billing, then run the turn again: its session goes on";
static const char FIX_AFRESH[] = "run the turn again: it begins a new session";
static const char FIX_REACH[] = "check that its API answers, and that network.allow names the host; then run the turn "
                                "again: its session goes on";
static const char FIX_AGAIN[] = "read what it printed: open-conduit runs logs; then run the turn again";
static const char FIX_TURNS[] = "run the turn again: its session goes on where it stopped";

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static bool has(const char *text, const char *words)
{
	return text && strstr(text, words);
}

/* What it says itself: the result, or the first of its errors. */
static char *own_words(const json_t *result)
{
	const char *text = text_of(result, "result");
	char *copy;

	if (!text || !*text)
		text = json_string_value(json_array_get(json_object_get(result, "errors"), 0));
	/* A note for its makers. */
	if (!text || !*text || !strncmp(text, "[ede_diagnostic]", 16))
		text = text_of(result, "terminal_reason");
	if (!text || !*text)
		text = "it did not say why";
	copy = strndup(text, MESSAGE_MAX);
	if (copy)
		copy[text_valid(copy, strlen(copy))] = 0;
	return copy;
}

struct cause {
	const char *reason, *fix;
};

static struct cause of_status(long long status)
{
	if (status == 401 || status == 403)
		return (struct cause){ "agent_sign_in", FIX_SIGN_IN };
	if (status == 429)
		return (struct cause){ "agent_limited", FIX_LATER };
	if (status >= 500)
		return (struct cause){ "agent_unreachable", FIX_REACH };
	return (struct cause){ "agent_failed", FIX_AGAIN };
}

static struct cause of_words(const json_t *result, const char *error, const char *words)
{
	const char *terminal = text_of(result, "terminal_reason");

	if (!strcmp(error, "authentication_failed") || has(words, "Not logged in"))
		return (struct cause){ "agent_sign_in", FIX_SIGN_IN };
	if (!strcmp(error, "billing_error"))
		return (struct cause){ "agent_limited", FIX_PAY };
	if (!strcmp(error, "rate_limit"))
		return (struct cause){ "agent_limited", FIX_LATER };
	if (!strcmp(error, "server_error") || (terminal && !strcmp(terminal, "api_error")))
		return (struct cause){ "agent_unreachable", FIX_REACH };
	return (struct cause){ "agent_failed", FIX_AGAIN };
}

char *claude_why(const json_t *result, const char *error, struct talk_why *why, char subject[40])
{
	const json_t *status = json_object_get(result, "api_error_status");
	const char *subtype = text_of(result, "subtype");
	char *words = own_words(result);
	struct cause cause;

	if (json_is_integer(status)) {
		cause = of_status(json_integer_value(status));
		snprintf(subject, 40, "HTTP %lld", (long long)json_integer_value(status));
		if (!strcmp(error, "billing_error"))
			cause = (struct cause){ "agent_limited", FIX_PAY };
	} else {
		cause = of_words(result, error, words);
		snprintf(subject, 40, "%.39s", *error ? error : subtype ? subtype : "claude");
	}
	if (subtype && !strcmp(subtype, "error_max_turns"))
		cause = (struct cause){ "agent_failed", FIX_TURNS };
	*why = (struct talk_why){ cause.reason, subject, words ? words : "out of memory", cause.fix,
		                  has(words, "No conversation found with session ID") };
	if (why->no_session)
		why->fix = FIX_AFRESH;
	return words;
}

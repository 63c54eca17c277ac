/* SPDX-License-Identifier: Apache-2.0 */
#include "github_ask.h"

#include <string.h>

#include "errand.h"
#include "secret/secret.h"

struct signing {
	const char *app, *name, *ref; /* app NULL: a token */
};

static struct signing signing_of(const struct config_connection *c)
{
	const struct config_connection_secrets *s = c->secret_refs;

	if (c->config->bot)
		return (struct signing){ c->config->bot->app_id, "bot_private_key", s->bot_private_key };
	if (!strcmp(c->config->auth, "app"))
		return (struct signing){ c->config->app_id, "app_private_key", s->app_private_key };
	return (struct signing){ NULL, "token", s->token };
}

bool github_is_app(const struct config_connection *connection)
{
	return signing_of(connection).app != NULL;
}

static void refuse(json_t **error, const char *message, const char *subject, const char *fix)
{
	const struct refusal r = { "secret_missing", subject, message, fix };

	*error = host_refusal_json(&r);
}

/* What it signs in by, from its place to the request and nowhere else. */
static json_t *read_auth(const struct config_connection *c, json_t **error)
{
	const struct signing by = signing_of(c);
	struct secret_problem p = { { 0 }, { 0 } };
	struct secret_value value = { NULL, 0 };
	json_t *auth = json_object(), *secret = NULL;

	if (secret_read(by.name, by.ref, &value, &p) != SECRET_PRESENT)
		refuse(error, p.message.data ? p.message.data : "out of memory", by.name, p.fix.data);
	else if (!(secret = json_stringn(value.data, value.len)))
		refuse(error, "its value is no text", by.name, "store it anew: open-conduit secret set NAME <FILE");
	if (auth && secret && by.app)
		json_object_set_new(auth, "app", json_string(by.app));
	if (secret)
		json_object_set_new(auth, by.app ? "key" : "token", secret);
	secret_value_free(&value);
	secret_problem_free(&p);
	if (secret)
		return auth;
	json_decref(auth);
	return NULL;
}

json_t *github_request(const struct config_connection *connection, const char *repository, const char *op,
                       json_t **error)
{
	json_t *auth, *request;

	*error = NULL;
	auth = read_auth(connection, error);
	if (!auth)
		return NULL;
	request = json_pack("{s:s, s:s, s:s, s:O}", "op", op, "api", connection->api, "repository", repository, "auth",
	                    auth);
	json_decref(auth);
	return request;
}

void github_request_free(json_t *request)
{
	errand_wipe(request);
	json_decref(request);
}

json_t *github_wait(struct host *h, json_t *request, json_t **error)
{
	json_t *answer = errand_wait(h, GITHUB_PROGRAM, request);

	*error = json_incref(json_object_get(answer, "error"));
	if (json_is_object(answer) && !*error)
		return answer;
	json_decref(answer);
	return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of the App's installation: made for one repository and nothing more, looked at before anybody gets one, ended. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "github/github.h"

#define LIFE_MAX_S   (2 * 3600LL) /* GitHub's live for one hour */
#define ATTEMPTS_MAX 3

static bool same_permissions(const json_t *granted, const json_t *asked)
{
	size_t n = json_object_size(asked);
	const char *name, *level;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)granted, name, value)
	{
		const char *wanted = json_string_value(json_object_get(asked, name));

		level = json_string_value(value);
		if (wanted && level && !strcmp(wanted, level))
			n--;
		else if (strcmp(name, "metadata") != 0 || !level || strcmp(level, "read") != 0)
			return false;
	}
	return n == 0;
}

/* NULL, or in what it isn't what was asked for. */
static const char *other_than_asked(const struct github *g, const json_t *answer, const json_t *permissions)
{
	const json_t *repositories = json_object_get(answer, "repositories");
	const char *name = json_string_value(json_object_get(json_array_get(repositories, 0), "full_name"));

	if (json_array_size(repositories) != 1)
		return "not for exactly one repository";
	if (!name || strcasecmp(name, g->repository) != 0)
		return "for another repository";
	return same_permissions(json_object_get(answer, "permissions"), permissions) ? NULL : "with other permissions";
}

/* By our clock, whatever the difference to GitHub's is.  0: it isn't one of GitHub's. */
static long long expiry(const struct github_answer *a)
{
	const char *text = json_string_value(json_object_get(a->json, "expires_at"));
	struct tm tm = { 0 };
	const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm) : NULL;
	long long now = github_now_ms() / 1000, theirs = a->date ? a->date : now, left;

	if (!end || *end)
		return 0;
	left = (long long)timegm(&tm) - theirs;
	return left > 0 && left <= LIFE_MAX_S ? (now + left) * 1000 : 0;
}

static bool read_token(const struct github_answer *a, struct app_token *out)
{
	const json_t *token = json_object_get(a->json, "token");
	const char *value = json_string_value(token);
	size_t len = json_string_length(token);

	if (!value || len < GITHUB_TOKEN_MIN || len > GITHUB_TOKEN_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (value[i] <= ' ' || value[i] > '~')
			return false;
	memcpy(out->value, value, len + 1);
	out->len = len;
	out->made = github_mono_ms();
	return true;
}

static int judge(struct github *g, const struct github_answer *a, const json_t *permissions, struct app_token *out)
{
	const char *other;

	if (!read_token(a, out))
		return github_refuse(g, "github_answer", g->api,
		                     "look whether the connection's address is an API of GitHub's",
		                     "a token for %s: GitHub's answer has none", g->repository);
	out->expires = expiry(a);
	other = out->expires ? other_than_asked(g, a->json, permissions)
	                     : "no moment at which it expires, or one too far away";
	if (!other)
		return 1;
	github_refuse(g, "github_answer", g->repository,
	              "the token was revoked and not used; look at the App's installation, then try again",
	              "a token for %s: GitHub made one %s", g->repository, other);
	return app_revoke(g, out) == 0 ? 0 : -1;
}

int app_mint(struct github *g, const json_t *installation, const json_t *permissions, struct app_token *out)
{
	char path[GITHUB_PATH_MAX], needs[100];
	struct github_call call = { "POST", path, "a token", .auth = GITHUB_APP, .needs = needs, .once = true };
	struct github_answer a = { 0 };
	void *first = json_object_iter((json_t *)(uintptr_t)permissions);
	json_t *body =
	        json_pack("{s:[s], s:O}", "repositories", strchr(g->repository, '/') + 1, "permissions", permissions);
	int rc;

	snprintf(needs, sizeof(needs), "%s: %s", json_object_iter_key(first),
	         json_string_value(json_object_iter_value(first)));
	snprintf(path, sizeof(path), "/app/installations/%lld/access_tokens",
	         (long long)json_integer_value(json_object_get(installation, "id")));
	call.body = body;
	out->len = 0;
	if (body && github_ask(g, &call, &a) == 0)
		rc = judge(g, &a, permissions, out);
	else /* what a fault of the server's has made, nobody knows */
		rc = a.status >= 500 || a.garbled || (!a.status && a.heard) ? -1 : 0;
	json_decref(body);
	github_answer_clear(&a);
	return rc;
}

int app_revoke(struct github *g, const struct app_token *token)
{
	const struct github_call call = { "DELETE",
		                          "/installation/token",
		                          "the token's end",
		                          .auth = GITHUB_TOKEN,
		                          .token = token->value,
		                          .token_made = token->made };
	struct github_answer a = { 0 };
	json_t *before = g->error;
	int rc;

	g->error = NULL;
	rc = github_ask(g, &call, &a);
	if (rc < 0 && a.status == 401) {
		github_forgive(g);
		rc = 0;
	}
	if (before) {
		github_forgive(g);
		g->error = before;
	}
	github_answer_clear(&a);
	return rc;
}

/* A token that nobody knows of is worth less than it costs to ask again: it can do this one thing, for an hour. */
int app_token_for(struct github *g, const json_t *permissions, struct app_token *out)
{
	json_t *installation;
	int rc = -1;

	memset(out, 0, sizeof(*out));
	if (g->token) {
		snprintf(out->value, sizeof(out->value), "%s", g->token);
		return 0;
	}
	installation = app_installation(g);
	for (int n = 0; installation && rc < 0 && n < ATTEMPTS_MAX && (n == 0 || github_fault_of_theirs(g)); n++) {
		github_forgive(g);
		rc = app_mint(g, installation, permissions, out);
	}
	json_decref(installation);
	return rc == 1 ? 0 : -1;
}

void app_token_end(struct github *g, struct app_token *token)
{
	json_t *before = g->error;

	g->error = NULL;
	if (token->len)
		(void)app_revoke(g, token);
	github_forgive(g);
	g->error = before;
	explicit_bzero(token, sizeof(*token));
}

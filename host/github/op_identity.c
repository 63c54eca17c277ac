/* SPDX-License-Identifier: Apache-2.0 */
/* Whose name the App's commits carry: its bot's, which is a user with an id of its own. */
#include <stdio.h>
#include <string.h>

#include "github/github.h"

static const char *host_of(const struct github *g, char site[GITHUB_SITE_MAX])
{
	github_site(g, site);
	site += strlen("https://");
	site[strcspn(site, ":")] = 0; /* no address has a port */
	return site;
}

/* Anybody may ask who that is, but not often, and not of every server of a company. */
static int ask_user(struct github *g, const struct github_call *call, struct github_answer *a)
{
	struct github_call by_token = *call;
	struct app_token token;
	json_t *permissions;
	int rc = github_ask(g, call, a);

	if (rc == 0 || (a->status != 401 && !github_limited(a)))
		return rc;
	github_forgive(g);
	permissions = json_pack("{s:s}", "metadata", "read");
	rc = permissions ? app_token_for(g, permissions, &token) : -1;
	if (rc == 0) {
		by_token.auth = GITHUB_TOKEN;
		by_token.token = token.value;
		by_token.token_made = token.made;
		rc = github_ask(g, &by_token, a);
		app_token_end(g, &token);
	}
	json_decref(permissions);
	return rc;
}

static json_t *identity(struct github *g, const char *slug, const json_t *user)
{
	long long id = (long long)json_integer_value(json_object_get(user, "id"));
	char site[GITHUB_SITE_MAX], login[120], email[512];

	if (id <= 0) {
		github_refuse(g, "github_answer", g->app, "look whether the connection's address is an API of GitHub's",
		              "the App's bot: GitHub doesn't say which user it is");
		return NULL;
	}
	snprintf(login, sizeof(login), "%s[bot]", slug);
	snprintf(email, sizeof(email), "%lld+%s@users.noreply.%s", id, login, host_of(g, site));
	return json_pack("{s:s, s:s, s:s, s:I}", "login", login, "name", login, "email", email, "id", (json_int_t)id);
}

json_t *op_identity(struct github *g)
{
	struct github_answer a = { 0 };
	char path[GITHUB_PATH_MAX];
	const struct github_call call = { .method = "GET", .path = path, .what = "the App's bot" };
	json_t *self, *told = NULL;

	if (!g->app) {
		github_refuse(g, "github_denied", g->repository, "give the connection \"auth\": \"app\"",
		              "a personal token has no bot");
		return NULL;
	}
	self = app_self(g, &a);
	if (self) {
		const char *slug = json_string_value(json_object_get(self, "slug"));

		snprintf(path, sizeof(path), "/users/%s%%5Bbot%%5D", slug);
		if (ask_user(g, &call, &a) == 0)
			told = identity(g, slug, a.json);
	}
	json_decref(self);
	github_answer_clear(&a);
	return told;
}

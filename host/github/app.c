/* SPDX-License-Identifier: Apache-2.0 */
/* The App: itself, and where it is installed. */
#include <stdio.h>
#include <string.h>

#include "github/github.h"

json_t *app_self(struct github *g, struct github_answer *a)
{
	const struct github_call call = { "GET", "/app", "the App", .auth = GITHUB_APP };
	const char *slug;

	if (github_ask(g, &call, a) < 0)
		return NULL;
	slug = json_string_value(json_object_get(a->json, "slug"));
	if (!slug || !*slug || strlen(slug) > 100 ||
	    strspn(slug, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(slug)) {
		github_refuse(g, "github_answer", g->app, "look whether the connection's address is an API of GitHub's",
		              "the App: GitHub doesn't say what it is called");
		return NULL;
	}
	return json_incref(a->json);
}

/* The one row of refusals that needs another question for its fix: where to install the App. */
static void not_installed(struct github *g, long status)
{
	char site[GITHUB_SITE_MAX], fix[GITHUB_FIX_MAX];
	struct github_answer a = { 0 };
	json_t *self;

	github_forgive(g);
	self = app_self(g, &a);
	if (self) {
		const char *slug = json_string_value(json_object_get(self, "slug"));

		github_site(g, site);
		snprintf(fix, sizeof(fix), "install it there: %s/%s/%s/installations/new", site,
		         strcmp(site, "https://github.com") == 0 ? "apps" : "github-apps", slug);
		github_refuse(g, "github_denied", g->repository, fix,
		              "App %s (%s) is not installed on %s, or there is no such repository (GitHub: %ld)",
		              g->app, slug, g->repository, status);
	}
	json_decref(self);
	github_answer_clear(&a);
}

static bool usable(struct github *g, const json_t *installation)
{
	const json_t *suspended = json_object_get(installation, "suspended_at");
	char site[GITHUB_SITE_MAX], fix[GITHUB_FIX_MAX];

	if (json_integer_value(json_object_get(installation, "id")) <= 0) {
		github_refuse(g, "github_answer", g->repository,
		              "look whether the connection's address is an API of GitHub's",
		              "the App's installation: GitHub doesn't say which it is");
		return false;
	}
	if (!suspended || json_is_null(suspended))
		return true;
	github_site(g, site);
	snprintf(fix, sizeof(fix),
	         "lift the suspension: %s/settings/installations, or the same page of the organization", site);
	github_refuse(g, "github_denied", g->repository, fix, "the App's installation on %s is suspended",
	              g->repository);
	return false;
}

json_t *app_installation(struct github *g)
{
	char path[GITHUB_PATH_MAX];
	const struct github_call call = { "GET", path, "the App's installation", .auth = GITHUB_APP };
	struct github_answer a = { 0 };
	json_t *found = NULL;

	snprintf(path, sizeof(path), "/repos/%s/installation", g->repository);
	if (github_ask(g, &call, &a) == 0) {
		if (usable(g, a.json))
			found = json_incref(a.json);
	} else {
		const char *message = json_string_value(json_object_get(a.json, "message"));

		if (a.status == 404 && (!message || strcmp(message, "Integration not found") != 0))
			not_installed(g, a.status);
	}
	github_answer_clear(&a);
	return found;
}

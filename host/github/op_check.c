/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor asks: whether key and App fit, by how much the clocks differ, where the App is installed and what it was granted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "github/github.h"

#define APART_MAX_S 50 /* of the minute that a fast clock has */

static void add(json_t *checks, const char *id, const char *title, bool ok, const char *detail, const char *fix)
{
	json_array_append_new(checks, json_pack("{s:s, s:s, s:b, s:s, s:s?}", "id", id, "title", title, "ok", ok,
	                                        "detail", detail, "fix", fix));
}

/* The refusal becomes a check that failed. */
static void add_refusal(struct github *g, json_t *checks, const char *id, const char *title)
{
	const char *message = json_string_value(json_object_get(g->error, "message"));

	add(checks, id, title, false, message ? message : "out of memory",
	    json_string_value(json_object_get(g->error, "fix")));
	github_forgive(g);
}

static void add_clock(json_t *checks, const struct github_answer *a)
{
	static const char title[] = "The clock is GitHub's";
	long long apart = a->date - github_now_ms() / 1000;
	char detail[120];

	snprintf(detail, sizeof(detail), "it is %lld seconds %s GitHub's", llabs(apart),
	         apart > 0 ? "behind" : "ahead of");
	if (a->date)
		add(checks, "github.clock", title, llabs(apart) <= APART_MAX_S,
		    llabs(apart) < 2 ? "they agree" : detail,
		    llabs(apart) <= APART_MAX_S ? NULL : "timedatectl set-ntp true; timedatectl");
}

static bool granted(const json_t *installation, const char *name, bool reading)
{
	const char *level = json_string_value(json_object_get(json_object_get(installation, "permissions"), name));

	return level && (!strcmp(level, "write") || !strcmp(level, "admin") || (reading && !strcmp(level, "read")));
}

/* want: the permission's name to write it, NAME:read to read. */
static void add_permission(struct github *g, json_t *checks, const json_t *installation, const char *want)
{
	char id[100], title[120], fix[GITHUB_FIX_MAX], site[GITHUB_SITE_MAX], name[61];
	bool reading = strchr(want, ':') != NULL, ok;
	const char *level = reading ? "read" : "write";

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(want, ":"), want);
	ok = granted(installation, name, reading);

	github_site(g, site);
	snprintf(id, sizeof(id), "github.permission.%s", name);
	snprintf(title, sizeof(title), "The App may %s %s", level, name);
	snprintf(fix, sizeof(fix),
	         "give the App the permission %s: %s on its page (%s/settings/apps, Permissions), then accept "
	         "that where it is "
	         "installed (%s/settings/installations)",
	         name, level, site, site);
	add(checks, id, title, ok, ok ? "granted" : "it was not granted", ok ? NULL : fix);
}

static void check_installed(struct github *g, json_t *checks)
{
	json_t *installation = app_installation(g);
	const json_t *wants = json_object_get(g->request, "wants"), *want;
	char title[300];
	size_t i;

	snprintf(title, sizeof(title), "The App is installed on %.210s", g->repository);
	if (!installation) {
		add_refusal(g, checks, "github.installed", title);
		return;
	}
	add(checks, "github.installed", title, true, "it is", NULL);
	add_permission(g, checks, installation, "contents");
	json_array_foreach(wants, i, want)
	{
		if (json_is_string(want))
			add_permission(g, checks, installation, json_string_value(want));
	}
	json_decref(installation);
}

static void check_app(struct github *g, json_t *checks)
{
	struct github_answer a = { 0 };
	json_t *self = app_self(g, &a);
	char title[120];

	snprintf(title, sizeof(title), "The key is App %.64s's", g->app);
	if (self)
		add(checks, "github.app", title, true, json_string_value(json_object_get(self, "slug")), NULL);
	else
		add_refusal(g, checks, "github.app", title);
	add_clock(checks, &a);
	github_answer_clear(&a);
	if (self)
		check_installed(g, checks);
	json_decref(self);
}

static void check_token(struct github *g, json_t *checks)
{
	char path[GITHUB_PATH_MAX], title[300], fix[GITHUB_FIX_MAX], site[GITHUB_SITE_MAX];
	const struct github_call call = {
		"GET", path, "the repository", .auth = GITHUB_TOKEN, .token = g->token, .needs = "contents: write"
	};
	struct github_answer a = { 0 };
	const json_t *push;

	github_site(g, site);
	snprintf(path, sizeof(path), "/repos/%s", g->repository);
	snprintf(title, sizeof(title), "The token may push to %.210s", g->repository);
	snprintf(fix, sizeof(fix),
	         "give the token the permission contents: write for it: %s/settings/personal-access-tokens", site);
	if (github_ask(g, &call, &a) < 0) {
		add_refusal(g, checks, "github.token", title);
	} else {
		push = json_object_get(json_object_get(a.json, "permissions"), "push");
		add(checks, "github.token", title, !json_is_false(push),
		    json_is_false(push) ? "it may only read" : "it may see it", json_is_false(push) ? fix : NULL);
	}
	github_answer_clear(&a);
}

json_t *op_check(struct github *g)
{
	json_t *checks = json_array();

	if (checks && g->app)
		check_app(g, checks);
	else if (checks)
		check_token(g, checks);
	return checks ? json_pack("{s:o}", "checks", checks) : NULL;
}

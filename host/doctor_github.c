/* SPDX-License-Identifier: Apache-2.0 */
/* Doctor's questions to GitHub: one for each connection and repository that bindings act on, with all they want there. */
#include <string.h>
#include <strings.h>

#include "doctor_checks.h"
#include "github_ask.h"

/* Permissions beside "contents: write", as open-conduit-github's check wants them named. */
static const struct {
	const char *operations, *permission;
} permissions[] = { { "github.issue.", "issues" },
	            { "github.pull.", "pull_requests" },
	            { "github.check.", "checks:read" } };

struct asking {
	const struct config_connection *connection;
	const char *repository;
	json_t *out, *wants; /* borrowed from out, and of our own */
};

static bool wants(const struct config_binding *b, const char *operations)
{
	for (size_t i = 0; i < b->granted.n; i++)
		if (!strncmp(b->granted.v[i], operations, strlen(operations)))
			return true;
	return false;
}

static bool same(const struct asking *a, const struct config_binding *b)
{
	return a->connection == b->link && !strcasecmp(a->repository, b->repo);
}

/* Every binding that acts on the same adds its wishes. */
static void collect(struct asking *a, const struct config *config)
{
	const struct config_binding *b;
	size_t scope = 0, at = 0;

	while ((b = doctor_next(config, &scope, &at))) {
		if (!b->repo || !same(a, b))
			continue;
		json_array_append_new(json_object_get(a->out, "bindings"), json_string(b->full));
		for (size_t i = 0; i < sizeof(permissions) / sizeof(permissions[0]); i++)
			if (wants(b, permissions[i].operations))
				json_object_set_new(a->wants, permissions[i].permission, json_true());
	}
}

static bool all_ok(const json_t *checks)
{
	const json_t *one;
	size_t i;

	json_array_foreach(checks, i, one)
	{
		if (!json_is_true(json_object_get(one, "ok")))
			return false;
	}
	return json_array_size(checks) > 0;
}

static void ask(struct host *h, struct asking *a)
{
	json_t *error = NULL, *request = github_request(a->connection, a->repository, "check", &error), *list, *value;
	json_t *answer = NULL;
	const char *name;

	if (request) {
		list = json_array();
		json_object_foreach(a->wants, name, value) json_array_append_new(list, json_string(name));
		json_object_set_new(request, "wants", list);
		answer = github_wait(h, request, &error);
	}
	if (answer)
		json_object_set(a->out, "checks", json_object_get(answer, "checks"));
	json_object_set_new(a->out, "ok", json_boolean(all_ok(json_object_get(answer, "checks"))));
	json_object_set_new(a->out, "error", error ? error : json_null());
	json_decref(answer);
}

static bool asked(const json_t *list, const struct config_binding *b)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		if (!strcmp(host_string(one, "connection"), b->link->id) &&
		    !strcasecmp(host_string(one, "repository"), b->repo))
			return true;
	}
	return false;
}

json_t *doctor_github(struct host *h)
{
	bool bad;
	struct config *config = doctor_config(&bad);
	const struct config_binding *b;
	json_t *list = json_array();
	size_t scope = 0, at = 0;

	while ((b = doctor_next(config, &scope, &at))) {
		struct asking a = { .connection = b->link, .repository = b->repo };

		if (!b->link || !b->repo || asked(list, b))
			continue;
		a.wants = json_object();
		a.out = json_pack("{s:s, s:s, s:[], s:b, s:[], s:n}", "connection", b->link->id, "repository", b->repo,
		                  "bindings", "ok", 0, "checks", "error");
		collect(&a, config);
		ask(h, &a);
		json_array_append_new(list, a.out);
		json_decref(a.wants);
	}
	config_free(config);
	return list;
}

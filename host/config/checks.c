/* SPDX-License-Identifier: Apache-2.0 */
/* What connections, scopes and settings say about each other. */
#include <string.h>

#include "operations.h"
#include "read.h"

static const struct config_connection *find_connection(const struct config *c, const char *id)
{
	for (size_t i = 0; id && i < c->n_connections; i++)
		if (c->connections[i].id && !strcmp(c->connections[i].id, id))
			return &c->connections[i];
	return NULL;
}

/* The texts at `offset` of n records, "" where one is missing. */
static const char *const *column(struct reading *r, const void *records, size_t n, size_t size, size_t offset)
{
	const char **names = arena_get(r->arena, (n + 1) * sizeof(*names));

	for (size_t i = 0; names && i < n; i++) {
		const char *name = *(const char *const *)((const char *)records + i * size + offset);

		names[i] = name ? name : "";
	}
	return names;
}
#define COLUMN(r, records, n, type, member) column(r, records, n, sizeof(struct type), offsetof(struct type, member))

/* The first is meant where a name is there twice: which one would be a guess. */
static bool is_first(struct reading *r, const char *field, const char *name, const char *const *names, size_t i,
                     const char *what)
{
	for (size_t k = 0; name && k < i && names && names[k]; k++)
		if (!strcmp(names[k], name)) {
			bad(r, field, "give each a name of its own", "two %s have the name \"%s\"", what, name);
			return false;
		}
	return true;
}

static void no_such(struct reading *r, const char *field, const char *what, const char *name,
                    const char *const *candidates)
{
	const char *near = candidates ? did_you_mean(r, name, candidates) : NULL;

	bad(r, field, near ? near : at(r, "add it, or name one that is there"), "there is no %s \"%s\"", what, name);
}

static void check_app(struct reading *r, const struct config_connection *c, const char *field)
{
	static const struct config_connection_secrets none;
	const struct config_connection_config *k = c->config;
	const struct config_connection_secrets *s = c->secret_refs ? c->secret_refs : &none;
	bool app = k->auth && !strcmp(k->auth, "app");

	if (!k->auth)
		return;
	if (app && !k->app_id)
		bad(r, at(r, "%s.config.app_id", field), "add \"app_id\": \"123456\", the number of the App",
		    "a connection with auth app needs the App's number");
	if (!app && k->app_id)
		bad(r, at(r, "%s.config.app_id", field), "remove it, or set \"auth\": \"app\"",
		    "an App's number reaches nobody with auth %s", k->auth);
	if (app && !s->app_private_key)
		bad(r, at(r, "%s.secret_refs.app_private_key", field),
		    "add \"secret_refs\": {\"app_private_key\": \"keyring:github-app-key\"}",
		    "a connection with auth app needs the App's private key");
	if (!app && s->app_private_key)
		bad(r, at(r, "%s.secret_refs.app_private_key", field), "remove it, or set \"auth\": \"app\"",
		    "an App's private key reaches nobody with auth %s", k->auth);
	if (!app && !s->token)
		bad(r, at(r, "%s.secret_refs.token", field),
		    "add \"secret_refs\": {\"token\": \"keyring:github-token\"}",
		    "a connection with auth token needs the token");
	if (app && s->token)
		bad(r, at(r, "%s.secret_refs.token", field), "remove it, or set \"auth\": \"token\"",
		    "a token reaches nobody with auth app");
}

static void check_bot(struct reading *r, const struct config_connection *c, const char *field)
{
	const struct config_connection_config *k = c->config;
	const char *key = c->secret_refs ? c->secret_refs->bot_private_key : NULL;

	if (!strcmp(k->git, "bot") && !k->bot)
		bad(r, at(r, "%s.config.bot", field),
		    "add \"bot\": {\"app_id\": \"123456\"}, the number of the bot's App",
		    "git is \"bot\", and no bot is configured");
	if (k->bot && !key)
		bad(r, at(r, "%s.secret_refs.bot_private_key", field),
		    "add \"bot_private_key\": \"keyring:github-bot-key\" to secret_refs",
		    "the bot needs its App's private key");
	if (!k->bot && key)
		bad(r, at(r, "%s.secret_refs.bot_private_key", field), "add config.bot, or remove it",
		    "the bot's key reaches nobody: no bot is configured");
}

void check_connections(struct reading *r)
{
	struct config *c = r->config;
	const char *const *ids = COLUMN(r, c->connections, c->n_connections, config_connection, id);

	for (size_t i = 0; i < c->n_connections; i++) {
		struct config_connection *one = &c->connections[i];
		const char *field = at(r, "connections[%zu]", i);

		is_first(r, at(r, "%s.id", field), one->id, ids, i, "connections");
		if (!one->config)
			continue;
		if (!one->config->base_url)
			one->config->base_url = "https://github.com";
		if (!one->config->git)
			one->config->git = "user";
		one->api = strcmp(one->config->base_url, "https://github.com")
		                   ? at(r, "%s/api/v3", one->config->base_url)
		                   : "https://api.github.com";
		check_app(r, one, field);
		check_bot(r, one, field);
	}
}

static void check_authorization(struct reading *r, const struct config_scope *s, const char *field)
{
	const struct config_authorization *a = s->authorization;
	const struct config *c = r->config;

	for (size_t i = 0; a && i < a->connections.n; i++)
		if (!find_connection(c, a->connections.v[i]))
			no_such(r, at(r, "%s.authorization.connections[%zu]", field, i), "connection",
			        a->connections.v[i],
			        COLUMN(r, c->connections, c->n_connections, config_connection, id));
	for (size_t i = 0; a && i < a->read_scopes.n; i++) {
		const char *item = at(r, "%s.authorization.read_scopes[%zu]", field, i), *id = a->read_scopes.v[i];
		bool found = false;

		for (size_t k = 0; k < c->n_scopes; k++)
			found = found || (c->scopes[k].id && !strcmp(c->scopes[k].id, id));
		if (s->id && !strcmp(s->id, id))
			bad(r, item, "remove it", "a scope may read itself anyway");
		else if (!found)
			no_such(r, item, "scope", id, COLUMN(r, c->scopes, c->n_scopes, config_scope, id));
	}
}

static void check_extension(struct reading *r, const struct config_scope *s, const struct config_extension *e,
                            const char *field)
{
	const struct config *c = r->config;
	const struct config_connection *connection = find_connection(c, e->connection);
	const char *const *ids = COLUMN(r, c->scopes, c->n_scopes, config_scope, id);
	bool found = false;

	if (e->connection && !connection)
		no_such(r, at(r, "%s.connection", field), "connection", e->connection,
		        COLUMN(r, c->connections, c->n_connections, config_connection, id));
	else if (connection && (!s->authorization || !texts_have(&s->authorization->connections, e->connection)))
		bad(r, at(r, "%s.connection", field),
		    at(r, "add \"%s\" to the scope's authorization.connections", e->connection),
		    "the scope does not authorise the connection \"%s\"", e->connection);
	if (connection && connection->type && e->type && strcmp(connection->type, e->type) != 0)
		bad(r, at(r, "%s.connection", field), "name a connection of the same type",
		    "an extension of type %s can't use a connection of type %s", e->type, connection->type);
	for (size_t i = 0; i < e->secret_names.n; i++)
		if (!pairs_find(&s->secret_refs, e->secret_names.v[i]))
			bad(r, at(r, "%s.secret_names[%zu]", field, i),
			    at(r, "add \"%s\": \"keyring:%s\" to the scope's secret_refs", e->secret_names.v[i],
			       e->secret_names.v[i]),
			    "the scope does not list the secret \"%s\"", e->secret_names.v[i]);
	for (size_t i = 0; ids && ids[i] && e->config && e->config->scope; i++)
		found = found || !strcmp(ids[i], e->config->scope);
	if (e->config && e->config->scope && !found)
		no_such(r, at(r, "%s.config.scope", field), "scope", e->config->scope, ids);
}

static const struct config_binding *find_binding(const struct config_scope *s, const char *name)
{
	for (size_t i = 0; name && i < s->n_bindings; i++)
		if (s->bindings[i].name && !strcmp(s->bindings[i].name, name))
			return &s->bindings[i];
	return NULL;
}

static void check_route(struct reading *r, const struct config_scope *s, struct config_route *route, const char *field)
{
	const char *const *types = COLUMN(r, s->extensions, s->n_extensions, config_extension, type);
	const struct config_binding *b = find_binding(s, route->binding);
	bool handled = false;

	if (!route->active_policy)
		route->active_policy = "queue";
	for (size_t i = 0; types && types[i] && route->handler; i++)
		handled = handled || !strcmp(types[i], route->handler);
	if (route->handler && !handled)
		bad(r, at(r, "%s.handler", field), "name the type of one of the scope's extensions, or add one",
		    "no extension of the scope handles \"%s\"", route->handler);
	if (route->binding && !b)
		no_such(r, at(r, "%s.binding", field), "binding", route->binding,
		        COLUMN(r, s->bindings, s->n_bindings, config_binding, name));
	if (b && b->executor && strcmp(b->executor, "claude-code") != 0 && !strcmp(route->active_policy, "inject"))
		bad(r, at(r, "%s.active_policy", field), "write \"queue\": messages wait for the next turn",
		    "the executor %s takes no messages while it runs", b->executor);
}

/* A secret that nobody selects is no danger, but somebody may have meant to select it. */
static void warn_unused(struct reading *r, const struct config_scope *s, const char *field)
{
	for (size_t i = 0; i < s->secret_refs.n; i++) {
		const char *name = s->secret_refs.v[i].name;
		bool used = false;

		for (size_t k = 0; k < s->n_bindings; k++)
			used = used || texts_have(&s->bindings[k].secret_names, name);
		for (size_t k = 0; k < s->n_extensions; k++)
			used = used || texts_have(&s->extensions[k].secret_names, name);
		if (!used)
			bad_as(r,
			       &(struct bad){ .field = at(r, "%s.secret_refs.%s", field, name),
			                      .subject = name,
			                      .warning = true },
			       "select it in a binding's secret_names, or remove it",
			       "nothing selects the secret \"%s\"", name);
	}
}

static void check_scope(struct reading *r, struct config_scope *s, const char *field)
{
	const char *const *extensions = COLUMN(r, s->extensions, s->n_extensions, config_extension, name);
	const char *const *routes = COLUMN(r, s->routes, s->n_routes, config_route, name);
	const char *const *bindings = COLUMN(r, s->bindings, s->n_bindings, config_binding, name);

	check_authorization(r, s, field);
	for (size_t i = 0; i < s->n_extensions; i++) {
		const char *item = at(r, "%s.extensions[%zu]", field, i);

		is_first(r, at(r, "%s.name", item), s->extensions[i].name, extensions, i, "extensions");
		check_extension(r, s, &s->extensions[i], item);
	}
	for (size_t i = 0; i < s->n_bindings; i++) {
		const char *item = at(r, "%s.bindings[%zu]", field, i);

		is_first(r, at(r, "%s.name", item), s->bindings[i].name, bindings, i, "bindings");
		s->bindings[i].link = find_connection(r->config, s->bindings[i].connection);
		if (s->bindings[i].connection && !s->bindings[i].link)
			no_such(r, at(r, "%s.connection", item), "connection", s->bindings[i].connection,
			        COLUMN(r, r->config->connections, r->config->n_connections, config_connection, id));
		check_binding(r, s, item, &s->bindings[i]);
	}
	for (size_t i = 0; i < s->n_routes; i++) {
		const char *item = at(r, "%s.routes[%zu]", field, i);

		is_first(r, at(r, "%s.name", item), s->routes[i].name, routes, i, "routes");
		check_route(r, s, &s->routes[i], item);
	}
	warn_unused(r, s, field);
}

void check_scopes(struct reading *r)
{
	struct config *c = r->config;
	const char *const *ids = COLUMN(r, c->scopes, c->n_scopes, config_scope, id);

	for (size_t i = 0; i < c->n_scopes; i++) {
		const char *field = at(r, "scopes[%zu]", i);

		is_first(r, at(r, "%s.id", field), c->scopes[i].id, ids, i, "scopes");
		check_scope(r, &c->scopes[i], field);
	}
}

void check_settings(struct reading *r)
{
	/* Those of ours may be set up before a binding uses them; of others nothing is known. */
	static const char *const ours[] = { "srt", "docker", "ssh", "git", NULL };
	const struct config *c = r->config;

	for (size_t i = 0; c->settings && i < c->settings->n_extensions; i++) {
		const char *name = c->settings->extensions[i].name;
		bool used = !name;

		for (size_t k = 0; ours[k]; k++)
			used = used || !strcmp(ours[k], name);
		for (size_t k = 0; k < c->n_scopes; k++)
			for (size_t b = 0; b < c->scopes[k].n_bindings; b++) {
				const struct config_placement *p = c->scopes[k].bindings[b].place;

				used = used || (p && p->provider && !strcmp(p->provider, name));
			}
		if (!used)
			bad(r, at(r, "settings.extensions.%s", name),
			    did_you_mean(r, name, ours) ? did_you_mean(r, name, ours) : "remove it",
			    "no binding uses a provider \"%s\"", name);
	}
}

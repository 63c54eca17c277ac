/* SPDX-License-Identifier: Apache-2.0 */
/* A binding and GitHub: which repository, and how its git signs in there. */
#include <string.h>
#include <strings.h>

#include "operations.h"
#include "read.h"

static bool is_app(const struct config_binding *b)
{
	return b->link && b->link->config && b->link->config->auth && !strcmp(b->link->config->auth, "app");
}

static bool is_bot(const struct config_binding *b)
{
	return b->link && b->link->config && b->link->config->git && !strcmp(b->link->config->git, "bot");
}

static bool has_personal(const struct config_binding *b)
{
	for (size_t i = 0; i < b->n_secrets; i++)
		if (!strcmp(b->secrets[i].variable, "GH_TOKEN") || !strcmp(b->secrets[i].variable, "GITHUB_TOKEN"))
			return true;
	return false;
}

static enum config_git sign_in(const struct config_binding *b)
{
	bool container = !strcmp(b->kind, "container");

	if (!b->resource)
		return CONFIG_GIT_OWN;
	if (is_bot(b) || (container && is_app(b)))
		return CONFIG_GIT_TOOLBELT;
	return strcmp(b->kind, "none") != 0 && has_personal(b) ? CONFIG_GIT_ENVIRONMENT : CONFIG_GIT_OWN;
}

/* The scope's extensions of the same connection say which. */
static void find_repo(struct reading *r, struct config_binding *b)
{
	const struct config_scope *s = b->scope;

	for (size_t i = 0; i < s->n_extensions; i++) {
		const struct config_extension *e = &s->extensions[i];

		if (!e->connection || !e->type || strcmp(e->connection, b->connection) != 0 ||
		    strcmp(e->type, "github") != 0 || !e->config || !e->config->repo)
			continue;
		if (!b->repo)
			b->repo = e->config->repo;
		else if (strcasecmp(b->repo, e->config->repo) != 0)
			bad_as(r, &(struct bad){ .field = at(r, "%s.connection", b->field), .subject = b->connection },
			       "give each repository a scope of its own",
			       "the scope's extensions of this connection name two repositories, %s and %s: which one "
			       "the binding acts on is not said",
			       b->repo, e->config->repo);
	}
}

static void check_repo(struct reading *r, struct config_binding *b)
{
	bool acts = operation_needs_connection(operation_expand_all(&b->granted));

	if (!b->link)
		return;
	find_repo(r, b);
	if (b->repo || (!acts && b->git != CONFIG_GIT_TOOLBELT))
		return;
	bad_as(r, &(struct bad){ .field = at(r, "%s.connection", b->field), .subject = b->connection },
	       at(r,
	          "add to the scope's extensions: {\"name\": \"web\", \"type\": \"github\", \"connection\": \"%s\", "
	          "\"config\": {\"namespace\": \"github/github.com/acme/web\", \"scope\": \"%s\", \"repo\": "
	          "\"acme/web\"}}",
	          b->connection, b->scope->id ? b->scope->id : "web"),
	       "%s acts on a repository, and no extension of the scope says which one the connection \"%s\" is for",
	       acts ? "an operation of the binding" : "the binding's git", b->connection);
}

/* Does the policy let a run reach the connection's host?  As written: an address of it is no name. */
static bool reaches(const struct config_texts *allow, const char *host, const char *port)
{
	size_t n = strcspn(host, ":");

	for (size_t i = 0; i < allow->n; i++) {
		const char *entry = allow->v[i];
		size_t len = strcspn(entry, ":");

		if (!strncmp(entry, "*.", 2)) {
			if (n > len - 1 && !strncasecmp(host + n - (len - 1), entry + 1, len - 1))
				return true;
		} else if (len == n && !strncasecmp(entry, host, n) &&
		           (!entry[len] || !strcmp(entry + len + 1, port))) {
			return true;
		}
	}
	return false;
}

static void warn_host(struct reading *r, const struct config_binding *b, const struct node *normal)
{
	const struct config_texts allow = policy_list(r, normal, "network.allow");
	const char *base = b->link && b->link->config ? b->link->config->base_url : "https://github.com";
	const char *host = at(r, "%.*s", (int)strcspn(base + 8, "/"), base + 8), *port = strchr(host, ':');

	if (!normal || reaches(&allow, host, port ? port + 1 : "443"))
		return;
	bad_as(r,
	       &(struct bad){ .field = at(r, "%s.%s.config.network.allow", b->field, b->kind),
	                      .subject = host,
	                      .warning = true },
	       at(r, "add \"%s\" to network.allow", host),
	       "git signs in at %s, and the policy doesn't let a run reach it: git fetch and git push will fail", host);
}

/* As every agent's, a process sandbox's toolbelt has to be granted. */
static void check_socket(struct reading *r, const struct config_binding *b, const struct node *normal)
{
	const struct config_texts sockets = policy_list(r, normal, "sockets");

	if (!normal || b->git != CONFIG_GIT_TOOLBELT || strcmp(b->kind, "sandbox") != 0 ||
	    (b->requires && b->requires->toolbelt) || texts_have(&sockets, "{toolbelt}"))
		return;
	bad_as(r,
	       &(struct bad){ .field = at(r, "%s.sandbox.config.sockets", b->field),
	                      .reason = "sandbox_denied",
	                      .subject = "{toolbelt}" },
	       "add \"sockets\": [\"{toolbelt}\"] to the policy",
	       "git signs in through the run's toolbelt, and the policy doesn't grant it");
}

void check_github(struct reading *r, struct config_binding *b)
{
	const struct node *normal =
	        b->place && b->place->policy ? policy_normal(r, b->kind, b->place->policy, NULL) : NULL;

	/* What is wrong with it was told; so where nothing is, there was no memory for it. */
	if (!normal && b->place && b->place->policy && report_good(r->report))
		r->arena->failed = true;
	b->git = sign_in(b);
	check_repo(r, b);
	if (b->git != CONFIG_GIT_OWN) {
		warn_host(r, b, normal);
		check_socket(r, b, normal);
	}
	if (normal && !r->world.no_disk)
		check_git_config(r, b, normal);
}

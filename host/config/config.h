/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's config, read strictly into one typed model.  What is wrong is told all at once, each with the path of
 * its field; a config with one error is no config, so nothing that was meant otherwise ever runs. */
#ifndef HOST_CONFIG_CONFIG_H
#define HOST_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report.h"

/* All text is borrowed from the config and lives as long.  Lists end with NULL beside their count. */
struct config_texts {
	const char **v;
	size_t n;
};
struct config_pair {
	const char *name, *value;
};
struct config_pairs {
	struct config_pair *v;
	size_t n;
};

struct config_extension_settings { /* settings.extensions.NAME: what a provider gets of the environment */
	const char *name;
	struct config_texts pass_env;
};
struct config_settings {
	struct config_extension_settings *extensions;
	size_t n_extensions;
};

struct config_bot {
	const char *app_id;
};
struct config_connection_config {
	const char *auth;     /* "app" or "token" */
	const char *app_id;   /* "app" only */
	const char *base_url; /* never NULL: "https://github.com" by default; no slash at its end */
	const char *git;      /* "user" (the default) or "bot" */
	struct config_bot *bot;
};
struct config_connection_secrets { /* references, as all secret_refs: keyring:NAME, file:PATH or env:NAME */
	const char *app_private_key, *bot_private_key, *token;
};
struct config_connection {
	const char *id, *type;
	struct config_connection_config *config;
	struct config_connection_secrets *secret_refs;
	const char *api; /* worked out: "https://api.github.com", or base_url/api/v3 */
};

struct config_authorization {
	struct config_texts connections, operations, read_scopes;
};
struct config_extension_config {
	const char *namespace_, *scope, *repo;
};
struct config_extension {
	const char *name, *type, *connection;
	struct config_texts secret_names;
	struct config_extension_config *config;
};
struct config_route_config {
	char nothing; /* no key is known yet */
};
struct config_route {
	const char *name, *handler, *binding;
	const char *active_policy; /* "inject" or "queue": what a message does while the Work runs */
	struct config_route_config *config;
};

struct config_requires {
	const char *toolbelt; /* "mcp" or NULL */
	bool inject, resume, workspace;
};
struct config_author {
	const char *name, *email;
};
struct config_binding_config {
	const char *playbook; /* claude-code: playbooks/NAME.md, or the built-in "work-issue" */
	const char *branch;   /* a template; template.h fills it */
	const char *workspace_mode;
	struct config_pairs secret_env; /* secret → variable, as written; struct config_secret has all of them */
	struct config_pairs env;
	const char *home_seed;       /* containers: an absolute directory */
	struct config_texts command; /* shell: the argv (a string became /bin/sh -c …) */
	struct config_author *author;
};
struct config_checkout {
	const char *checkout; /* absolute: ~/ is put in */
	const char *mode;     /* "clone" */
	struct config_texts setup;
};
struct config_resource {
	const char *provider; /* "git" */
	struct config_checkout *config;
};
struct config_placement { /* sandbox, container or machine */
	const char *provider;
	const char *policy; /* exactly as written in the file: what the library parses and every record holds */
};

struct config_secret { /* one that the binding selects */
	const char *name;
	const char *ref;      /* keyring:NAME, file:PATH (absolute, ~/ put in) or env:NAME */
	const char *variable; /* under which the run gets it */
};

/* How git signs in, in the binding's runs. */
enum config_git {
	CONFIG_GIT_OWN,        /* as it would anyway */
	CONFIG_GIT_TOOLBELT,   /* by tokens that the host makes for the run */
	CONFIG_GIT_ENVIRONMENT /* by the personal token among its secrets */
};

struct config_scope;
struct config_binding {
	const char *name, *executor, *connection;
	struct config_requires *requires;
	struct config_texts operations, secret_names;
	struct config_binding_config *config;
	struct config_resource *resource;
	struct config_placement *sandbox, *container, *machine;

	/* Worked out when it was read: */
	const char *full;  /* "web/agent" */
	const char *field; /* "scopes[0].bindings[1]" */
	const struct config_scope *scope;
	const struct config_connection *link; /* the connection, or NULL */
	const char *kind;                     /* "none", "sandbox" or "container" */
	const struct config_placement *place; /* of that kind; NULL for none */
	const char *repo; /* OWNER/NAME that the connection's operations act on; NULL: there are none */
	enum config_git git;
	struct config_texts granted; /* operations with toolsets expanded, sorted, each once */
	struct config_secret *secrets;
	size_t n_secrets;
};
struct config_scope {
	const char *id, *name;
	struct config_pairs secret_refs;
	struct config_authorization *authorization;
	struct config_extension *extensions;
	size_t n_extensions;
	struct config_route *routes;
	size_t n_routes;
	struct config_binding *bindings;
	size_t n_bindings;
};

struct config {
	int64_t version;
	struct config_settings *settings;
	struct config_connection *connections;
	size_t n_connections;
	struct config_scope *scopes;
	size_t n_scopes;
	const char *path; /* the file */
	const char *dir;  /* the configuration directory: playbooks/ is in it */
	struct config_private *own;
};

/* What a config is read against.  All borrowed. */
struct config_world {
	const char *home;              /* for ~/; NULL: $HOME */
	const char *config_dir;        /* NULL: $XDG_CONFIG_HOME/open-conduit, else ~/.config/open-conduit */
	const char *state_dir;         /* NULL: $XDG_STATE_HOME/open-conduit, else ~/.local/state/open-conduit */
	const char *claude_config_dir; /* the operator's own; NULL: $CLAUDE_CONFIG_DIR */
	bool no_disk;                  /* look at nothing but the text */
};

/* Read and check a config.  `path` NULL: config.json in the configuration directory.  0, or negative with at least one
 * error in the report; warnings come with either.  Nothing is written, no secret's value is read. */
int config_load(const char *path, const struct config_world *world, struct config **out, struct report *report);
/* The same of a text; `path` is only for messages. */
int config_read(const char *text, size_t len, const char *path, const struct config_world *world, struct config **out,
                struct report *report);
void config_free(struct config *config);
bool texts_have(const struct config_texts *list, const char *word);
/* "SCOPE/BINDING", or NULL; *nearest (may be NULL) is then the full name most like it, or NULL. */
const struct config_binding *config_binding(const struct config *config, const char *name, const char **nearest);
/* Names of variables that settings grant a provider (NULL-terminated, never NULL). */
const char *const *config_pass_env(const struct config *config, const char *provider);
/* Where in the file a field stands, as deep as it goes.  Is the whole of it there? */
bool config_find(const struct config *config, const char *field, size_t *line, size_t *column);
/* One place, links resolved, by device and inode; by name where nothing is there yet. */
bool config_same_path(const char *a, const char *b);
/* Where the config file is looked for; new, or NULL. */
char *config_default_path(const struct config_world *world);

#endif

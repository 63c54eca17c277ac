/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include "config.h"

#define NAME_CHARS "[A-Za-z0-9][A-Za-z0-9._-]*"
#define VARIABLE   "[A-Za-z_][A-Za-z0-9_]*"

static const struct grammar name_text = { "^" NAME_CHARS "$",
	                                  "must be a name: letters, digits, \".\", \"_\" and \"-\", a letter or digit "
	                                  "first",
	                                  "write a name such as \"web\"", 64, false };
static const struct grammar any_text = { "^[^\n\r]+$", "must be one line and not empty", "write one line of text", 200,
	                                 false };
static const struct grammar digits_text = { "^[1-9][0-9]*$", "must be the App's number, as text",
	                                    "write the number that GitHub shows on the App's page, as in \"123456\"",
	                                    20, false };
static const struct grammar url_text = { "^https://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*$",
	                                 "must be an https URL, without a slash at its end",
	                                 "write a URL such as \"https://github.example.com\"",
	                                 200,
	                                 false,
	                                 true };
static const struct grammar variable_text = { "^" VARIABLE "$", "must be the name of an environment variable",
	                                      "write letters, digits and \"_\", as in \"GH_TOKEN\"", 256, false };
static const struct grammar ref_text = { "^(keyring:[A-Za-z0-9][A-Za-z0-9._@+-]*|file:~?/[^\n\r]+|env:" VARIABLE ")$",
	                                 "must say where the secret is: keyring:NAME, file:PATH or env:NAME",
	                                 "write \"keyring:NAME\", \"file:/absolute/path\" or \"env:NAME\"; a value is "
	                                 "never in a config",
	                                 2100,
	                                 false,
	                                 true };
static const struct grammar repo_text = { "^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$", "must be OWNER/NAME",
	                                  "write the repository as in \"acme/web\"", 200, false };
static const struct grammar namespace_text = { "^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)+$", "must be names joined by \"/\"",
	                                       "write it as in \"github/github.com/acme/web\"", 300, false };
static const struct grammar path_text = { "^~?(/[^/\n\r]+)+$",
	                                  "must be a path that starts with / or ~/, with no empty part and no slash at "
	                                  "its end",
	                                  "write an absolute path, or one that starts with ~/", 2047, true };
static const struct grammar email_text = { "^[^<>@\n\r\t ]+@[^<>@\n\r\t ]+$", "must be an address of mail",
	                                   "write it as in \"name@example.com\"", 254, false };
static const struct grammar author_text = { "^[^<>\n\r]*[^<>\n\r. ,:;\"'][^<>\n\r]*$",
	                                    "must be a name, without \"<\", \">\" and line breaks",
	                                    "write the author's name", 200, false };
static const struct grammar provider_text = { "^[a-z][a-z0-9-]*$", "must be the name of a provider",
	                                      "write lower case letters, digits and \"-\", as in \"srt\"", 32, false };

static const char *const versions[] = { "1", NULL };
static const char *const connection_types[] = { "github", NULL };
static const char *const auths[] = { "app", "token", NULL };
static const char *const gits[] = { "user", "bot", NULL };
static const char *const active_policies[] = { "inject", "queue", NULL };
static const char *const executors[] = { "claude-code", "shell", NULL };
static const char *const toolbelts[] = { "mcp", NULL };
static const char *const modes[] = { "clone", "worktree", NULL };
static const char *const workspaces[] = { "git", NULL };
static const char *const unix_sockets[] = { "none", "all", NULL };

#define AT(type, member)     .at = offsetof(struct type, member)
#define LISTED(type, member) .at = offsetof(struct type, member), .count = offsetof(struct type, n_##member)
#define RECORD(name, type, text)                                                                                       \
	static const struct record name = { text, sizeof(struct type), name##_fields,                                  \
		                            sizeof(name##_fields) / sizeof(name##_fields[0]) }

static const struct field extension_settings_fields[] = {
	{ "pass_env", FIELD_TEXTS, false, AT(config_extension_settings, pass_env), .grammar = &variable_text,
	  .about = "Variables of the environment that the provider gets beside its minimal ones." },
};
RECORD(extension_settings, config_extension_settings, "Settings of one provider.");

static const struct field settings_fields[] = {
	{ "extensions", FIELD_NAMED, false, LISTED(config_settings, extensions), .of = &extension_settings,
	  .name_grammar = &provider_text, .about = "By the name of a provider, such as docker." },
};
RECORD(settings, config_settings, "What concerns no single scope.");

static const struct field bot_fields[] = {
	{ "app_id", FIELD_TEXT, true, AT(config_bot, app_id), .grammar = &digits_text,
	  .about = "The number of the bot's GitHub App." },
};
RECORD(bot, config_bot, "The App in whose name git commits and pushes; its key is secret_refs.bot_private_key.");

static const struct field connection_config_fields[] = {
	{ "auth", FIELD_TEXT, true, AT(config_connection_config, auth), .words = auths,
	  .about = "How the host signs in: as a GitHub App, or by a personal access token." },
	{ "app_id", FIELD_TEXT, false, AT(config_connection_config, app_id), .grammar = &digits_text,
	  .about = "With auth app: the App's number; its key is secret_refs.app_private_key." },
	{ "base_url", FIELD_TEXT, false, AT(config_connection_config, base_url), .grammar = &url_text,
	  .about = "GitHub Enterprise's address; https://github.com where it is left out." },
	{ "git", FIELD_TEXT, false, AT(config_connection_config, git), .words = gits,
	  .about = "Who commits and pushes: the user (the default), or the bot." },
	{ "bot", FIELD_OBJECT, false, AT(config_connection_config, bot), .of = &bot, .about = "The bot's App." },
};
RECORD(connection_config, config_connection_config, "How to reach the service.");

static const struct field connection_secrets_fields[] = {
	{ "app_private_key", FIELD_TEXT, false, AT(config_connection_secrets, app_private_key), .grammar = &ref_text,
	  .about = "With auth app: the App's private key." },
	{ "bot_private_key", FIELD_TEXT, false, AT(config_connection_secrets, bot_private_key), .grammar = &ref_text,
	  .about = "With config.bot: the bot App's private key." },
	{ "token", FIELD_TEXT, false, AT(config_connection_secrets, token), .grammar = &ref_text,
	  .about = "With auth token: the personal access token." },
};
RECORD(connection_secrets, config_connection_secrets, "Where the connection's own secrets are; no run gets them.");

static const struct field connection_fields[] = {
	{ "id", FIELD_TEXT, true, AT(config_connection, id), .grammar = &name_text, .about = "How others name it." },
	{ "type", FIELD_TEXT, true, AT(config_connection, type), .words = connection_types, .about = "The service." },
	{ "config", FIELD_OBJECT, true, AT(config_connection, config), .of = &connection_config,
	  .about = "How to reach it." },
	{ "secret_refs", FIELD_OBJECT, false, AT(config_connection, secret_refs), .of = &connection_secrets,
	  .about = "Where its secrets are." },
};
RECORD(connection, config_connection, "A service that scopes work with.");

static const struct field authorization_fields[] = {
	{ "connections", FIELD_TEXTS, false, AT(config_authorization, connections), .grammar = &name_text,
	  .about = "Connections that the scope may use." },
	{ "operations", FIELD_TEXTS, false, AT(config_authorization, operations), .words = operation_names,
	  .about = "Operations that its bindings may be given." },
	{ "read_scopes", FIELD_TEXTS, false, AT(config_authorization, read_scopes), .grammar = &name_text,
	  .about = "Other scopes that it may read." },
};
RECORD(authorization, config_authorization, "The most that anything in the scope may be given.");

static const struct field extension_config_fields[] = {
	{ "namespace", FIELD_TEXT, true, AT(config_extension_config, namespace_), .grammar = &namespace_text,
	  .about = "Under which its items are known, as in github/github.com/acme/web." },
	{ "scope", FIELD_TEXT, true, AT(config_extension_config, scope), .grammar = &name_text,
	  .about = "The scope that its items belong to." },
	{ "repo", FIELD_TEXT, true, AT(config_extension_config, repo), .grammar = &repo_text,
	  .about = "The repository, OWNER/NAME." },
};
RECORD(extension_config, config_extension_config, "What it watches.");

static const struct field extension_fields[] = {
	{ "name", FIELD_TEXT, true, AT(config_extension, name), .grammar = &name_text, .about = "Once in its scope." },
	{ "type", FIELD_TEXT, true, AT(config_extension, type), .words = connection_types, .about = "Its kind." },
	{ "connection", FIELD_TEXT, true, AT(config_extension, connection), .grammar = &name_text,
	  .about = "By which connection." },
	{ "secret_names", FIELD_TEXTS, false, AT(config_extension, secret_names), .grammar = &name_text,
	  .about = "Secrets of the scope that it gets." },
	{ "config", FIELD_OBJECT, true, AT(config_extension, config), .of = &extension_config,
	  .about = "What it watches." },
};
RECORD(extension, config_extension, "Where a scope's items come from.");

static const struct record route_config = { "No key is known yet.", sizeof(struct config_route_config), NULL, 0 };

static const struct field route_fields[] = {
	{ "name", FIELD_TEXT, true, AT(config_route, name), .grammar = &name_text, .about = "Once in its scope." },
	{ "handler", FIELD_TEXT, true, AT(config_route, handler), .grammar = &name_text,
	  .about = "Whose items: the type of an extension of the scope." },
	{ "binding", FIELD_TEXT, true, AT(config_route, binding), .grammar = &name_text,
	  .about = "Which binding of the scope works on them." },
	{ "active_policy", FIELD_TEXT, false, AT(config_route, active_policy), .words = active_policies,
	  .about = "What a message does while the Work runs: goes in, or waits for the next turn (the default)." },
	{ "config", FIELD_OBJECT, false, AT(config_route, config), .of = &route_config, .about = "Of the handler." },
};
RECORD(route, config_route, "Which binding works on what comes in.");

static const struct field requires_fields[] = {
	{ "toolbelt", FIELD_TEXT, false, AT(config_requires, toolbelt), .words = toolbelts,
	  .about = "The executor hands the toolbelt to the agent as an MCP server." },
	{ "inject", FIELD_BOOL, false, AT(config_requires, inject), .about = "It takes messages while it runs." },
	{ "resume", FIELD_BOOL, false, AT(config_requires, resume),
	  .about = "A later turn goes on where the last one ended." },
	{ "workspace", FIELD_BOOL, false, AT(config_requires, workspace), .about = "It works in a workspace." },
};
RECORD(requires, config_requires, "What the executor has to be able to do.");

static const struct field author_fields[] = {
	{ "name", FIELD_TEXT, true, AT(config_author, name), .grammar = &author_text, .about = "As git shows it." },
	{ "email", FIELD_TEXT, true, AT(config_author, email), .grammar = &email_text, .about = "As git shows it." },
};
RECORD(author, config_author, "Who the commits are by; the checkout's own identity where it is left out.");

static const struct field binding_config_fields[] = {
	{ "playbook", FIELD_TEXT, false, AT(config_binding_config, playbook), .grammar = &name_text,
	  .about = "claude-code: a prompt template, playbooks/NAME.md or the built-in work-issue." },
	{ "branch", FIELD_TEXT, false, AT(config_binding_config, branch), .grammar = &any_text,
	  .about = "The workspace's branch, with placeholders such as {number}." },
	{ "workspace_mode", FIELD_TEXT, false, AT(config_binding_config, workspace_mode), .words = modes,
	  .about = "As resource.config.mode." },
	{ "secret_env", FIELD_PAIRS, false, AT(config_binding_config, secret_env), .grammar = &variable_text,
	  .name_grammar = &name_text, .about = "Under which variable the run gets a selected secret." },
	{ "env", FIELD_PAIRS, false, AT(config_binding_config, env), .name_grammar = &variable_text,
	  .about = "Variables of the run.  No secrets: they are in the plan and in every record." },
	{ "home_seed", FIELD_TEXT, false, AT(config_binding_config, home_seed), .grammar = &path_text,
	  .about = "Containers: what a Work's home starts with; a copy, without any .credentials.json." },
	{ "command", FIELD_COMMAND, false, AT(config_binding_config, command),
	  .about = "shell: what is run; a string is given to /bin/sh -c." },
	{ "author", FIELD_OBJECT, false, AT(config_binding_config, author), .of = &author,
	  .about = "The commits' author." },
};
RECORD(binding_config, config_binding_config, "Of the executor.");

static const struct field checkout_fields[] = {
	{ "checkout", FIELD_TEXT, true, AT(config_checkout, checkout), .grammar = &path_text,
	  .about = "The operator's own repository, which the workspace is cloned from and saved back to." },
	{ "mode", FIELD_TEXT, true, AT(config_checkout, mode), .words = modes,
	  .about = "clone: a repository of its own for each Work." },
	{ "setup", FIELD_COMMAND, false, AT(config_checkout, setup),
	  .about = "A command on the host for a new workspace.  Refused with a sandbox, and not built yet." },
};
RECORD(checkout, config_checkout, "A git workspace.");

static const struct field resource_fields[] = {
	{ "provider", FIELD_TEXT, true, AT(config_resource, provider), .words = workspaces, .about = "What makes it." },
	{ "config", FIELD_OBJECT, true, AT(config_resource, config), .of = &checkout, .about = "Of what." },
};
RECORD(resource, config_resource, "The workspace.");

/* The policies: what the library parses, listed for the schema alone. */
static const struct field network_fields[] = {
	{ "allow", FIELD_TEXTS, false, .about = "The hosts a run may reach: HOST, HOST:PORT or *.DOMAIN." },
};
static const struct record network = { "What it may reach.", 0, network_fields, 1 };

static const struct field read_fields[] = {
	{ "deny", FIELD_TEXTS, false, .about = "Paths a run may not read, beside the common credentials." },
	{ "allow", FIELD_TEXTS, false, .about = "Exceptions beneath a deny, or lifting one." },
};
static const struct record read = { "What it may read.", 0, read_fields, 2 };

static const struct field sandbox_policy_fields[] = {
	{ "write", FIELD_TEXTS, false, .about = "Paths a run may write." },
	{ "read", FIELD_OBJECT, false, .of = &read, .about = "What it may read." },
	{ "network", FIELD_OBJECT, false, .of = &network, .about = "What it may reach." },
	{ "sockets", FIELD_TEXTS, false, .about = "Unix sockets a run may use; {toolbelt} is its own toolbelt." },
	{ "unix_sockets", FIELD_TEXT, false, .words = unix_sockets,
	  .about = "all: any socket a run can see is usable, and those that lead out are hidden." },
};
static const struct record sandbox_policy = { "The policy: exactly what runs get; open-conduit-policy(5).", 0,
	                                      sandbox_policy_fields, 5 };

static const struct field limits_fields[] = {
	{ "cpus", FIELD_NUMBER, false, .about = "Processors, also parts of one." },
	{ "memory", FIELD_TEXT, false, .about = "Bytes, with k, m or g: \"8g\"." },
	{ "pids", FIELD_INTEGER, false, .about = "Processes; 4096 where it is left out." },
};
static const struct record limits = { "How much it may use.", 0, limits_fields, 3 };

static const struct field docker_fields[] = {
	{ "context", FIELD_TEXT, false, .about = "The Docker context every call uses; default where it is left out." },
};
static const struct record docker = { "Of the provider.", 0, docker_fields, 1 };

static const struct field container_policy_fields[] = {
	{ "image", FIELD_TEXT, true, .about = "NAME@sha256:DIGEST." },
	{ "write", FIELD_TEXTS, false, .about = "Host paths mounted read-write." },
	{ "read", FIELD_TEXTS, false, .about = "Host paths mounted read-only." },
	{ "network", FIELD_OBJECT, false, .of = &network, .about = "What it may reach." },
	{ "limits", FIELD_OBJECT, false, .of = &limits, .about = "How much it may use." },
	{ "provider", FIELD_OBJECT, false, .of = &docker, .about = "Of the provider." },
};
static const struct record container_policy = { "The policy: exactly what runs get; open-conduit-policy(5).", 0,
	                                        container_policy_fields, 6 };

#define PLACEMENT(name, policy_record, text)                                                                           \
	static const struct field name##_fields[] = {                                                                  \
		{ "provider", FIELD_TEXT, true, AT(config_placement, provider), .grammar = &provider_text,             \
		  .about = "What enforces the policy." },                                                              \
		{ "config", FIELD_POLICY, true, AT(config_placement, policy), .of = (policy_record),                   \
		  .about = "The policy." },                                                                            \
	};                                                                                                             \
	RECORD(name, config_placement, text)
PLACEMENT(sandbox, &sandbox_policy, "A process sandbox.");
PLACEMENT(container, &container_policy, "A container.");
PLACEMENT(machine, NULL, "Another machine.  Known, and refused: not built yet.");

static const struct field binding_fields[] = {
	{ "name", FIELD_TEXT, true, AT(config_binding, name), .grammar = &name_text, .about = "Once in its scope." },
	{ "executor", FIELD_TEXT, true, AT(config_binding, executor), .words = executors,
	  .about = "What does the work." },
	{ "connection", FIELD_TEXT, false, AT(config_binding, connection), .grammar = &name_text,
	  .about = "The service that its operations act on." },
	{ "requires", FIELD_OBJECT, false, AT(config_binding, requires), .of = &requires,
	  .about = "What the executor has to be able to do." },
	{ "operations", FIELD_TEXTS, false, AT(config_binding, operations), .words = operation_names,
	  .about = "What its toolbelt can do." },
	{ "secret_names", FIELD_TEXTS, false, AT(config_binding, secret_names), .grammar = &name_text,
	  .about = "Secrets of the scope that its runs get." },
	{ "config", FIELD_OBJECT, true, AT(config_binding, config), .of = &binding_config,
	  .about = "Of the executor." },
	{ "resource", FIELD_OBJECT, false, AT(config_binding, resource), .of = &resource, .about = "The workspace." },
	{ "sandbox", FIELD_OBJECT, false, AT(config_binding, sandbox), .of = &sandbox,
	  .about = "Runs in a process sandbox." },
	{ "container", FIELD_OBJECT, false, AT(config_binding, container), .of = &container,
	  .about = "Runs in a container." },
	{ "machine", FIELD_OBJECT, false, AT(config_binding, machine), .of = &machine, .about = "Runs elsewhere." },
};
RECORD(binding, config_binding, "An executor, its workspace and where it runs.");

static const struct field scope_fields[] = {
	{ "id", FIELD_TEXT, true, AT(config_scope, id), .grammar = &name_text,
	  .about = "The first half of SCOPE/BINDING." },
	{ "name", FIELD_TEXT, false, AT(config_scope, name), .grammar = &any_text, .about = "For people." },
	{ "secret_refs", FIELD_PAIRS, false, AT(config_scope, secret_refs), .grammar = &ref_text,
	  .name_grammar = &name_text, .about = "The secrets there are, and where each is." },
	{ "authorization", FIELD_OBJECT, false, AT(config_scope, authorization), .of = &authorization,
	  .about = "The most that anything in it may be given." },
	{ "extensions", FIELD_OBJECTS, false, LISTED(config_scope, extensions), .of = &extension,
	  .about = "Where its items come from." },
	{ "routes", FIELD_OBJECTS, false, LISTED(config_scope, routes), .of = &route, .about = "What works on them." },
	{ "bindings", FIELD_OBJECTS, true, LISTED(config_scope, bindings), .of = &binding,
	  .about = "What can be run." },
};
RECORD(scope, config_scope, "What belongs together, such as one repository.");

static const struct field config_fields[] = {
	{ "version", FIELD_INTEGER, true, AT(config, version), .words = versions, .about = "Of this form." },
	{ "settings", FIELD_OBJECT, false, AT(config, settings), .of = &settings,
	  .about = "What concerns no single scope." },
	{ "connections", FIELD_OBJECTS, false, LISTED(config, connections), .of = &connection,
	  .about = "Services that scopes work with." },
	{ "scopes", FIELD_OBJECTS, true, LISTED(config, scopes), .of = &scope, .about = "What is worked on." },
};
const struct record table_config = { "The config of open-conduit: open-conduit-config(5).", sizeof(struct config),
	                             config_fields, sizeof(config_fields) / sizeof(config_fields[0]) };

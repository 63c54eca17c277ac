/* SPDX-License-Identifier: Apache-2.0 */
/* A binding against its scope and its executor. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "operations.h"
#include "opt.h"
#include "read.h"
#include "template.h"
#include "text.h"

static const struct {
	const char *name, *toolbelt;
	bool inject, resume;
} executors[] = { { "claude-code", "mcp", true, true }, { "shell", NULL, false, false } };

static bool is_claude(const struct config_binding *b)
{
	return b->executor && !strcmp(b->executor, "claude-code");
}

static void check_requires(struct reading *r, const struct config_binding *b)
{
	const struct config_requires *q = b->requires;

	for (size_t i = 0; q && b->executor && i < sizeof(executors) / sizeof(executors[0]); i++) {
		if (strcmp(executors[i].name, b->executor) != 0)
			continue;
		if (q->toolbelt && (!executors[i].toolbelt || strcmp(executors[i].toolbelt, q->toolbelt) != 0))
			bad(r, at(r, "%s.requires.toolbelt", b->field), "remove it, or choose another executor",
			    "the executor %s hands out no toolbelt", b->executor);
		if (q->inject && !executors[i].inject)
			bad(r, at(r, "%s.requires.inject", b->field), "remove it, or choose another executor",
			    "the executor %s takes no messages while it runs", b->executor);
		if (q->resume && !executors[i].resume)
			bad(r, at(r, "%s.requires.resume", b->field), "remove it, or choose another executor",
			    "the executor %s can't go on where an earlier turn ended", b->executor);
	}
	if (q && q->workspace && !b->resource)
		bad(r, at(r, "%s.requires.workspace", b->field),
		    "add \"resource\": {\"provider\": \"git\", \"config\": {\"checkout\": \"/path\", \"mode\": "
		    "\"clone\"}}",
		    "a workspace is required, and the binding has no resource");
}

static void check_operations(struct reading *r, const struct config_scope *s, struct config_binding *b)
{
	operation_set allowed = s->authorization ? operation_expand_all(&s->authorization->operations) : 0, all = 0;

	for (size_t i = 0; i < b->operations.n; i++) {
		const char *name = b->operations.v[i], *field = at(r, "%s.operations[%zu]", b->field, i);
		operation_set set = operation_expand(name);
		const char *missing = operation_first(set & ~allowed);

		if (missing)
			bad_as(r, &(struct bad){ .field = field, .subject = missing },
			       at(r, "add \"%s\" to the scope's authorization.operations", name),
			       "the scope does not authorise %s", missing);
		else if (set && !(set & ~all))
			bad(r, field, "remove it", "%s adds nothing: those before it have all of it", name);
		all |= set;
	}
	b->granted = operation_list(r->arena, all);
	if (operation_needs_connection(all) && !b->connection)
		bad(r, at(r, "%s.connection", b->field), "add \"connection\": the id of the connection they act on",
		    "the operations need a connection");
	if (b->link && (!s->authorization || !texts_have(&s->authorization->connections, b->connection)))
		bad(r, at(r, "%s.connection", b->field),
		    at(r, "add \"%s\" to the scope's authorization.connections", b->connection),
		    "the scope does not authorise the connection \"%s\"", b->connection);
}

/* The variable that a selected secret arrives in; NULL: told. */
static const char *variable_of(struct reading *r, const struct config_binding *b, const char *secret, const char *field)
{
	const struct config_pair *mapped = pairs_find(&b->config->secret_env, secret);
	size_t plain = strspn(secret, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");

	if (mapped) /* empty: told */
		return *mapped->value ? mapped->value : NULL;
	if (!secret[plain] && !(secret[0] >= '0' && secret[0] <= '9'))
		return secret;
	bad_as(r, &(struct bad){ .field = field, .subject = secret },
	       at(r, "add to the binding's config: \"secret_env\": {\"%s\": \"VARIABLE\"}", secret),
	       "the secret \"%s\" reaches nobody: it has no variable, and its name can't be one", secret);
	return NULL;
}

static void add_secret(struct reading *r, const struct config_scope *s, struct config_binding *b, size_t i)
{
	const char *name = b->secret_names.v[i], *field = at(r, "%s.secret_names[%zu]", b->field, i);
	const struct config_pair *ref = pairs_find(&s->secret_refs, name);
	const char *variable = variable_of(r, b, name, field), *where;

	if (!ref) {
		bad_as(r, &(struct bad){ .field = field, .subject = name },
		       at(r, "add \"%s\": \"keyring:%s\" to the scope's secret_refs", name, name),
		       "the scope does not list the secret \"%s\"", name);
		return;
	}
	if (!variable)
		return;
	for (size_t k = 0; k < b->n_secrets; k++)
		if (!strcmp(b->secrets[k].variable, variable))
			bad(r, field, "map each to a variable of its own in secret_env",
			    "the secrets \"%s\" and \"%s\" would both be %s", b->secrets[k].name, name, variable);
	if (pairs_find(&b->config->env, variable))
		bad(r, at(r, "%s.config.env.%s", b->field, variable), "remove it from env",
		    "%s is also the variable of the secret \"%s\"", variable, name);
	where = ref->value;
	if (!strncmp(where, "file:~/", 7))
		where = at(r, "file:%s", path_expand(r, where + 5));
	b->secrets[b->n_secrets++] = (struct config_secret){ name, where, variable };
}

static void check_secrets(struct reading *r, const struct config_scope *s, struct config_binding *b)
{
	b->secrets = arena_get(r->arena, (b->secret_names.n + 1) * sizeof(*b->secrets));
	for (size_t i = 0; b->secrets && i < b->secret_names.n; i++)
		add_secret(r, s, b, i);
	for (size_t i = 0; i < b->config->secret_env.n; i++)
		if (!texts_have(&b->secret_names, b->config->secret_env.v[i].name))
			bad_as(r,
			       &(struct bad){ .field = at(r, "%s.config.secret_env.%s", b->field,
			                                  b->config->secret_env.v[i].name),
			                      .subject = b->config->secret_env.v[i].name },
			       at(r, "add \"%s\" to secret_names, or remove it here", b->config->secret_env.v[i].name),
			       "the binding does not select the secret \"%s\"", b->config->secret_env.v[i].name);
}

static const char *const placeholders[] = { "number", "title", NULL };

struct sampling {
	struct reading *r;
	const char *field;
	bool told, any;
};

/* What a placeholder may be filled with.  A run's input may have any member, so only a name that looks misspelt is
 * wrong. */
static const char *sample(const char *name, size_t len, void *userdata)
{
	struct sampling *s = userdata;
	const char *word = at(s->r, "%.*s", (int)(len > 64 ? 64 : len), name), *near;

	s->any = true;
	for (size_t i = 0; placeholders[i]; i++)
		if (!strcmp(placeholders[i], word))
			return i == 0 ? "7" : "x";
	near = opt_nearest(word, placeholders);
	if (near) {
		bad(s->r, s->field, at(s->r, "write {%s}", near), "there is no placeholder {%s}", word);
		s->told = true;
	}
	return "x";
}

static void check_branch(struct reading *r, const struct config_binding *b)
{
	struct sampling s = { .r = r, .field = at(r, "%s.config.branch", b->field) };
	const char *template = b->config->branch, *why;
	size_t where = 0, len = 0;
	struct text name = { 0 };

	if (!template)
		return;
	why = template_fill(&name, template, sample, &s, &where, &len);
	if (why)
		bad(r, s.field, "write a branch such as \"agent/issue-{number}\"", "\"%.*s\": %s",
		    (int)(len > 100 ? 100 : len), template + where, why);
	else if (name.failed)
		r->arena->failed = true;
	else if (!s.told && (why = branch_name_check(name.data)))
		bad(r, s.field, "write a branch such as \"agent/issue-{number}\"", "the branch \"%.100s\" %s",
		    name.data, why);
	else if (!s.any)
		bad_as(r, &(struct bad){ .field = s.field, .warning = true },
		       "add a placeholder, as in \"agent/issue-{number}\"",
		       "every Work of this binding would have the same branch");
	if (!b->resource)
		bad(r, s.field, "remove it, or add a resource", "without a workspace there is no branch");
	text_free(&name);
}

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

static bool is_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static void check_playbook(struct reading *r, const struct config_binding *b)
{
	const char *field = at(r, "%s.config.playbook", b->field), *name = b->config->playbook;

	if (!is_claude(b)) {
		if (name)
			bad(r, field, "remove it", "the executor %s reads no playbook", b->executor);
		return;
	}
	/* Without one each turn's input says what is asked. */
	if (!name || !strcmp(name, "work-issue") || r->world.no_disk)
		return;
	name = at(r, "%s/playbooks/%s.md", r->config->dir, name);
	if (!is_file(name))
		bad_as(r, &(struct bad){ .field = field, .subject = name }, "write the file, or name \"work-issue\"",
		       "the playbook %s is not there", name);
}

static void check_executor(struct reading *r, const struct config_binding *b)
{
	const char *command = at(r, "%s.config.command", b->field);

	check_playbook(r, b);
	check_branch(r, b);
	if (is_claude(b) && b->config->command.n)
		bad(r, command, "remove it, or set \"executor\": \"shell\"", "claude-code runs no command of yours");
	if (b->executor && !is_claude(b) && !b->config->command.v)
		bad(r, command, "add \"command\": \"make test\"", "the executor shell needs a command");
	if (b->config->author && !b->resource)
		bad(r, at(r, "%s.config.author", b->field), "remove it, or add a resource",
		    "without a workspace there are no commits");
	if (b->config->workspace_mode && !b->resource)
		bad(r, at(r, "%s.config.workspace_mode", b->field), "remove it, or add a resource",
		    "the binding has no workspace");
	check_seed(r, b);
}

/* sandbox_workspace: what no sandbox can keep safe; without one it is simply not there yet. */
static void check_workspace(struct reading *r, const struct config_binding *b)
{
	const struct config_checkout *w = b->resource ? b->resource->config : NULL;
	bool confined = b->sandbox || b->container || b->machine;
	struct bad what = { .reason = "sandbox_workspace" };
	const char *mode;

	if (!w || !w->mode)
		return;
	mode = b->config->workspace_mode;
	what.field = at(r, "%s.resource.config.mode", b->field);
	if (strcmp(w->mode, "clone") != 0)
		bad_as(r, &what, "write \"mode\": \"clone\"",
		       confined ? "a worktree commits through your checkout's own .git, where an agent could leave a "
		                  "hook "
		                  "that runs as you"
		                : "worktrees are not built yet");
	what.field = at(r, "%s.config.workspace_mode", b->field);
	if (mode && strcmp(mode, w->mode) != 0)
		bad_as(r, &what, at(r, "write \"workspace_mode\": \"%s\"", w->mode),
		       "workspace_mode is \"%s\", and the resource's mode \"%s\"", mode, w->mode);
	what.field = at(r, "%s.resource.config.setup", b->field);
	if (w->setup.n)
		bad_as(r, &what, "remove it; let the agent set up its workspace",
		       confined ? "setup would run on the host, in files that an agent wrote"
		                : "setup is not built yet");
	if (!w->checkout)
		return;
	what = (struct bad){ .field = at(r, "%s.resource.config.checkout", b->field), .subject = w->checkout };
	if (!r->world.no_disk && !is_dir(w->checkout))
		bad_as(r, &what, "name the directory of your checkout", "there is no directory %s", w->checkout);
}

void check_binding(struct reading *r, const struct config_scope *scope, const char *field, struct config_binding *b)
{
	b->field = field;
	b->scope = scope;
	b->full = at(r, "%s/%s", scope->id ? scope->id : "?", b->name ? b->name : "?");
	b->kind = "none";
	if (!b->config) /* told already: it is required */
		b->config = arena_get(r->arena, sizeof(*b->config));
	if (!b->config)
		return;
	check_requires(r, b);
	check_operations(r, scope, b);
	check_secrets(r, scope, b);
	check_executor(r, b);
	check_workspace(r, b);
	check_place(r, b);
	check_github(r, b);
}

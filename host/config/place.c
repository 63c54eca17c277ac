/* SPDX-License-Identifier: Apache-2.0 */
/* Where a binding runs: at most one of sandbox, container and machine, with a policy that the library accepts. */
#include <openconduit/openconduit.h>
#include <string.h>

#include "opt.h"
#include "read.h"

static const struct {
	const char *kind, *providers[3];
} kinds[] = { { "sandbox", { "srt" } }, { "container", { "docker" } }, { "machine", { "ssh" } } };

static void check_provider(struct reading *r, const struct config_binding *b, size_t kind,
                           const struct config_placement *p)
{
	const char *field = at(r, "%s.%s.provider", b->field, kinds[kind].kind), *near;

	if (!p->provider || !strcmp(p->provider, kinds[kind].providers[0]))
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (i != kind && !strcmp(kinds[i].providers[0], p->provider)) {
			bad(r, field, at(r, "write \"%s\", or declare a %s", kinds[kind].providers[0], kinds[i].kind),
			    "the provider %s enforces a %s, not a %s", p->provider, kinds[i].kind, kinds[kind].kind);
			return;
		}
	/* Others' providers may have any name; that one is there, a run tells.  A name so near is a slip. */
	near = opt_nearest(p->provider, kinds[kind].providers);
	if (near)
		bad(r, field, at(r, "write \"%s\"", near), "there is no provider \"%s\"", p->provider);
}

const struct node *policy_normal(struct reading *r, const char *kind, const char *text, const char *field)
{
	oc_policy *policy = NULL;
	oc_error *err = NULL;
	struct doc doc;

	if (oc_policy_parse(kind, text, strlen(text), &policy, &err) < 0) {
		if (field)
			bad_errors(r, field, true, err);
		oc_error_free(err);
		return NULL;
	}
	if (doc_parse(&doc, r->arena, oc_policy_json(policy), strlen(oc_policy_json(policy))) < 0)
		r->arena->failed = true;
	oc_policy_free(policy);
	return doc.root;
}

struct config_texts policy_list(struct reading *r, const struct node *normal, const char *path)
{
	const struct node *list = doc_find(normal, &path);
	bool there = list && !*path && list->type == NODE_LIST;
	struct config_texts out = { .v = arena_get(r->arena, ((there ? list->n : 0) + 1) * sizeof(*out.v)) };

	for (const struct node *c = there ? list->child : NULL; c && out.v; c = c->next)
		out.v[out.n++] = c->text;
	return out;
}

/* What the executor can't do without, where the policy alone tells that it isn't granted. */
static void check_toolbelt(struct reading *r, const struct config_binding *b, const struct node *normal)
{
	struct config_texts sockets = policy_list(r, normal, "sockets");

	if (!b->requires || !b->requires->toolbelt)
		return;
	if (sockets.v && !texts_have(&sockets, "{toolbelt}"))
		bad_as(r,
		       &(struct bad){ .field = at(r, "%s.sandbox.config.sockets", b->field),
		                      .reason = "sandbox_denied",
		                      .subject = "{toolbelt}" },
		       "add \"sockets\": [\"{toolbelt}\"] to the policy",
		       "the agent needs the toolbelt, and the policy doesn't grant it");
}

static void check_policy(struct reading *r, struct config_binding *b, const char *kind, const char *text)
{
	bool claude = !strcmp(kind, "sandbox") && b->executor && !strcmp(b->executor, "claude-code");
	const char *field = at(r, "%s.%s.config", b->field, kind);
	const struct node *normal = policy_normal(r, kind, text, field);
	struct config_texts write;

	if (!normal) {
		if (claude) /* as far as that goes without what is granted */
			check_claude(r, b, NULL);
		return;
	}
	write = policy_list(r, normal, "write");
	check_rules(r, field, normal);
	if (!strcmp(kind, "sandbox"))
		check_toolbelt(r, b, normal);
	else
		check_seed_paths(r, b, normal);
	if (claude)
		check_claude(r, b, &write);
}

/* The runs of a process sandbox have a private TMPDIR beneath the state directory, and srt makes sockets in it. */
static void check_state_dir(struct reading *r, const struct config_binding *b)
{
	const size_t most = 54; /* srt's 74 bytes without "/live/", a run's id of 12 and "/t" */

	if (strlen(r->world.state_dir) > most)
		bad_as(r, &(struct bad){ .field = at(r, "%s.sandbox", b->field), .subject = r->world.state_dir },
		       "export XDG_STATE_HOME=$HOME/.oc",
		       "the state directory has %zu bytes; with more than %zu the sandbox's sockets have no room in "
		       "the "
		       "name of a socket (sun_path)",
		       strlen(r->world.state_dir), most);
}

static void check_container_env(struct reading *r, const struct config_binding *b)
{
	static const char *const ours[] = { "HOME", "CLAUDE_CONFIG_DIR" };

	for (size_t i = 0; i < 2; i++)
		if (pairs_find(&b->config->env, ours[i]))
			bad(r, at(r, "%s.config.env.%s", b->field, ours[i]), "remove it; home_seed fills the home",
			    "in a container %s is the Work's own home", ours[i]);
}

static void check_container(struct reading *r, const struct config_binding *b)
{
	check_container_env(r, b);
	if (b->link && b->link->config && b->link->config->auth && !strcmp(b->link->config->auth, "app") &&
	    b->resource && !texts_have(&b->granted, "github.git.credential"))
		bad_as(r, &(struct bad){ .field = at(r, "%s.operations", b->field), .warning = true },
		       "add \"@github.workspace\" to operations, and to the scope's authorization.operations",
		       "without github.git.credential git push will fail to sign in");
}

void check_place(struct reading *r, struct config_binding *b)
{
	const struct config_placement *places[] = { b->sandbox, b->container, b->machine };
	size_t n = 0, which = 0;

	for (size_t i = 0; i < 3; i++) {
		if (!places[i])
			continue;
		if (!n++)
			which = i;
		check_provider(r, b, i, places[i]);
		if (places[i]->policy && i < 2)
			check_policy(r, b, kinds[i].kind, places[i]->policy);
	}
	if (b->machine)
		bad_as(r, &(struct bad){ .field = at(r, "%s.machine", b->field), .reason = "sandbox_unavailable" },
		       "remove it; use \"sandbox\" on this machine", "other machines are not built yet");
	if (n > 1)
		bad_as(r, &(struct bad){ .field = b->field, .reason = "sandbox_conflict" },
		       "keep one of sandbox, container and machine", "the binding declares %s",
		       n > 2           ? "sandbox, container and machine"
		       : !b->machine   ? "both sandbox and container"
		       : !b->container ? "both sandbox and machine"
		                       : "both container and machine");
	if (!n)
		return;
	b->kind = kinds[which].kind;
	b->place = places[which];
	if (b->sandbox)
		check_state_dir(r, b);
	if (b->container)
		check_container(r, b);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Where a binding runs: at most one of sandbox, container and machine, with a policy that the library accepts. */
#include <jansson.h>
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

static void texts_of(struct reading *r, const json_t *list, struct config_texts *out)
{
	const json_t *item;
	size_t i;

	out->v = arena_get(r->arena, (json_array_size(list) + 1) * sizeof(*out->v));
	json_array_foreach(list, i, item) if (out->v && json_is_string(item)) out->v[out->n++] =
	        arena_text(r->arena, json_string_value(item));
}

/* What the executor can't do without, where the policy alone tells that it isn't granted. */
static void check_toolbelt(struct reading *r, const struct config_binding *b, const json_t *normal)
{
	struct config_texts sockets = { 0 };

	if (!b->requires || !b->requires->toolbelt)
		return;
	texts_of(r, json_object_get(normal, "sockets"), &sockets);
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
	const char *field = at(r, "%s.%s.config", b->field, kind);
	bool claude = !strcmp(kind, "sandbox") && b->executor && !strcmp(b->executor, "claude-code");
	struct config_texts write = { 0 };
	oc_policy *policy = NULL;
	oc_error *err = NULL;
	json_t *normal;

	if (oc_policy_parse(kind, text, strlen(text), &policy, &err) < 0) {
		bad_errors(r, field, true, err);
		oc_error_free(err);
		if (claude) /* as far as that goes without what is granted */
			check_claude(r, b, NULL);
		return;
	}
	normal = json_loads(oc_policy_json(policy), 0, NULL);
	if (!normal)
		r->arena->failed = true;
	texts_of(r, json_object_get(normal, "write"), &write);
	check_rules(r, field, normal);
	if (!strcmp(kind, "sandbox"))
		check_toolbelt(r, b, normal);
	if (claude)
		check_claude(r, b, &write);
	json_decref(normal);
	oc_policy_free(policy);
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
	bad_as(r,
	       &(struct bad){
	               .field = at(r, "%s.container", b->field), .reason = "sandbox_unavailable", .warning = true },
	       "use a process sandbox: \"sandbox\"",
	       "the policy was checked, but containers are not built yet: this binding runs nothing");
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

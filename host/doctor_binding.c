/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor_binding.h"

#include <stdlib.h>
#include <string.h>

#include "binding.h"
#include "toolbelt/toolbelt.h"

#define WHAT "not as it should be"
/* Stand for what a turn would have: none of it is used by what is run. */
#define NO_DIR     "/run"
#define NO_SESSION "00000000-0000-4000-8000-000000000000"

struct trial {
	struct host *h;
	struct config *config;
	const struct config_binding *b;
	const struct executor *executor;
	struct executor_launch launch;
	struct exec_args args;
	struct exec_clone clone;
	struct texts specs;
	char *belt;
};

static bool prepare(struct trial *t)
{
	struct turn_input input = { 0 };
	struct executor_turn turn = { .binding = t->b,
		                      .input = &input,
		                      .run_dir = NO_DIR,
		                      .work = "doctor",
		                      .branch = "doctor",
		                      .prompt = "",
		                      .session = NO_SESSION };
	bool good;

	t->executor = executor_find(t->h, t->b);
	if (!t->executor || turn_input_read(t->h, NULL, &input) < 0)
		return false;
	turn.toolbelt = toolbelt_wanted(t->b, t->executor->toolbelt);
	if (turn.toolbelt)
		t->belt = toolbelt_request(t->b);
	if (!strcmp(t->b->kind, "container"))
		turn.home = NO_DIR;
	good = t->executor->prepare(t->h, &turn, &t->launch) == 0;
	turn_input_free(&input);
	if (!good)
		return false;
	if (!binding_secrets(t->b, &t->args, &t->specs) || t->launch.env.failed || t->launch.hosts.failed ||
	    t->launch.read.failed || t->launch.write.failed || (turn.toolbelt && !t->belt)) {
		out_put(&t->h->err, "open-conduit: out of memory\n");
		return false;
	}
	return exec_secrets(t->h, &t->args) == 0;
}

/* As a run of its own Work, with another command: the least that shows that all the rest is there. */
static bool perform(struct trial *t)
{
	static const char *const argv[] = { "true", NULL };
	oc_request request = OC_REQUEST_INIT;
	oc_broker *broker = NULL;
	int status = EXIT_NOT_RUN;

	if (binding_broker(t->h, WHAT, t->config, t->b, &broker) == 0 &&
	    exec_clone_begin(t->h, &t->args, &t->clone) == 0) {
		request.binding = t->b->full;
		request.work = host_string(t->clone.work, "id");
		request.workspace = host_string(t->clone.work, "workspace");
		request.policy = t->b->place ? t->b->place->policy : NULL;
		request.argv = argv;
		request.env = texts_list(&t->launch.env);
		request.secrets = t->args.secret.v;
		request.need_hosts = texts_list(&t->launch.hosts);
		request.need_read = texts_list(&t->launch.read);
		request.need_write = texts_list(&t->launch.write);
		request.toolbelt = t->belt;
		status = exec_run(t->h, broker, &request, &t->args);
	}
	exec_clone_end(t->h, &t->clone);
	oc_broker_free(broker);
	return status == EXIT_GOOD;
}

static bool try(struct trial *t, const char *name)
{
	const struct config_resource *resource;

	if (binding_config(t->h, WHAT, &t->config) < 0 ||
	    !(t->b = binding_find(t->h, WHAT, t->config, name, "open-conduit doctor --binding")))
		return false;
	resource = t->b->resource;
	if (!resource || !resource->config || !resource->config->checkout) {
		const struct refusal r = {
			"sandbox_workspace", t->b->field, "the binding has no workspace that is a clone",
			"\"resource\": {\"provider\": \"git\", \"config\": {\"checkout\": \"/path\", "
			"\"mode\": \"clone\"}}"
		};

		host_refuse(t->h, WHAT, &r);
		return false;
	}
	t->args.clone = true;
	if (!strcmp(t->b->kind, "container"))
		t->args.container = t->b->kind;
	t->args.seed = t->b->config->home_seed;
	t->args.cwd = strdup(resource->config->checkout);
	return t->args.cwd && prepare(t) && perform(t);
}

json_t *doctor_binding(struct host *h, const char *name)
{
	struct trial t = { .h = h };
	bool json = h->json, good;
	json_t *out;

	h->json = false; /* this is a part of doctor's answer */
	good = try(&t, name);
	h->json = json;
	out = json_pack("{s:s, s:s?, s:b}", "binding", name, "kind", t.b ? t.b->kind : NULL, "ok", good);
	exec_secrets_free(&t.args);
	free(t.args.secret.v);
	free(t.args.cwd);
	executor_launch_free(&t.launch);
	texts_free(&t.specs);
	free(t.belt);
	config_free(t.config);
	return out;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* open-conduit-provider-srt: process sandboxes by Anthropic's sandbox-runtime. */
#include <openconduit/openconduit.h>
#include <openconduit/provider.h>

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "common/call.h"
#include "launch.h"
#include "state.h"

static const struct param check_params[] = { { "state_dir", is_text }, { "guest", is_text }, { "live_dir", is_text } };
static const struct param plan_params[] = {
	{ "run", is_text }, { "resolved", is_object }, { "guest", is_text }, { "live", is_text }
};
static const struct param inspect_params[] = { { "run", is_text } };
static const struct param cleanup_params[] = { { "run", is_text }, { "live", is_text } };

static void on_check(oc_call *call, void *userdata)
{
	struct refusal r = { 0 };
	cleanup_json json_t *params = call_params(call, check_params, COUNT(check_params), &r);

	(void)userdata;
	call_answer(
	        call,
	        params ? check_all(text_of(params, "state_dir"), text_of(params, "guest"), text_of(params, "live_dir"))
	               : NULL,
	        &r);
}

static void on_plan(oc_call *call, void *userdata)
{
	struct refusal r = { 0 };
	struct srt srt = { .known = userdata };
	cleanup_json json_t *params = call_params(call, plan_params, COUNT(plan_params), &r);
	json_t *plan = NULL;

	if (params && locate(&srt, &r) == 0)
		plan = launch_plan(&srt, json_object_get(params, "resolved"), text_of(params, "guest"),
		                   text_of(params, "live"), &r);
	srt_clear(&srt);
	call_answer(call, plan, &r);
}

static void on_inspect(oc_call *call, void *userdata)
{
	struct refusal r = { 0 };
	cleanup_json json_t *params = call_params(call, inspect_params, COUNT(inspect_params), &r);
	json_t *reply = NULL;

	(void)userdata;
	if (params && !run_valid(text_of(params, "run")))
		refuse(&r, "provider_failed", "run", NULL, "that is no run id");
	else if (params)
		reply = json_pack("{s:s}", "state", state_of(text_of(params, "run")));
	call_answer(call, reply, &r);
}

static void on_cleanup(oc_call *call, void *userdata)
{
	struct refusal r = { 0 };
	cleanup_json json_t *params = call_params(call, cleanup_params, COUNT(cleanup_params), &r);
	json_t *reply = NULL;

	(void)userdata;
	if (params && state_cleanup(text_of(params, "run"), text_of(params, "live"), &r) == 0)
		reply = json_object();
	call_answer(call, reply, &r);
}

int main(int argc, char **argv)
{
	const oc_provider_ops ops = {
		.size = sizeof(ops),
		.name = "srt",
		.version = oc_version(),
		.kind = "sandbox",
		.check = on_check,
		.plan = on_plan,
		.inspect = on_inspect,
		.cleanup = on_cleanup,
	};
	struct known *known;
	int status;

	if (argc == 2 && !strcmp(argv[1], "--version")) {
		printf("open-conduit-provider-srt %s\n", oc_version());
		return 0;
	}
	known = known_new();
	status = oc_provider_main(&ops, known, argc, argv);
	known_free(known);
	if (status == 2)
		fprintf(stderr, "open-conduit-provider-srt: started by hosts, with a socket on descriptors 0 and 1 "
		                "(openconduit-provider(7))\n");
	return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* open-conduit-provider-docker: containers by Docker Engine.  Started by hosts it is a provider; with an argument it is the launch
 * command of a run, its cleanup or its inspection, and started by guard or recovery. */
#include <openconduit/openconduit.h>
#include <openconduit/provider.h>

#include <stdio.h>
#include <string.h>

#include "checkup.h"
#include "cleanup.h"
#include "common/call.h"
#include "inspect.h"
#include "run.h"
#include "spec.h"
#include "state.h"

static const struct param check_params[] = {
	{ "state_dir", is_text }, { "guest", is_text }, { "live_dir", is_text },
	{ "context", is_text },   { "image", is_text },
};
static const struct param plan_params[] = {
	{ "run", is_text },  { "resolved", is_object },          { "guest", is_text },
	{ "live", is_text }, { "terminal", is_truth_or_absent },
};
static const struct param inspect_params[] = { { "run", is_text }, { "live", is_text_or_absent } };
static const struct param cleanup_params[] = { { "run", is_text }, { "live", is_text } };

static void on_check(oc_call *call, void *userdata)
{
	struct refusal r = { 0 };
	cleanup_json json_t *params = call_params(call, check_params, COUNT(check_params), &r);

	(void)userdata;
	call_answer(call, params ? check_all(params) : NULL, &r);
}

static void on_plan(oc_call *call, void *userdata)
{
	struct refusal r = { 0 };
	cleanup_json json_t *params = call_params(call, plan_params, COUNT(plan_params), &r);

	(void)userdata;
	call_answer(call, params ? spec_plan(params, &r) : NULL, &r);
}

static bool run_valid(const json_t *params, struct refusal *r)
{
	if (spec_run_valid(text_of(params, "run")))
		return true;
	refuse(r, "provider_failed", "run", NULL, "that is no run id");
	return false;
}

static void on_inspect(oc_call *call, void *userdata)
{
	struct refusal r = { 0 };
	cleanup_json json_t *params = call_params(call, inspect_params, COUNT(inspect_params), &r);
	json_t *reply = NULL;

	(void)userdata;
	if (params && run_valid(params, &r))
		reply = json_pack("{s:s}", "state", state_of(text_of(params, "run"), text_of(params, "live")));
	call_answer(call, reply, &r);
}

static void on_cleanup(oc_call *call, void *userdata)
{
	struct refusal r = { 0 };
	cleanup_json json_t *params = call_params(call, cleanup_params, COUNT(cleanup_params), &r);
	json_t *reply = NULL;

	(void)userdata;
	if (params && run_valid(params, &r) && state_cleanup(text_of(params, "run"), text_of(params, "live"), &r) == 0)
		reply = json_object();
	call_answer(call, reply, &r);
}

static int serve(int argc, char **argv)
{
	const oc_provider_ops ops = {
		.size = sizeof(ops),
		.name = "docker",
		.version = oc_version(),
		.kind = "container",
		.check = on_check,
		.plan = on_plan,
		.inspect = on_inspect,
		.cleanup = on_cleanup,
	};
	int status = oc_provider_main(&ops, NULL, argc, argv);

	if (status == 2)
		fprintf(stderr, "open-conduit-provider-docker: started by hosts, with a socket on descriptors 0 and 1 "
		                "(openconduit-provider(7))\n");
	return status;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--version"))
		return printf("open-conduit-provider-docker %s\n", oc_version()) < 0;
	if (argc == 2 && !strcmp(argv[1], "run"))
		return run_main(false);
	if (argc == 3 && !strcmp(argv[1], "run") && !strcmp(argv[2], "now"))
		return run_main(true);
	if (argc == 2 && !strcmp(argv[1], "cleanup"))
		return cleanup_main();
	if (argc == 2 && !strcmp(argv[1], "inspect"))
		return inspect_main();
	return serve(argc, argv);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* open-conduit-provider-srt: process sandboxes by Anthropic's sandbox-runtime. */
#include <openconduit/openconduit.h>
#include <openconduit/provider.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "launch.h"
#include "state.h"

static void answer(oc_call *call, json_t *reply, struct refusal *r)
{
	cleanup_free char *text = reply ? json_dumps(reply, JSON_COMPACT) : NULL;

	if (text)
		(void)oc_call_reply(call, text);
	else
		(void)oc_call_refuse(call, r->reason ? r->reason : "provider_failed", r->subject, r->fix,
		                     r->message ? r->message : "out of memory");
	json_decref(reply);
	refusal_clear(r);
}

/* The parameters of a call: exactly these names.  "s" members are text, "o" an object; NULL: refused. */
static json_t *take_params(oc_call *call, struct refusal *r, const char *const *names, size_t n)
{
	json_t *params = json_loads(oc_call_params(call), JSON_REJECT_DUPLICATES, NULL), *value;
	const char *name;
	size_t i;

	for (i = 0; i < n; i++)
		if (!json_object_get(params, names[i])) {
			refuse(r, "provider_failed", names[i], NULL, "%s lacks its parameter %s", oc_call_method(call),
			       names[i]);
			json_decref(params);
			return NULL;
		}
	json_object_foreach(params, name, value)
	{
		for (i = 0; i < n && strcmp(name, names[i]) != 0; i++)
			;
		if (i < n && (!strcmp(name, "resolved") ? json_is_object(value) : json_is_string(value)))
			continue;
		refuse(r, "provider_failed", name, NULL, "%s has no such parameter %s", oc_call_method(call), name);
		json_decref(params);
		return NULL;
	}
	return params;
}

static void on_check(oc_call *call, void *userdata)
{
	static const char *const names[] = { "state_dir", "guest", "live_dir" };
	struct refusal r = { 0 };
	cleanup_json json_t *params = take_params(call, &r, names, COUNT(names));

	(void)userdata;
	answer(call,
	       params ? check_all(text_of(params, "state_dir"), text_of(params, "guest"), text_of(params, "live_dir"))
	              : NULL,
	       &r);
}

static void on_plan(oc_call *call, void *userdata)
{
	static const char *const names[] = { "run", "resolved", "guest", "live" };
	struct refusal r = { 0 };
	struct srt srt = { .known = userdata };
	cleanup_json json_t *params = take_params(call, &r, names, COUNT(names));
	json_t *plan = NULL;

	if (params && locate(&srt, &r) == 0)
		plan = launch_plan(&srt, json_object_get(params, "resolved"), text_of(params, "guest"),
		                   text_of(params, "live"), &r);
	srt_clear(&srt);
	answer(call, plan, &r);
}

static void on_inspect(oc_call *call, void *userdata)
{
	static const char *const names[] = { "run" };
	struct refusal r = { 0 };
	cleanup_json json_t *params = take_params(call, &r, names, COUNT(names));
	json_t *reply = NULL;

	(void)userdata;
	if (params && !run_valid(text_of(params, "run")))
		refuse(&r, "provider_failed", "run", NULL, "that is no run id");
	else if (params)
		reply = json_pack("{s:s}", "state", state_of(text_of(params, "run")));
	answer(call, reply, &r);
}

static void on_cleanup(oc_call *call, void *userdata)
{
	static const char *const names[] = { "run", "live" };
	struct refusal r = { 0 };
	cleanup_json json_t *params = take_params(call, &r, names, COUNT(names));
	json_t *reply = NULL;

	(void)userdata;
	if (params && state_cleanup(text_of(params, "run"), text_of(params, "live"), &r) == 0)
		reply = json_object();
	answer(call, reply, &r);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Agents whose daemon was killed, and none has come since: the next command that settles lets them end, so that none waits
 * with its Work for words that nobody will say. */
#include <stdlib.h>
#include <string.h>

#include "executor/agent.h"
#include "link.h"
#include "serve.h"

#define WAIT_MS 2000

struct release {
	struct agent agent;
	const char *binding;
	bool running, gone;
};

static void state(oc_run *run, const char *name, const char *json, void *userdata)
{
	struct release *r = userdata;

	(void)json;
	if (strcmp(name, "running") != 0)
		return;
	agent_talk.running(run, &r->agent);
	r->running = r->agent.closed || agent_close(&r->agent);
	r->gone = !r->running;
}

static void ended(oc_run *run, const char *record, void *userdata)
{
	struct release *r = userdata;

	(void)run;
	(void)record;
	r->gone = true;
}

static void failed(oc_run *run, const oc_error *err, void *userdata)
{
	(void)err;
	ended(run, NULL, userdata);
}

/* Nobody else hears it while we are connected. */
static void call(oc_run *run, oc_toolcall *toolcall, void *userdata)
{
	struct release *r = userdata;

	(void)run;
	serve_call(r->agent.h, r->binding, r->agent.work, r->agent.run, toolcall);
}

static void release_run(struct host *h, const json_t *run)
{
	struct release r = { .agent = { .h = h,
		                        .executor = agent_executor_of(run),
		                        .work = host_string(run, "work"),
		                        .run = host_string(run, "id") },
		             .binding = host_string(run, "binding") };
	long long until = host_mono_ms() + WAIT_MS;
	oc_run_ops ops = OC_RUN_OPS_INIT;
	oc_run *handle = NULL;

	ops.state = state;
	ops.ended = ended;
	ops.failed = failed;
	ops.call = call;
	if (agent_take_over(&r.agent, run) == 0 && oc_run_open(h->store, r.agent.run, &ops, &r, &handle, NULL) == 0)
		while (!r.gone && !(r.running && !oc_run_unsent(handle)) && host_mono_ms() < until)
			if (oc_context_wait(h->ctx, WAIT_MS, NULL) < 0)
				break;
	oc_run_free(handle);
	agent_end(&r.agent);
}

void serve_release(struct host *h)
{
	char *text = NULL;
	json_t *rows, *row;
	size_t i;

	if (link_there(h) || oc_store_kept(h->store, &text, NULL) < 0)
		return;
	rows = host_parse(h, "the list of runs", text);
	json_array_foreach(rows, i, row)
	{
		json_t *run = NULL;

		if (!host_string(row, "work") || !serve_ripe(row))
			continue;
		text = NULL;
		if (oc_store_run(h->store, host_string(row, "id"), &text, NULL) >= 0)
			run = host_parse(h, "the record of a run", text);
		if (agent_was_hosted(run))
			release_run(h, run);
		json_decref(run);
	}
	json_decref(rows);
}

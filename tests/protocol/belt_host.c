/* SPDX-License-Identifier: Apache-2.0 */
/* A host with a toolbelt, by the public API: runs a command that is offered belt_tools.h, and answers its calls.
 *
 *   belt_host start STATE none|sandbox [ROOM] -- COMMAND…   in the current directory; the run's id goes to stderr first
 *   belt_host open STATE ID                                 goes on where another host left the run
 *
 * Its output and exit status are the command's, which has the variables of the stage.  ROOM: a folder that the command may write, beside its workspace.  A run goes
 * on without a host. */
#include <openconduit/openconduit.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "belt_tools.h"

struct host {
	oc_context *ctx;
	oc_store *store;
	oc_broker *broker;
	oc_run *run;
	struct belt_calls calls;
	bool over;
	int status;
};

static void must(int rc, oc_error *const *err)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "%s\n", oc_error_json(*err));
	exit(125);
}

static void on_call(oc_run *run, oc_toolcall *call, void *userdata)
{
	struct host *h = userdata;

	(void)run;
	belt_begin(&h->calls, call, oc_toolcall_name(call), oc_toolcall_arguments(call));
}

static void on_progress(void *call, int64_t progress, int64_t total)
{
	oc_error *err = NULL;

	must(oc_toolcall_progress(call, progress, total, NULL, &err), &err);
}

static void on_reply(void *call, const char *result)
{
	oc_error *err = NULL;

	must(oc_toolcall_reply(call, result, &err), &err);
}

static void on_output(oc_run *run, int stream, uint64_t next, const void *data, size_t len, void *userdata)
{
	FILE *out = stream == 2 ? stderr : stdout;
	oc_error *err = NULL;

	(void)userdata;
	if (data)
		fwrite(data, 1, len, out);
	fflush(out);
	must(oc_run_ack(run, next, &err), &err);
}

static void on_ended(oc_run *run, const char *record, void *userdata)
{
	const char *at = strstr(record, "\"status\":");
	struct host *h = userdata;
	oc_error *err = NULL;

	h->status = at && strstr(record, "\"state\":\"exited\"") ? atoi(at + strlen("\"status\":")) : 124;
	if (h->status)
		fprintf(stderr, "%s\n", record);
	h->over = true;
	must(oc_run_finish(run, &err), &err);
}

static void on_failed(oc_run *run, const oc_error *err, void *userdata)
{
	struct host *h = userdata;

	(void)run;
	fprintf(stderr, "%s\n", oc_error_json(err));
	h->status = 125;
	h->over = true;
}

static oc_run_ops all_ops(void)
{
	oc_run_ops ops = OC_RUN_OPS_INIT;

	ops.output = on_output;
	ops.ended = on_ended;
	ops.failed = on_failed;
	ops.call = on_call;
	return ops;
}

static void start(struct host *h, const char *kind, const char *room, char **command)
{
	static const char *const pass[] = { "PATH", "HOME", "OPEN_CONDUIT_SRT", NULL };
	static const char *const stage[] = { "OC_NPM_MCP", "OC_TEST_LABEL", "OC_JOBS" };
	const char *env[4] = { NULL };
	bool sandbox = strcmp(kind, "sandbox") == 0;
	oc_broker_options options = OC_BROKER_OPTIONS_INIT;
	oc_request request = OC_REQUEST_INIT;
	const oc_run_ops ops = all_ops();
	oc_error *err = NULL;
	char policy[8192];

	snprintf(policy, sizeof(policy), "{\"write\":[\"{workspace}\"%s%s%s],\"sockets\":[\"{toolbelt}\"]}",
	         room ? ",\"" : "", room ? room : "", room ? "\"" : "");
	options.pass_env = pass;
	request.policy = sandbox ? policy : NULL;
	request.workspace = getcwd(NULL, 0);
	request.argv = (const char *const *)command;
	for (size_t i = 0, n = 0; i < sizeof(stage) / sizeof(stage[0]); i++)
		if (getenv(stage[i]))
			env[n++] = stage[i];
	request.env = env;
	request.toolbelt = belt_text;
	request.git_credential = getenv("BELT_GIT");
	request.keep = 1;
	must((sandbox ? oc_sandbox_broker_new : oc_unsandboxed_broker_new)(h->store, sandbox ? &options : NULL,
	                                                                   &h->broker, &err),
	     &err);
	must(oc_broker_start(h->broker, &request, &ops, h, &h->run, &err), &err);
	fprintf(stderr, "run %s\n", oc_run_id(h->run));
	free((char *)request.workspace);
}

static void begin(struct host *h, int argc, char **argv)
{
	const oc_run_ops ops = all_ops();
	oc_error *err = NULL;

	if (argc > 5 && strcmp(argv[1], "start") == 0 && strcmp(argv[4], "--") == 0) {
		start(h, argv[3], NULL, argv + 5);
	} else if (argc > 6 && strcmp(argv[1], "start") == 0 && strcmp(argv[5], "--") == 0) {
		start(h, argv[3], argv[4], argv + 6);
	} else if (argc == 4 && strcmp(argv[1], "open") == 0) {
		must(oc_run_open(h->store, argv[3], &ops, h, &h->run, &err), &err);
	} else {
		fprintf(stderr, "usage: see the head of belt_host.c\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	oc_context_options options = OC_CONTEXT_OPTIONS_INIT;
	struct host h = { .calls = { .progress = on_progress, .reply = on_reply, .effects = getenv("BELT_EFFECTS") } };
	oc_error *err = NULL;

	h.calls.times = getenv("BELT_TWICE") ? 2 : 1;
	options.state_dir = argc > 2 ? argv[2] : NULL;
	options.libexec_dir = getenv("OPEN_CONDUIT_LIBEXEC");
	must(oc_context_new(&options, &h.ctx, &err), &err);
	must(oc_store_open(h.ctx, &h.store, &err), &err);
	begin(&h, argc, argv);
	while (!h.over)
		must(oc_context_wait(h.ctx, belt_run(&h.calls), &err), &err);
	oc_run_free(h.run);
	oc_broker_free(h.broker);
	oc_store_free(h.store);
	oc_context_free(h.ctx);
	return h.status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A host that can be killed at any time: starts a run and leaves it, or adopts one and follows it.
 *
 *   follow start STATE WORKSPACE POLICY|- -- CMD…   prints the run's id when it runs
 *   follow adopt STATE ID                           output to stdout, acknowledged once written; the record last
 *
 * A started run keeps going without a host. */
#include <openconduit/openconduit.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static oc_context *ctx;
static oc_store *store;
static bool over;
static int status;

static void refused(const oc_error *err)
{
	fprintf(stderr, "%s\n", oc_error_json(err));
	exit(1);
}

static void must(int rc, oc_error *const *err)
{
	if (rc < 0)
		refused(*err);
}

static void on_state(oc_run *run, const char *state, const char *json, void *userdata)
{
	(void)json;
	if (!strcmp(state, "running") && !strcmp(userdata, "start")) {
		printf("%s\n", oc_run_id(run));
		over = true;
	}
}

static void on_output(oc_run *run, int stream, uint64_t next, const void *data, size_t len, void *userdata)
{
	oc_error *err = NULL;

	(void)userdata;
	if (stream == 0) {
		fprintf(stderr, "gap of %zu bytes\n", len);
		status = 5;
	} else if (write(stream, data, len) != (ssize_t)len) {
		exit(6);
	}
	must(oc_run_ack(run, next, &err), &err);
}

static void on_ended(oc_run *run, const char *record, void *userdata)
{
	oc_error *err = NULL;

	(void)userdata;
	must(oc_run_finish(run, &err), &err);
	fprintf(stderr, "%s\n", record);
	over = true;
}

static void on_failed(oc_run *run, const oc_error *err, void *userdata)
{
	(void)run;
	(void)userdata;
	refused(err);
}

static void open_store(const char *state)
{
	oc_context_options options = OC_CONTEXT_OPTIONS_INIT;
	oc_error *err = NULL;

	options.state_dir = state;
	options.libexec_dir = getenv("OPEN_CONDUIT_LIBEXEC");
	must(oc_context_new(&options, &ctx, &err), &err);
	must(oc_store_open(ctx, &store, &err), &err);
}

static oc_run *start(char **argv, const oc_run_ops *ops, oc_broker **broker)
{
	bool none = !strcmp(argv[4], "-");
	oc_request request = OC_REQUEST_INIT;
	oc_error *err = NULL;
	oc_run *run = NULL;

	must(none ? oc_unsandboxed_broker_new(store, NULL, broker, &err) : oc_sandbox_broker_new(store, NULL, broker, &err), &err);
	request.workspace = argv[3];
	request.policy = none ? NULL : argv[4];
	request.argv = (const char *const *)argv + 6;
	request.keep = 1;
	must(oc_broker_start(*broker, &request, ops, (void *)"start", &run, &err), &err);
	return run;
}

int main(int argc, char **argv)
{
	oc_run_ops ops = OC_RUN_OPS_INIT;
	oc_broker *broker = NULL;
	oc_error *err = NULL;
	oc_run *run = NULL;

	ops.state = on_state;
	ops.failed = on_failed;
	if (argc >= 7 && !strcmp(argv[1], "start") && !strcmp(argv[5], "--")) {
		open_store(argv[2]);
		run = start(argv, &ops, &broker);
	} else if (argc == 4 && !strcmp(argv[1], "adopt")) {
		open_store(argv[2]);
		ops.output = on_output;
		ops.ended = on_ended;
		must(oc_run_open(store, argv[3], &ops, (void *)"adopt", &run, &err), &err);
	} else {
		return 2;
	}
	while (!over)
		must(oc_context_wait(ctx, 1000, &err), &err);
	oc_run_free(run);
	oc_broker_free(broker);
	oc_store_free(store);
	oc_context_free(ctx);
	return status;
}

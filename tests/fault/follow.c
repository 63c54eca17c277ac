/* SPDX-License-Identifier: Apache-2.0 */
/* A host that can be killed at any time: starts a run and leaves it, or adopts one and follows it.
 *
 *   follow start STATE WORKSPACE POLICY|- -- CMD…   prints the run's id when it runs
 *   follow adopt STATE ID [INPUT]                   output to stdout, acknowledged once written; the record last;
 *                                                   INPUT is fed to stdin, from where the guard has accepted it
 *   follow retry STATE ID                           a further attempt: opens it, releases it, follows it
 *   follow hold STATE ID                            adopts it and keeps the connection until that is lost
 *
 * POLICY: "-" confines nothing, one with an image is a container's.  A started run keeps going without a host. */
#include <openconduit/openconduit.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static oc_context *ctx;
static oc_store *store;
static const char *mode;
static int input = -1, status;
static bool over, feeding;

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

static void release(oc_run *run)
{
	char *text = NULL, digest[128] = "";
	const char *at;
	oc_error *err = NULL;

	must(oc_store_run(store, oc_run_id(run), &text, &err), &err);
	at = strstr(text, "\"digest\":\"sha256:");
	if (!at || sscanf(at, "\"digest\":\"%100[a-z0-9:]", digest) != 1)
		exit(7);
	free(text);
	must(oc_run_release(run, digest, &err), &err);
}

/* The first state a connection reports says how much of stdin the guard has. */
static void begin_input(const char *json)
{
	const char *at = strstr(json, "\"stdin\":");

	if (input < 0 || feeding || !at)
		return;
	if (lseek(input, (off_t)atoll(at + strlen("\"stdin\":")), SEEK_SET) < 0)
		exit(8);
	feeding = true;
}

static void on_state(oc_run *run, const char *state, const char *json, void *userdata)
{
	(void)userdata;
	begin_input(json);
	if (!strcmp(mode, "retry") && !strcmp(state, "held"))
		release(run);
	if (!strcmp(mode, "start") && !strcmp(state, "running")) {
		printf("%s\n", oc_run_id(run));
		over = true;
	}
	if (!strcmp(mode, "hold")) {
		printf("%s\n", state);
		fflush(stdout);
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

static void open_broker(const char *policy, oc_broker **broker)
{
	static const char *const names[] = { "DOCKER_HOST", NULL };
	oc_broker_options options = OC_BROKER_OPTIONS_INIT;
	oc_error *err = NULL;

	options.pass_env = names;
	if (!strcmp(policy, "-"))
		must(oc_unsandboxed_broker_new(store, NULL, broker, &err), &err);
	else if (strstr(policy, "\"image\""))
		must(oc_container_broker_new(store, &options, broker, &err), &err);
	else
		must(oc_sandbox_broker_new(store, NULL, broker, &err), &err);
}

static oc_run *start(char **argv, const oc_run_ops *ops, oc_broker **broker)
{
	oc_request request = OC_REQUEST_INIT;
	oc_error *err = NULL;
	oc_run *run = NULL;

	open_broker(argv[4], broker);
	request.workspace = argv[3];
	request.policy = strcmp(argv[4], "-") != 0 ? argv[4] : NULL;
	request.argv = (const char *const *)argv + 6;
	request.keep = 1;
	must(oc_broker_start(*broker, &request, ops, NULL, &run, &err), &err);
	return run;
}

/* As much as there is room for; the end of the file is the end of stdin. */
static void feed(oc_run *run)
{
	char data[4096];
	oc_error *err = NULL;
	ssize_t n;

	while (feeding && (n = read(input, data, sizeof(data))) >= 0) {
		int rc = n ? oc_run_write(run, data, (size_t)n, &err) : oc_run_write_end(run, &err);

		if (rc == OC_ELIMIT && lseek(input, -n, SEEK_CUR) >= 0) {
			oc_error_free(err);
			return;
		}
		must(rc, &err);
		feeding = n != 0;
	}
}

int main(int argc, char **argv)
{
	oc_run_ops ops = OC_RUN_OPS_INIT;
	oc_broker *broker = NULL;
	oc_error *err = NULL;
	oc_run *run = NULL;

	ops.state = on_state;
	ops.failed = on_failed;
	mode = argc > 1 ? argv[1] : "";
	if (argc >= 7 && !strcmp(mode, "start") && !strcmp(argv[5], "--")) {
		open_store(argv[2]);
		run = start(argv, &ops, &broker);
	} else if (argc >= 4 && argc <= 5 &&
	           (!strcmp(mode, "adopt") || !strcmp(mode, "retry") || !strcmp(mode, "hold"))) {
		open_store(argv[2]);
		ops.output = strcmp(mode, "hold") ? on_output : NULL;
		ops.ended = on_ended;
		if (argc == 5 && (input = open(argv[4], O_RDONLY | O_CLOEXEC)) < 0)
			return 2;
		must(oc_run_open(store, argv[3], &ops, NULL, &run, &err), &err);
	} else {
		return 2;
	}
	while (!over) {
		must(oc_context_wait(ctx, feeding ? 10 : 1000, &err), &err);
		if (!over)
			feed(run);
	}
	oc_run_free(run);
	oc_broker_free(broker);
	oc_store_free(store);
	oc_context_free(ctx);
	return status;
}

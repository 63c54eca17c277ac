/* SPDX-License-Identifier: Apache-2.0 */
/* A program with a poll loop of its own that runs one command in a process sandbox.
 *
 *   embed_poll [--unsandboxed] COMMAND [ARGUMENT…]
 *
 * The ten lines that matter are in begin().  OPEN_CONDUIT_LIBEXEC as for open-conduit(1). */
#include <openconduit/openconduit.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct program {
	oc_context *ctx;
	oc_store *store;
	oc_broker *broker;
	oc_run *run;
	int over, status;
};

static void on_output(oc_run *run, int stream, uint64_t next, const void *data, size_t len, void *userdata)
{
	(void)userdata;
	if (data)
		fwrite(data, 1, len, stream == 2 ? stderr : stdout);
	(void)!oc_run_ack(run, next, NULL);
}

static void on_ended(oc_run *run, const char *record, void *userdata)
{
	struct program *p = userdata;

	printf("record: %s\n", record);
	p->status = oc_run_finish(run, NULL) < 0;
	p->over = 1;
}

static void on_failed(oc_run *run, const oc_error *err, void *userdata)
{
	struct program *p = userdata;

	(void)run;
	fprintf(stderr, "not run: %s: %s\n", oc_error_reason(err) ? oc_error_reason(err) : "error",
	        oc_error_message(err));
	p->status = 1;
	p->over = 1;
}

static int begin(struct program *p, int sandboxed, char **argv, oc_error **err)
{
	oc_context_options options = OC_CONTEXT_OPTIONS_INIT;
	oc_run_ops ops = OC_RUN_OPS_INIT;
	oc_request request = OC_REQUEST_INIT;
	static const char *const pass[] = { "PATH", "HOME", "OPEN_CONDUIT_SRT", NULL };
	oc_broker_options provider = OC_BROKER_OPTIONS_INIT;

	options.libexec_dir = getenv("OPEN_CONDUIT_LIBEXEC");
	provider.pass_env = pass;
	ops.output = on_output, ops.ended = on_ended, ops.failed = on_failed;
	request.policy = sandboxed ? "{\"write\": [\"{workspace}\"]}" : NULL;
	request.workspace = getcwd(NULL, 0); /* lives as long as the program */
	request.argv = (const char *const *)argv;
	if (oc_context_new(&options, &p->ctx, err) < 0 || oc_store_open(p->ctx, &p->store, err) < 0)
		return -1;
	if ((sandboxed ? oc_sandbox_broker_new(p->store, &provider, &p->broker, err)
	               : oc_unsandboxed_broker_new(p->store, NULL, &p->broker, err)) < 0)
		return -1;
	return oc_broker_start(p->broker, &request, &ops, p, &p->run, err);
}

/* The loop: the library is one descriptor among the others. */
static void loop(struct program *p)
{
	struct pollfd fds[2] = { { .fd = oc_context_fd(p->ctx), .events = POLLIN },
		                 { .fd = STDIN_FILENO, .events = POLLIN } };
	char piece[4096];
	ssize_t n;

	while (!p->over) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents && oc_context_dispatch(p->ctx, NULL) < 0)
			return;
		if (p->over || !fds[1].revents)
			continue;
		n = read(STDIN_FILENO, piece, sizeof(piece));
		if (n > 0 && oc_run_write(p->run, piece, (size_t)n, NULL) >= 0)
			continue;
		fds[1].fd = -1; /* the end of our input is the end of the command's */
		(void)!oc_run_write_end(p->run, NULL);
	}
}

int main(int argc, char **argv)
{
	struct program p = { .status = 1 };
	int unsandboxed = argc > 1 && strcmp(argv[1], "--unsandboxed") == 0;
	oc_error *err = NULL;

	if (argc < 2 + unsandboxed) {
		fprintf(stderr, "usage: %s [--unsandboxed] COMMAND [ARGUMENT…]\n", argv[0]);
		return 2;
	}
	if (begin(&p, !unsandboxed, argv + 1 + unsandboxed, &err) < 0)
		fprintf(stderr, "%s\n", oc_error_message(err));
	else
		loop(&p);
	oc_error_free(err);
	oc_run_free(p.run);
	oc_broker_free(p.broker);
	oc_store_free(p.store);
	oc_context_free(p.ctx);
	return p.status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A host whose runs get tokens, and what makes and ends them, each a process of its own:
 *
 *   tokens host STATE WORKSPACE VALUE -- CMD…   a run with the tool "ask", which is answered with a token of that value; its id on
 *                                               stdout when it runs, the record on stderr when it is over
 *   tokens adopt STATE RUN VALUE                goes on with it
 *   tokens begin STATE RUN | deposit STATE RUN ID VALUE MS | take STATE RUN ID | end STATE RUN ID STATE [DETAIL] | list STATE [RUN]
 *   tokens recover STATE
 *
 * Of the others the answer is on stdout; status 1: an error, as JSON on stderr. */
#include <openconduit/openconduit.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BELT                                                                                                           \
	"{\"tools\":[{\"name\":\"ask\",\"description\":\"asks\",\"inputSchema\":{\"type\":\"object\",\"properties\":"  \
	"{}}}]}"

static oc_context *ctx;
static oc_store *store;
static const char *value;
static bool over;

static int must(int rc, oc_error *err)
{
	if (rc >= 0)
		return rc;
	fprintf(stderr, "%s\n", oc_error_json(err));
	exit(1);
}
#define MUST(call)                                                                                                     \
	do {                                                                                                           \
		oc_error *err = NULL;                                                                                  \
		int must_rc = (call);                                                                                  \
		last = must(must_rc, err);                                                                             \
	} while (0)
static int last;

static int64_t from_now(const char *ms)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + atoll(ms);
}

static void on_state(oc_run *run, const char *state, const char *json, void *userdata)
{
	(void)json;
	(void)userdata;
	if (strcmp(state, "running") == 0) {
		printf("%s\n", oc_run_id(run));
		fflush(stdout);
	}
}

static void on_call(oc_run *run, oc_toolcall *call, void *userdata)
{
	char id[OC_TOKEN_ID_SIZE];

	(void)userdata;
	MUST(oc_token_begin(store, oc_run_id(run), "{\"repository\":\"acme/app\"}", 3600000, id, &err));
	MUST(oc_token_deposit(store, oc_run_id(run), id, value, strlen(value), from_now("3600000"), &err));
	MUST(oc_toolcall_reply_token(call, "{\"username\":\"x-access-token\"}", id, &err));
}

static void on_ended(oc_run *run, const char *record, void *userdata)
{
	(void)userdata;
	MUST(oc_run_finish(run, &err));
	fprintf(stderr, "%s\n", record);
	over = true;
}

static void on_failed(oc_run *run, const oc_error *err, void *userdata)
{
	(void)run;
	(void)userdata;
	fprintf(stderr, "%s\n", oc_error_json(err));
	exit(1);
}

static int host(int argc, char **argv)
{
	oc_run_ops ops = OC_RUN_OPS_INIT;
	oc_request request = OC_REQUEST_INIT;
	oc_broker *broker = NULL;
	oc_run *run = NULL;

	ops.state = on_state;
	ops.call = on_call;
	ops.ended = on_ended;
	ops.failed = on_failed;
	value = argv[4];
	if (strcmp(argv[1], "adopt") == 0) {
		MUST(oc_run_open(store, argv[3], &ops, NULL, &run, &err));
	} else {
		request.workspace = argv[3];
		request.argv = (const char *const *)argv + 6;
		request.keep = 1;
		request.toolbelt = BELT;
		MUST(oc_unsandboxed_broker_new(store, NULL, &broker, &err));
		MUST(oc_broker_start(broker, &request, &ops, NULL, &run, &err));
	}
	while (!over)
		MUST(oc_context_wait(ctx, 1000, &err));
	oc_run_free(run);
	oc_broker_free(broker);
	return argc < 5;
}

static int made(int argc, char **argv)
{
	char id[OC_TOKEN_ID_SIZE], taken[OC_TOKEN_VALUE_MAX], *text = NULL;
	size_t len = 0;

	if (strcmp(argv[1], "begin") == 0 && argc == 4) {
		MUST(oc_token_begin(store, argv[3], "{\"repository\":\"acme/app\"}", 3600000, id, &err));
		printf("%s\n", id);
	} else if (strcmp(argv[1], "deposit") == 0 && argc == 7) {
		MUST(oc_token_deposit(store, argv[3], argv[4], argv[5], strlen(argv[5]), from_now(argv[6]), &err));
		printf("%d\n", last);
	} else if (strcmp(argv[1], "take") == 0 && argc == 5) {
		MUST(oc_token_take(store, argv[3], argv[4], taken, &len, &err));
		printf("%.*s\n", (int)len, taken);
	} else if (strcmp(argv[1], "end") == 0 && argc >= 6) {
		MUST(oc_token_end(store, argv[3], argv[4], argv[5], argv[6], &err));
	} else if (strcmp(argv[1], "list") == 0) {
		MUST(oc_token_list(store, argv[3], &text, &err));
	} else if (strcmp(argv[1], "recover") == 0) {
		MUST(oc_store_recover(store, &text, &err));
	} else {
		return 2;
	}
	printf("%s", text ? text : "");
	free(text);
	return 0;
}

int main(int argc, char **argv)
{
	oc_context_options options = OC_CONTEXT_OPTIONS_INIT;
	int rc;

	if (argc < 3)
		return 2;
	options.state_dir = argv[2];
	options.libexec_dir = getenv("OPEN_CONDUIT_LIBEXEC");
	MUST(oc_context_new(&options, &ctx, &err));
	MUST(oc_store_open(ctx, &store, &err));
	if (argc >= 7 && strcmp(argv[1], "host") == 0 && strcmp(argv[5], "--") == 0)
		rc = host(argc, argv);
	else if (argc == 5 && strcmp(argv[1], "adopt") == 0)
		rc = host(argc, argv);
	else
		rc = made(argc, argv);
	oc_store_free(store);
	oc_context_free(ctx);
	return rc;
}

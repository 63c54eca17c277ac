/* SPDX-License-Identifier: Apache-2.0 */
/* A run step by step, with a shell command executed on the host between two of its steps, so that
 * a test can change the world between check and use.
 *
 *   steps STATE WORKSPACE POLICY|- WHEN HOOK [--clone] [--container] -- CMD…     WHEN: planned, pinned or held
 *
 * POLICY "-" is kind none; with --container it is a container's.  stdout: the exit record, or the error
 * record; status 0 when there was a record, 1 on a refusal.  OPEN_CONDUIT_LIBEXEC and OPEN_CONDUIT_PROVIDER_DIR as for the host. */
#include <openconduit/openconduit.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct step {
	const char *when, *hook;
	oc_plan *plan;
	bool checked, over;
	int status;
};

static void hook(const struct step *s, const char *now)
{
	int status;
	pid_t pid;

	if (strcmp(s->when, now) != 0)
		return;
	pid = fork();
	if (!pid) {
		execl("/bin/sh", "sh", "-c", s->hook, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	if (status) {
		fprintf(stderr, "hook: status %d\n", status);
		_exit(3);
	}
}

static void refuse(struct step *s, const oc_error *err)
{
	printf("%s\n", oc_error_json(err));
	s->over = true;
	s->status = 1;
}

static void on_plan(oc_plan *plan, const oc_error *err, void *userdata)
{
	struct step *s = userdata;

	s->plan = plan;
	if (err)
		refuse(s, err);
}

static void on_check(const char *checks, const oc_error *err, void *userdata)
{
	struct step *s = userdata;

	(void)checks;
	s->checked = true;
	if (err)
		refuse(s, err);
}

static void on_state(oc_run *run, const char *state, const char *json, void *userdata)
{
	struct step *s = userdata;
	oc_error *err = NULL;

	(void)json;
	if (strcmp(state, "held") != 0)
		return;
	hook(s, "held");
	if (oc_run_release(run, oc_plan_digest(s->plan), &err) < 0)
		refuse(s, err);
	oc_error_free(err);
}

static void on_output(oc_run *run, int stream, uint64_t next, const void *data, size_t len, void *userdata)
{
	(void)run;
	(void)next;
	(void)userdata;
	if (stream)
		(void)!write(2, data, len);
}

static void on_ended(oc_run *run, const char *record, void *userdata)
{
	struct step *s = userdata;

	printf("%s\n", record);
	s->over = true;
	if (oc_run_finish(run, NULL) < 0)
		s->status = 4;
}

static void on_failed(oc_run *run, const oc_error *err, void *userdata)
{
	(void)run;
	refuse(userdata, err);
}

/* False: something else stands before the command. */
static bool read_flags(char **argv, int *at, oc_request *request, bool *container)
{
	for (; argv[*at]; ++*at) {
		if (!strcmp(argv[*at], "--clone"))
			request->git = OC_GIT_CLONE;
		else if (!strcmp(argv[*at], "--container"))
			*container = true;
		else
			break;
	}
	return argv[*at] && !strcmp(argv[*at], "--");
}

static void must(int rc, oc_error *const *err)
{
	if (rc >= 0)
		return;
	printf("%s\n", oc_error_json(*err));
	exit(1);
}

static void wait_until(oc_context *ctx, struct step *s, const bool *flag, oc_plan *const *plan)
{
	oc_error *err = NULL;

	while (!s->over && !(flag && *flag) && !(plan && *plan))
		must(oc_context_wait(ctx, 1000, &err), &err);
}

static oc_broker *make_broker(oc_store *store, bool none, bool container)
{
	oc_broker_options options = OC_BROKER_OPTIONS_INIT;
	oc_broker *broker = NULL;
	oc_error *err = NULL;

	options.provider_dir = getenv("OPEN_CONDUIT_PROVIDER_DIR");
	if (none)
		must(oc_unsandboxed_broker_new(store, NULL, &broker, &err), &err);
	else if (container)
		must(oc_container_broker_new(store, &options, &broker, &err), &err);
	else
		must(oc_sandbox_broker_new(store, &options, &broker, &err), &err);
	return broker;
}

int main(int argc, char **argv)
{
	oc_context_options options = OC_CONTEXT_OPTIONS_INIT;
	oc_request request = OC_REQUEST_INIT;
	oc_run_ops ops = OC_RUN_OPS_INIT;
	struct step s = { 0 };
	oc_context *ctx = NULL;
	oc_store *store = NULL;
	oc_broker *broker = NULL;
	oc_error *err = NULL;
	oc_run *run = NULL;
	bool none, container = false;
	int at = 6;

	if (argc < 8)
		return 2;
	none = !strcmp(argv[3], "-");
	s.when = argv[4];
	s.hook = argv[5];
	request.workspace = argv[2];
	request.policy = none ? NULL : argv[3];
	if (!read_flags(argv, &at, &request, &container))
		return 2;
	request.argv = (const char *const *)argv + at + 1;
	options.state_dir = argv[1];
	options.libexec_dir = getenv("OPEN_CONDUIT_LIBEXEC");
	must(oc_context_new(&options, &ctx, &err), &err);
	must(oc_store_open(ctx, &store, &err), &err);
	broker = make_broker(store, none, container);
	must(oc_broker_check_policy(broker, container ? request.policy : NULL, on_check, &s, &err), &err);
	wait_until(ctx, &s, &s.checked, NULL);
	if (!s.over) {
		must(oc_broker_plan(broker, &request, on_plan, &s, &err), &err);
		wait_until(ctx, &s, NULL, &s.plan);
	}
	if (!s.over) {
		hook(&s, "planned");
		must(oc_plan_pin(s.plan, store, &err), &err);
		hook(&s, "pinned");
		ops.state = on_state;
		ops.output = on_output;
		ops.ended = on_ended;
		ops.failed = on_failed;
		must(oc_run_open(store, oc_plan_run(s.plan), &ops, &s, &run, &err), &err);
		wait_until(ctx, &s, NULL, NULL);
	}
	oc_run_free(run);
	oc_plan_free(s.plan);
	oc_broker_free(broker);
	oc_store_free(store);
	oc_context_free(ctx);
	return s.status;
}

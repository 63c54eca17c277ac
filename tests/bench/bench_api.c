/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured through the public API: planning, preflight, guards and adopting them.
 *
 *   bench_api plan STATE WORKSPACE COUNT POLICY   ms of plan, plan + pin, preflight, and launch to "held"
 *   bench_api machine                             ms of an empty process, to judge the machine by
 *   bench_api adopt STATE WORKSPACE COUNT         COUNT live guards of kind none, adopted; their memory
 *   bench_api belt STATE WORKSPACE SCRIPT POLICY  what SCRIPT, a client of the toolbelt in the sandbox, prints
 *
 * Prints `name value` lines; OPEN_CONDUIT_LIBEXEC names the programs' directory. */
#include <openconduit/openconduit.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static oc_context *ctx;
static oc_store *store;
static unsigned done;
static double preflight_ms; /* of the last run that was held */

/* What is measured is our work and not the disk's, so the library's syncs, and SQLite's, end here. */
static unsigned syncs;

OC_API int fsync(int fd);
int fsync(int fd)
{
	(void)fd;
	syncs++;
	return 0;
}

OC_API int fdatasync(int fd);
int fdatasync(int fd)
{
	(void)fd;
	syncs++;
	return 0;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Of this process: what no other process's load changes. */
static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void refused(const oc_error *err, const char *what)
{
	fprintf(stderr, "%s: %s\n", what, oc_error_json(err));
	exit(1);
}

static void must(int rc, oc_error *const *err, const char *what)
{
	if (rc < 0)
		refused(*err, what);
}

static void open_store(const char *state)
{
	oc_context_options options = OC_CONTEXT_OPTIONS_INIT;
	oc_error *err = NULL;

	options.state_dir = state;
	options.libexec_dir = getenv("OPEN_CONDUIT_LIBEXEC");
	must(oc_context_new(&options, &ctx, &err), &err, "context");
	must(oc_store_open(ctx, &store, &err), &err, "store");
}

static void wait_for(unsigned n)
{
	oc_error *err = NULL;

	while (done < n)
		must(oc_context_wait(ctx, 1000, &err), &err, "wait");
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(const char *name, double *samples, int n)
{
	qsort(samples, (size_t)n, sizeof(*samples), by_value);
	printf("%s %.3f %.3f %.3f\n", name, samples[0], samples[n / 2], samples[n - 1]);
}

static void planned(oc_plan *plan, const oc_error *err, void *userdata)
{
	if (!plan)
		refused(err, "plan");
	*(oc_plan **)userdata = plan;
	done++;
}

static void checked(const char *checks, const oc_error *err, void *userdata)
{
	(void)userdata;
	if (!checks)
		refused(err, "check");
	if (strncmp(checks, "{\"checks\":", 10) != 0 || !strstr(checks, "\"ok\":true,\"provider\""))
		fprintf(stderr, "checks: %s\n", checks);
	done++;
}

static void on_state(oc_run *run, const char *state, const char *json, void *userdata)
{
	const char *ns = strstr(json, "\"preflight_ns\":");

	(void)run;
	if (ns)
		preflight_ms = strtod(ns + 15, NULL) / 1e6;
	if (!strcmp(state, userdata))
		done++;
}

static void on_ended(oc_run *run, const char *record, void *userdata)
{
	(void)run;
	(void)record;
	(void)userdata;
	done++;
}

static void on_failed(oc_run *run, const oc_error *err, void *userdata)
{
	(void)run;
	(void)userdata;
	refused(err, "run");
}

static oc_run_ops run_ops(void)
{
	oc_run_ops ops = OC_RUN_OPS_INIT;

	ops.state = on_state;
	ops.failed = on_failed;
	return ops;
}

static int bench_plan(char **argv)
{
	const char *command[] = { "/bin/true", NULL };
	oc_request request = OC_REQUEST_INIT;
	oc_run_ops ops = run_ops();
	oc_broker *broker = NULL;
	int n = atoi(argv[4]);
	double *plan_ms, *pin_ms, *held_ms, *checked_ms, *used_ms;
	oc_error *err = NULL;

	ops.ended = on_ended;
	open_store(argv[2]);
	must(oc_sandbox_broker_new(store, NULL, &broker, &err), &err, "broker");
	must(oc_broker_check(broker, checked, NULL, &err), &err, "check");
	wait_for(1);
	request.workspace = argv[3];
	request.policy = argv[5];
	request.argv = command;
	plan_ms = calloc((size_t)n, sizeof(double));
	pin_ms = calloc((size_t)n, sizeof(double));
	held_ms = calloc((size_t)n, sizeof(double));
	checked_ms = calloc((size_t)n, sizeof(double));
	used_ms = calloc((size_t)n, sizeof(double));
	if (!plan_ms || !pin_ms || !held_ms || !checked_ms || !used_ms)
		return 1;
	for (int i = 0; i < n; i++) {
		oc_plan *plan = NULL;
		oc_run *run = NULL;
		double c0 = cpu_ms(), t0 = now_ms(), t1, t2;

		done = 0;
		must(oc_broker_plan(broker, &request, planned, &plan, &err), &err, "plan");
		wait_for(1);
		t1 = now_ms();
		must(oc_plan_pin(plan, store, &err), &err, "pin");
		t2 = now_ms();
		used_ms[i] = cpu_ms() - c0;
		done = 0;
		must(oc_run_open(store, oc_plan_run(plan), &ops, (void *)"held", &run, &err), &err, "open");
		wait_for(1);
		plan_ms[i] = t1 - t0;
		pin_ms[i] = t2 - t0;
		held_ms[i] = now_ms() - t2;
		checked_ms[i] = preflight_ms;
		done = 0;
		must(oc_run_stop(run, 0, &err), &err, "stop");
		wait_for(1); /* else its end would be measured with the next plan */
		oc_run_free(run);
		oc_plan_free(plan);
	}
	printf("syncs_left_out %.1f\n", (double)syncs / n);
	report("plan_ms", plan_ms, n);
	report("plan_pin_ms", pin_ms, n);
	report("plan_pin_cpu_ms", used_ms, n);
	report("preflight_ms", checked_ms, n);
	report("launch_to_held_ms", held_ms, n);
	free(plan_ms);
	free(pin_ms);
	free(held_ms);
	free(checked_ms);
	free(used_ms);
	oc_broker_free(broker);
	return 0;
}

static long guard_rss_kb(const char *state, const char *id)
{
	char path[512], text[1024] = "", *at;
	long kb = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/runs/%s/guard.json", state, id);
	f = fopen(path, "re");
	if (!f || !fread(text, 1, sizeof(text) - 1, f))
		return -1;
	fclose(f);
	at = strstr(text, "\"pid\":");
	if (!at)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/status", atoi(at + 6));
	f = fopen(path, "re");
	while (f && fgets(text, sizeof(text), f))
		if (sscanf(text, "VmRSS: %ld", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

static void start_guards(oc_run **runs, char (*ids)[64], int n, const char *workspace)
{
	const char *command[] = { "/bin/sleep", "600", NULL };
	oc_request request = OC_REQUEST_INIT;
	oc_run_ops ops = run_ops();
	oc_broker *broker = NULL;
	oc_error *err = NULL;

	must(oc_unsandboxed_broker_new(store, NULL, &broker, &err), &err, "broker");
	request.workspace = workspace;
	request.argv = command;
	request.keep = 1;
	for (int i = 0; i < n; i++) {
		done = 0;
		must(oc_broker_start(broker, &request, &ops, (void *)"running", &runs[i], &err), &err, "start");
		wait_for(1);
		snprintf(ids[i], sizeof(ids[i]), "%s", oc_run_id(runs[i]));
		oc_run_free(runs[i]);
	}
	oc_broker_free(broker);
}

static int bench_adopt(char **argv)
{
	struct rlimit files;
	int n = atoi(argv[4]);
	oc_run **runs = calloc((size_t)n, sizeof(*runs));
	char(*ids)[64] = calloc((size_t)n, sizeof(*ids));
	oc_run_ops ops = run_ops();
	oc_error *err = NULL;
	double began;
	long rss = 0;

	/* An adopted run holds a connection and a directory. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	open_store(argv[2]);
	if (!runs || !ids)
		return 1;
	start_guards(runs, ids, n, argv[3]);
	for (int i = 0; i < n; i++) {
		long kb = guard_rss_kb(argv[2], ids[i]);

		rss = kb > rss ? kb : rss;
	}
	oc_store_free(store);
	oc_context_free(ctx);
	began = now_ms();
	open_store(argv[2]);
	done = 0;
	for (int i = 0; i < n; i++)
		must(oc_run_open(store, ids[i], &ops, (void *)"running", &runs[i], &err), &err, "adopt");
	wait_for((unsigned)n);
	printf("adopted %d\nadopt_ms %.0f\nguard_rss_kb %ld\n", n, now_ms() - began, rss);
	for (int i = 0; i < n; i++)
		if (oc_run_stop(runs[i], 0, NULL) < 0)
			return 1;
	for (int i = 0; i < n; i++)
		must(oc_context_wait(ctx, 10, &err), &err, "wait");
	return 0;
}

static void answer(oc_run *run, oc_toolcall *call, void *userdata)
{
	oc_error *err = NULL;

	(void)run;
	(void)userdata;
	must(oc_toolcall_reply(call, "{\"said\":\"hi\"}", &err), &err, "reply");
}

static void copy_output(oc_run *run, int stream, uint64_t next, const void *data, size_t len, void *userdata)
{
	(void)userdata;
	if (data)
		fwrite(data, 1, len, stream == 2 ? stderr : stdout);
	if (oc_run_ack(run, next, NULL) < 0)
		exit(1);
}

static void belt_ended(oc_run *run, const char *record, void *userdata)
{
	if (!strstr(record, "\"state\":\"exited\""))
		fprintf(stderr, "%s\n", record);
	on_ended(run, record, userdata);
}

static int bench_belt(char **argv)
{
	const char *command[] = { "/usr/bin/python3", argv[4], NULL };
	oc_request request = OC_REQUEST_INIT;
	oc_run_ops ops = OC_RUN_OPS_INIT;
	oc_broker *broker = NULL;
	oc_run *run = NULL;
	oc_error *err = NULL;

	open_store(argv[2]);
	must(oc_sandbox_broker_new(store, NULL, &broker, &err), &err, "broker");
	ops.call = answer;
	ops.output = copy_output;
	ops.ended = belt_ended;
	ops.failed = on_failed;
	request.workspace = argv[3];
	request.policy = argv[5];
	request.argv = command;
	request.toolbelt =
	        "{\"tools\":[{\"name\":\"say\",\"description\":\"says it\",\"inputSchema\":{\"type\":\"object\"}}]}";
	must(oc_broker_start(broker, &request, &ops, NULL, &run, &err), &err, "start");
	wait_for(1);
	oc_run_free(run);
	oc_broker_free(broker);
	return 0;
}

/* How fast the machine is at the moment: what starting an empty process and waiting for it takes. */
static int bench_machine(void)
{
	double ms[101];

	for (int i = 0; i < 101; i++) {
		double began = now_ms();
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
		ms[i] = now_ms() - began;
	}
	report("fork_ms", ms, 101);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "machine"))
		return bench_machine();
	if (argc == 6 && !strcmp(argv[1], "plan"))
		return bench_plan(argv);
	if (argc == 5 && !strcmp(argv[1], "adopt"))
		return bench_adopt(argv);
	if (argc == 6 && !strcmp(argv[1], "belt"))
		return bench_belt(argv);
	fprintf(stderr, "usage: bench_api machine | plan STATE WORKSPACE COUNT POLICY | adopt STATE WORKSPACE COUNT | "
	                "belt STATE WORKSPACE SCRIPT POLICY\n");
	return 2;
}

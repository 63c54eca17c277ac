/* SPDX-License-Identifier: Apache-2.0 */
/* serve: the daemon, and what is asked of one. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve/link.h"
#include "serve/serve.h"

enum { O_JOBS, O_DRAIN, O_STATUS, O_JSON, O_VERBOSE };

static const struct opt OPTIONS[] = {
	[O_JOBS] = { "jobs", 'j', "N", "at most N turns at once (default: one a processor)" },
	[O_DRAIN] = { "drain", 0, NULL,
	              "ask the daemon to start nothing new and to end after the last run; waits for it" },
	[O_STATUS] = { "status", 0, NULL, "ask the daemon how it is" },
	[O_JSON] = { "json", 0, NULL, "with --status: facts as JSON on stdout" },
	[O_VERBOSE] = { "verbose", 'v', NULL, "say more of what happens" },
	{ NULL, 0, NULL, NULL },
};

static const struct opt_command COMMAND = {
	.name = "serve",
	.about = "The daemon: starts what run --detach queues, and is the host of runs that have none.",
	.more = "It stays in the foreground; SIGTERM ends it, and the runs go on.\n\n"
	        "exit status: 0 it ended as it was asked, or answered; 1 not; 2 usage.\n",
	.opts = OPTIONS,
};

static void print_route(struct host *h, const json_t *route)
{
	const json_t *error = json_object_get(route, "error");
	char polled[64];

	host_time(json_object_get(route, "polled"), polled, sizeof(polled));
	out_printf(&h->out, "route     %s: issues of %s for %s; heard %s\n", host_string(route, "route"),
	           host_string(route, "repository"), host_string(route, "binding"),
	           json_is_null(json_object_get(route, "polled")) ? "never" : polled);
	if (json_is_object(error))
		out_printf(&h->out, "          %s\n          fix    %s\n", host_string(error, "message"),
		           host_string(error, "fix") ? host_string(error, "fix") : "open-conduit doctor");
}

static void print_status(struct host *h, const json_t *status)
{
	static const char *const names[] = { "pid", "jobs", "queued", "starting", "started", "adopted" };
	const json_t *route;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		out_printf(&h->out, "%-9s %lld\n", names[i],
		           (long long)json_integer_value(json_object_get(status, names[i])));
	if (json_is_true(json_object_get(status, "draining")))
		out_put(&h->out, "draining: nothing new is started\n");
	json_array_foreach(json_object_get(status, "routes"), i, route) print_route(h, route);
}

static int no_daemon(struct host *h)
{
	static const struct refusal r = { "serve_unreachable", "serve.lock",
		                          "no daemon is at work in this state directory", "open-conduit serve" };

	host_refuse(h, "not asked", &r);
	return EXIT_NO;
}

static int ask(struct host *h, bool drain)
{
	json_t *error = NULL, *answer;
	struct line l;
	int rc = link_open(h, "not asked", &l);
	bool over;

	if (rc <= 0)
		return rc ? EXIT_NO : no_daemon(h);
	answer = link_ask(&l, drain ? "drain" : "status", json_object(), &error);
	if (!answer) {
		link_report(h, "not asked", error);
		line_end(&l);
		return EXIT_NO;
	}
	if (drain) {
		out_put(&h->err, "open-conduit: nothing new is started; waiting for the runs that go on\n");
		out_flush(&h->err);
	} else if (h->json) {
		out_json(&h->out, json_incref(answer));
	} else {
		print_status(h, answer);
	}
	over = !drain || link_wait(&l, "drained");
	if (!over)
		out_put(&h->err, "open-conduit: the daemon ended before the last run did\n");
	json_decref(answer);
	line_end(&l);
	return over ? EXIT_GOOD : EXIT_NO;
}

static int default_jobs(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > SERVE_JOBS_MAX ? SERVE_JOBS_MAX : (int)n;
}

int cmd_serve(struct host *h, int argc, char **argv)
{
	bool drain = false, status = false;
	int jobs = default_jobs(), o;
	struct opt_state s;
	char *end;

	opt_begin(&s, &COMMAND, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
		drain |= o == O_DRAIN;
		status |= o == O_STATUS;
		h->json |= o == O_JSON;
		h->verbose |= o == O_VERBOSE;
		if (o == O_JOBS) {
			jobs = *s.value >= '0' && *s.value <= '9' ? (int)strtol(s.value, &end, 10) : 0;
			if (jobs < 1 || *end || jobs > SERVE_JOBS_MAX)
				return opt_usage_error(&s, "--jobs must be 1 to %d, not %s", SERVE_JOBS_MAX, s.value);
		}
	}
	if (s.nargs || (drain && status))
		return opt_usage_error(&s, s.nargs ? "it takes no arguments" : "--drain or --status, one of them");
	if (drain || status)
		return ask(h, drain);
	h->json = false;
	return host_open(h) < 0 ? EXIT_NO : serve_daemon(h, jobs);
}

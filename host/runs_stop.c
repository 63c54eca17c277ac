/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "runs.h"
#include "tokens.h"

enum { O_GRACE, O_JSON };

static const struct opt OPTIONS[] = {
	[O_GRACE] = { "grace", 0, "TIME", "between SIGTERM and SIGKILL (default: what its plan says)" },
	[O_JSON] = { "json", 0, NULL, "facts as JSON on stdout" },
	{ NULL, 0, NULL, NULL },
};

static const struct opt_command COMMAND = {
	.name = "runs stop",
	.args = "ID",
	.about = "End a run: SIGTERM, then SIGKILL, to everything of it; waits until it is over.",
	.more = "exit status: 0 the run is over; 1 it isn't, or there is none; 2 usage.\n",
	.opts = OPTIONS,
};

struct stop {
	struct host *h;
	bool done, ended;
	json_t *error;
};

static void ended(oc_run *run, const char *record, void *userdata)
{
	struct stop *s = userdata;

	(void)run;
	(void)record;
	s->done = s->ended = true;
}

static void failed(oc_run *run, const oc_error *err, void *userdata)
{
	struct stop *s = userdata;

	(void)run;
	s->error = host_error_json(err);
	s->done = true;
}

static void keep_error(struct stop *s, oc_error *err)
{
	if (!s->error)
		s->error = host_error_json(err);
	oc_error_free(err);
}

/* Whatever else of it can't be told or isn't as it was pinned: a guard that is proved to be its own is asked to end it. */
static void stop_alive(struct stop *s, const char *id, long long grace)
{
	oc_run_ops ops = OC_RUN_OPS_INIT;
	oc_error *err = NULL;
	oc_run *run = NULL;
	int rc;

	ops.ended = ended;
	ops.failed = failed;
	rc = oc_run_end(s->h->store, id, grace, &ops, s, &run, &err);
	if (rc == OC_ENOTFOUND) {
		oc_error_free(err);
		return;
	}
	while (rc >= 0 && !s->done)
		rc = oc_context_wait(s->h->ctx, -1, &err);
	if (rc >= 0 && s->ended) {
		(void)tokens_revoke(s->h, id);
		rc = oc_run_finish(run, &err);
	}
	if (rc < 0)
		keep_error(s, err);
	oc_run_free(run);
}

/* What recovery says of this run; "" when it had nothing to say: the run is over. */
static int outcome_of(struct host *h, const char *id, char *outcome, size_t size)
{
	json_t *runs = host_recover(h);
	const json_t *run;
	size_t i;

	*outcome = 0;
	if (!runs)
		return -1;
	json_array_foreach(runs, i, run) if (host_string(run, "id") && !strcmp(host_string(run, "id"), id))
	        snprintf(outcome, size, "%s", host_string(run, "outcome") ? host_string(run, "outcome") : "unknown");
	json_decref(runs);
	return 0;
}

static int tell(struct host *h, const char *id, const char *outcome, bool stopped)
{
	json_t *run = runs_find(h, id);
	char state[80];
	bool over = run && (runs_over(run) || !strcmp(outcome, "launchable") || !strcmp(outcome, "forgotten"));

	runs_state(run, state, sizeof(state));
	if (h->json) {
		json_t *answer = host_answer();

		json_object_set_new(answer, "run", json_string(id));
		json_object_set_new(answer, "stopped", json_boolean(stopped));
		json_object_set_new(answer, "state", json_incref(json_object_get(run, "state")));
		out_json(&h->out, answer);
	} else if (stopped) {
		out_printf(&h->err, "open-conduit: run %s is over (%s)\n", id, state);
	} else if (over) {
		out_printf(&h->err, "open-conduit: nothing of run %s is running (%s)\n", id, state);
	} else {
		out_printf(&h->err, "open-conduit: it is unknown whether run %s is running (%s): not stopped\n", id,
		           *outcome ? outcome : state);
	}
	json_decref(run);
	return over ? EXIT_GOOD : EXIT_NO;
}

static int perform(struct host *h, const char *word, long long grace)
{
	struct stop s = { .h = h };
	json_t *queued = runs_queued(h, word), *run;
	char id[64], outcome[32];
	int rc;

	if (queued) {
		rc = runs_queue_stop(h, queued);
		json_decref(queued);
		return rc;
	}
	run = runs_find(h, word);
	if (!run)
		return EXIT_NO;
	snprintf(id, sizeof(id), "%s", host_string(run, "id") ? host_string(run, "id") : "");
	json_decref(run);
	rc = outcome_of(h, id, outcome, sizeof(outcome));
	if (rc < 0)
		return EXIT_NO;
	if (!strcmp(outcome, "alive") || !strcmp(outcome, "pin_mismatch") || !strcmp(outcome, "unknown"))
		stop_alive(&s, id, grace);
	if (s.error) {
		host_report_json(h, "not stopped", s.error);
		json_decref(s.error);
		return EXIT_NO;
	}
	return tell(h, id, outcome, s.ended);
}

int runs_stop(struct host *h, int argc, char **argv)
{
	struct opt_state s;
	long long grace = -1;
	int o;

	opt_begin(&s, &COMMAND, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
		h->json |= o == O_JSON;
		if (o == O_GRACE && (grace = opt_duration(s.value)) < 0)
			return opt_usage_error(&s, "--grace %s is no time; write 5, 5s, 500ms or 1m", s.value);
	}
	if (s.nargs != 1)
		return opt_usage_error(&s,
		                       s.nargs ? "one ID at a time" : "which run? open-conduit runs list shows them");
	return host_open(h) < 0 ? EXIT_NO : perform(h, s.args[0], grace);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor/agent.h"
#include "policy_now.h"
#include "runs.h"
#include "subcommand.h"

enum { O_JSON, O_LIMIT, O_RECEIPT = 1 };

static const struct opt LIST_OPTIONS[] = {
	[O_JSON] = { "json", 0, NULL, "facts as JSON on stdout" },
	[O_LIMIT] = { "limit", 'n', "N", "the newest N (default: 20)" },
	{ NULL, 0, NULL, NULL },
};

static const struct opt GET_OPTIONS[] = {
	[O_JSON] = { "json", 0, NULL, "the record as JSON on stdout" },
	[O_RECEIPT] = { "receipt", 0, NULL,
	                "a receipt instead: one JSON that binds all of it, for \"receipt verify\"" },
	{ NULL, 0, NULL, NULL },
};

static const struct opt_command LIST = {
	.name = "runs list",
	.about = "The runs of this state directory, newest first.",
	.opts = LIST_OPTIONS,
};
static const struct opt_command GET = {
	.name = "runs get",
	.args = "ID",
	.about = "One run: how it went, the exact policy, what was granted, what was proved.",
	.more = "ID may be the beginning of an id, if only one run has it.\n",
	.opts = GET_OPTIONS,
};

json_t *runs_find(struct host *h, const char *id)
{
	oc_error *err = NULL;
	char *text = NULL;

	if (oc_store_run(h->store, id, &text, &err) < 0) {
		host_report(h, "no such record", err);
		oc_error_free(err);
		return NULL;
	}
	return host_parse(h, "the record", text);
}

bool runs_state_over(const char *state)
{
	return state && (!strcmp(state, "exited") || !strcmp(state, "failed") || !strcmp(state, "run_lost"));
}

bool runs_over(const json_t *run)
{
	return runs_state_over(host_string(run, "state"));
}

const char *runs_kind(const json_t *run)
{
	const char *kind = host_string(run, "kind");

	if (!kind)
		return "unknown";
	return !strcmp(kind, "none") ? "UNSANDBOXED" : !strcmp(kind, "attach") ? "UNSANDBOXED attach" : kind;
}

void runs_state(const json_t *run, char *out, size_t size)
{
	const char *state = host_string(run, "state"), *reason = host_string(run, "reason");
	const char *how = host_string(json_object_get(run, "exit"), "state");
	const json_t *status = json_object_get(run, "status"), *signal = json_object_get(run, "signal");

	if (how && (!strcmp(how, "timeout") || !strcmp(how, "stopped")))
		snprintf(out, size, "%s", how);
	else if (state && !strcmp(state, "exited") && json_integer_value(signal) > 0)
		snprintf(out, size, "signal %d", (int)json_integer_value(signal));
	else if (state && !strcmp(state, "exited") && json_is_integer(status))
		snprintf(out, size, "exited %d", (int)json_integer_value(status));
	else if (reason && state && strcmp(state, reason) != 0)
		snprintf(out, size, "%s: %s", state, reason);
	else
		snprintf(out, size, "%s", state ? state : "unknown");
}

static void print_row(struct host *h, const json_t *run, size_t columns)
{
	struct text command = { 0 }, shown = { 0 };
	char state[80], created[32];

	runs_state(run, state, sizeof(state));
	host_time(json_object_get(run, "created"), created, sizeof(created));
	host_command_line(&command, json_object_get(run, "command"));
	text_escape(&shown, command.data ? command.data : "", true);
	/* Cut where only plain characters are left, so that no escape is halved on the terminal. */
	if (columns && shown.data && shown.len > columns) {
		shown.data[columns - 3] = 0;
		text_free(&command);
		text_puts(&command, shown.data);
		text_puts(&command, "...");
	}
	out_printf(&h->out, "%-12s  %-19s  %-18s  %-27s  %s\n", host_string(run, "id"), created, runs_kind(run), state,
	           command.data ? command.data : "");
	text_free(&command);
	text_free(&shown);
}

static void print_list(struct host *h, const json_t *runs, const json_t *queue)
{
	int width = out_width(&h->out);
	size_t columns = width ? (width > 84 + 20 ? (size_t)width - 84 : 20) : 0, i;
	const json_t *run;

	if (!json_array_size(runs) && !json_array_size(queue)) {
		out_put(&h->err, "open-conduit: nothing has been run yet\n");
		return;
	}
	out_styled(&h->out, STYLE_BOLD,
	           "ID            CREATED              KIND                STATE                        COMMAND");
	out_put(&h->out, "\n");
	runs_queue_lines(h, queue);
	json_array_foreach(runs, i, run) print_row(h, run, columns);
}

static int list(struct host *h, int argc, char **argv)
{
	struct opt_state s;
	oc_error *err = NULL;
	char *text = NULL, *end;
	unsigned long limit = 20;
	json_t *runs, *queue;
	int o;

	opt_begin(&s, &LIST, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
		h->json |= o == O_JSON;
		if (o == O_LIMIT) {
			limit = *s.value >= '0' && *s.value <= '9' ? strtoul(s.value, &end, 10) : 0;
			if (!limit || *end || limit > 100000)
				return opt_usage_error(&s, "--limit must be 1 to 100000, not %s", s.value);
		}
	}
	if (s.nargs)
		return opt_usage_error(&s, "it takes no arguments, but \"%s\" was given", s.args[0]);
	if (host_open(h) < 0)
		return EXIT_NO;
	json_decref(host_recover(h));
	if (oc_store_runs(h->store, (uint32_t)limit, &text, &err) < 0) {
		host_report(h, "no list", err);
		oc_error_free(err);
		return EXIT_NO;
	}
	runs = host_parse(h, "the list of runs", text);
	if (!runs)
		return EXIT_NO;
	queue = runs_queue(h);
	if (h->json) {
		json_t *answer = host_answer();

		json_object_set(answer, "runs", runs);
		json_object_set(answer, "queue", queue);
		out_json(&h->out, answer);
	} else {
		print_list(h, runs, queue);
	}
	json_decref(queue);
	json_decref(runs);
	return EXIT_GOOD;
}

static void print_run(struct host *h, json_t *run)
{
	json_t *answer;

	if (!h->json) {
		runs_show(h, run);
		return;
	}
	answer = host_answer();
	json_object_set(answer, "run", run);
	out_json(&h->out, answer);
}

/* What is noted of a run by looking at it: how its agent's turn went, if nobody had listened to its end, and that its
 * policy was changed meanwhile. */
static json_t *find_noted(struct host *h, const char *id)
{
	json_t *run = runs_find(h, id), *now;

	if (run && runs_over(run) && agent_settle(h, run)) {
		json_decref(run);
		run = runs_find(h, id);
	}
	if (!run)
		return NULL;
	now = policy_now(h, run);
	if (policy_note(h, run, now)) {
		json_decref(run);
		run = runs_find(h, id);
	}
	if (run)
		json_object_set(run, "config", now);
	json_decref(now);
	return run;
}

static int get_queued(struct host *h, json_t *row_taken)
{
	if (h->json) {
		json_t *answer = host_answer();

		json_object_set(answer, "queued", row_taken);
		out_json(&h->out, answer);
	} else {
		runs_queue_show(h, row_taken);
	}
	json_decref(row_taken);
	return EXIT_GOOD;
}

static int get_one(struct host *h, const char *id, bool receipt)
{
	json_t *run, *queued;
	int status = EXIT_GOOD;

	json_decref(host_recover(h));
	queued = receipt ? NULL : runs_queued(h, id);
	if (queued)
		return get_queued(h, queued);
	run = find_noted(h, id);
	if (!run)
		return EXIT_NO;
	if (receipt)
		status = runs_receipt(h, host_string(run, "id"));
	else
		print_run(h, run);
	json_decref(run);
	return status;
}

static int get(struct host *h, int argc, char **argv)
{
	struct opt_state s;
	bool receipt = false;
	int o;

	opt_begin(&s, &GET, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
		h->json |= o == O_JSON;
		receipt |= o == O_RECEIPT;
	}
	if (s.nargs != 1)
		return opt_usage_error(&s,
		                       s.nargs ? "one ID at a time" : "which run? open-conduit runs list shows them");
	return host_open(h) < 0 ? EXIT_NO : get_one(h, s.args[0], receipt);
}

static const struct host_command COMMANDS[] = {
	{ "list", list, "the runs of this state directory, newest first" },
	{ "get", get, "one run: how it went, its policy, what was granted and proved" },
	{ "logs", runs_logs, "what a run printed" },
	{ "stop", runs_stop, "end a run" },
	{ NULL, NULL, NULL },
};

int cmd_runs(struct host *h, int argc, char **argv)
{
	return host_subcommand(h, "runs", COMMANDS, argc, argv);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* work send: a message to a Work's agent.  It is queued in the store; the host that has the Work's run takes it from there
 * and gives it, so any process may send one.  What becomes of it is looked up, never assumed. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "executor/agent.h"
#include "runs.h"
#include "serve/link.h"
#include "work.h"

#define TEXT_MAX (64u << 10)
#define TAKEN_MS 5000 /* by a host that looks four times a second */
#define LOOK_MS  50

enum { O_JSON };

static const struct opt OPTIONS[] = {
	[O_JSON] = { "json", 0, NULL, "facts as JSON on stdout" },
	{ NULL, 0, NULL, NULL },
};

static const struct opt_command COMMAND = {
	.name = "work send",
	.args = "KEY TEXT|-",
	.about = "Send a message to a Work's agent: into the run that goes on, or for its next turn.",
	.more = "A run in the foreground takes it while it works, and so does one that the daemon started.  Where "
	        "there is\n"
	        "neither, it waits, and goes in before what the next turn asks.  \"-\": the text is on standard "
	        "input.\n\n"
	        "exit status: 0 it is queued (what became of it is said); 1 not; 2 usage.\n",
	.opts = OPTIONS,
};

enum fate { WAITS, GIVEN, DELIVERED };

/* The run that may take it: the Work's newest, not over.  New, or NULL. */
static json_t *live_run(struct host *h, const json_t *work)
{
	const json_t *newest = json_array_get(json_object_get(work, "runs"), 0);
	const char *id = host_string(newest, "id"), *state = host_string(newest, "state");
	char *text = NULL;

	if (!id || !state || runs_state_over(state) || !strcmp(state, "unknown") ||
	    oc_store_run(h->store, id, &text, NULL) < 0)
		return NULL;
	return host_parse(h, "the record of a run", text);
}

/* Does a host stay with the run, and can its command be spoken to? */
static bool takes_messages(struct host *h, const json_t *run)
{
	const json_t *limits = json_object_get(json_object_get(run, "plan"), "limits");
	const struct executor *e = agent_executor_of(run);

	if (json_is_true(json_object_get(limits, "keep")))
		return agent_is_open(run) && link_there(h);
	return e && e->inject;
}

static enum fate look(struct host *h, const char *work, int64_t number)
{
	enum fate fate = DELIVERED; /* it is not in the list any more */
	char *text = NULL;
	json_t *list, *one;
	size_t i;

	if (oc_work_messages(h->store, work, &text, NULL) < 0)
		return WAITS;
	list = json_loads(text, JSON_ALLOW_NUL, NULL);
	free(text);
	json_array_foreach(list, i, one)
	{
		const char *state = host_string(one, "state");

		if (json_integer_value(json_object_get(one, "number")) == number)
			fate = state && !strcmp(state, "given") ? GIVEN : WAITS;
	}
	json_decref(list);
	return fate;
}

static void answer(struct host *h, const json_t *work, const json_t *run, int64_t number, enum fate fate)
{
	static const char *const words[] = { "waiting", "given", "delivered" };
	const char *id = host_string(run, "id");

	if (h->json) {
		out_json(&h->out, json_pack("{s:i, s:s, s:I, s:s, s:s?}", "version", 1, "work", host_string(work, "id"),
		                            "message", (json_int_t)number, "state", words[fate], "run",
		                            fate == WAITS ? NULL : id));
	} else if (fate == DELIVERED) {
		out_printf(&h->out, "message %lld is delivered to the run %s\n", (long long)number, id);
	} else if (fate == GIVEN) {
		out_printf(&h->out, "message %lld is given to the run %s; the agent reads it between two steps\n",
		           (long long)number, id);
	} else {
		out_printf(&h->out, "message %lld waits for the next turn: %s\n", (long long)number,
		           !run                     ? "no run of this Work goes on"
		           : takes_messages(h, run) ? "the run that goes on did not take it"
		                                    : "the run that goes on takes no messages");
	}
}

/* Nothing would ever read it. */
static bool is_deaf(struct host *h, const json_t *work)
{
	const json_t *newest = json_array_get(json_object_get(work, "runs"), 0);
	const char *id = host_string(newest, "id");
	struct refusal r = { "sandbox_config", host_string(work, "id"), "this Work's executor takes no messages",
		             "open-conduit run with another --input" };
	char *text = NULL;
	json_t *run;
	bool deaf;

	if (!id || oc_store_run(h->store, id, &text, NULL) < 0)
		return false;
	run = host_parse(h, "the record of a run", text);
	deaf = run && json_is_object(json_object_get(run, "plan")) && host_string(run, "binding") &&
	       !agent_executor_of(run);
	json_decref(run);
	if (deaf)
		host_refuse(h, "not sent", &r);
	return deaf;
}

static int send_text(struct host *h, const json_t *work, const char *text)
{
	const char *id = host_string(work, "id");
	oc_error *err = NULL;
	int64_t number = oc_work_send(h->store, id, text, &err);
	enum fate fate = WAITS;
	json_t *run;

	if (number < 0) {
		host_report(h, "not sent", err);
		oc_error_free(err);
		return EXIT_NO;
	}
	run = live_run(h, work);
	for (int waited = 0; run && takes_messages(h, run) && fate == WAITS && waited < TAKEN_MS; waited += LOOK_MS) {
		poll(NULL, 0, LOOK_MS);
		fate = look(h, id, number);
	}
	answer(h, work, run, number, fate);
	json_decref(run);
	return EXIT_GOOD;
}

static char *read_text(struct host *h, const char *given)
{
	const char *why = NULL;
	char *text = strcmp(given, "-") ? strdup(given) : host_read_file("/dev/stdin", TEXT_MAX, &why);

	if (!text)
		out_printf(&h->err, "open-conduit: the message can't be read: %s\n", why ? why : "out of memory");
	return text;
}

int work_send(struct host *h, int argc, char **argv)
{
	struct opt_state s;
	json_t *work;
	char *text;
	int o, status = EXIT_NO;

	opt_begin(&s, &COMMAND, argc, argv, &h->out, &h->err);
	while ((o = opt_next(&s)) != OPT_END) {
		if (o == OPT_HELP || o == OPT_BAD)
			return o == OPT_HELP ? EXIT_GOOD : EXIT_USAGE;
		h->json |= o == O_JSON;
	}
	if (s.nargs != 2)
		return opt_usage_error(&s, s.nargs < 1   ? "to which Work? open-conduit work list shows them"
		                           : s.nargs < 2 ? "what? TEXT, or - for standard input"
		                                         : "one TEXT: quote it");
	text = read_text(h, s.args[1]);
	work = text && host_open(h) >= 0 ? work_find(h, s.args[0]) : NULL;
	if (work && !is_deaf(h, work))
		status = send_text(h, work, text);
	json_decref(work);
	free(text);
	return status;
}

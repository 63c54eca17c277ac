/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include <string.h>

#define RUNS_LOOKED_AT 50

/* A run's record, new; NULL: it can't be had. */
static json_t *record(struct host *h, const char *id)
{
	char *text = NULL;
	oc_error *err = NULL;
	json_t *run = oc_store_run(h->store, id, &text, &err) < 0 ? NULL : host_parse(h, "the record of a run", text);

	oc_error_free(err);
	return run;
}

/* The newest run of the Work in which an agent of this kind was started: whatever was pinned and never ran has no
 * session.  Settled; new; NULL: there is none. */
static json_t *last_run(struct host *h, const struct executor *executor, const json_t *work)
{
	const json_t *runs = json_object_get(work, "runs"), *one;
	size_t i;

	json_array_foreach(runs, i, one)
	{
		json_t *run, *again;

		if (i >= RUNS_LOOKED_AT)
			break;
		run = record(h, host_string(one, "id"));
		if (!run || agent_executor_of(run) != executor || !agent_session_of(run) ||
		    json_is_null(json_object_get(run, "proved")) || !json_object_get(run, "proved")) {
			json_decref(run);
			continue;
		}
		again = agent_settle(h, run) ? record(h, host_string(run, "id")) : NULL;
		if (!again)
			return run;
		json_decref(run);
		return again;
	}
	return NULL;
}

static void say(struct host *h, const char *what, const char *id, const char *then)
{
	out_printf(&h->err, "open-conduit: %s (%s)%s\n", what, id, then);
	out_flush(&h->err);
}

/* A turn that did not come to its end is nothing that this one may keep quiet about. */
static void tell_last(struct host *h, const json_t *run, bool resume)
{
	const json_t *noted = agent_noted(run);
	const char *outcome = host_string(noted, "outcome"), *id = host_string(run, "id");

	if (!outcome || !strcmp(outcome, "done") || !strcmp(outcome, "failed") || !strcmp(outcome, "interrupted"))
		return;
	if (!json_is_true(json_object_get(noted, "taken")))
		say(h, "the last turn ended before the agent had read it", id, ": nothing of it was done");
	else
		say(h, "the last turn was cut short", id,
		    resume ? ": its session goes on, with what it had done"
		           : ": what it had committed is in the clone");
}

static bool same_dir(const char *a, const char *b)
{
	return (!a && !b) || (a && b && !strcmp(a, b));
}

int session_choose(struct host *h, const struct executor *executor, const struct executor_turn *turn,
                   const json_t *work, struct session *out)
{
	json_t *run = last_run(h, executor, work);
	const char *id = agent_session_of(run);

	*out = (struct session){ 0 };
	if (run) {
		out->resume = id && strlen(id) < sizeof(out->id) &&
		              same_dir(agent_config_dir_of(run), executor_config_dir(turn)) &&
		              executor->has_session(turn, id) &&
		              !json_is_true(json_object_get(agent_noted(run), "no_session"));
		tell_last(h, run, out->resume);
		if (out->resume) {
			snprintf(out->id, sizeof(out->id), "%s", id);
			snprintf(out->last, sizeof(out->last), "%s", host_string(run, "id"));
		} else if (json_is_true(json_object_get(agent_noted(run), "taken"))) {
			say(h, "the agent kept nothing of its last turn", host_string(run, "id"),
			    ": this one begins a new session");
		}
	}
	json_decref(run);
	if (out->resume || host_uuid(out->id) == 0)
		return 0;
	out_put(&h->err, "open-conduit: no random bytes for a session's id\n");
	return OC_EIO;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* How a turn went: judged once, by whoever has its output first, and kept in the run's history. */
#include <stdlib.h>
#include <string.h>

#include "agent.h"

static const char FIX_LOGS[] = "open-conduit runs logs shows what it printed";

static bool is_state(const json_t *record, const char *state)
{
	const char *is = host_string(record, "state");

	return is && !strcmp(is, state);
}

/* In one word, and with a reason where there is something to be done about it. */
static const char *word(struct agent *a, const json_t *record)
{
	struct agent_outcome *o = &a->outcome;

	if (o->no_tools) {
		agent_because(o, "agent_failed", AGENT_TOOLS_NAME,
		              "the agent could not reach its toolbelt, which the binding requires, and was stopped",
		              "open-conduit runs logs shows why; or leave toolbelt out of the binding's requires");
		return "no_toolbelt";
	}
	if (a->interrupted) {
		agent_because(o, "agent_interrupted", a->executor->name, "the turn was interrupted before it was done",
		              "run another turn: its session goes on");
		return "interrupted";
	}
	if (is_state(record, "timeout")) {
		agent_because(o, "agent_timeout", a->executor->name, "the turn was not done when its time was over",
		              "give it more, as in --timeout 1h; its session goes on");
		return "timeout";
	}
	if (is_state(record, "stopped")) {
		agent_because(o, "agent_interrupted", a->executor->name, "the run was stopped before the turn was done",
		              "run another turn: its session goes on");
		return "stopped";
	}
	if (!is_state(record, "exited"))
		return "lost";
	if (o->failed && o->finished)
		return "failed";
	if (o->finished)
		return "done";
	agent_because(o, "agent_failed", a->executor->name,
	              o->taken ? "it ended without a result" : "it ended before it had read what was asked of it",
	              FIX_LOGS);
	return "no_result";
}

static json_t *facts(struct agent *a, const json_t *record)
{
	struct agent_outcome *o = &a->outcome;
	const char *is = word(a, record);
	bool bad = strcmp(is, "done") != 0;

	return json_pack("{s:s, s:s, s:b, s:b, s:b, s:s?, s:s?, s:s?, s:s?, s:s?}", "executor", a->executor->name,
	                 "outcome", is, "taken", o->taken, "delivered", o->delivered, "no_session", o->no_session,
	                 "session", *o->session ? o->session : NULL, "reason", bad ? o->reason : NULL, "subject",
	                 bad ? o->subject : NULL, "message", bad ? o->message : NULL, "fix", bad ? o->fix : NULL);
}

static void note(struct agent *a, const json_t *facts)
{
	char *text = facts ? json_dumps(facts, JSON_COMPACT) : NULL;
	oc_error *err = NULL;

	if (text && oc_store_note(a->h->store, a->run, AGENT_NOTE, text, &err) < 0)
		host_report(a->h, "how the turn went can't be recorded", err);
	oc_error_free(err);
	free(text);
}

int agent_conclude(struct agent *a, const json_t *record, int status, json_t *answer)
{
	bool json = a->h->json;
	const char *reason;
	json_t *told;

	if (!json_is_object(record))
		return status; /* it was not run, or its end is for others to see */
	a->executor->talk->end(a->reader);
	told = facts(a, record);
	reason = host_string(told, "reason");
	a->h->json = false; /* a part of the one answer */
	note(a, told);
	if (reason)
		host_report_json(a->h, "the agent's turn", told);
	a->h->json = json;
	json_object_set_new(answer, "agent", told ? told : json_null());
	if (a->outcome.no_tools)
		return EXIT_NOT_RUN;
	return reason && status == EXIT_GOOD ? EXIT_NO : status;
}

/* A variable of the run's plan. */
static const char *variable(const json_t *run, const char *name)
{
	const json_t *env = json_object_get(json_object_get(json_object_get(run, "plan"), "command"), "env"), *one;
	size_t i;

	json_array_foreach(env, i, one)
	{
		const char *is = host_string(one, "name");

		if (is && !strcmp(is, name))
			return host_string(one, "value");
	}
	return NULL;
}

const char *agent_session_of(const json_t *run)
{
	return variable(run, AGENT_SESSION);
}

const char *agent_config_dir_of(const json_t *run)
{
	return variable(run, "CLAUDE_CONFIG_DIR");
}

const struct executor *agent_executor_of(const json_t *run)
{
	const char *name = variable(run, EXECUTOR_VARIABLE);
	const struct executor *e = name ? executor_named(name) : NULL;

	return e && e->talk ? e : NULL;
}

/* What the run's first line was marked with: it is a file of the plan. */
static void watch_prompt(struct agent *a, const json_t *run, bool again)
{
	const json_t *files = json_object_get(json_object_get(json_object_get(run, "plan"), "command"), "files"), *file;
	size_t i;

	json_array_foreach(files, i, file)
	{
		const char *name = host_string(file, "name"), *text = host_string(file, "text");
		json_t *line =
		        name && text && !strcmp(name, AGENT_PROMPT) ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;
		const char *mark = host_string(line, "uuid");

		if (mark)
			(void)!agent_watch(a, mark, 0);
		if (mark && again)
			text_puts(&a->unsent, text);
		json_decref(line);
	}
}

/* Those that were given to this run, one by one, and are not known to be delivered. */
static void watch_messages(struct agent *a, bool again)
{
	char *text = NULL;
	json_t *list, *one;
	oc_error *err = NULL;
	size_t i;

	if (!a->work || oc_work_messages(a->h->store, a->work, &text, &err) < 0) {
		oc_error_free(err);
		return;
	}
	list = json_loads(text, JSON_ALLOW_NUL, NULL);
	free(text);
	json_array_foreach(list, i, one)
	{
		const char *run = host_string(one, "run"), *mark = host_string(one, "mark");
		bool with_prompt;

		if (!run || !mark || strcmp(run, a->run))
			continue;
		with_prompt = a->n_marks && !strcmp(a->marks[0].mark, mark);
		(void)!agent_watch(a, mark, json_integer_value(json_object_get(one, "number")));
		if (again && !with_prompt && host_string(one, "text"))
			a->executor->talk->message(&a->unsent, mark, host_string(one, "text"));
	}
	json_decref(list);
}

static void piece(int stream, uint64_t offset, const void *data, size_t len, void *userdata)
{
	struct agent *a = userdata;

	(void)offset;
	if (stream == 1 && data)
		a->executor->talk->read(a->reader, data, len);
}

/* The last note of this type. */
static const json_t *note_of(const json_t *run, const char *name)
{
	const json_t *events = json_object_get(run, "events");

	for (size_t i = json_array_size(events); i-- > 0;) {
		const json_t *one = json_array_get(events, i);
		const char *type = host_string(one, "type");

		if (type && !strncmp(type, "note:", 5) && !strcmp(type + 5, name))
			return json_object_get(one, "data");
	}
	return NULL;
}

const json_t *agent_noted(const json_t *run)
{
	return note_of(run, AGENT_NOTE);
}

bool agent_was_hosted(const json_t *run)
{
	const struct executor *e = agent_executor_of(run);

	return e && e->inject && note_of(run, AGENT_HOSTED);
}

bool agent_is_open(const json_t *run)
{
	return agent_was_hosted(run) && !note_of(run, AGENT_CLOSED);
}

/* A host that said that it left has written the prompt before. */
int agent_take_over(struct agent *a, const json_t *run)
{
	a->hosted = a->look = true;
	a->closed = !agent_is_open(run);
	if (agent_begin(a) < 0)
		return OC_ENOMEM;
	watch_prompt(a, run, !a->closed && !note_of(run, "left"));
	watch_messages(a, !a->closed);
	return a->unsent.failed ? OC_ENOMEM : 0;
}

bool agent_settle(struct host *h, const json_t *run)
{
	struct agent a = { .h = h,
		           .executor = agent_executor_of(run),
		           .work = host_string(run, "work"),
		           .run = host_string(run, "id") };
	const json_t *exit = json_object_get(run, "exit");
	uint64_t offset = 0;
	json_t *told = NULL;
	oc_error *err = NULL;
	bool done;
	int rc = 1;

	if (!a.executor || !a.run || agent_noted(run))
		return false;
	if (agent_begin(&a) == 0) {
		watch_prompt(&a, run, false);
		watch_messages(&a, false);
		while (rc > 0)
			rc = oc_store_output(h->store, a.run, &offset, piece, &a, &err);
		a.executor->talk->end(a.reader);
		told = facts(&a, exit);
		note(&a, told);
	}
	agent_end(&a);
	oc_error_free(err);
	done = told != NULL;
	json_decref(told);
	return done;
}

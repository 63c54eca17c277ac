/* SPDX-License-Identifier: Apache-2.0 */
#include "toolbelt.h"

#include <stdlib.h>
#include <string.h>

#define NOTHING "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}"

static const char INSTRUCTIONS[] = "Operations on the Work that this run belongs to. run.policy tells what this run "
                                   "may do and what the operator would "
                                   "have to write to allow more: ask it before you try to go round a refusal.";

static const struct operation operations[] = {
	{ "run.policy", "What this run may do",
	  "The exact policy this run is confined by. With a question and a subject: would that be allowed, by which "
	  "rule, and what "
	  "line of the policy would allow it.",
	  "{\"type\":\"object\",\"properties\":{\"question\":{\"type\":\"string\",\"enum\":[\"read\",\"write\","
	  "\"host\",\"socket\"]},"
	  "\"subject\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4096}},\"additionalProperties\":false}",
	  .fn = toolbelt_run_policy },
	{ "work.get", "The Work",
	  "The Work of this run: its key, branch, state, its runs so far, its status and its notes.", NOTHING,
	  .fn = toolbelt_work_get },
	{ "work.note", "Note for the operator",
	  "Leave a note with the Work. The operator reads it, and so does every later turn.",
	  "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4096}},"
	  "\"required\":["
	  "\"text\"],\"additionalProperties\":false}",
	  .changes = true, .fn = toolbelt_work_note },
	{ "work.status", "Status of the Work",
	  "Say in one line where the Work stands. It replaces what was said before.",
	  "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":200}},"
	  "\"required\":["
	  "\"text\"],\"additionalProperties\":false}",
	  .changes = true, .fn = toolbelt_work_status },
	{ "workspace.saved", "What was saved",
	  "Which commits of this Work are in the operator's checkout by now, under which refs. A run's commits are "
	  "saved when it "
	  "ends.",
	  NOTHING, .fn = toolbelt_workspace_saved },
	{ .name = NULL },
};

static const struct operation *const tables[] = { operations, toolbelt_github, NULL };

bool toolbelt_wanted(const struct config_binding *b, bool executor_hands_out)
{
	if ((b->requires && b->requires->toolbelt) || b->git == CONFIG_GIT_TOOLBELT)
		return true;
	/* A policy that doesn't grant it is kept: then the run has none.  A container has it without. */
	return executor_hands_out && b->granted.n &&
	       (!b->place || !strcmp(b->kind, "container") || strstr(b->place->policy, "{toolbelt}"));
}

static json_t *tool_json(const struct operation *o)
{
	json_t *tool = json_pack("{s:s, s:s, s:s, s:o, s:{s:b, s:b, s:b}}", "name", o->name, "title", o->title,
	                         "description", o->about, "inputSchema", json_loads(o->schema, 0, NULL), "annotations",
	                         "readOnlyHint", !o->changes, "destructiveHint", 0, "openWorldHint", o->open);

	if (tool && o->hidden)
		json_object_set_new(tool, "hidden", json_true());
	return tool;
}

char *toolbelt_request(const struct config_binding *b)
{
	json_t *tools = json_array(), *belt;
	char *text = NULL;
	bool good = tools != NULL;

	for (size_t k = 0; good && tables[k]; k++)
		for (const struct operation *o = tables[k]; good && o->name; o++)
			if (texts_have(&b->granted, o->name))
				good = json_array_append_new(tools, tool_json(o)) == 0;
	belt = json_pack("{s:s, s:o}", "instructions", INSTRUCTIONS, "tools", tools);
	if (belt && good)
		text = json_dumps(belt, JSON_COMPACT);
	json_decref(belt);
	return text;
}

json_t *toolbelt_failed(struct toolbelt_refusal *r, oc_error *err)
{
	const char *reason = oc_error_reason(err);

	snprintf(r->text, sizeof(r->text), "%s", oc_error_message(err));
	r->reason = reason && !strcmp(reason, "work_busy") ? "work_busy" : "failed";
	r->message = r->text;
	r->fix = NULL;
	oc_error_free(err);
	return NULL;
}

void toolbelt_tell(struct host *h, int rc, oc_error *err)
{
	if (rc < 0)
		out_printf(&h->err, "open-conduit: a call of the toolbelt can't be answered: %s\n",
		           oc_error_message(err));
	oc_error_free(err);
}

void toolbelt_reply(struct host *h, oc_toolcall *call, const json_t *answer)
{
	const struct toolbelt_refusal r = { .reason = "failed", .message = "out of memory" };
	char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
	oc_error *err = NULL;

	if (text)
		toolbelt_tell(h, oc_toolcall_reply(call, text, &err), err);
	else
		toolbelt_refuse(h, call, &r);
	free(text);
}

void toolbelt_refuse(struct host *h, oc_toolcall *call, const struct toolbelt_refusal *r)
{
	oc_error *err = NULL;
	int rc = oc_toolcall_fail(call, r->reason ? r->reason : "failed", r->message, r->fix, &err);

	toolbelt_tell(h, rc, err);
}

void toolbelt_refuse_json(struct host *h, oc_toolcall *call, const json_t *error)
{
	const struct toolbelt_refusal r = { .reason = host_string(error, "reason"),
		                            .message = host_string(error, "message"),
		                            .fix = host_string(error, "fix") };

	toolbelt_refuse(h, call, &r);
}

static const struct operation *find(const struct toolbelt *t, const char *name)
{
	for (size_t k = 0; tables[k]; k++)
		for (const struct operation *o = tables[k]; o->name; o++)
			if (!strcmp(o->name, name) && texts_have(&t->binding->granted, name))
				return o;
	return NULL;
}

void toolbelt_call(const struct toolbelt *t, oc_toolcall *call)
{
	const struct operation *o = find(t, oc_toolcall_name(call));
	struct toolbelt_refusal r = { .reason = "no_such_operation", .message = "this run has no such operation" };
	json_t *arguments = json_loads(oc_toolcall_arguments(call), 0, NULL), *answer = NULL;

	if (o && o->later) {
		o->later(t, call, arguments);
	} else {
		answer = o ? o->fn(t, arguments, &r) : NULL;
		if (answer)
			toolbelt_reply(t->h, call, answer);
		else
			toolbelt_refuse(t->h, call, &r);
	}
	json_decref(answer);
	json_decref(arguments);
}

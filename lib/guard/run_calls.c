/* SPDX-License-Identifier: Apache-2.0 */
/* Toolbelt calls as the host sees them.  What a call is known by is the run, its attempt and the guard's number; a call may
 * outlive the run's object here, then its answer is only recorded. */
#include <openconduit/token.h>

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "guard/run.h"
#include "store/calls.h"

#define ANSWER_MAX (1u << 20)
#define ANSWER_MS  30000
#define UNKNOWN_TEXT                                                                                                   \
	"outcome_unknown: a host took this call and gave no answer, so it is unknown whether it was done. It is not "  \
	"repeated: look before you call again."

struct oc_toolcall {
	struct oc_toolcall *next; /* of its run */
	oc_run *run;              /* NULL: freed by now */
	oc_store *store;
	char run_id[33];
	int64_t attempt, number;
	char *name, *arguments;
};

const char *oc_toolcall_name(const oc_toolcall *call)
{
	return call->name;
}

const char *oc_toolcall_arguments(const oc_toolcall *call)
{
	return call->arguments;
}

int64_t oc_toolcall_number(const oc_toolcall *call)
{
	return call->number;
}

static void call_free(struct oc_toolcall *call)
{
	struct oc_toolcall **p = call->run ? &call->run->calls : NULL;

	while (p && *p && *p != call)
		p = &(*p)->next;
	if (p && *p)
		*p = call->next;
	free(call->name);
	free(call->arguments);
	free(call);
}

void oc_run_calls_detach(oc_run *run)
{
	for (struct oc_toolcall *call = run->calls; call; call = call->next)
		call->run = NULL;
	run->calls = NULL;
}

/* The guard may be gone, or know the answer by now: then nobody waits. */
static void heard(const json_t *result OC_UNUSED, const oc_error *err OC_UNUSED, void *userdata OC_UNUSED)
{
}

/* The recorded text is what goes to the guard: {"result":…}, with "token" where the guard is to put one in, or {"error":"…"}. */
static int send_answer(oc_run *run, int64_t number, const char *answer, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *json = json_loads(answer, 0, NULL);

	if (!json_object_get(json, "result") && !json_object_get(json, "error"))
		return oc_fail(err, OC_EIO, 0, "the recorded answer of a call is damaged");
	if (!oc_json_set(json, "call", json_integer(number)))
		return oc_nomem(err);
	return run->conn ? oc_conn_call(run->conn, "answer", oc_steal(json), ANSWER_MS, heard, run, err) : 0;
}

/* Recorded first: what the agent was told must be what is told again. */
static int conclude(oc_toolcall *call, const char *outcome, const char *member, json_t *value_taken, const char *token,
                    oc_error **err)
{
	const struct oc_call_key key = { call->run_id, call->attempt, call->number };
	oc_cleanup(oc_json_decrefp) json_t *whole = json_object();
	oc_cleanup(oc_freep) char *text = NULL;
	int rc = 0;

	if (!oc_json_set(whole, member, value_taken) || (token && !oc_json_set_string(whole, "token", token)) ||
	    !(text = json_dumps(whole, JSON_COMPACT)))
		rc = oc_nomem(err);
	oc_fault("call:answer");
	if (rc == 0)
		rc = oc_store_call_end(call->store, &key, outcome, text, err);
	oc_fault("call:recorded");
	if (rc == 0 && call->run)
		rc = send_answer(call->run, call->number, text, err);
	call_free(call);
	return rc;
}

/* A plain object becomes what MCP wants: the structure, and the same as text for clients that show only that. */
static json_t *tool_result(json_t *object, const char *text)
{
	if (json_is_array(json_object_get(object, "content")))
		return json_incref(object);
	return json_pack("{s:[{s:s, s:s}], s:O}", "content", "type", "text", "text", text, "structuredContent", object);
}

/* Room for its password is where the guard puts it, and nobody else. */
static int check_answer(const json_t *object, const char *token, oc_error **err)
{
	if (!json_is_object(object))
		return oc_fail(err, OC_EINVAL, 0, "the answer of a call must be a JSON object");
	if (token && (!oc_token_id_valid(token) || json_is_array(json_object_get(object, "content")) ||
	              json_object_get(object, "password")))
		return oc_fail(
		        err, OC_EINVAL, 0,
		        "an answer with a token names one, and is an object without \"content\" and \"password\"");
	return 0;
}

static int reply(oc_toolcall *call, const char *json, const char *token, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *object = NULL;
	size_t len = json ? strnlen(json, ANSWER_MAX + 1) : 0;
	int rc;

	if (!call)
		return oc_fail(err, OC_EINVAL, 0, "there is no call to answer");
	if (len > ANSWER_MAX)
		return oc_toolcall_fail(call, "answer_too_long", "the answer is longer than 1 MiB", NULL, err);
	rc = oc_json_parse(json ? json : "", len, ANSWER_MAX, "answer", &object, err);
	if (rc == 0)
		rc = check_answer(object, token, err);
	if (rc < 0) {
		/* The agent must not wait for what never comes. */
		int told = oc_toolcall_fail(call, "no_answer", "the host answered with what is no answer", NULL, NULL);

		return OC_MIN(rc, told);
	}
	return conclude(call, "done", "result", tool_result(object, json), token, err);
}

int oc_toolcall_reply(oc_toolcall *call, const char *json, oc_error **err)
{
	return reply(call, json, NULL, err);
}

int oc_toolcall_reply_token(oc_toolcall *call, const char *json, const char *id, oc_error **err)
{
	return reply(call, json, id ? id : "", err);
}

int oc_toolcall_fail(oc_toolcall *call, const char *reason, const char *message, const char *fix, oc_error **err)
{
	oc_cleanup(oc_buf_free) struct oc_buf text = { 0 };

	if (!call)
		return oc_fail(err, OC_EINVAL, 0, "there is no call to answer");
	oc_buf_init(&text, ANSWER_MAX);
	if (oc_buf_printf(&text, "%s: %s%s%s", reason ? reason : "failed", message ? message : "no reason was given",
	                  fix ? "\nfix: " : "", fix ? fix : "") < 0) {
		call_free(call);
		return oc_nomem(err);
	}
	return conclude(call, "failed", "error", json_string(text.data), NULL, err);
}

int oc_toolcall_progress(oc_toolcall *call, int64_t progress, int64_t total, const char *message, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *params = NULL;

	if (!call || progress < 0 || total < 0)
		return oc_fail(err, OC_EINVAL, 0, "progress is of a call, and not negative");
	if (!call->run || !call->run->conn)
		return 0;
	params = json_pack("{s:I, s:I, s:I, s:s*}", "call", (json_int_t)call->number, "progress", (json_int_t)progress,
	                   "total", (json_int_t)total, "message", message);
	return params ? oc_conn_notify(call->run->conn, "progress", oc_steal(params), err) : oc_nomem(err);
}

static bool in_hand(const oc_run *run, int64_t number)
{
	for (const struct oc_toolcall *call = run->calls; call; call = call->next)
		if (call->number == number)
			return true;
	return false;
}

static int call_new(oc_run *run, int64_t number, const char *name, const json_t *arguments, oc_toolcall **out)
{
	oc_toolcall *call = calloc(1, sizeof(*call));

	if (!call)
		return OC_ENOMEM;
	call->name = strdup(name);
	call->arguments = json_dumps(arguments, JSON_COMPACT);
	if (!call->name || !call->arguments) {
		call_free(call);
		return OC_ENOMEM;
	}
	call->run = run;
	call->store = run->store;
	memcpy(call->run_id, run->id, sizeof(call->run_id));
	call->attempt = run->attempt;
	call->number = number;
	call->next = run->calls;
	run->calls = call;
	*out = call;
	return 0;
}

static int take(oc_run *run, oc_toolcall *call, oc_error **err)
{
	const struct oc_call_key key = { run->id, call->attempt, call->number };
	oc_cleanup(oc_freep) char *answer = NULL;
	enum oc_call_found found;
	int rc = oc_store_call_begin(run->store, &key, call->name, call->arguments, &found, &answer, err);

	oc_fault("call:taken");
	if (rc == 0 && found == OC_CALL_NEW) {
		if (run->ops.call)
			run->ops.call(run, call, run->userdata);
		else
			rc = oc_toolcall_fail(call, "no_toolbelt", "this host answers no calls", NULL, err);
		return rc;
	}
	if (rc == 0 && found == OC_CALL_UNKNOWN)
		return conclude(call, "unknown", "error", json_string(UNKNOWN_TEXT), NULL, err);
	if (rc == 0)
		rc = send_answer(run, call->number, answer, err);
	call_free(call);
	return rc;
}

/* What can't be recorded is not acted on: the call stays with the guard, and the run's owner hears why. */
void oc_run_called(oc_run *run, const json_t *params)
{
	int64_t number = oc_json_integer(params, "call", 0);
	const char *name = oc_json_text(params, "name");
	const json_t *arguments = json_object_get(params, "arguments");
	oc_toolcall *call = NULL;
	oc_error *err = NULL;
	int rc = 0;

	if (number < 1 || !name || !json_is_object(arguments) || in_hand(run, number))
		return;
	oc_run_enter(run);
	if (!run->attempt)
		rc = oc_store_attempts(run->store, run->id, &run->attempt, &err);
	if (rc == 0)
		rc = call_new(run, number, name, arguments, &call);
	if (rc == 0)
		rc = take(run, call, &err);
	if (rc < 0 && !run->dead)
		oc_run_failed(run, err);
	oc_error_free(err);
	oc_run_leave(run);
}

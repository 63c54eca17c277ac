/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/belt.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "guard/guard.h"
#include "guard/mcp.h"

#define HOST_AWAY_MS 60000
#define RETRY_MS     20
#define UNREAD_MAX   (512u << 10) /* of a client's answers the guest has not taken, and the last of them */
#define SPARE        65536u       /* for what isn't a client's */
#define PROGRESS_MAX ((int64_t)1 << 53)

static const char AWAY[] = "host_away: no host of this run is there to answer; nothing was done. Try again later.";
static const char UNKNOWN[] =
        "outcome_unknown: the host went away while it answered this call, so it is unknown whether it was "
        "done. It is not repeated: look before you call again.";
static const char GONE[] =
        "token_gone: the guard of this run does not have the token of this answer any more: it has expired, or was "
        "revoked. Ask for another one.";

static struct oc_guard_client *find_client(struct oc_guard_belt *b, uint32_t id)
{
	for (size_t i = 0; i < OC_BELT_MCP_CLIENTS; i++)
		if (b->clients[i].mcp && b->clients[i].id == id)
			return &b->clients[i];
	return NULL;
}

static struct oc_belt_call *find_call(struct oc_guard_belt *b, uint64_t number)
{
	for (size_t i = 0; number && i < OC_BELT_CALLS; i++)
		if (b->calls[i].number == number)
			return &b->calls[i];
	return NULL;
}

/* Each client has room of its own, so that one that asks and doesn't read costs no other its answers. */
static bool room(struct oc_guard_client *c, size_t len)
{
	const struct oc_buf *out = &c->guard->session.out;

	if (!out->len)
		c->unread = 0;
	return c->unread <= UNREAD_MAX && len + SPARE <= out->max - out->len;
}

static int send_line(void *arg, const void *line, size_t len)
{
	struct oc_guard_client *c = arg;
	const char *p = line;
	int rc = room(c, len) ? 0 : OC_ELIMIT;

	if (rc == 0)
		c->unread += len;
	while (rc >= 0 && len) {
		unsigned char frame[4 + 65536];
		size_t n = OC_MIN(len, sizeof(frame) - 4);

		oc_put_u32(frame, c->id);
		memcpy(frame + 4, p, n);
		rc = oc_session_send(c->guard, OC_FRAME_BELT_DATA, frame, 4 + n);
		p += n;
		len -= n;
	}
	return rc;
}

static void close_client(struct oc_guard_client *c)
{
	oc_mcp_free(c->mcp);
	c->mcp = NULL;
	c->id = 0;
	c->unread = 0;
}

/* It would wait for ever for what it can't be sent, so it goes, and the guest is told. */
static void shut(struct oc_guard_client *c)
{
	unsigned char id[4];

	oc_put_u32(id, c->id);
	(void)oc_session_send(c->guard, OC_FRAME_BELT_CLOSE, id, sizeof(id));
	close_client(c);
}

static void forget(struct oc_guard_belt *b, struct oc_belt_call *call)
{
	b->bytes -= call->bytes;
	free(call->name);
	free(call->arguments);
	memset(call, 0, sizeof(*call));
}

static json_t *call_json(const struct oc_belt_call *call)
{
	json_t *arguments = json_loads(call->arguments, 0, NULL);

	return arguments ? json_pack("{s:I, s:s, s:o}", "call", (json_int_t)call->number, "name", call->name,
	                             "arguments", arguments)
	                 : NULL;
}

/* In their order.  A host that does not read is told later. */
static void tell(struct oc_guard *g)
{
	struct oc_guard_belt *b = &g->belt;

	for (;;) {
		struct oc_belt_call *first = NULL;
		json_t *params;

		for (size_t i = 0; i < OC_BELT_CALLS; i++)
			if (b->calls[i].number && b->calls[i].waiting && (!first || b->calls[i].number < first->number))
				first = &b->calls[i];
		if (!first || !g->server.owner)
			return;
		params = call_json(first);
		if (!params || oc_conn_notify(g->server.owner->conn, "call", params, NULL) < 0) {
			oc_source_set_timer(b->timer, RETRY_MS);
			return;
		}
		first->waiting = false;
		first->told = true;
	}
}

/* What is between a client and its call's answer: nothing where either is gone. */
static void conclude(struct oc_guard *g, struct oc_belt_call *call, const json_t *result, const char *error)
{
	struct oc_guard_client *c = find_client(&g->belt, call->client);
	uint64_t ticket = call->ticket;
	int rc = 0;

	forget(&g->belt, call);
	if (c && result)
		rc = oc_mcp_answer(c->mcp, ticket, result);
	else if (c)
		rc = oc_mcp_fail(c->mcp, ticket, error);
	if (rc < 0)
		shut(c);
	oc_session_flush(g);
}

static void give_up(struct oc_guard *g, int64_t now)
{
	int64_t next = -1;

	for (size_t i = 0; i < OC_BELT_CALLS; i++) {
		struct oc_belt_call *call = &g->belt.calls[i];

		if (call->number && call->until <= now)
			conclude(g, call, NULL, call->told ? UNKNOWN : AWAY);
		else if (call->number && (next < 0 || call->until - now < next))
			next = call->until - now;
	}
	oc_source_set_timer(g->belt.timer, next);
}

/* What waits goes to the host that is there, or is given up in its time. */
static void attend(void *userdata)
{
	struct oc_guard *g = userdata;

	if (g->server.owner)
		tell(g);
	else
		give_up(g, oc_mono_ms());
}

void oc_belt_hosted(struct oc_guard *g, bool hosted)
{
	int64_t until = oc_mono_ms() + HOST_AWAY_MS;

	if (!g->belt.belt)
		return;
	for (size_t i = 0; i < OC_BELT_CALLS; i++) {
		struct oc_belt_call *call = &g->belt.calls[i];

		call->waiting = call->number && hosted;
		call->until = until;
	}
	attend(g);
}

/* Without the run's secrets: what an agent says goes into records, and on to where others read it.  New, or NULL. */
static char *arguments_text(const struct oc_guard *g, const json_t *arguments)
{
	oc_cleanup(oc_freep) char *text = json_dumps(arguments, JSON_COMPACT);
	oc_cleanup(oc_json_decrefp) json_t *still = NULL;
	struct oc_buf out;

	oc_buf_init(&out, OC_JSON_MAX);
	if (text && oc_redact_text(g->redact, text, strlen(text), &out) == 0)
		still = json_loads(out.data ? out.data : "", 0, NULL);
	/* A secret with quotes in it may have taken some of the JSON along. */
	if (!json_is_object(still)) {
		oc_buf_free(&out);
		return NULL;
	}
	return oc_buf_steal(&out);
}

static bool keep(struct oc_guard *g, struct oc_belt_call *call, const char *name, const json_t *arguments)
{
	oc_cleanup(oc_freep) char *copy = strdup(name);
	oc_cleanup(oc_freep) char *text = arguments_text(g, arguments);
	size_t bytes = text ? strlen(text) : 0;

	if (!copy || !text || bytes > OC_BELT_CALL_BYTES - g->belt.bytes)
		return false;
	call->name = oc_steal(copy);
	call->arguments = oc_steal(text);
	call->bytes = bytes;
	g->belt.bytes += bytes;
	return true;
}

static void called(void *arg, uint64_t ticket, const char *name, const json_t *arguments)
{
	struct oc_guard_client *c = arg;
	struct oc_guard *g = c->guard;
	struct oc_belt_call *call = NULL;

	for (size_t i = 0; !call && i < OC_BELT_CALLS; i++)
		if (!g->belt.calls[i].number)
			call = &g->belt.calls[i];
	if (!call || !keep(g, call, name, arguments)) {
		(void)oc_mcp_fail(c->mcp, ticket,
		                  g->server.owner ? "too many calls wait for their answers, or this one can't be kept: "
		                                    "call again when some came"
		                                  : AWAY);
		return;
	}
	call->number = ++g->belt.numbers;
	call->client = c->id;
	call->ticket = ticket;
	call->waiting = true;
	call->until = oc_mono_ms() + HOST_AWAY_MS;
	attend(g);
}

/* The host may have acted, so the call stays; its ticket is known to nobody any more. */
static void cancelled(void *arg OC_UNUSED, uint64_t ticket OC_UNUSED)
{
}

static const char *opened(struct oc_guard *g, uint32_t id)
{
	static const struct oc_mcp_ops ops = { send_line, called, cancelled };
	struct oc_guard_belt *b = &g->belt;

	if (id != b->opened + 1)
		return "a client of the toolbelt out of turn";
	b->opened = id;
	for (size_t i = 0; i < OC_BELT_MCP_CLIENTS; i++) {
		struct oc_guard_client *c = &b->clients[i];

		if (c->mcp)
			continue;
		c->guard = g;
		c->id = id;
		return oc_mcp_new(b->belt, &ops, c, &c->mcp) < 0 ? "more clients of the toolbelt than fit the memory"
		                                                 : NULL;
	}
	return "more clients of the toolbelt than there may be";
}

static void said(struct oc_guard_client *c, const void *data, size_t len)
{
	if (oc_mcp_feed(c->mcp, data, len) < 0)
		shut(c);
}

const char *oc_belt_frame(struct oc_guard *g, const struct oc_frame *frame)
{
	struct oc_cursor cursor = { frame->data, frame->data + frame->len };
	struct oc_guard_belt *b = &g->belt;
	struct oc_guard_client *c;
	const char *wrong = NULL;
	uint32_t id;

	if (!b->belt || !oc_get_u32(&cursor, &id) || !id)
		return "a frame of a toolbelt that this run has not";
	if (frame->type == OC_FRAME_BELT_OPENED) {
		wrong = opened(g, id);
	} else if (id > b->opened) {
		wrong = "a client of the toolbelt that never came";
	} else if ((c = find_client(b, id))) { /* else we closed it while this was on its way */
		if (frame->type == OC_FRAME_BELT_SAID)
			said(c, cursor.p, (size_t)(cursor.end - cursor.p));
		else
			close_client(c);
	}
	oc_session_flush(g);
	return wrong;
}

/* As the result's structure, and as its text, which is the same as JSON.  New; NULL: no memory. */
static json_t *with_password(const json_t *result, const char *value)
{
	json_t *out = json_deep_copy(result), *structure = json_object_get(out, "structuredContent");
	json_t *first = json_array_get(json_object_get(out, "content"), 0);
	oc_cleanup(oc_freep) char *text = NULL;
	bool ok = oc_json_set_string(structure, "password", value) && (text = json_dumps(structure, JSON_COMPACT)) &&
	          oc_json_set_string(first, "text", text);

	if (text)
		explicit_bzero(text, strlen(text));
	if (!ok)
		json_decref(out);
	return ok ? out : NULL;
}

static void wipe(json_t *result)
{
	const json_t *texts[] = { json_object_get(json_object_get(result, "structuredContent"), "password"),
		                  json_object_get(json_array_get(json_object_get(result, "content"), 0), "text") };

	for (size_t i = 0; i < OC_COUNT(texts); i++)
		explicit_bzero((char *)(uintptr_t)json_string_value(texts[i]), json_string_length(texts[i]));
	json_decref(result);
}

static int answer_token(struct oc_guard *g, struct oc_belt_call *call, const json_t *result, const char *id,
                        oc_error **err)
{
	const char *value = oc_tokens_find(g, id);
	json_t *whole;

	if (!json_is_object(json_object_get(result, "structuredContent")) ||
	    !json_is_object(json_array_get(json_object_get(result, "content"), 0)))
		return oc_fail(err, OC_EINVAL, 0, "An answer with a token has a structure to put it in");
	if (!call)
		return 0;
	if (!value) {
		conclude(g, call, NULL, GONE);
		return 0;
	}
	whole = with_password(result, value);
	if (!whole)
		return oc_nomem(err);
	g->session.out_secret = true;
	conclude(g, call, whole, NULL);
	wipe(whole);
	return 0;
}

static int call_of(struct oc_guard *g, int64_t number, struct oc_belt_call **out, oc_error **err)
{
	if (number < 1 || (uint64_t)number > g->belt.numbers)
		return oc_fail(err, OC_EINVAL, 0, "There was no call %lld", (long long)number);
	*out = find_call(&g->belt, (uint64_t)number);
	return 0;
}

int oc_belt_answer(struct oc_guard *g, const json_t *params, oc_error **err)
{
	json_t *result = NULL;
	const char *error = NULL, *token = NULL;
	int64_t number = 0;
	struct oc_belt_call *call = NULL;
	const struct oc_json_key keys[] = { { "call", OC_JSON_INT, true, &number },
		                            { "result", OC_JSON_OBJECT, false, &result },
		                            { "error", OC_JSON_STRING, false, &error },
		                            { "token", OC_JSON_STRING, false, &token } };
	int rc = oc_json_unpack(params, "", NULL, keys, OC_COUNT(keys), err);

	if (rc >= 0 && (!result == !error || (token && error)))
		rc = oc_fail(err, OC_EINVAL, 0, "An answer is a result, with a token or without, or an error");
	if (rc >= 0)
		rc = call_of(g, number, &call, err);
	if (rc >= 0 && token)
		rc = answer_token(g, call, result, token, err);
	else if (rc >= 0 && call)
		conclude(g, call, result, error);
	return rc;
}

int oc_belt_progress(struct oc_guard *g, const json_t *params, oc_error **err)
{
	const char *message = NULL;
	int64_t number = 0, progress = 0, total = 0;
	struct oc_belt_call *call = NULL;
	struct oc_guard_client *c;
	const struct oc_json_key keys[] = { { "call", OC_JSON_INT, true, &number },
		                            { "progress", OC_JSON_INT, true, &progress },
		                            { "total", OC_JSON_INT, false, &total },
		                            { "message", OC_JSON_STRING, false, &message } };
	int rc = oc_json_unpack(params, "", NULL, keys, OC_COUNT(keys), err);

	if (rc >= 0 && (progress < 0 || progress > PROGRESS_MAX || total < 0 || total > PROGRESS_MAX))
		rc = oc_fail(err, OC_EINVAL, 0, "Progress is out of bounds");
	if (rc >= 0)
		rc = call_of(g, number, &call, err);
	c = rc >= 0 && call ? find_client(&g->belt, call->client) : NULL;
	if (c) {
		if (oc_mcp_progress(c->mcp, call->ticket, (double)progress, (double)total, message) < 0)
			shut(c);
		oc_session_flush(g);
	}
	return rc;
}

int oc_belt_begin(struct oc_guard *g, json_t *belt, oc_error **err)
{
	int rc = 0;

	oc_belt_end(g);
	if (!belt)
		return 0;
	rc = oc_loop_add_timer(g->loop, -1, attend, g, &g->belt.timer, err);
	if (rc >= 0)
		g->belt.belt = json_incref(belt);
	return rc < 0 ? rc : 0;
}

void oc_belt_end(struct oc_guard *g)
{
	struct oc_guard_belt *b = &g->belt;

	for (size_t i = 0; i < OC_BELT_MCP_CLIENTS; i++)
		close_client(&b->clients[i]);
	for (size_t i = 0; i < OC_BELT_CALLS; i++)
		forget(b, &b->calls[i]);
	oc_source_free(b->timer);
	json_decref(b->belt);
	memset(b, 0, sizeof(*b));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "guard/mcp_internal.h"
#include "wire/schema.h"

#define WHY_MAX     2048
#define MESSAGE_MAX (64u << 10) /* of a progress */

bool oc_mcp_id_ok(const json_t *id)
{
	if (json_is_string(id))
		return json_string_length(id) <= OC_MCP_ID_MAX &&
		       strlen(json_string_value(id)) == json_string_length(id);
	return json_is_integer(id);
}

struct oc_mcp_flight *oc_mcp_flying(struct oc_mcp *m, const json_t *id)
{
	for (size_t i = 0; i < OC_MCP_CALLS; i++)
		if (m->flights[i].ticket && json_equal(m->flights[i].id, id))
			return &m->flights[i];
	return NULL;
}

static struct oc_mcp_flight *by_ticket(struct oc_mcp *m, uint64_t ticket)
{
	for (size_t i = 0; ticket && i < OC_MCP_CALLS; i++)
		if (m->flights[i].ticket == ticket)
			return &m->flights[i];
	return NULL;
}

size_t oc_mcp_pending(const struct oc_mcp *m)
{
	size_t n = 0;

	for (size_t i = 0; i < OC_MCP_CALLS; i++)
		n += m->flights[i].ticket != 0;
	return n;
}

void oc_mcp_land(struct oc_mcp *m, struct oc_mcp_flight *flight)
{
	struct oc_mcp_batch *batch = flight->batch;

	json_decref(flight->id);
	json_decref(flight->token);
	*flight = (struct oc_mcp_flight){ 0 };
	oc_mcp_batch_done(m, batch);
}

void oc_mcp_cancel(struct oc_mcp *m, const json_t *params)
{
	const json_t *id = json_object_get(params, "requestId");
	struct oc_mcp_flight *flight = oc_mcp_id_ok(id) ? oc_mcp_flying(m, id) : NULL;
	uint64_t ticket;

	if (!flight)
		return;
	ticket = flight->ticket;
	oc_mcp_land(m, flight);
	m->ops.cancelled(m->arg, ticket);
}

/* {"content":[{"type":"text","text":…}],"isError":true}, without its braces */
static int put_tool_error(struct oc_buf *out, const char *message)
{
	int rc = 0;

	oc_mcp_put(out, "\"content\":[{\"type\":\"text\",\"text\":", &rc);
	oc_mcp_put_text(out, message, &rc);
	oc_mcp_put(out, "}],\"isError\":true", &rc);
	return rc;
}

static void tool_error(struct oc_mcp *m, const json_t *id, bool modern, struct oc_mcp_batch *batch, const char *message)
{
	struct oc_buf text;
	int rc;

	oc_buf_init(&text, OC_MCP_SENT);
	rc = put_tool_error(&text, message);
	if (rc == OC_ELIMIT) {
		oc_buf_free(&text);
		rc = put_tool_error(&text, "The call failed, with a message too long to send");
	}
	if (rc == 0)
		oc_mcp_result(m, id, modern, batch, text.data);
	else if (!m->broken)
		m->broken = rc;
	oc_buf_free(&text);
}

int oc_mcp_fail(struct oc_mcp *m, uint64_t ticket, const char *message)
{
	struct oc_mcp_flight *flight = by_ticket(m, ticket);

	if (!flight)
		return m->broken;
	tool_error(m, flight->id, flight->modern, flight->batch, message);
	oc_mcp_land(m, flight);
	return m->broken;
}

static bool content_ok(const json_t *content)
{
	const json_t *item;
	size_t i;

	json_array_foreach(content, i, item)
	{
		if (!oc_json_text(item, "type"))
			return false;
	}
	return !content || json_is_array(content);
}

/* What the flight's client may be shown of structuredContent: it came with 2025-06-18, as an object; anything since
 * 2026-07-28. */
static const json_t *structured(const struct oc_mcp *m, const struct oc_mcp_flight *flight, const json_t *result)
{
	const json_t *value = json_object_get(result, "structuredContent");

	if (!value || json_is_null(value))
		return NULL;
	if (flight->modern ||
	    (json_is_object(value) && (m->legacy == OC_MCP_VERSIONS || oc_mcp_at_least(m, "2025-06-18"))))
		return value;
	return NULL;
}

/* Where a result says nothing but a structure, its text is the content: there are clients that read only that. */
static void put_content(struct oc_buf *out, const json_t *result, int *rc)
{
	const json_t *content = json_object_get(result, "content"),
	             *value = json_object_get(result, "structuredContent");
	struct oc_buf text;

	oc_mcp_put(out, "\"content\":", rc);
	if (json_array_size(content) || !value) {
		if (content)
			oc_mcp_put_json(out, content, rc);
		else
			oc_mcp_put(out, "[]", rc);
		return;
	}
	oc_buf_init(&text, OC_MCP_SENT);
	oc_mcp_put_json(&text, value, rc);
	oc_mcp_put(out, "[{\"type\":\"text\",\"text\":", rc);
	oc_mcp_put_text(out, text.data ? text.data : "", rc);
	oc_mcp_put(out, "}]", rc);
	oc_buf_free(&text);
}

static int put_result(const struct oc_mcp *m, const struct oc_mcp_flight *flight, const json_t *result,
                      struct oc_buf *out)
{
	const json_t *value = structured(m, flight, result);
	int rc = 0;

	put_content(out, result, &rc);
	if (value) {
		oc_mcp_put(out, ",\"structuredContent\":", &rc);
		oc_mcp_put_json(out, value, &rc);
	}
	if (json_is_true(json_object_get(result, "isError")))
		oc_mcp_put(out, ",\"isError\":true", &rc);
	return rc;
}

static bool result_ok(const json_t *result)
{
	const json_t *failed = json_object_get(result, "isError");

	return json_is_object(result) && content_ok(json_object_get(result, "content")) &&
	       (!failed || json_is_boolean(failed));
}

int oc_mcp_answer(struct oc_mcp *m, uint64_t ticket, const json_t *result)
{
	struct oc_mcp_flight *flight = by_ticket(m, ticket);
	struct oc_buf text;
	int rc;

	if (!flight)
		return m->broken;
	if (!result_ok(result))
		return oc_mcp_fail(m, ticket, "The call was answered with what is no tool's result");
	oc_buf_init(&text, OC_MCP_SENT);
	rc = put_result(m, flight, result, &text);
	if (rc == 0)
		oc_mcp_result(m, flight->id, flight->modern, flight->batch, text.data);
	else if (rc == OC_ENOMEM && !m->broken)
		m->broken = rc;
	oc_buf_free(&text);
	if (rc < 0 && rc != OC_ENOMEM)
		return oc_mcp_fail(m, ticket,
		                   rc == OC_ELIMIT ? "The answer to this call is too long to send"
		                                   : "The call was answered with what can't be sent");
	oc_mcp_land(m, flight);
	return m->broken;
}

static bool less(struct oc_mcp_number a, struct oc_mcp_number b)
{
	return a.whole != b.whole ? a.whole < b.whole : a.millionths < b.millionths;
}

static int put_progress(const struct oc_mcp *m, const struct oc_mcp_flight *flight, double total, const char *message,
                        struct oc_buf *out)
{
	struct oc_mcp_number all = { 0 };
	int rc = 0;

	oc_mcp_put(out,
	           "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":", &rc);
	oc_mcp_put_json(out, flight->token, &rc);
	oc_mcp_put(out, ",\"progress\":", &rc);
	oc_mcp_put_number(out, flight->progress, &rc);
	if (oc_mcp_number(total, &all) && (all.whole || all.millionths)) {
		oc_mcp_put(out, ",\"total\":", &rc);
		oc_mcp_put_number(out, all, &rc);
	}
	if (message && (flight->modern || !m->legacy || oc_mcp_at_least(m, "2025-03-26"))) {
		oc_mcp_put(out, ",\"message\":", &rc);
		oc_mcp_put_text(out, message, &rc);
	}
	oc_mcp_put(out, "}}", &rc);
	return rc;
}

int oc_mcp_progress(struct oc_mcp *m, uint64_t ticket, double progress, double total, const char *message)
{
	struct oc_mcp_flight *flight = by_ticket(m, ticket);
	struct oc_mcp_number now;
	struct oc_buf text;
	int rc;

	if (!flight || !flight->token || !oc_mcp_number(progress, &now))
		return m->broken;
	if (flight->progressed && !less(flight->progress, now))
		return m->broken;
	flight->progressed = true;
	flight->progress = now;
	oc_buf_init(&text, OC_MCP_SENT);
	rc = put_progress(m, flight, total, message && strlen(message) <= MESSAGE_MAX ? message : NULL, &text);
	if (rc == 0)
		oc_mcp_send(m, NULL, &text);
	else if (!m->broken)
		m->broken = rc;
	oc_buf_free(&text);
	return m->broken;
}

static const json_t *find_tool(const struct oc_mcp *m, const char *name)
{
	const json_t *tool;
	size_t i;

	json_array_foreach(m->tools, i, tool)
	{
		if (strcmp(oc_json_text(tool, "name"), name) == 0)
			return tool;
	}
	return NULL;
}

/* A client that may lack what the tool needs: only a modern one says it where we can go by it. */
static bool refuse_capability(struct oc_mcp *m, const struct oc_mcp_request *r, const json_t *tool)
{
	const json_t *has = json_object_get(r->meta, OC_MCP_META "clientCapabilities"), *name;
	struct oc_buf data;
	size_t i, n = 0;
	int rc = 0;

	if (!r->modern)
		return false;
	oc_buf_init(&data, 65536);
	json_array_foreach(json_object_get(tool, "requires"), i, name)
	{
		if (json_is_object(json_object_get(has, json_string_value(name))))
			continue;
		oc_mcp_put(&data, n++ ? "," : "{\"requiredCapabilities\":{", &rc);
		oc_mcp_put_json(&data, name, &rc);
		oc_mcp_put(&data, ":{}", &rc);
	}
	oc_mcp_put(&data, "}}", &rc);
	if (n && rc == 0)
		oc_mcp_error(m, r->id, r->batch, OC_MCP_CAPABILITY, data.data, "Missing required client capability");
	else if (rc < 0 && !m->broken)
		m->broken = rc;
	oc_buf_free(&data);
	return n || rc < 0;
}

/* Arguments that don't fit are the model's mistake, not the client's: a tool error, which models are shown. */
static bool refuse_arguments(struct oc_mcp *m, const struct oc_mcp_request *r, const json_t *tool,
                             const json_t *arguments)
{
	struct oc_buf why;
	int rc;

	oc_buf_init(&why, WHY_MAX);
	rc = oc_buf_puts(&why, "Invalid arguments: ");
	if (rc == 0)
		rc = oc_schema_fits(json_object_get(tool, "inputSchema"), arguments, "arguments", &why);
	if (rc == OC_EINVAL)
		tool_error(m, r->id, r->modern, r->batch, why.data);
	else if (rc < 0 && !m->broken)
		m->broken = rc;
	oc_buf_free(&why);
	return rc < 0;
}

static struct oc_mcp_flight *take_off(struct oc_mcp *m, const struct oc_mcp_request *r, const json_t *token)
{
	for (size_t i = 0; i < OC_MCP_CALLS; i++) {
		struct oc_mcp_flight *flight = &m->flights[i];

		if (flight->ticket)
			continue;
		*flight = (struct oc_mcp_flight){ .ticket = ++m->tickets, .modern = r->modern, .batch = r->batch };
		flight->id = json_incref((json_t *)r->id);
		flight->token = json_incref((json_t *)token);
		if (r->batch)
			r->batch->waiting++;
		return flight;
	}
	return NULL;
}

static void fly(struct oc_mcp *m, const struct oc_mcp_request *r, const json_t *tool, const json_t *arguments)
{
	const json_t *token = json_object_get(r->meta, "progressToken");
	struct oc_mcp_flight *flight;

	if (token && !oc_mcp_id_ok(token)) {
		oc_mcp_error(m, r->id, r->batch, OC_MCP_PARAMS, NULL,
		             "Invalid params: the progressToken is neither an integer nor a text of at most %d bytes",
		             OC_MCP_ID_MAX);
		return;
	}
	if (refuse_capability(m, r, tool) || refuse_arguments(m, r, tool, arguments))
		return;
	flight = take_off(m, r, token);
	if (flight)
		m->ops.call(m->arg, flight->ticket, oc_json_text(tool, "name"), arguments);
	else
		tool_error(m, r->id, r->modern, r->batch,
		           "Too many calls at once: wait until one of those in flight is answered, then try again");
}

void oc_mcp_call(struct oc_mcp *m, const struct oc_mcp_request *r)
{
	const json_t *given = json_object_get(r->params, "arguments"), *tool;
	const char *name = oc_json_text(r->params, "name");
	oc_cleanup(oc_json_decrefp) json_t *none = NULL;
	struct oc_buf shown;
	int rc = 0;

	if (!name) {
		oc_mcp_error(m, r->id, r->batch, OC_MCP_PARAMS, NULL, "Invalid params: \"name\" is no text");
		return;
	}
	tool = find_tool(m, name);
	if (tool && (!given || json_is_null(given))) {
		given = none = json_object();
		rc = none ? 0 : OC_ENOMEM;
	}
	oc_buf_init(&shown, 1024);
	oc_mcp_put_shown(&shown, name, &rc);
	if (rc < 0 && !m->broken)
		m->broken = rc;
	else if (!tool)
		oc_mcp_error(m, r->id, r->batch, OC_MCP_PARAMS, NULL, "Unknown tool: %s", shown.data ? shown.data : "");
	else
		fly(m, r, tool, given);
	oc_buf_free(&shown);
}

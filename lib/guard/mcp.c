/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/mcp.h"

#include <stdlib.h>
#include <string.h>

#include "guard/mcp_internal.h"

#define LINE_KEPT (64u << 10) /* of the buffer, between two lines */

/* What clients are shown of a tool: all but what it requires of them; of a hidden one nothing. */
static int put_tools(const json_t *tools, struct oc_buf *out)
{
	const char *between = "";
	const json_t *tool;
	int rc = 0;
	size_t i;

	oc_mcp_put(out, "\"tools\":[", &rc);
	json_array_foreach(tools, i, tool)
	{
		json_t *shown = NULL;

		if (json_is_true(json_object_get(tool, "hidden")))
			continue;
		shown = json_copy((json_t *)tool);
		if (!shown)
			return OC_ENOMEM;
		json_object_del(shown, "requires");
		json_object_del(shown, "hidden");
		oc_mcp_put(out, between, &rc);
		between = ",";
		oc_mcp_put_json(out, shown, &rc);
		json_decref(shown);
	}
	oc_mcp_put(out, "]", &rc);
	return rc;
}

int oc_mcp_new(const json_t *belt, const struct oc_mcp_ops *ops, void *arg, struct oc_mcp **out)
{
	struct oc_mcp *m = calloc(1, sizeof(*m));
	struct oc_buf list;
	int rc;

	if (!m)
		return OC_ENOMEM;
	m->tools = json_object_get(belt, "tools");
	m->instructions = oc_json_text(belt, "instructions");
	m->ops = *ops;
	m->arg = arg;
	m->legacy = OC_MCP_VERSIONS;
	oc_buf_init(&m->line, OC_MCP_LINE);
	oc_buf_init(&list, OC_MCP_SENT);
	rc = put_tools(m->tools, &list);
	if (rc == 0) {
		m->list = oc_buf_steal(&list);
		rc = m->list ? 0 : OC_ENOMEM;
	}
	oc_buf_free(&list);
	if (rc < 0) {
		oc_mcp_free(m);
		return rc;
	}
	*out = m;
	return 0;
}

void oc_mcp_free(struct oc_mcp *m)
{
	if (!m)
		return;
	/* A batch that is complete now would be sent. */
	m->broken = OC_ECLOSED;
	for (size_t i = 0; i < OC_MCP_CALLS; i++)
		if (m->flights[i].ticket)
			oc_mcp_land(m, &m->flights[i]);
	oc_buf_free(&m->line);
	free(m->list);
	free(m);
}

static void invalid(struct oc_mcp *m, const json_t *id, struct oc_mcp_batch *batch, const char *what)
{
	oc_mcp_error(m, id, batch, OC_MCP_REQUEST, NULL, "Invalid Request: %s", what);
}

/* A reply to a request of ours: there are none. */
static bool reply(const json_t *json)
{
	return !json_object_get(json, "method") && (json_object_get(json, "result") || json_object_get(json, "error"));
}

static void call_or_notify(struct oc_mcp *m, const json_t *json, const char *method, struct oc_mcp_batch *batch)
{
	struct oc_mcp_request r = { .id = json_object_get(json, "id"),
		                    .params = json_object_get(json, "params"),
		                    .batch = batch };

	if (!r.id && strcmp(method, "notifications/cancelled") == 0)
		oc_mcp_cancel(m, r.params);
	else if (r.id && !oc_mcp_id_ok(r.id))
		invalid(m, NULL, batch, "the id is neither an integer nor a text of at most 256 bytes");
	else if (r.id && oc_mcp_flying(m, r.id))
		/* With its id this would be the answer to the other one. */
		invalid(m, NULL, batch, "the id is that of a call in flight");
	else if (r.id)
		oc_mcp_request(m, method, &r);
}

static void message(struct oc_mcp *m, const json_t *json, struct oc_mcp_batch *batch)
{
	const json_t *id = json_object_get(json, "id");
	const char *version = oc_json_text(json, "jsonrpc"), *method = oc_json_text(json, "method");

	id = oc_mcp_id_ok(id) && !oc_mcp_flying(m, id) ? id : NULL;
	if (!json_is_object(json))
		invalid(m, NULL, batch, "a message is an object");
	else if (!version || strcmp(version, "2.0") != 0)
		invalid(m, id, batch, "\"jsonrpc\" is not \"2.0\"");
	else if (method)
		call_or_notify(m, json, method, batch);
	else if (!reply(json))
		invalid(m, id, batch, "\"method\" is no text");
}

static void batch(struct oc_mcp *m, const json_t *array)
{
	bool has = m->legacy < OC_MCP_VERSIONS && strcmp(oc_mcp_versions[m->legacy], "2025-03-26") == 0;
	struct oc_mcp_batch *all;
	const json_t *json;
	size_t i;

	if (!has || !json_array_size(array) || json_array_size(array) > OC_MCP_BATCH) {
		invalid(m, NULL, NULL,
		        !has ? "batches are of revision 2025-03-26 alone" : "a batch has 1 to 64 messages");
		return;
	}
	all = oc_mcp_batch_new(m);
	if (!all)
		return;
	json_array_foreach(array, i, json)
	{
		if (!m->broken)
			message(m, json, all);
	}
	oc_mcp_batch_done(m, all);
}

/* A number that base/json.h has no place for must not leave a client without an answer: nothing takes what is put in its
 * place, and all the rest is read. */
static int parse(const char *text, size_t len, json_t **out, oc_error **err)
{
	int rc = oc_json_parse(text, len, OC_MCP_LINE, "the message", out, err);
	struct oc_buf soft;

	if (rc != OC_EPROTO)
		return rc;
	/* The shortest such number, 0.0, becomes 8 bytes. */
	oc_buf_init(&soft, 3 * OC_MCP_LINE);
	if (oc_mcp_soften(text, len, &soft) == 0) {
		oc_error_free(oc_steal(*err));
		rc = oc_json_parse(soft.data, soft.len, 3 * OC_MCP_LINE, "the message", out, err);
	}
	oc_buf_free(&soft);
	return rc;
}

static void read_line(struct oc_mcp *m, const char *text, size_t len)
{
	oc_cleanup(oc_json_decrefp) json_t *json = NULL;
	oc_error *err = NULL;
	size_t blank = 0;
	int rc;

	while (blank < len && strchr(" \t\r", text[blank]) && text[blank])
		blank++;
	if (blank == len)
		return;
	rc = parse(text, len, &json, &err);
	if (rc == OC_ENOMEM)
		m->broken = rc;
	else if (rc < 0)
		oc_mcp_error(m, NULL, NULL, OC_MCP_PARSE, NULL, "Parse error: %s", oc_error_message(err));
	else if (json_is_array(json))
		batch(m, json);
	else
		message(m, json, NULL);
	oc_error_free(err);
}

/* A line that came in pieces. */
static int read_kept(struct oc_mcp *m, const char *data, size_t len)
{
	int rc = oc_buf_add(&m->line, data, len);

	if (rc < 0)
		return rc;
	read_line(m, m->line.data, m->line.len);
	if (m->line.cap > LINE_KEPT)
		oc_buf_free(&m->line);
	else
		m->line.len = 0;
	return m->broken;
}

int oc_mcp_feed(struct oc_mcp *m, const void *data, size_t len)
{
	const char *at = data, *end = at + len, *newline;

	while (at < end && !m->broken) {
		newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline) {
			m->broken = oc_buf_add(&m->line, at, (size_t)(end - at));
			break;
		}
		if (m->line.len)
			m->broken = read_kept(m, at, (size_t)(newline - at));
		else if (newline - at > (ptrdiff_t)OC_MCP_LINE)
			m->broken = OC_ELIMIT;
		else
			read_line(m, at, (size_t)(newline - at));
		at = newline + 1;
	}
	return m->broken;
}

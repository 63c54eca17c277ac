/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "guard/mcp_internal.h"

#define HELD_MAX OC_MCP_SENT /* of all batches that wait for a call */

static void broken(struct oc_mcp *m, int rc)
{
	if (!m->broken)
		m->broken = rc < 0 ? rc : OC_EFAILED;
}

static void put_out(struct oc_mcp *m, struct oc_buf *message)
{
	int rc = oc_buf_puts(message, "\n");

	if (m->broken)
		return;
	if (rc == 0)
		rc = m->ops.send(m->arg, message->data, message->len);
	if (rc < 0)
		broken(m, rc);
}

static void hold(struct oc_mcp *m, struct oc_mcp_batch *batch, const struct oc_buf *message)
{
	size_t before = batch->text.len;
	int rc = oc_buf_puts(&batch->text, before ? "," : "[");

	if (rc == 0)
		rc = oc_buf_add(&batch->text, message->data, message->len);
	m->held += batch->text.len - before;
	if (rc < 0)
		broken(m, rc);
}

/* message is used up. */
void oc_mcp_send(struct oc_mcp *m, struct oc_mcp_batch *batch, struct oc_buf *message)
{
	if (batch)
		hold(m, batch, message);
	else
		put_out(m, message);
}

/* Every answer is made here.  Where it is too long for what is held, a short one is made instead: id and size are bounded, so
 * that is the last. */
static void answer(struct oc_mcp *m, const json_t *id, struct oc_mcp_batch *batch, const char *before,
                   const char *middle, const char *after)
{
	struct oc_buf b;
	int rc = 0;

	oc_buf_init(&b, OC_MCP_SENT + 4096);
	oc_mcp_put(&b, "{\"jsonrpc\":\"2.0\",\"id\":", &rc);
	if (id)
		oc_mcp_put_json(&b, id, &rc);
	else
		oc_mcp_put(&b, "null", &rc);
	oc_mcp_put(&b, before, &rc);
	oc_mcp_put(&b, middle, &rc);
	oc_mcp_put(&b, after, &rc);
	if (rc < 0)
		broken(m, rc);
	else if (batch && m->held + b.len > HELD_MAX && b.len > 4096)
		oc_mcp_error(m, id, batch, OC_MCP_INTERNAL, NULL,
		             "The answers to this batch are too long; ask one at a time");
	else
		oc_mcp_send(m, batch, &b);
	oc_buf_free(&b);
}

void oc_mcp_result(struct oc_mcp *m, const json_t *id, bool modern, struct oc_mcp_batch *batch, const char *result)
{
	static const char plain[] = ",\"result\":{";
	static const char complete[] =
	        ",\"result\":{\"resultType\":\"complete\",\"_meta\":{\"" OC_MCP_META "serverInfo\":"
	        "{\"name\":\"open-conduit\",\"version\":\"" OC_VERSION "\"}}";
	struct oc_buf head;
	int rc = 0;

	oc_buf_init(&head, 1024);
	oc_mcp_put(&head, modern ? complete : plain, &rc);
	oc_mcp_put(&head, modern && *result ? "," : "", &rc);
	if (rc < 0)
		broken(m, rc);
	else
		answer(m, id, batch, head.data, result, "}}");
	oc_buf_free(&head);
}

/* The message is short: ours, with at most OC_MCP_SHOWN bytes of a client's. */
void oc_mcp_error(struct oc_mcp *m, const json_t *id, struct oc_mcp_batch *batch, int code, const char *data,
                  const char *fmt, ...)
{
	struct oc_buf text, b;
	va_list ap;
	int rc;

	oc_buf_init(&text, 8192);
	oc_buf_init(&b, 65536);
	va_start(ap, fmt);
	rc = oc_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	if (rc == 0)
		rc = oc_buf_printf(&b, ",\"error\":{\"code\":%d,\"message\":", code);
	oc_mcp_put_text(&b, text.data ? text.data : "", &rc);
	if (data) {
		oc_mcp_put(&b, ",\"data\":", &rc);
		oc_mcp_put(&b, data, &rc);
	}
	if (rc < 0)
		broken(m, rc);
	else
		answer(m, id, batch, b.data, "}", "}");
	oc_buf_free(&text);
	oc_buf_free(&b);
}

struct oc_mcp_batch *oc_mcp_batch_new(struct oc_mcp *m)
{
	struct oc_mcp_batch *batch = calloc(1, sizeof(*batch));

	if (!batch) {
		broken(m, OC_ENOMEM);
		return NULL;
	}
	oc_buf_init(&batch->text, 2 * HELD_MAX);
	batch->waiting = 1;
	return batch;
}

static void finish(struct oc_mcp *m, struct oc_mcp_batch *batch, bool send)
{
	if (!batch || --batch->waiting)
		return;
	m->held -= batch->text.len;
	/* Nothing but notifications in it, and cancelled calls: then nothing is said. */
	if (send && batch->text.len) {
		int rc = oc_buf_puts(&batch->text, "]");

		if (rc < 0)
			broken(m, rc);
		else
			put_out(m, &batch->text);
	}
	oc_buf_free(&batch->text);
	free(batch);
}

void oc_mcp_batch_done(struct oc_mcp *m, struct oc_mcp_batch *batch)
{
	finish(m, batch, true);
}

void oc_mcp_batch_drop(struct oc_mcp *m, struct oc_mcp_batch *batch)
{
	finish(m, batch, false);
}

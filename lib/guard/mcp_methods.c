/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "guard/mcp_internal.h"

/* A run's tools don't change while it runs, and are nobody else's. */
#define CACHE "\"ttlMs\":3600000,\"cacheScope\":\"private\""

const char *const oc_mcp_versions[OC_MCP_VERSIONS] = { "2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26",
	                                               "2024-11-05" };

bool oc_mcp_at_least(const struct oc_mcp *m, const char *version)
{
	return m->legacy < OC_MCP_VERSIONS && strcmp(oc_mcp_versions[m->legacy], version) >= 0;
}

static int version_place(const char *version)
{
	for (int i = 0; i < OC_MCP_VERSIONS; i++)
		if (strcmp(oc_mcp_versions[i], version) == 0)
			return i;
	return -1;
}

static void put_versions(struct oc_buf *out, int *rc)
{
	for (size_t i = 0; i < OC_MCP_VERSIONS; i++) {
		oc_mcp_put(out, i ? "\",\"" : "[\"", rc);
		oc_mcp_put(out, oc_mcp_versions[i], rc);
	}
	oc_mcp_put(out, "\"]", rc);
}

static void put_instructions(const struct oc_mcp *m, struct oc_buf *out, int *rc)
{
	if (!m->instructions || !*m->instructions)
		return;
	oc_mcp_put(out, ",\"instructions\":", rc);
	oc_mcp_put_text(out, m->instructions, rc);
}

static void finish(struct oc_mcp *m, const struct oc_mcp_request *r, struct oc_buf *result, int rc)
{
	if (rc == 0)
		oc_mcp_result(m, r->id, r->modern, r->batch, result->data ? result->data : "");
	else if (!m->broken)
		m->broken = rc;
	oc_buf_free(result);
}

static void initialize(struct oc_mcp *m, const struct oc_mcp_request *r)
{
	const char *asked = oc_json_text(r->params, "protocolVersion");
	struct oc_buf b;
	int rc = 0, place;

	if (r->batch) {
		oc_mcp_error(m, r->id, r->batch, OC_MCP_REQUEST, NULL,
		             "Invalid Request: initialize can't be in a batch");
		return;
	}
	if (!asked) {
		oc_mcp_error(m, r->id, r->batch, OC_MCP_PARAMS, NULL, "Invalid params: \"protocolVersion\" is no text");
		return;
	}
	place = version_place(asked);
	/* A client that can't do with the newest of those that have an initialize leaves. */
	m->legacy = place < OC_MCP_MODERN ? OC_MCP_MODERN : place;
	oc_buf_init(&b, OC_MCP_SENT);
	oc_mcp_put(&b, "\"protocolVersion\":\"", &rc);
	oc_mcp_put(&b, oc_mcp_versions[m->legacy], &rc);
	oc_mcp_put(
	        &b,
	        "\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"open-conduit\",\"version\":\"" OC_VERSION
	        "\"}",
	        &rc);
	put_instructions(m, &b, &rc);
	finish(m, r, &b, rc);
}

static void ping(struct oc_mcp *m, const struct oc_mcp_request *r)
{
	oc_mcp_result(m, r->id, r->modern, r->batch, "");
}

static void discover(struct oc_mcp *m, const struct oc_mcp_request *r)
{
	struct oc_buf b;
	int rc = 0;

	oc_buf_init(&b, OC_MCP_SENT);
	oc_mcp_put(&b, "\"capabilities\":{\"tools\":{}}," CACHE ",\"supportedVersions\":", &rc);
	put_versions(&b, &rc);
	put_instructions(m, &b, &rc);
	finish(m, r, &b, rc);
}

static void list(struct oc_mcp *m, const struct oc_mcp_request *r)
{
	const json_t *cursor = json_object_get(r->params, "cursor");
	struct oc_buf b;
	int rc = 0;

	/* One page is all there is, so no cursor is one of ours; "" is one as any other. */
	if (cursor && !json_is_null(cursor)) {
		oc_mcp_error(m, r->id, r->batch, OC_MCP_PARAMS, NULL, "Invalid params: Invalid cursor");
		return;
	}
	oc_buf_init(&b, OC_MCP_SENT);
	oc_mcp_put(&b, r->modern ? CACHE "," : "", &rc);
	oc_mcp_put(&b, m->list, &rc);
	finish(m, r, &b, rc);
}

static const struct {
	const char *name;
	bool legacy, modern;
	void (*handle)(struct oc_mcp *m, const struct oc_mcp_request *r);
} methods[] = {
	{ "tools/call", true, true, oc_mcp_call },
	{ "tools/list", true, true, list },
	{ "ping", true, false, ping },
	{ "initialize", true, false, initialize },
	{ "server/discover", false, true, discover },
};

static void unknown_version(struct oc_mcp *m, const struct oc_mcp_request *r, const char *version)
{
	struct oc_buf data, shown;
	int rc = 0;

	oc_buf_init(&shown, 1024);
	oc_buf_init(&data, 4096);
	oc_mcp_put_shown(&shown, version, &rc);
	oc_mcp_put(&data, "{\"supported\":", &rc);
	put_versions(&data, &rc);
	oc_mcp_put(&data, ",\"requested\":", &rc);
	oc_mcp_put_text(&data, shown.data ? shown.data : "", &rc);
	oc_mcp_put(&data, "}", &rc);
	if (rc == 0)
		oc_mcp_error(m, r->id, r->batch, OC_MCP_VERSION, data.data, "Unsupported protocol version");
	else if (!m->broken)
		m->broken = rc;
	oc_buf_free(&data);
	oc_buf_free(&shown);
}

/* What each request of a modern client says about itself; nothing of it is remembered. */
static bool modern_ok(struct oc_mcp *m, const struct oc_mcp_request *r)
{
	const char *version = oc_json_text(r->meta, OC_MCP_META "protocolVersion");
	int place = version ? version_place(version) : -1;

	if (r->batch) {
		oc_mcp_error(m, r->id, r->batch, OC_MCP_REQUEST, NULL, "Invalid Request: 2026-07-28 has no batches");
		return false;
	}
	if (!version || !json_is_object(json_object_get(r->meta, OC_MCP_META "clientCapabilities"))) {
		oc_mcp_error(m, r->id, r->batch, OC_MCP_PARAMS, NULL, "Invalid params: _meta lacks " OC_MCP_META "%s",
		             version ? "clientCapabilities" : "protocolVersion");
		return false;
	}
	if (place < 0 || place >= OC_MCP_MODERN) {
		unknown_version(m, r, version);
		return false;
	}
	return true;
}

static void unknown_method(struct oc_mcp *m, const struct oc_mcp_request *r, const char *method)
{
	struct oc_buf shown;
	int rc = 0;

	oc_buf_init(&shown, 1024);
	oc_mcp_put_shown(&shown, method, &rc);
	if (rc == 0)
		oc_mcp_error(m, r->id, r->batch, OC_MCP_METHOD, NULL, "Method not found: %s",
		             shown.data ? shown.data : "");
	else if (!m->broken)
		m->broken = rc;
	oc_buf_free(&shown);
}

static bool params_ok(struct oc_mcp *m, struct oc_mcp_request *r)
{
	if (json_is_null(r->params))
		r->params = NULL;
	r->meta = json_object_get(r->params, "_meta");
	if ((r->params && !json_is_object(r->params)) || (r->meta && !json_is_object(r->meta))) {
		oc_mcp_error(m, r->id, r->batch, OC_MCP_PARAMS, NULL, "Invalid params: %s is no object",
		             r->meta ? "_meta" : "params");
		return false;
	}
	return true;
}

/* r: id, params and batch are set. */
void oc_mcp_request(struct oc_mcp *m, const char *method, struct oc_mcp_request *r)
{
	if (!params_ok(m, r))
		return;
	/* Whether the client is a modern one is a matter of each request: one connection may serve both kinds. */
	r->modern = json_object_get(r->meta, OC_MCP_META "protocolVersion") || strcmp(method, "server/discover") == 0;
	if (r->modern && !modern_ok(m, r))
		return;
	for (size_t i = 0; i < OC_COUNT(methods); i++) {
		if (strcmp(methods[i].name, method) != 0 || !(r->modern ? methods[i].modern : methods[i].legacy))
			continue;
		methods[i].handle(m, r);
		return;
	}
	unknown_method(m, r, method);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of guard/mcp.h share. */
#ifndef OC_GUARD_MCP_INTERNAL_H
#define OC_GUARD_MCP_INTERNAL_H

#include "guard/mcp.h"

enum oc_mcp_code {
	OC_MCP_PARSE = -32700,
	OC_MCP_REQUEST = -32600,
	OC_MCP_METHOD = -32601,
	OC_MCP_PARAMS = -32602,
	OC_MCP_INTERNAL = -32603,
	OC_MCP_CAPABILITY = -32021,
	OC_MCP_VERSION = -32022,
};

#define OC_MCP_META     "io.modelcontextprotocol/"
#define OC_MCP_ID_MAX   256 /* bytes of an id or a progress token that is a text */
#define OC_MCP_SHOWN    64  /* bytes of a client's text in one of ours */
#define OC_MCP_BATCH    64  /* messages in one batch */
#define OC_MCP_VERSIONS 5

/* A batch is answered when the last call of it is. */
struct oc_mcp_batch {
	struct oc_buf text; /* "[one,two" */
	size_t waiting;     /* calls, and whoever reads the batch */
};

/* In millionths, as it is sent. */
struct oc_mcp_number {
	long long whole;
	int millionths;
};

struct oc_mcp_flight {
	uint64_t ticket; /* 0: free */
	json_t *id, *token;
	bool modern, progressed;
	struct oc_mcp_number progress;
	struct oc_mcp_batch *batch;
};

struct oc_mcp {
	const json_t *tools;
	const char *instructions;
	struct oc_mcp_ops ops;
	void *arg;
	struct oc_buf line;
	char *list; /* "\"tools\":[…]" as clients are shown it */
	int legacy; /* place of the revision that initialize agreed on; OC_MCP_VERSIONS before */
	int broken; /* what feed returned, and will again */
	uint64_t tickets;
	size_t held; /* bytes of unsent batches */
	struct oc_mcp_flight flights[OC_MCP_CALLS];
};

/* One request while it is looked at. */
struct oc_mcp_request {
	const json_t *id, *params, *meta; /* params, meta: NULL when there are none */
	bool modern;
	struct oc_mcp_batch *batch;
};

/* Newest first; the first one has no initialize. */
extern const char *const oc_mcp_versions[OC_MCP_VERSIONS];
#define OC_MCP_MODERN 1 /* so many of them */
bool oc_mcp_at_least(const struct oc_mcp *m,
                     const char *version); /* what a legacy client speaks; false before it said so */

/* mcp_text.c: JSON as text. */
/* The text with each number that base/json.h doesn't take written as a text that nothing takes; ENOTFOUND: there is none. */
int oc_mcp_soften(const char *text, size_t len, struct oc_buf *out);
void oc_mcp_put_text(struct oc_buf *out, const char *text, int *rc); /* quoted; what is not UTF-8 in it is escaped */
void oc_mcp_put_json(struct oc_buf *out, const json_t *json, int *rc);
void oc_mcp_put(struct oc_buf *out, const char *text, int *rc);
void oc_mcp_put_number(struct oc_buf *out, struct oc_mcp_number n, int *rc);
void oc_mcp_put_shown(struct oc_buf *out, const char *text, int *rc); /* a piece of a client's text, not quoted */
bool oc_mcp_number(double value, struct oc_mcp_number *out);          /* false: none that can be sent */

/* mcp_send.c: what goes out.  All set m->broken where it can't. */
void oc_mcp_send(struct oc_mcp *m, struct oc_mcp_batch *batch, struct oc_buf *message);
/* result: text of an object without its braces. */
void oc_mcp_result(struct oc_mcp *m, const json_t *id, bool modern, struct oc_mcp_batch *batch, const char *result);
void oc_mcp_error(struct oc_mcp *m, const json_t *id, struct oc_mcp_batch *batch, int code, const char *data,
                  const char *fmt, ...) OC_PRINTF(6, 7);
struct oc_mcp_batch *oc_mcp_batch_new(struct oc_mcp *m);
void oc_mcp_batch_done(struct oc_mcp *m, struct oc_mcp_batch *batch); /* one less to wait for; the last one sends it */
void oc_mcp_batch_drop(struct oc_mcp *m, struct oc_mcp_batch *batch); /* the same, nothing is sent */

/* mcp_call.c: the calls of tools. */
void oc_mcp_call(struct oc_mcp *m, const struct oc_mcp_request *r);
struct oc_mcp_flight *oc_mcp_flying(struct oc_mcp *m, const json_t *id); /* the call with that id, or NULL */
void oc_mcp_cancel(struct oc_mcp *m, const json_t *params);
void oc_mcp_land(struct oc_mcp *m, struct oc_mcp_flight *flight); /* forget it; what it was answered is said already */
bool oc_mcp_id_ok(const json_t *id);

/* mcp_methods.c */
void oc_mcp_request(struct oc_mcp *m, const char *method, struct oc_mcp_request *r);

#endif

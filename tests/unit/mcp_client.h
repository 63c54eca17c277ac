/* SPDX-License-Identifier: Apache-2.0 */
/* A client of guard/mcp.h for tests: what it says, what comes back, what its server was asked. */
#ifndef OC_TESTS_MCP_CLIENT_H
#define OC_TESTS_MCP_CLIENT_H

#include "guard/mcp.h"

#define META                                                                                                           \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                       \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define SERVER                                                                                                         \
	"\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"open-conduit\","    \
	"\"version\":\"" OC_VERSION "\"}}"
#define VERSIONS "[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\",\"2025-03-26\",\"2024-11-05\"]"
#define TOOLS                                                                                                          \
	"\"tools\":[{\"description\":\"Says it\",\"inputSchema\":{\"additionalProperties\":false,\"properties\":"      \
	"{\"n\":{\"maximum\":9,\"type\":\"integer\"},\"text\":{\"type\":\"string\"}},\"required\":[\"text\"],"         \
	"\"type\":\"object\"},\"name\":\"echo\"},{\"description\":\"Asks\",\"inputSchema\":{\"type\":\"object\"},"     \
	"\"name\":\"ask\"}]"

#define REQ(id, method)     "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\"}\n"
#define REQP(id, method, p) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" p "}}\n"
#define NOTE(method, p)     "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":{" p "}}\n"
#define RES(id, r)          "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{" r "}}\n"
#define ERR(id, code, message)                                                                                         \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" message "\"}}\n"
#define CALL(id, name, more) REQP(id, "tools/call", "\"name\":\"" name "\"" more)
#define ECHO(id)             CALL(id, "echo", ",\"arguments\":{\"text\":\"x\"}")
#define TOOL_ERROR(text)     "\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}],\"isError\":true"
#define INIT(id, version)    REQP(id, "initialize", "\"protocolVersion\":\"" version "\"")
#define INIT_RES(id, version)                                                                                          \
	RES(id, "\"protocolVersion\":\"" version "\",\"capabilities\":{\"tools\":{}},\"serverInfo\":"                  \
	        "{\"name\":\"open-conduit\",\"version\":\"" OC_VERSION "\"},\"instructions\":\"Be kind.\"")

extern const char client_belt[];
/* A client and what happened to it. */
struct client {
	json_t *belt;
	struct oc_mcp *m;
	struct oc_buf out, events; /* sent; "call 1 echo {…}\n", "cancelled 1\n" */
	int refuse;                /* what send returns */
	const char *at_once;       /* calls are answered inside with this result */
};
extern const struct oc_mcp_ops client_ops;

void client_open(struct client *c);
void client_close(struct client *c);
void client_clear(struct oc_buf *b);
const char *client_text(const struct oc_buf *b);
/* What comes back for these lines, and nothing of what came before. */
const char *client_says(struct client *c, const char *lines);
void client_answer(struct client *c, uint64_t ticket, const char *result);
void client_initialize(struct client *c, const char *version);
/* {in, out} pairs, each to the same client. */
struct pair {
	const char *in, *out;
};
void client_pairs(struct client *c, const struct pair *p, size_t n);

#endif

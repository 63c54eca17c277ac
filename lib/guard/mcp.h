/* SPDX-License-Identifier: Apache-2.0 */
/* One MCP client of a run's toolbelt: the server's side of the protocol, tools only, every revision from 2024-11-05 to
 * 2026-07-28, which differ in who says hello and in what a result holds.  It reads what an agent writes, anything.  Pure:
 * no descriptor, no clock; bounded in what it holds, whatever comes.  JSON is that of base/json.h: where a message holds a
 * number with a fraction, or a text with U+0000, that value is taken nowhere, and the rest is read. */
#ifndef OC_GUARD_MCP_H
#define OC_GUARD_MCP_H

#include "base/json.h"
#include "wire/belt.h"

#define OC_MCP_LINE  (1u << 20) /* the longest message of a client, without its newline */
#define OC_MCP_SENT  (4u << 20) /* the longest of ours: clients read 10 MiB and no more */
#define OC_MCP_CALLS 64         /* in flight for one client; what is more gets a tool error */

struct oc_mcp;
struct oc_mcp_ops {
	/* One message with its newline.  Negative: there is no room for it, or nobody to read it; what is being fed returns
	 * that at once, and nothing more is sent.  A request of 60 bytes may ask for OC_MCP_BELT: keep a bound. */
	int (*send)(void *arg, const void *line, size_t len);
	/* A tool of the belt, with arguments that fit its schema (borrowed, an object).  Answered with oc_mcp_answer or
	 * oc_mcp_fail, later or inside. */
	void (*call)(void *arg, uint64_t ticket, const char *name, const json_t *arguments);
	/* Nobody waits for this one any more: an answer to it is not sent. */
	void (*cancelled)(void *arg, uint64_t ticket);
};

/* belt: {"instructions":text?,"tools":[{"name","description","inputSchema",…}]}, one that oc_mcp_belt_check took; borrowed,
 * outlives it.  Tickets are unique within one object, from 1 on.  No callback may free or feed it. */
int oc_mcp_new(const json_t *belt, const struct oc_mcp_ops *ops, void *arg, struct oc_mcp **out);
/* Calls nothing: whoever made it knows that nobody waits for its calls now.  NULL allowed. */
void oc_mcp_free(struct oc_mcp *m);

/* Bytes from the client, any split.  0, or negative, from then on: the connection is to be closed (OC_ELIMIT: a line over
 * OC_MCP_LINE; OC_ENOMEM; what send returned). */
int oc_mcp_feed(struct oc_mcp *m, const void *data, size_t len);

/* result: {"content":[…]?,"structuredContent":…?,"isError":bool?}, borrowed; other members are not sent.  What is no such
 * object, or too long, is a tool error that says so.  Unknown tickets are ignored.  0, or negative as from oc_mcp_feed. */
int oc_mcp_answer(struct oc_mcp *m, uint64_t ticket, const json_t *result);
/* The tool error with this text. */
int oc_mcp_fail(struct oc_mcp *m, uint64_t ticket, const char *message);
/* Reaches a client that gave a progressToken.  Strictly increasing is enforced here; total is left out where it isn't
 * positive, message where it is NULL.  Unknown tickets are ignored. */
int oc_mcp_progress(struct oc_mcp *m, uint64_t ticket, double progress, double total, const char *message);

size_t oc_mcp_pending(const struct oc_mcp *m); /* calls in flight */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The run's toolbelt, at the guard: a client of the protocol for each connection that the guest reports, and the calls they
 * make, numbered, waiting for a host's answer.
 *
 *   guest ─BELT_SAID─▶ oc_mcp ─▶ call n ─"call"─▶ host ─"answer"─▶ oc_mcp ─BELT_DATA─▶ guest
 *
 * A call outlives its client, because a host that got it acts: it goes with its answer, or, while no host is there, after
 * 60 s.  Who connects next gets all that wait; what it knows already it answers from its record. */
#ifndef OC_GUARD_BELT_H
#define OC_GUARD_BELT_H

#include "base/json.h"
#include "guest/channel.h"
#include "loop/loop.h"

#define OC_BELT_MCP_CLIENTS 16u
#define OC_BELT_CALLS       64u
#define OC_BELT_CALL_BYTES  (8u << 20) /* arguments of all that wait */

struct oc_guard;
struct oc_mcp;
struct oc_guard_client {
	struct oc_guard *guard;
	struct oc_mcp *mcp; /* NULL: free */
	uint32_t id;
	size_t unread; /* at most so much of it the guest has not taken */
};
struct oc_belt_call {
	uint64_t number; /* 0: free */
	uint32_t client;
	uint64_t ticket;
	char *name, *arguments;
	size_t bytes;
	int64_t until; /* while no host is there: when it is given up, by oc_mono_ms() */
	bool told;     /* to a host, which may have acted */
	bool waiting;  /* the present host has not been told */
};
struct oc_guard_belt {
	json_t *belt; /* NULL: this run has none */
	struct oc_guard_client clients[OC_BELT_MCP_CLIENTS];
	struct oc_belt_call calls[OC_BELT_CALLS];
	uint64_t numbers;
	uint32_t opened;
	size_t bytes;
	struct oc_source *timer;
};

/* belt: copied by reference; NULL: none. */
int oc_belt_begin(struct oc_guard *g, json_t *belt, oc_error **err);
void oc_belt_end(struct oc_guard *g);
/* Frames of the guest, in order.  NULL, or what is wrong with one. */
const char *oc_belt_frame(struct oc_guard *g, const struct oc_frame *frame);
/* A host came (it is told all that waits), or went. */
void oc_belt_hosted(struct oc_guard *g, bool hosted);
/* From the host: {"call","result":{…},"token"?} or {"call","error":"text"}, where a token of the guard's goes in as the member
 * "password" of what the result is the structure of; {"call","progress","total"?,"message"?}.  A call that isn't
 * there any more is no error: its client went, or another host answered. */
int oc_belt_answer(struct oc_guard *g, const json_t *params, oc_error **err);
int oc_belt_progress(struct oc_guard *g, const json_t *params, oc_error **err);

#endif

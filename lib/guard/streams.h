/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's three streams.  Output is always read, whoever listens; input is bounded and re-deliverable. */
#ifndef OC_GUARD_STREAMS_H
#define OC_GUARD_STREAMS_H

#include "base/json.h"
#include "guard/redact.h"
#include "loop/loop.h"

struct oc_guard;

#define OC_STDIN_QUEUE (1u << 20)

struct oc_streams {
	int in, out[2], agent[3]; /* agent: the ends that go to the guest */
	struct oc_source *in_source, *out_source[2];
	struct oc_redact_stream *redact[2]; /* NULL: the run has no secret to look for */
	struct oc_source *idle; /* of a terminal: what was held back of its output is waited for by a person */
	struct oc_buf queue;
	uint64_t accepted, end; /* end: offset of the end of input, or UINT64_MAX */
	bool in_closed;         /* nobody reads: what comes is accepted and dropped */
	bool read_since;        /* anything read since this was last cleared */
	/* one delivery waits for room */
	struct oc_conn *waiting;
	json_int_t waiting_id;
	void *waiting_data;
	size_t waiting_len;
};

void oc_streams_init(struct oc_streams *s);
int oc_streams_open(struct oc_guard *g, oc_error **err);
/* 0 accepted, 1: waits for room, the reply comes later by oc_streams_accepted(); negative: refused. */
int oc_streams_input(struct oc_guard *g, struct oc_conn *conn, json_int_t id, uint64_t offset, void *data_taken,
                     size_t len, oc_error **err);
int oc_streams_input_end(struct oc_guard *g, uint64_t offset, oc_error **err);
void oc_streams_forget(struct oc_streams *s, const struct oc_conn *conn); /* this connection is gone */
/* One more value to take out of what is recorded, from now on; slot: below OC_REDACT_LATER, whose last value it takes the place of. */
int oc_streams_redact(struct oc_guard *g, size_t slot, const char *name, const char *value, size_t len, oc_error **err);
bool oc_streams_output_open(const struct oc_streams *s);
void oc_streams_drain(struct oc_guard *g); /* read what is there now */
void oc_streams_close_input(struct oc_guard *g);
void oc_streams_close(struct oc_guard *g);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC 2.0, one message a line, over a stream socket on a loop.  Both sides may call.
 * Bounded: line length, calls outstanding, bytes waiting to be written; timed: every call.
 * A peer that breaks a bound or the protocol ends the connection with OC_EPROTO. */
#ifndef OC_WIRE_CONN_H
#define OC_WIRE_CONN_H

#include "base/json.h"
#include "loop/loop.h"

struct oc_conn;
struct oc_conn_ops {
	/* A request: answer now or later by id with reply or reply_error, exactly once.
	 * params is borrowed and may be NULL. */
	void (*request)(struct oc_conn *conn, json_int_t id, const char *method, const json_t *params, void *userdata);
	void (*notify)(struct oc_conn *conn, const char *method, const json_t *params, void *userdata);
	/* The connection is over (err NULL: the peer closed).  Outstanding calls have been
	 * failed first.  The owner frees the connection, here or later. */
	void (*closed)(struct oc_conn *conn, const oc_error *err, void *userdata);
};
struct oc_conn_limits {
	size_t max_line, max_pending_bytes;
	unsigned max_calls;
};
#define OC_CONN_LIMITS                                                                                                 \
	{                                                                                                              \
		4u << 20, 16u << 20, 64                                                                                \
	}

/* fd is taken on success, made non-blocking. */
int oc_conn_new(struct oc_loop *loop, int fd, const struct oc_conn_limits *limits, const struct oc_conn_ops *ops,
                void *userdata, struct oc_conn **out, oc_error **err);
void oc_conn_free(struct oc_conn *conn); /* NULL allowed; outstanding calls are dropped without a callback */

/* Exactly one of result and err is set, unless both are NULL (result JSON null). */
typedef void (*oc_reply_fn)(const json_t *result, const oc_error *err, void *userdata);
/* params is taken, also on failure; NULL: none.  timeout_ms < 0: none.  fn never runs inside the call; a call
 * out of time is answered OC_ETIME and still counts as outstanding until its answer came.  OC_ELIMIT (errno
 * ENOBUFS when the other side does not read): nothing was sent, the connection goes on. */
int oc_conn_call(struct oc_conn *conn, const char *method, json_t *params, int64_t timeout_ms, oc_reply_fn fn,
                 void *userdata, oc_error **err);
int oc_conn_notify(struct oc_conn *conn, const char *method, json_t *params, oc_error **err);
/* OC_EINVAL: no such request, or answered already; OC_ECLOSED; OC_ELIMIT: longer than a line may be (answer
 * with an error then).  Answers that the other side does not read end the connection. */
int oc_conn_reply(struct oc_conn *conn, json_int_t id, json_t *result_taken);
int oc_conn_reply_error(struct oc_conn *conn, json_int_t id, const oc_error *error);
size_t oc_conn_pending(const struct oc_conn *conn); /* bytes not yet accepted by the kernel */
pid_t oc_conn_peer_pid(const struct oc_conn *conn);

#endif

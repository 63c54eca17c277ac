/* SPDX-License-Identifier: Apache-2.0 */
/* guard.sock.  The newest connection that said hello with the right digest owns the run; whoever only connects, or talks
 * nonsense, disturbs nobody. */
#ifndef OC_GUARD_SERVER_H
#define OC_GUARD_SERVER_H

#include "base/json.h"
#include "loop/loop.h"
#include "wire/conn.h"

struct oc_guard;
#define OC_SERVER_CLIENTS 8

struct oc_client {
	struct oc_guard *guard;
	struct oc_conn *conn;
	struct oc_source *deadline; /* for its hello */
};
struct oc_server {
	int fd;
	struct oc_source *source, *output_timer;
	struct oc_client clients[OC_SERVER_CLIENTS];
	struct oc_client *owner;
	uint64_t told; /* position of the last output notification */
};

int oc_server_open(struct oc_guard *g, oc_error **err);
void oc_server_close(struct oc_guard *g);
bool oc_server_hosted(const struct oc_server *s);
void oc_server_state(struct oc_guard *g);   /* tell the owner the state */
void oc_server_output(struct oc_server *s); /* tell it how far the journal is, at leisure */
void oc_server_accepted(struct oc_conn *conn, json_int_t id, uint64_t accepted);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The way from the agent to the run's toolbelt: a socket inside the sandbox, whose connections go over the channel to the
 * guard, which speaks the protocol.  Here are only bytes.  Bounded: connections, what waits for a client that doesn't read,
 * and, by who calls, what waits for the guard. */
#ifndef OC_GUEST_BELT_H
#define OC_GUEST_BELT_H

#include "guest/link.h"

#include <poll.h>

#define OC_BELT_CLIENTS 16u
#define OC_BELT_OUT_MAX (8u << 20) /* a client that leaves more unread is let go */

struct oc_belt {
	int listener; /* -1: there is none */
	uint32_t next;
	struct oc_belt_client {
		int fd; /* -1: free */
		uint32_t id;
		struct oc_queue out;
	} clients[OC_BELT_CLIENTS];
};

void oc_belt_init(struct oc_belt *b);
void oc_belt_free(struct oc_belt *b);
/* Listen at an absolute path, or at a decimal port of this network namespace's own loopback.  0 or -errno. */
int oc_belt_listen(struct oc_belt *b, const char *address);
/* What to wait for, at most 1 + OC_BELT_CLIENTS; room: the channel takes more.  The number of entries. */
size_t oc_belt_poll(const struct oc_belt *b, struct pollfd *p, bool room);
/* After the wait, with the same entries.  0 or -ENOMEM. */
int oc_belt_turn(struct oc_belt *b, const struct pollfd *p, struct oc_link *channel);
/* BELT_DATA or BELT_CLOSE from the guard.  0, or -EPROTO. */
int oc_belt_take(struct oc_belt *b, const struct oc_frame *f, struct oc_link *channel);

/* The same address, from the client's side: a connected descriptor or -errno. */
int oc_belt_connect(const char *address);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* One end of a channel: a stream socket, what has been read of it and what still has to go out.
 * Never blocks but in oc_link_drain(), and there no longer than it is told. */
#ifndef OC_GUEST_LINK_H
#define OC_GUEST_LINK_H

#include "guest/channel.h"
#include "guest/queue.h"

#define OC_LINK_FDS  3            /* what GO carries */
#define OC_LINK_HIGH (256u << 10) /* stop producing above this */

struct oc_link {
	int fd;
	bool ended; /* the other side closed it, or it broke */
	struct oc_frame_reader in;
	struct oc_queue out;
	int fds[OC_LINK_FDS];
	unsigned n_fds;
};

/* Takes fd, which must be a socket. */
void oc_link_init(struct oc_link *l, int fd);
void oc_link_free(struct oc_link *l);
/* Read what is there: 1 something came, 0 nothing now or the end (l->ended), -EPROTO for descriptors
 * that were not asked for, -ENOMEM. */
int oc_link_read(struct oc_link *l);
/* Forget (and close) descriptors that came and nobody took. */
void oc_link_drop_fds(struct oc_link *l);
/* Queue a frame of two parts (either may be empty); 0, -ENOMEM, -EMSGSIZE. */
int oc_link_queue(struct oc_link *l, enum oc_frame_type type, const void *a, size_t a_len, const void *b, size_t b_len);
/* Send what goes without waiting. */
void oc_link_flush(struct oc_link *l);
size_t oc_link_pending(const struct oc_link *l);
/* Send all, waiting at most ms (negative: until the other side reads or goes); true: all is out. */
bool oc_link_drain(struct oc_link *l, int ms);

#endif

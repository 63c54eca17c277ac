/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that wait for a socket which takes them when it can. */
#ifndef OC_GUEST_QUEUE_H
#define OC_GUEST_QUEUE_H

#include <stddef.h>

struct oc_queue {
	unsigned char *data;
	size_t len, off, cap;
};

void oc_queue_free(struct oc_queue *q);
size_t oc_queue_pending(const struct oc_queue *q);
/* Room for more behind what waits, at data + len: 0 or -ENOMEM. */
int oc_queue_reserve(struct oc_queue *q, size_t more);
/* Into room that is there. */
void oc_queue_put(struct oc_queue *q, const void *data, size_t len);
/* Send what goes without waiting: 0, or -errno where nothing will ever go. */
int oc_queue_send(struct oc_queue *q, int fd);

#endif

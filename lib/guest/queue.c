/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void oc_queue_free(struct oc_queue *q)
{
	free(q->data);
	memset(q, 0, sizeof(*q));
}

size_t oc_queue_pending(const struct oc_queue *q)
{
	return q->len - q->off;
}

int oc_queue_reserve(struct oc_queue *q, size_t more)
{
	size_t cap = q->cap ? q->cap : 4096;
	unsigned char *data;

	if (q->off) {
		memmove(q->data, q->data + q->off, q->len - q->off);
		q->len -= q->off;
		q->off = 0;
	}
	if (q->len + more <= q->cap)
		return 0;
	while (cap < q->len + more)
		cap *= 2;
	data = realloc(q->data, cap);
	if (!data)
		return -ENOMEM;
	q->data = data;
	q->cap = cap;
	return 0;
}

void oc_queue_put(struct oc_queue *q, const void *data, size_t len)
{
	if (len)
		memcpy(q->data + q->len, data, len);
	q->len += len;
}

int oc_queue_send(struct oc_queue *q, int fd)
{
	while (oc_queue_pending(q)) {
		ssize_t n = send(fd, q->data + q->off, oc_queue_pending(q), MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		q->off += (size_t)n;
	}
	return 0;
}

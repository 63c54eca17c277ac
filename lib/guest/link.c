/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/link.h"

#include "guest/text.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void oc_link_init(struct oc_link *l, int fd)
{
	memset(l, 0, sizeof(*l));
	l->fd = fd;
	oc_frame_reader_init(&l->in);
}

void oc_link_drop_fds(struct oc_link *l)
{
	while (l->n_fds)
		close(l->fds[--l->n_fds]);
}

void oc_link_free(struct oc_link *l)
{
	oc_link_drop_fds(l);
	oc_frame_reader_free(&l->in);
	oc_queue_free(&l->out);
	if (l->fd >= 0)
		close(l->fd);
	oc_link_init(l, -1);
}

static int take_fds(struct oc_link *l, struct msghdr *msg)
{
	int result = msg->msg_flags & MSG_CTRUNC ? -EPROTO : 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (l->n_fds < OC_LINK_FDS) {
				l->fds[l->n_fds++] = fd;
			} else {
				close(fd);
				result = -EPROTO;
			}
		}
	}
	return result;
}

int oc_link_read(struct oc_link *l)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int) * (OC_LINK_FDS + 1))];
	} control;
	unsigned char buf[16384];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	ssize_t n = recvmsg(l->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int result;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		l->ended = true;
		return 0;
	}
	result = take_fds(l, &msg);
	if (!result)
		result = oc_frame_feed(&l->in, buf, (size_t)n);
	oc_wipe(buf, (size_t)n);
	return result < 0 ? result : 1;
}

int oc_link_queue(struct oc_link *l, enum oc_frame_type type, const void *a, size_t a_len, const void *b, size_t b_len)
{
	unsigned char head[OC_FRAME_HEADER];

	if (a_len > OC_FRAME_MAX || b_len > OC_FRAME_MAX - a_len)
		return -EMSGSIZE;
	if (oc_queue_reserve(&l->out, sizeof(head) + a_len + b_len) < 0)
		return -ENOMEM;
	oc_frame_header(head, type, (uint32_t)(a_len + b_len));
	oc_queue_put(&l->out, head, sizeof(head));
	oc_queue_put(&l->out, a, a_len);
	oc_queue_put(&l->out, b, b_len);
	return 0;
}

size_t oc_link_pending(const struct oc_link *l)
{
	return oc_queue_pending(&l->out);
}

void oc_link_flush(struct oc_link *l)
{
	if (!l->ended && oc_queue_send(&l->out, l->fd) < 0)
		l->ended = true;
}

bool oc_link_drain(struct oc_link *l, int ms)
{
	uint64_t end = oc_now_ns() + (uint64_t)(ms < 0 ? 0 : ms) * 1000000u;

	for (;;) {
		struct pollfd p = { l->fd, POLLOUT, 0 };
		uint64_t now;

		oc_link_flush(l);
		if (l->ended || !oc_link_pending(l))
			return !l->ended;
		now = oc_now_ns();
		if (ms >= 0 && now >= end)
			return false;
		if (poll(&p, 1, ms < 0 ? -1 : (int)((end - now) / 1000000u) + 1) < 0 && errno != EINTR)
			return false;
	}
}

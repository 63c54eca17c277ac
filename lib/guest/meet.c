/* SPDX-License-Identifier: Apache-2.0 */
/* Where no descriptor is inherited: in a container, the folder of a socket is mounted, and what listens there hands over the
 * channel to the first that comes and is who it should be. */
#include "guest/enter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_to(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || strlen(path) >= sizeof(at.sun_path)) {
		if (fd >= 0)
			close(fd);
		return fd < 0 ? -errno : -ENAMETOOLONG;
	}
	memcpy(at.sun_path, path, strlen(path) + 1);
	if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0) {
		int err = errno;

		close(fd);
		return -err;
	}
	return fd;
}

/* The descriptor, or -errno. */
static int receive(int from)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	const struct cmsghdr *c;
	ssize_t n;
	int fd;

	do {
		n = recvmsg(from, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	c = CMSG_FIRSTHDR(&msg);
	if (n != 1 || msg.msg_flags & MSG_CTRUNC || !c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(sizeof(fd)))
		return -EPROTO;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

int oc_guest_meet(const char *path)
{
	int at = connect_to(path), fd = at < 0 ? at : receive(at);

	if (at >= 0)
		close(at);
	if (fd < 0)
		fprintf(stderr, "open-conduit-guest: no channel at %s: %s\n", path, strerror(-fd));
	return fd;
}

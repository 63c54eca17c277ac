/* SPDX-License-Identifier: Apache-2.0 */
/* Path sockets that take what strangers send, by sock_diag(7).  /proc/net/unix would be shorter, but a name with a line
 * end in it writes lines of its own there: it serves only where the kernel has no unix_diag. */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <openconduit/error.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/os.h"

#define STATE_LISTEN 10      /* TCP_LISTEN, which unix sockets share */
#define STATE_CLOSE  7       /* TCP_CLOSE: bound; of a datagram socket, open to everyone */
#define ACCEPTCON    0x10000 /* __SO_ACCEPTCON in the flags of /proc/net/unix */
#define UNCONNECTED  1       /* SS_UNCONNECTED in its column St */
#define PROC_MAX     (16u << 20)

static int add_path(struct oc_strv *paths, const char *name, size_t len)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];
	int rc;

	/* Abstract names begin with NUL and have no place in the file system; a relative one was
	 * bound from a directory that nobody recorded. */
	if (len == 0 || len >= sizeof(path) || name[0] != '/')
		return 0;
	memcpy(path, name, len);
	path[len] = '\0';
	if (oc_strv_has(paths, path))
		return 0;
	rc = oc_strv_add(paths, path);
	return rc == 0 ? 0 : rc == OC_ENOMEM ? -ENOMEM : -EFBIG;
}

static int add_message(struct oc_strv *paths, struct nlmsghdr *h)
{
	struct unix_diag_msg *msg = NLMSG_DATA(h);
	struct rtattr *attr = (struct rtattr *)(msg + 1);
	int len = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof(*msg)));

	if (msg->udiag_state != STATE_LISTEN && msg->udiag_type != SOCK_DGRAM)
		return 0;
	for (; RTA_OK(attr, len); attr = RTA_NEXT(attr, len))
		if (attr->rta_type == UNIX_DIAG_NAME)
			return add_path(paths, RTA_DATA(attr), RTA_PAYLOAD(attr));
	return 0;
}

/* 1: done, 0: more to come. */
static int add_batch(struct oc_strv *paths, struct nlmsghdr *h, unsigned len)
{
	int rc = 0;

	for (; NLMSG_OK(h, len) && rc == 0; h = NLMSG_NEXT(h, len)) {
		if (h->nlmsg_flags & NLM_F_DUMP_INTR)
			return -EAGAIN;
		if (h->nlmsg_type == NLMSG_DONE)
			return 1;
		if (h->nlmsg_type == NLMSG_ERROR)
			return h->nlmsg_len >= NLMSG_LENGTH(sizeof(struct nlmsgerr))
			               ? ((struct nlmsgerr *)NLMSG_DATA(h))->error
			               : -EPROTO;
		if (h->nlmsg_type == SOCK_DIAG_BY_FAMILY && h->nlmsg_len >= NLMSG_LENGTH(sizeof(struct unix_diag_msg)))
			rc = add_message(paths, h);
	}
	return rc;
}

static int receive(int fd, struct oc_strv *paths)
{
	union {
		struct nlmsghdr header;
		char bytes[32768];
	} block;
	int rc = 0;

	while (rc == 0) {
		struct sockaddr_nl from = { 0 };
		socklen_t from_len = sizeof(from);
		ssize_t n = recvfrom(fd, &block, sizeof(block), MSG_TRUNC, (struct sockaddr *)&from, &from_len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0 || n > (ssize_t)sizeof(block))
			return -EPROTO;
		/* Only the kernel is pid 0; others may send to us too. */
		if (from.nl_pid == 0)
			rc = add_batch(paths, &block.header, (unsigned)n);
	}
	return rc;
}

static int by_sock_diag(struct oc_strv *paths)
{
	struct {
		struct nlmsghdr header;
		struct unix_diag_req req;
	} ask = {
		.header = { .nlmsg_len = sizeof(ask),
		            .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		            .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.req = { .sdiag_family = AF_UNIX,
		         .udiag_states = 1u << STATE_LISTEN | 1u << STATE_CLOSE,
		         .udiag_show = UDIAG_SHOW_NAME },
	};
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	const struct timeval patience = { .tv_sec = 5 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG), rc;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
	    sendto(fd, &ask, sizeof(ask), MSG_NOSIGNAL, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		rc = -errno;
	else
		rc = receive(fd, paths);
	oc_close(fd);
	return rc < 0 ? rc : 0;
}

/* "Num: RefCount Protocol Flags Type St Inode Path" */
static int add_line(struct oc_strv *paths, const char *line)
{
	unsigned flags, type, state;
	int at = 0;

	if (sscanf(line, "%*x: %*x %*x %x %x %x %*u %n", &flags, &type, &state, &at) != 3 || !at)
		return 0;
	if (!(flags & ACCEPTCON) && (type != SOCK_DGRAM || state != UNCONNECTED))
		return 0;
	return add_path(paths, line + at, strlen(line + at));
}

static int by_proc(struct oc_strv *paths)
{
	struct oc_buf text;
	char *save = NULL;
	int rc;

	oc_buf_init(&text, PROC_MAX);
	rc = oc_read_file(-1, "/proc/net/unix", PROC_MAX, &text);
	if (rc == 0 && text.data)
		for (char *l = strtok_r(text.data, "\n", &save); l && rc == 0; l = strtok_r(NULL, "\n", &save))
			rc = add_line(paths, l);
	oc_buf_free(&text);
	return rc;
}

int oc_os_listening_sockets(struct oc_strv *paths)
{
	int rc = by_sock_diag(paths);

	/* The table changed while it was read: once more, then it is good enough. */
	if (rc == -EAGAIN)
		rc = by_sock_diag(paths);
	return rc < 0 && rc != -ENOMEM && rc != -EFBIG ? by_proc(paths) : rc;
}

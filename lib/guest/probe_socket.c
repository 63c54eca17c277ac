/* SPDX-License-Identifier: Apache-2.0 */
/* Unix sockets that have a path.  Connecting is all: nothing is sent, and the connection is closed at once. */
#include "guest/probe_net.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

static int try_connect(int type, const struct sockaddr_un *a, socklen_t len)
{
	int fd = oc_net_socket(AF_UNIX, type), err;

	if (fd < 0)
		return fd;
	err = connect(fd, (const struct sockaddr *)a, len) < 0 ? -errno : 0;
	close(fd);
	return err;
}

/* The address of a path of any length; *via keeps open what a long one is reached through. */
static int unix_address(const char *path, struct sockaddr_un *a, socklen_t *len, int *via)
{
	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	*via = -1;
	if (strlen(path) < sizeof(a->sun_path)) {
		memcpy(a->sun_path, path, strlen(path));
	} else {
		*via = open(path, O_PATH | O_CLOEXEC);
		if (*via < 0)
			return -errno;
		snprintf(a->sun_path, sizeof(a->sun_path), "/proc/self/fd/%d", *via);
	}
	*len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(a->sun_path) + 1);
	return 0;
}

/* ENOENT by the detour through /proc would only say that there is no /proc. */
static bool out_of_reach(int err, bool detour)
{
	return err == EACCES || err == EPERM || err == ECONNREFUSED || err == EAFNOSUPPORT ||
	       (!detour && (err == ENOENT || err == ENOTDIR || err == ELOOP));
}

static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM };

bool oc_probe_no_socket(struct oc_probe_run *run, const struct oc_probe *p, char *detail)
{
	struct sockaddr_un a;
	socklen_t len;
	int via, err = unix_address(p->args.v[0], &a, &len, &via);
	bool ok = err ? out_of_reach(-err, false) : true, detour = via >= 0;

	(void)run;
	if (err)
		oc_probe_say_errno(detail, p->args.v[0], -err);
	for (size_t i = 0; ok && !err && i < sizeof(types) / sizeof(types[0]); i++) {
		int one = try_connect(types[i], &a, len);

		/* EPROTOTYPE: someone listens, only not for this type; EAGAIN: its queue is full. */
		ok = one < 0 && out_of_reach(-one, detour);
		if (one < 0)
			oc_probe_say_errno(detail, p->args.v[0], -one);
		else
			oc_probe_say(detail, "connected to %.300s", p->args.v[0]);
	}
	if (via >= 0)
		close(via);
	return ok;
}

/* EPROTOTYPE: it is there, of another type. */
static int connect_any(const struct sockaddr_un *a, socklen_t len)
{
	int err = -EPROTOTYPE;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]) && err == -EPROTOTYPE; i++)
		err = try_connect(types[i], a, len);
	return err;
}

bool oc_probe_socket(struct oc_probe_run *run, const struct oc_probe *p, char *detail)
{
	struct sockaddr_un a;
	socklen_t len;
	int via, err = unix_address(p->args.v[0], &a, &len, &via);

	(void)run;
	if (!err)
		err = connect_any(&a, len);
	if (via >= 0)
		close(via);
	if (err)
		oc_probe_say_errno(detail, p->args.v[0], -err);
	else
		oc_probe_say(detail, "connected to %.300s", p->args.v[0]);
	return !err;
}

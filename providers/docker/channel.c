/* SPDX-License-Identifier: Apache-2.0 */
#include "channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int open_folder(const char *live, const char *folder, struct refusal *r)
{
	cleanup_free char *path = format("%s/%s", live, folder);
	struct stat st;
	int fd;

	if (!path)
		return no_memory(r);
	fd = mkdir(path, 0700) < 0 && errno != EEXIST ? -1 : open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return refuse(r, "sandbox_unavailable", path, NULL, "%s can't be made: %s", path, strerror(errno));
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 077))
		return fd;
	close(fd);
	return refuse(r, "sandbox_unavailable", path, NULL, "%s is not this user's alone", path);
}

/* By the folder's descriptor: a state directory may be deeper than an address is long. */
static int bind_in(int folder, int socket)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	(void)unlinkat(folder, "sock", 0);
	(void)snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/sock", folder);
	if (bind(socket, (const struct sockaddr *)&at, sizeof(at)) < 0 || fchmodat(folder, "sock", 0600, 0) < 0)
		return -1;
	return listen(socket, 8);
}

int channel_listen(const char *live, const char *folder, struct refusal *r)
{
	int dir = open_folder(live, folder, r), fd;

	if (dir < 0)
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind_in(dir, fd) < 0) {
		refuse(r, "sandbox_unavailable", folder, NULL, "%s/%s/sock can't be made: %s", live, folder,
		       strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	close(dir);
	return fd;
}

int channel_accept(int listener, pid_t pid)
{
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct ucred peer;
		socklen_t len = sizeof(peer);

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			return -1;
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.pid == pid &&
		    peer.uid == geteuid())
			return fd;
		close(fd);
	}
}

void channel_last_words(int listener, char *out, size_t size)
{
	int fd = listener < 0 ? -1 : accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : recv(fd, out, size - 1, 0), i;

	for (i = 0; i < n && out[i] >= 0x20 && out[i] < 0x7f; i++)
		;
	out[i] = '\0';
	if (fd >= 0)
		close(fd);
}

int channel_send(int socket, int fd)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char byte = 'C';
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof(control.space)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	ssize_t n;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	do
		n = sendmsg(socket, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : -1;
}

void channel_close(const char *live, const char *folder, int *listener)
{
	cleanup_free char *path = format("%s/%s/sock", live, folder);

	if (*listener < 0)
		return;
	if (path)
		(void)unlink(path);
	close(*listener);
	*listener = -1;
}

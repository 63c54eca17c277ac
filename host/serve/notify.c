/* SPDX-License-Identifier: Apache-2.0 */
/* sd_notify(3) as far as Type=notify needs it: one datagram. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve.h"

void serve_notify(const char *text)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = name ? strlen(name) : 0;
	int fd;

	if (len < 2 || len >= sizeof(to.sun_path) || (*name != '/' && *name != '@'))
		return;
	memcpy(to.sun_path, name, len);
	if (*name == '@')
		to.sun_path[0] = 0; /* the abstract namespace's */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	(void)!sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&to,
	              (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/mcp.h"

#include "guest/belt.h"
#include "guest/text.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK 65536u

/* Blocking on purpose: who doesn't read what it asked for is not read either, and nothing is kept here. */
static bool copy(int from, int to)
{
	unsigned char data[CHUNK];
	ssize_t n = read(from, data, sizeof(data)), done = 0;

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	while (done < n) {
		ssize_t w = write(to, data + done, (size_t)(n - done));

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return false;
		done += w;
	}
	return n > 0;
}

int oc_guest_mcp(const char *address)
{
	int fd = oc_belt_connect(address);
	struct pollfd p[2] = { { 0, POLLIN, 0 }, { fd, POLLIN, 0 } };
	char name[16];

	if (fd < 0) {
		fprintf(stderr, "open-conduit-guest: no toolbelt at %s: %s\n", address,
		        oc_errno_name(-fd, name, sizeof(name)));
		return 1;
	}
	for (;;) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return 1;
		if (p[1].revents && !copy(fd, 1))
			return 0;
		if (p[0].revents && !copy(0, fd))
			return 0;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* open-conduit-relay LISTEN CONNECT: srt's relay between its sandbox and its proxy, in place of socat (`socatPath` of its
 * settings).  socat forks for every connection, is dynamic, and loses the half close; srt sleeps 100 ms when its relay
 * doesn't listen at once.  It runs on both sides of the sandbox's wall, so it is small, holds no secret, does nothing
 * but copy between two sockets (and wake the proxy once), and dies with what started it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "pump.h"

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "open-conduit-relay: %s: %s\n", what, why);
	return 1;
}

static int open_listener(const struct relay_address *at)
{
	const int yes = 1, no = 0;
	int family = at->at.any.sa_family, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (family != AF_UNIX && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0)
		return -1;
	if (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)) < 0)
		return -1;
	if (bind(fd, &at->at.any, at->len) < 0)
		return -1;
	return listen(fd, at->backlog ? at->backlog : SOMAXCONN) < 0 ? -1 : fd;
}

/* Each connection takes two. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* node compiles what answers a connection when the first one comes, and the first is the guest's question whether the proxy
 * refuses.  One that nobody waits for, without the credential and so refused in any case, takes that time while the
 * sandbox is still being built.  The descriptor stays: an answer to a closed one would be an error of the proxy's. */
static void wake_proxy(const struct relay_address *to)
{
	static const char ask[] = "CONNECT 0.0.0.0:1 HTTP/1.1\r\nHost: 0.0.0.0:1\r\n\r\n";
	int fd = to->at.any.sa_family == AF_UNIX ? -1 : socket(to->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, &to->at.any, to->len) == 0)
		(void)send(fd, ask, sizeof(ask) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int main(int argc, char **argv)
{
	struct relay_address at, to;
	const char *wrong;
	struct relay *relay;
	int listener;

	if (argc == 2 && !strcmp(argv[1], "--version"))
		return puts("open-conduit-relay " OC_VERSION) < 0;
	if (argc != 3) {
		fputs("usage: open-conduit-relay LISTEN CONNECT | --version\nIt is started by srt.\n", stderr);
		return 2;
	}
	if ((wrong = relay_parse_listen(argv[1], &at)))
		return fail(argv[1], wrong);
	if ((wrong = relay_parse_connect(argv[2], &to)))
		return fail(argv[2], wrong);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return fail("prctl", strerror(errno));
	allow_descriptors();
	listener = open_listener(&at);
	if (listener < 0)
		return fail(argv[1], strerror(errno));
	relay = relay_new(listener, &to);
	if (!relay)
		return fail("epoll", strerror(errno));
	wake_proxy(&to);
	while (relay_step(relay, -1) >= 0)
		;
	return fail("epoll", strerror(errno));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "reach.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESSES_MAX 32
#define ANSWER_MS     1000

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static int listen_everywhere(struct reach *reach)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_addr = in6addr_any };
	struct sockaddr_in at4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY) };
	socklen_t len = sizeof(at);
	int off = 0;

	reach->listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (reach->listener >= 0 && setsockopt(reach->listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0 &&
	    bind(reach->listener, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(reach->listener, SOMAXCONN) == 0 &&
	    getsockname(reach->listener, (struct sockaddr *)&at, &len) == 0) {
		reach->port = ntohs(at.sin6_port);
		return 0;
	}
	/* A machine without IPv6. */
	reach_close(reach);
	len = sizeof(at4);
	reach->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (reach->listener < 0 || bind(reach->listener, (struct sockaddr *)&at4, sizeof(at4)) < 0 ||
	    listen(reach->listener, SOMAXCONN) < 0 || getsockname(reach->listener, (struct sockaddr *)&at4, &len) < 0)
		return -1;
	reach->port = ntohs(at4.sin_port);
	return 0;
}

static bool answers(const struct sockaddr *from, unsigned port)
{
	union address to = { 0 };
	socklen_t len = from->sa_family == AF_INET ? sizeof(to.v4) : sizeof(to.v6), size = sizeof(int);
	struct pollfd p = { .events = POLLOUT };
	int err = 0;

	memcpy(&to, from, len);
	if (from->sa_family == AF_INET)
		to.v4.sin_port = htons((uint16_t)port);
	else
		to.v6.sin6_port = htons((uint16_t)port);
	p.fd = socket(from->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p.fd < 0)
		return false;
	if (connect(p.fd, &to.any, len) < 0)
		err = errno;
	if (err == EINPROGRESS &&
	    (poll(&p, 1, ANSWER_MS) != 1 || getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &err, &size) < 0))
		err = ETIMEDOUT;
	close(p.fd);
	return err == 0;
}

/* Loopback is another one in a container, and so are the addresses of a link. */
static bool is_wanted(const struct ifaddrs *a)
{
	if (!a->ifa_addr || a->ifa_flags & IFF_LOOPBACK || !(a->ifa_flags & IFF_UP))
		return false;
	if (a->ifa_addr->sa_family == AF_INET6)
		return !IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)(const void *)a->ifa_addr)->sin6_addr);
	return a->ifa_addr->sa_family == AF_INET;
}

static bool add(struct reach *reach, const struct sockaddr *address)
{
	char text[INET6_ADDRSTRLEN];
	const void *raw = address->sa_family == AF_INET
	                          ? (const void *)&((const struct sockaddr_in *)(const void *)address)->sin_addr
	                          : (const void *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;

	return inet_ntop(address->sa_family, raw, text, sizeof(text)) && list_add(&reach->addresses, text);
}

int reach_open(struct reach *out, struct refusal *r)
{
	struct ifaddrs *all, *a;
	bool good = true;

	if (listen_everywhere(out) < 0 || getifaddrs(&all) < 0)
		return refuse(r, "sandbox_unavailable", "network", NULL,
		              "this machine's addresses can't be listened at: %s", strerror(errno));
	for (a = all; good && a && out->addresses.n < ADDRESSES_MAX; a = a->ifa_next)
		if (is_wanted(a) && answers(a->ifa_addr, out->port))
			good = add(out, a->ifa_addr);
	freeifaddrs(all);
	return good ? 0 : no_memory(r);
}

void reach_close(struct reach *reach)
{
	if (reach->listener >= 0)
		close(reach->listener);
	reach->listener = -1;
	list_free(&reach->addresses);
}

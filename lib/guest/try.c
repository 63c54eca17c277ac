/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/try.h"

#include "guest/enter.h"
#include "guest/probe_net.h"
#include "guest/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALL_S      60   /* then the kernel ends this process */
#define CONNECT_MS 2000 /* a way out that is slow is one too */
#define SUBNET_MS  1500 /* an address that nobody has is asked for on the link for longer than that */
#define SUBNET_MAX 64
#define ANSWER_MS  5000

static int wait_for(int fd, short events, int ms)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, ms);
}

static void say_no(int err, char *out, size_t size)
{
	char buf[16];

	(void)snprintf(out, size, "no %s", oc_errno_name(err, buf, sizeof(buf)));
}

static void try_read(const char *path, char *out, size_t size)
{
	char text[256];
	long n = oc_read_small(path, text, sizeof(text));

	if (n < 0) {
		say_no((int)-n, out, size);
		return;
	}
	text[strcspn(text, "\n")] = '\0';
	oc_printable(text);
	(void)snprintf(out, size, "yes %s", text);
}

/* The connected descriptor, or -errno; ETIMEDOUT: nobody refused. */
static int connect_within(const char *address, const char *port, int ms)
{
	union address to;
	socklen_t len;
	int fd, err = 0;

	if (!oc_net_parse(address, port, &to, &len))
		return -EINVAL;
	fd = oc_net_socket(to.any.sa_family, SOCK_STREAM);
	if (fd < 0)
		return fd;
	if (connect(fd, &to.any, len) < 0)
		err = errno;
	if (err == EINPROGRESS)
		err = wait_for(fd, POLLOUT, ms) > 0 ? oc_net_connect_error(fd) : ETIMEDOUT;
	if (!err)
		return fd;
	close(fd);
	return -err;
}

static void try_tcp(char *arg, char *out, size_t size)
{
	char *port = strchr(arg, ',');
	int fd;

	if (port)
		*port++ = '\0';
	fd = port ? connect_within(arg, port, CONNECT_MS) : -EINVAL;
	if (fd < 0) {
		say_no(-fd, out, size);
		return;
	}
	(void)snprintf(out, size, "yes connected");
	close(fd);
}

/* Begun to each address of the network that a has, but its own. */
static size_t start_subnet(const struct ifaddrs *a, uint16_t port, struct pollfd *p, size_t n)
{
	struct sockaddr_in own, mask, to = { .sin_family = AF_INET, .sin_port = htons(port) };
	uint32_t first, last, at;

	memcpy(&own, a->ifa_addr, sizeof(own));
	memcpy(&mask, a->ifa_netmask, sizeof(mask));
	first = ntohl(own.sin_addr.s_addr & mask.sin_addr.s_addr);
	last = ntohl(own.sin_addr.s_addr | ~mask.sin_addr.s_addr);
	for (at = first; at <= last && at >= first && n < SUBNET_MAX; at++) {
		to.sin_addr.s_addr = htonl(at);
		if (to.sin_addr.s_addr == own.sin_addr.s_addr)
			continue;
		p[n].fd = oc_net_socket(AF_INET, SOCK_STREAM);
		p[n].events = POLLOUT;
		if (p[n].fd < 0)
			continue;
		/* One that is over at once would look connected. */
		if (connect(p[n].fd, (struct sockaddr *)&to, sizeof(to)) == 0 || errno == EINPROGRESS)
			n++;
		else
			close(p[n].fd);
	}
	return n;
}

/* Whether any of them was connected in time. */
static bool any_connected(struct pollfd *p, size_t n)
{
	uint64_t until = oc_now_ns() + SUBNET_MS * 1000000ull, now;
	bool connected = false;
	size_t open = n;

	while (open && !connected && (now = oc_now_ns()) < until) {
		if (poll(p, n, (int)((until - now) / 1000000u) + 1) <= 0)
			continue;
		for (size_t i = 0; i < n; i++) {
			if (p[i].fd < 0 || !p[i].revents)
				continue;
			connected = connected || oc_net_connect_error(p[i].fd) == 0;
			close(p[i].fd);
			p[i].fd = -1;
			open--;
		}
	}
	for (size_t i = 0; i < n; i++)
		if (p[i].fd >= 0)
			close(p[i].fd);
	return connected;
}

static void try_subnet(const char *port, char *out, size_t size)
{
	struct pollfd p[SUBNET_MAX] = { 0 };
	struct ifaddrs *list, *a;
	uint64_t number;
	size_t n = 0;

	if (!oc_parse_u64(port, &number) || getifaddrs(&list) < 0) {
		(void)snprintf(out, size, "error");
		return;
	}
	for (a = list; a; a = a->ifa_next)
		if (a->ifa_addr && a->ifa_netmask && a->ifa_addr->sa_family == AF_INET &&
		    !(a->ifa_flags & IFF_LOOPBACK))
			n = start_subnet(a, (uint16_t)number, p, n);
	freeifaddrs(list);
	(void)snprintf(out, size, "%s %zu addresses", any_connected(p, n) ? "yes" : "no", n);
}

/* The proxy of the environment: "http://ADDRESS:PORT", an IPv6 address in brackets. */
static int connect_proxy(void)
{
	const char *text = getenv("HTTP_PROXY");
	char copy[128], *address = copy, *port;

	if (!text || strncmp(text, "http://", 7) != 0)
		return -ENOENT;
	(void)snprintf(copy, sizeof(copy), "%s", text + 7);
	port = strrchr(copy, ':');
	if (!port)
		return -EINVAL;
	*port++ = '\0';
	port[strcspn(port, "/")] = '\0';
	if (*address == '[') {
		address++;
		address[strcspn(address, "]")] = '\0';
	}
	return connect_within(address, port, ANSWER_MS);
}

static void try_proxy(const char *target, char *out, size_t size)
{
	char text[512];
	int fd = connect_proxy(), len;
	ssize_t n = -1;

	if (fd < 0) {
		say_no(-fd, out, size);
		return;
	}
	len = snprintf(text, sizeof(text), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target);
	if (len < (int)sizeof(text) && send(fd, text, (size_t)len, MSG_NOSIGNAL) == len &&
	    wait_for(fd, POLLIN, ANSWER_MS) > 0)
		n = recv(fd, text, sizeof(text) - 1, 0);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	oc_printable(text);
	(void)snprintf(out, size, "%s %s", n > 0 ? "yes" : "no", n > 0 ? text : "answer");
}

/* True: there was an answer with records in it. */
static bool ask(const char *server, const unsigned char *query, size_t len)
{
	unsigned char r[512];
	union address to;
	socklen_t to_len;
	ssize_t n = -1;
	int fd;

	if (!oc_net_parse(server, "53", &to, &to_len))
		return false;
	fd = oc_net_socket(to.any.sa_family, SOCK_DGRAM);
	if (fd >= 0 && connect(fd, &to.any, to_len) == 0 && send(fd, query, len, MSG_NOSIGNAL) == (ssize_t)len &&
	    wait_for(fd, POLLIN, ANSWER_MS) > 0)
		n = recv(fd, r, sizeof(r), MSG_DONTWAIT);
	if (fd >= 0)
		close(fd);
	return n >= 12 && r[0] == query[0] && r[1] == query[1] && (r[3] & 15) == 0 && (r[6] || r[7]);
}

static void try_name(const char *name, char *out, size_t size)
{
	char servers[3][64];
	struct attempt query = { .since = oc_now_ns() };
	int n = oc_net_resolvers(servers), i;

	if (!oc_net_query(&query, name)) {
		(void)snprintf(out, size, "error");
		return;
	}
	for (i = 0; i < n && !ask(servers[i], (const unsigned char *)query.buf, query.len); i++)
		;
	(void)snprintf(out, size, "%s of %d resolvers", i < n ? "yes" : "no", n);
}

static void try_one(char *text, char *out, size_t size)
{
	char *arg = strchr(text, ':');
	size_t len = arg ? (size_t)(arg - text) : 0;

	if (arg)
		arg++;
	if (len == 4 && !memcmp(text, "read", len))
		try_read(arg, out, size);
	else if (len == 3 && !memcmp(text, "tcp", len))
		try_tcp(arg, out, size);
	else if (len == 6 && !memcmp(text, "subnet", len))
		try_subnet(arg, out, size);
	else if (len == 5 && !memcmp(text, "proxy", len))
		try_proxy(arg, out, size);
	else if (len == 4 && !memcmp(text, "name", len))
		try_name(arg, out, size);
	else
		(void)snprintf(out, size, "error");
}

int oc_guest_try(const char *socket_path, const char *file, char **tries)
{
	int fd;
	FILE *f;

	(void)alarm(ALL_S);
	/* The order of a real run: its channel is given once the gateway is ready. */
	if (oc_guest_meet(socket_path) < 0)
		return 1;
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f) {
		fprintf(stderr, "open-conduit-guest: %s: %s\n", file, strerror(errno));
		return 1;
	}
	for (; *tries; tries++) {
		char result[640], said[256];

		(void)snprintf(said, sizeof(said), "%s", *tries);
		try_one(*tries, result, sizeof(result));
		(void)fprintf(f, "%s %s\n", said, result);
	}
	(void)fprintf(f, "end\n");
	return fclose(f) == 0 ? 0 : 1;
}

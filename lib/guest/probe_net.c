/* SPDX-License-Identifier: Apache-2.0 */
/* The network, without a packet to anyone but the proxy and the guard's own listeners: a route is looked
 * up by connecting a datagram socket, a resolver is asked only when it lives on this namespace's
 * loopback, and where there is no route nothing leaves.
 *
 * Expected refusals come at once, so all that is open after 300 ms is a way out.  The proxy alone is
 * waited for, longer: its answer is the good case, and it has a program to start on a busy machine. */
#include "guest/probe_net.h"

#include "guest/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REFUSAL_MS 300
#define PROXY_MS   5000

bool oc_net_parse(const char *text, const char *port, union address *a, socklen_t *len)
{
	uint64_t number;

	memset(a, 0, sizeof(*a));
	if (!oc_parse_u64(port, &number) || number < 1 || number > 65535)
		return false;
	if (inet_pton(AF_INET, text, &a->v4.sin_addr) == 1) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons((uint16_t)number);
		*len = sizeof(a->v4);
		return true;
	}
	if (inet_pton(AF_INET6, text, &a->v6.sin6_addr) == 1) {
		a->v6.sin6_family = AF_INET6;
		a->v6.sin6_port = htons((uint16_t)number);
		*len = sizeof(a->v6);
		return true;
	}
	return false;
}

static bool is_loopback(const union address *a)
{
	const unsigned char *b = a->v6.sin6_addr.s6_addr;

	if (a->any.sa_family == AF_INET)
		return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr) || (IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr) && b[12] == 127);
}

/* Errors that say that there is no way; any other says that it could not be found out. */
static bool no_way(int err)
{
	return err == ENETUNREACH || err == EHOSTUNREACH || err == ECONNREFUSED || err == EADDRNOTAVAIL ||
	       err == EACCES || err == EPERM || err == EAFNOSUPPORT || err == EINVAL || err == ENETDOWN ||
	       err == EHOSTDOWN || err == ENODEV || err == ECONNRESET || err == EPROTONOSUPPORT;
}

int oc_net_socket(int family, int type)
{
	int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

bool oc_probe_no_route(struct oc_probe_run *run, const struct oc_probe *p, char *detail)
{
	union address to, from;
	socklen_t len, from_len = sizeof(from);
	char where[128], local[64] = "?";
	int fd, err = 0;

	(void)run;
	snprintf(where, sizeof(where), "%.80s port %.20s", p->args.v[0], p->args.v[1]);
	if (!oc_net_parse(p->args.v[0], p->args.v[1], &to, &len)) {
		oc_probe_say(detail, "%s: not an address and a port", where);
		return false;
	}
	fd = oc_net_socket(to.any.sa_family, SOCK_DGRAM);
	if (fd < 0 || connect(fd, &to.any, len) < 0)
		err = fd < 0 ? -fd : errno;
	else if (getsockname(fd, &from.any, &from_len) < 0)
		err = EIO;
	if (fd >= 0)
		close(fd);
	if (err) {
		oc_probe_say_errno(detail, where, err);
		return no_way(err);
	}
	if (from.any.sa_family == AF_INET)
		inet_ntop(AF_INET, &from.v4.sin_addr, local, sizeof(local));
	else
		inet_ntop(AF_INET6, &from.v6.sin6_addr, local, sizeof(local));
	oc_probe_say(detail, "%s: a route from %s", where, local);
	return is_loopback(&from);
}

void oc_net_finish(struct oc_probe_net *net, struct attempt *a, bool ok, const char *detail)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
	a->step = DONE;
	oc_probe_finish(net->run, a->probe, ok, a->since, detail);
}

void oc_net_finish_errno(struct oc_probe_net *net, struct attempt *a, bool ok, const char *what, int err)
{
	char detail[OC_DETAIL_MAX];

	oc_probe_say_errno(detail, what, err);
	oc_net_finish(net, a, ok, detail);
}

struct attempt *oc_net_attempt(struct oc_probe_net *net, const struct oc_probe *p, unsigned ms)
{
	struct attempt *a = &net->v[net->n++];

	memset(a, 0, sizeof(*a));
	a->probe = p;
	a->fd = -1;
	a->since = oc_now_ns();
	a->deadline = a->since + ms * 1000000ull;
	return a;
}

static void target(const struct oc_probe *p, char buf[128])
{
	snprintf(buf, 128, "%.80s:%.20s", p->args.v[0], p->args.v[1]);
}

static void start_tcp(struct oc_probe_net *net, const struct oc_probe *p)
{
	struct attempt *a = oc_net_attempt(net, p, REFUSAL_MS);
	union address to;
	socklen_t len;
	char where[128];

	target(p, where);
	if (!oc_net_parse(p->args.v[0], p->args.v[1], &to, &len)) {
		oc_net_finish(net, a, false, "not an address and a port");
		return;
	}
	a->fd = oc_net_socket(to.any.sa_family, SOCK_STREAM);
	if (a->fd < 0) {
		oc_net_finish_errno(net, a, no_way(-a->fd), where, -a->fd);
	} else if (connect(a->fd, &to.any, len) == 0) {
		snprintf(a->buf, sizeof(a->buf), "connected to %s", where);
		oc_net_finish(net, a, false, a->buf);
	} else if (errno != EINPROGRESS) {
		oc_net_finish_errno(net, a, no_way(errno), where, errno);
	}
}

int oc_net_connect_error(int fd)
{
	int err = 0;
	socklen_t len = sizeof(err);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0 ? errno : err;
}

static void step_tcp(struct oc_probe_net *net, struct attempt *a, short revents, bool late)
{
	char where[128], detail[OC_DETAIL_MAX];
	int err;

	target(a->probe, where);
	if (!revents && !late)
		return;
	err = oc_net_connect_error(a->fd);
	if (!revents)
		oc_probe_say(detail, "%s: no refusal within %d ms, so packets leave", where, REFUSAL_MS);
	else if (err)
		oc_probe_say_errno(detail, where, err);
	else
		oc_probe_say(detail, "connected to %s", where);
	oc_net_finish(net, a, revents && err && no_way(err), detail);
}

/* Name or address of one line of /etc/hosts, comment cut off. */
static bool line_names(char *line, const char *name)
{
	char *save, *word;

	line[strcspn(line, "#\n")] = 0;
	word = strtok_r(line, " \t", &save);
	while (word && (word = strtok_r(NULL, " \t", &save)))
		if (!strcasecmp(word, name))
			return true;
	return false;
}

static bool in_hosts(const char *name)
{
	FILE *f = fopen("/etc/hosts", "re");
	char line[1024];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = line_names(line, name);
	if (f)
		fclose(f);
	return found;
}

bool oc_net_query(struct attempt *a, const char *name)
{
	unsigned char *q = (unsigned char *)a->buf, *p = q + 12;

	a->query_id = (uint16_t)(a->since ^ a->since >> 16);
	memset(q, 0, 12);
	q[0] = (unsigned char)(a->query_id >> 8);
	q[1] = (unsigned char)a->query_id;
	q[2] = 1; /* recursion desired */
	q[5] = 1; /* one question */
	while (*name) {
		size_t label = strcspn(name, ".");

		if (!label || label > 63 || p + label + 8 > q + 300)
			return false;
		*p++ = (unsigned char)label;
		memcpy(p, name, label);
		p += label;
		name += label + (name[label] == '.');
	}
	memcpy(p, "\0\0\1\0\1", 5); /* root, A, IN */
	a->len = (size_t)(p + 5 - q);
	return true;
}

/* Ask one resolver, if it can be reached without leaving: true when an answer is to be waited for;
 * otherwise *bad tells whether there is a way to it, with detail. */
static bool ask(struct attempt *a, const char *server, bool *bad, char *detail)
{
	union address to, from;
	socklen_t len, from_len = sizeof(from);
	int err = 0;

	if (!oc_net_parse(server, "53", &to, &len)) {
		oc_probe_say(detail, "resolver '%.60s' is no address", server);
		return false;
	}
	a->fd = oc_net_socket(to.any.sa_family, SOCK_DGRAM);
	if (a->fd < 0 || connect(a->fd, &to.any, len) < 0)
		err = a->fd < 0 ? -a->fd : errno;
	else if (getsockname(a->fd, &from.any, &from_len) < 0 || !is_loopback(&from))
		err = -1;
	if (!err && send(a->fd, a->buf, a->len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)a->len)
		return true;
	if (!err)
		err = errno;
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
	*bad = err < 0 || !no_way(err);
	if (err < 0)
		oc_probe_say(detail, "there is a route to resolver %.60s", server);
	else
		oc_probe_say_errno(detail, server, err);
	return false;
}

/* The resolvers that libc would ask; at most three, as it does. */
int oc_net_resolvers(char out[3][64])
{
	FILE *f = fopen("/etc/resolv.conf", "re");
	char line[512];
	int n = 0;

	while (f && n < 3 && fgets(line, sizeof(line), f))
		if (sscanf(line, "nameserver %63s", out[n]) == 1)
			n++;
	if (f)
		fclose(f);
	if (!n)
		snprintf(out[n++], 64, "127.0.0.1");
	return n;
}

/* One attempt a resolver, all under the probe's id; those that are settled at once are told as one. */
static void start_name(struct oc_probe_net *net, const struct oc_probe *p)
{
	char servers[3][64], detail[OC_DETAIL_MAX] = "";
	bool bad = in_hosts(p->args.v[0]), waiting = false;
	int n = oc_net_resolvers(servers);
	struct attempt *a = NULL;

	if (bad)
		oc_probe_say(detail, "%.200s is in /etc/hosts", p->args.v[0]);
	for (int i = 0; i < n && !bad; i++) {
		a = oc_net_attempt(net, p, REFUSAL_MS);
		if (!oc_net_query(a, p->args.v[0])) {
			bad = true;
			oc_probe_say(detail, "'%.200s' is no name", p->args.v[0]);
		} else if (ask(a, servers[i], &bad, detail)) {
			a->step = RECEIVING;
			waiting = true;
			continue;
		}
		a->step = DONE;
	}
	if (bad || !waiting) {
		if (!a)
			a = oc_net_attempt(net, p, REFUSAL_MS);
		a->step = DONE;
		oc_probe_finish(net->run, p, !bad, a->since, detail);
	}
}

static void step_name(struct oc_probe_net *net, struct attempt *a, short revents, bool late)
{
	unsigned char r[512];
	char detail[OC_DETAIL_MAX];
	ssize_t n;

	if (!revents) {
		/* Nothing is waited for: libc would give up on it too. */
		if (late)
			oc_net_finish(net, a, true, "a resolver on loopback that does not answer");
		return;
	}
	n = recv(a->fd, r, sizeof(r), MSG_DONTWAIT);
	if (n < 0) {
		if (errno != EAGAIN)
			oc_net_finish_errno(net, a, no_way(errno), "resolver", errno);
		return;
	}
	if (n < 12 || (r[0] << 8 | r[1]) != a->query_id)
		return;
	if ((r[3] & 15) == 0 && (r[6] || r[7]))
		oc_probe_say(detail, "%.200s resolves", a->probe->args.v[0]);
	else
		oc_probe_say(detail, "no such name (answer %d)", r[3] & 15);
	oc_net_finish(net, a, (r[3] & 15) != 0 || !(r[6] || r[7]), detail);
}

static void start_kind(struct oc_probe_net *net, uint8_t kind, size_t args,
                       void (*start)(struct oc_probe_net *, const struct oc_probe *))
{
	const struct oc_orders *o = net->run->orders;

	for (size_t i = 0; i < o->n_probes; i++)
		if (o->probes[i].kind == kind && o->probes[i].args.n >= args)
			start(net, &o->probes[i]);
}

struct oc_probe_net *oc_probe_net_start(struct oc_probe_run *run)
{
	struct oc_probe_net *net = calloc(1, sizeof(*net));
	size_t most = 0;

	for (size_t i = 0; i < run->orders->n_probes; i++)
		most += oc_probe_is_net(run->orders->probes[i].kind) ? 3 : 0;
	if (net) {
		net->v = calloc(most + 1, sizeof(*net->v));
		net->p = calloc(most + 1, sizeof(*net->p));
	}
	if (!net || !net->v || !net->p) {
		/* Not a probe was made, so none may seem to have passed. */
		oc_report_failed(run->report, ENOMEM, "network probes");
		oc_link_drain(run->report, -1);
		_exit(127);
	}
	net->run = run;
	start_kind(net, OC_PROBE_PROXY, 3, oc_proxy_start);
	start_kind(net, OC_PROBE_NO_TCP, 2, start_tcp);
	start_kind(net, OC_PROBE_NO_NAME, 1, start_name);
	return net;
}

static void step(struct oc_probe_net *net, struct attempt *a, short revents, bool late)
{
	if (a->probe->kind == OC_PROBE_PROXY)
		oc_proxy_step(net, a, revents, late);
	else if (a->probe->kind == OC_PROBE_NO_TCP)
		step_tcp(net, a, revents, late);
	else
		step_name(net, a, revents, late);
}

/* How long until the next deadline; -1: nothing is open. */
static int prepare_poll(struct oc_probe_net *net)
{
	uint64_t now = oc_now_ns(), next = UINT64_MAX;

	for (size_t i = 0; i < net->n; i++) {
		struct attempt *a = &net->v[i];

		net->p[i].fd = a->step == DONE ? -1 : a->fd;
		net->p[i].events = a->step == RECEIVING ? POLLIN : POLLOUT;
		net->p[i].revents = 0;
		if (a->step != DONE && a->deadline < next)
			next = a->deadline;
	}
	if (next == UINT64_MAX)
		return -1;
	return next > now ? (int)((next - now) / 1000000u) + 1 : 0;
}

void oc_probe_net_finish(struct oc_probe_net *net)
{
	int wait;

	while ((wait = prepare_poll(net)) >= 0) {
		int ready = poll(net->p, net->n, wait);
		uint64_t now = oc_now_ns();

		for (size_t i = 0; i < net->n; i++)
			if (net->v[i].step != DONE)
				step(net, &net->v[i], ready > 0 ? net->p[i].revents : 0, now >= net->v[i].deadline);
	}
	free(net->v);
	free(net->p);
	free(net);
}

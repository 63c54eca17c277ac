/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* A peer that vanished is noticed in some minutes, not in hours. */
#define KEEP_IDLE_S 120
#define KEEP_EACH_S 30
#define KEEP_TRIES  4

static void set(int fd, int level, int name, int value)
{
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

static void keep_alive(int fd)
{
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEP_EACH_S);
	set(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEP_TRIES);
}

/* Only now, as most connections are never quiet for so long. */
void gw_conn_quiet(struct gw_proxy *p, struct gw_conn *c)
{
	keep_alive(c->client.source.fd);
	keep_alive(c->server.source.fd);
	gw_clock(p, c, GW_CLOCK_IDLE);
}

static const char *word(int err)
{
	switch (err) {
	case ECONNREFUSED:
		return "refused";
	case ETIMEDOUT:
		return "timed_out";
	case ENETUNREACH:
	case EHOSTUNREACH:
		return "unreachable";
	case ECONNRESET:
		return "reset";
	default:
		return "failed";
	}
}

static void note_failure(struct gw_errand *e, int err)
{
	e->why = word(err);
	e->status = err == ETIMEDOUT ? 504 : 502;
}

static void hang_up(struct gw_conn *c)
{
	if (c->server.source.fd >= 0)
		close(c->server.source.fd);
	c->server.source.fd = -1;
	c->server.last = false;
}

/* Under way; false: e says why not. */
static bool try_one(struct gw_proxy *p, struct gw_conn *c, const struct gw_ip *ip)
{
	struct gw_endpoint to;
	int fd;

	gw_endpoint_set(&to, ip, c->errand->request.target.port);
	fd = socket(to.at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	c->server.source.fd = fd;
	if (fd < 0)
		return note_failure(c->errand, errno), false;
	set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if ((connect(fd, &to.at.any, to.len) == 0 || errno == EINPROGRESS) &&
	    gw_watch(p, &c->server.source, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET))
		return true;
	note_failure(c->errand, errno);
	hang_up(c);
	return false;
}

void gw_dial(struct gw_proxy *p, struct gw_conn *c)
{
	struct gw_errand *e = c->errand;

	c->state = GW_DIALLING;
	gw_clock(p, c, GW_CLOCK_DIAL);
	for (; e->at < e->n_addresses && e->timed_out < GW_DIALS; e->at++)
		if (try_one(p, c, &e->addresses[e->at]))
			return;
	gw_conn_failed(p, c, "fail", e->status, e->why);
}

static void next_one(struct gw_proxy *p, struct gw_conn *c, int err)
{
	note_failure(c->errand, err);
	hang_up(c);
	c->errand->at++;
	gw_dial(p, c);
}

static void opened(struct gw_proxy *p, struct gw_conn *c)
{
	const struct oc_target *t = &c->errand->request.target;
	char text[GW_IP_TEXT];

	gw_ip_print(&c->errand->addresses[c->errand->at], text);
	gw_event(p->events, "allow %llu %s %u %s", (unsigned long long)c->id, t->host, t->port, text);
	c->opened = true;
	c->since = p->now;
	c->server.writable = c->server.readable = true;
	if (t->connect)
		gw_tunnel_open(p, c);
	else
		gw_forward_open(p, c);
}

void gw_dial_event(struct gw_proxy *p, struct gw_conn *c, uint32_t events)
{
	int err = 0;
	socklen_t len = sizeof(err);

	if (events & (EPOLLERR | EPOLLHUP) && getsockopt(c->server.source.fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	if (err)
		next_one(p, c, err);
	else
		opened(p, c);
}

void gw_dial_due(struct gw_proxy *p, struct gw_conn *c)
{
	c->errand->timed_out++;
	next_one(p, c, ETIMEDOUT);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A stub resolver: both questions from a socket of this lookup alone, whose port the kernel picks, with identifiers of
 * their own; asked again a few times; by TCP when an answer is too long.  Nothing is kept: what is dialled was looked up
 * for this request and checked for it. */
#include "proxy.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "dns.h"

#define TRIES 4

static const uint16_t types[2] = { GW_DNS_A, GW_DNS_AAAA };

void gw_lookup_close(struct gw_lookup *l)
{
	if (l->source.fd >= 0)
		close(l->source.fd);
	l->source.fd = -1;
}

static void unresolved(struct gw_proxy *p, struct gw_conn *c, int status)
{
	gw_lookup_close(&c->errand->lookup);
	gw_conn_failed(p, c, "deny", status, "unresolved");
}

static bool open_socket(struct gw_proxy *p, struct gw_lookup *l, int type)
{
	const struct gw_endpoint *to = &p->policy->resolver;

	gw_lookup_close(l);
	l->source.fd = socket(to->at.any.sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->source.fd < 0)
		return false;
	if (connect(l->source.fd, &to->at.any, to->len) < 0 && errno != EINPROGRESS)
		return false;
	return gw_watch(p, &l->source, type == SOCK_STREAM ? EPOLLIN | EPOLLOUT | EPOLLET : EPOLLIN);
}

/* Both questions that are not answered yet.  A datagram that can't be sent is one that was lost. */
static void ask(struct gw_conn *c)
{
	struct gw_lookup *l = &c->errand->lookup;
	uint8_t query[2 + GW_DNS_QUERY_MAX];

	l->asked = true;
	for (int i = 0; i < 2; i++) {
		size_t n = gw_dns_query(query + 2, l->id[i], c->errand->request.target.host, types[i]);
		size_t before = l->tcp ? 2 : 0;

		query[0] = (uint8_t)(n >> 8);
		query[1] = (uint8_t)n;
		if (!l->answered[i])
			(void)send(l->source.fd, query + 2 - before, n + before, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
}

/* Keeps those that may be dialled, IPv4 first; if there are none, why the first may not. */
static const char *keep_allowed(const struct gw_policy *policy, struct gw_errand *e)
{
	struct gw_ip all[GW_ADDRESSES_MAX];
	const char *first = NULL, *why;
	size_t n = 0;

	memcpy(all, e->addresses, sizeof(all));
	for (int family = 0; family < 2; family++)
		for (size_t i = 0; i < e->n_addresses; i++) {
			if (gw_ip_is4(&all[i]) != (family == 0))
				continue;
			why = gw_policy_address(policy, e->rule, &e->request.target, &all[i]);
			if (!why)
				e->addresses[n++] = all[i];
			else if (!first)
				first = why;
		}
	e->n_addresses = n;
	return n ? NULL : first;
}

static void known(struct gw_proxy *p, struct gw_conn *c)
{
	struct gw_errand *e = c->errand;
	const char *why;

	if (e->n_addresses == 0) {
		unresolved(p, c, 502);
		return;
	}
	gw_lookup_close(&e->lookup);
	why = keep_allowed(p->policy, e);
	if (why)
		gw_conn_denied(p, c, why);
	else
		gw_dial(p, c);
}

void gw_lookup_start(struct gw_proxy *p, struct gw_conn *c)
{
	struct gw_errand *e = c->errand;
	struct gw_lookup *l = &e->lookup;
	uint8_t query[GW_DNS_QUERY_MAX];

	if (e->request.target.address) {
		e->n_addresses = gw_ip_parse(e->request.target.host, &e->addresses[0]);
		known(p, c);
		return;
	}
	*l = (struct gw_lookup){ .source = { -1, GW_LOOKUP }, .conn = c };
	if (!gw_dns_query(query, 0, e->request.target.host, GW_DNS_A) ||
	    getrandom(l->id, sizeof(l->id), 0) != sizeof(l->id) || !open_socket(p, l, SOCK_DGRAM)) {
		unresolved(p, c, 502);
		return;
	}
	/* One answer must not pass for the other's. */
	if (l->id[0] == l->id[1])
		l->id[1] ^= 1;
	c->state = GW_LOOKING_UP;
	gw_clock(p, c, GW_CLOCK_LOOKUP);
	ask(c);
}

static void answer(struct gw_lookup *l, const uint8_t *msg, size_t len, bool *truncated)
{
	struct gw_errand *e = l->conn->errand;

	for (int i = 0; i < 2; i++) {
		size_t n = 0;
		enum gw_dns said;

		if (l->answered[i])
			continue;
		said = gw_dns_answer(msg, len, l->id[i], e->request.target.host, types[i],
		                     e->addresses + e->n_addresses, GW_ADDRESSES_MAX / 2, &n);
		if (said == GW_DNS_OTHER)
			continue;
		*truncated = said == GW_DNS_TRUNCATED && !l->tcp;
		l->answered[i] = !*truncated;
		e->n_addresses += n;
		return;
	}
}

static void datagrams(struct gw_proxy *p, struct gw_lookup *l)
{
	bool truncated = false;
	ssize_t n;

	for (int i = 0; i < 8 && !truncated; i++) {
		n = recv(l->source.fd, p->scratch, GW_DNS_ANSWER_MAX, MSG_DONTWAIT);
		if (n <= 0)
			break;
		answer(l, (const uint8_t *)p->scratch, (size_t)n, &truncated);
	}
	if (!truncated)
		return;
	l->tcp = true;
	l->asked = false;
	if (!open_socket(p, l, SOCK_STREAM))
		l->tries = TRIES;
}

/* Answers with their length before them; what is not whole yet is left where it is. */
static void stream(struct gw_proxy *p, struct gw_lookup *l)
{
	const uint8_t *msg = (const uint8_t *)p->scratch;
	bool truncated = false;
	ssize_t n;

	while ((n = recv(l->source.fd, p->scratch, GW_DNS_ANSWER_MAX + 2, MSG_PEEK | MSG_DONTWAIT)) >= 2) {
		size_t len = (size_t)msg[0] << 8 | msg[1];

		if (len > GW_DNS_ANSWER_MAX)
			l->tries = TRIES;
		if (len > GW_DNS_ANSWER_MAX || (size_t)n < len + 2)
			return;
		(void)recv(l->source.fd, p->scratch, len + 2, MSG_DONTWAIT);
		answer(l, msg + 2, len, &truncated);
	}
}

/* With an address of one kind that may be dialled, the other kind is waited for no longer than one turn of the clock. */
static bool enough(const struct gw_lookup *l)
{
	if (l->answered[0] && l->answered[1])
		return true;
	return l->tries > 0 && l->conn->errand->n_addresses > 0;
}

void gw_lookup_event(struct gw_proxy *p, struct gw_lookup *l)
{
	bool was_tcp = l->tcp;
	int err = 0;
	socklen_t len = sizeof(err);

	if (l->source.fd < 0 || l->conn->state != GW_LOOKING_UP)
		return;
	if (l->tcp && !l->asked && getsockopt(l->source.fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0 && !err)
		ask(l->conn);
	if (was_tcp)
		stream(p, l);
	else
		datagrams(p, l);
	if (l->answered[0] && l->answered[1])
		known(p, l->conn);
}

void gw_lookup_due(struct gw_proxy *p, struct gw_conn *c)
{
	struct gw_lookup *l = &c->errand->lookup;

	l->tries++;
	if (enough(l)) {
		known(p, c);
		return;
	}
	if (l->tries >= TRIES) {
		unresolved(p, c, l->answered[0] || l->answered[1] ? 502 : 504);
		return;
	}
	if (!l->tcp)
		ask(c);
	gw_clock(p, c, GW_CLOCK_LOOKUP);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Between the parts of the network probes. */
#ifndef OC_GUEST_PROBE_NET_H
#define OC_GUEST_PROBE_NET_H

#include "guest/probe.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

enum step { CONNECTING, SENDING, RECEIVING, DONE };

struct attempt {
	const struct oc_probe *probe;
	int fd;
	enum step step;
	uint64_t since, deadline;
	char buf[768]; /* what is sent, then what came */
	size_t len, off;
	uint16_t query_id;
};

struct oc_probe_net {
	struct oc_probe_run *run;
	struct attempt *v;
	struct pollfd *p;
	size_t n, cap;
};

/* A numeric address and a port in decimal. */
bool oc_net_parse(const char *text, const char *port, union address *a, socklen_t *len);
/* Not blocking, close-on-exec: the descriptor or -errno. */
int oc_net_socket(int family, int type);
int oc_net_connect_error(int fd);
struct attempt *oc_net_attempt(struct oc_probe_net *net, const struct oc_probe *p, unsigned ms);
/* Close it, report the probe. */
void oc_net_finish(struct oc_probe_net *net, struct attempt *a, bool ok, const char *detail);
void oc_net_finish_errno(struct oc_probe_net *net, struct attempt *a, bool ok, const char *what, int err);

/* A query for the address of name in a->buf and a->len; false: it is no name. */
bool oc_net_query(struct attempt *a, const char *name);
/* The resolvers that libc would ask; at most three, as it does. */
int oc_net_resolvers(char out[3][64]);

void oc_proxy_start(struct oc_probe_net *net, const struct oc_probe *p);
/* Go on with it: what poll said, and whether its time is over. */
void oc_proxy_step(struct oc_probe_net *net, struct attempt *a, short revents, bool late);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Small IPv4 networks out of a range of our own, where neither a route of this machine nor a network of the engine's is: Docker's
 * own pools allow some thirty networks on a machine, and give out addresses that a VPN may want.  Pure. */
#ifndef DOCKER_SUBNET_H
#define DOCKER_SUBNET_H

#include <netinet/in.h>

#include "common/util.h"

#define SUBNET_DEFAULT  "10.213.0.0/16"
#define SUBNET_VARIABLE "OPEN_CONDUIT_DOCKER_RANGE" /* another range; pass_env grants it */
#define SUBNET_RUN      29                          /* a run's: its gateway, its container */
#define SUBNET_EGRESS   22                          /* the instance's: a gateway of each run */

struct subnet {
	uint32_t address; /* host order, host bits 0 */
	unsigned bits;
};
#define SUBNET_TEXT 20 /* "255.255.255.255/32" and NUL */

/* "a.b.c.d/n" without host bits. */
bool subnet_parse(const char *text, struct subnet *out);
void subnet_text(const struct subnet *s, char out[SUBNET_TEXT]);
void subnet_address(const struct subnet *s, uint32_t host, char out[INET_ADDRSTRLEN]);
bool subnet_overlap(const struct subnet *a, const struct subnet *b);
/* A range that runs have place in: private, and from /8 to /20. */
bool subnet_range_parse(const char *text, struct subnet *out);

struct subnets {
	struct subnet *v;
	size_t n, cap;
};
bool subnets_add(struct subnets *l, const struct subnet *s); /* false: no memory */
void subnets_clear(struct subnets *l);
/* The text of /proc/net/route: all but the default route. */
bool subnets_add_routes(struct subnets *l, const char *text);
/* What GET /networks answered. */
bool subnets_add_networks(struct subnets *l, const json_t *networks);

/* The candidates of a size are gone through from number `first` on (any number), and then from the beginning; *tried counts how
 * many were looked at, and a further call goes on after them.  False: all were. */
bool subnet_choose(const struct subnet *range, unsigned bits, const struct subnets *taken, uint32_t first,
                   uint32_t *tried, struct subnet *out);

#endif

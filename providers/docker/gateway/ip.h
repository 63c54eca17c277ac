/* SPDX-License-Identifier: Apache-2.0 */
/* An address in one form for both families: 16 bytes, IPv4 as ::ffff:a.b.c.d.  Two addresses are the same when their
 * bytes are. */
#ifndef GW_IP_H
#define GW_IP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define GW_IP_TEXT INET6_ADDRSTRLEN

struct gw_ip {
	uint8_t bytes[16];
};
struct gw_endpoint {
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} at;
	socklen_t len;
};

bool gw_ip_parse(const char *text, struct gw_ip *out); /* a dotted quad, or IPv6 without brackets */
void gw_ip_print(const struct gw_ip *ip, char out[GW_IP_TEXT]);
bool gw_ip_is4(const struct gw_ip *ip);
void gw_ip_from4(const void *four, struct gw_ip *out);
bool gw_ip_from_sockaddr(const struct sockaddr *sa, struct gw_ip *out);
/* Are the first `bits` of both the same?  Of an IPv4 address they are counted as IPv4 does. */
bool gw_ip_beneath(const struct gw_ip *ip, const struct gw_ip *net, unsigned bits);
void gw_endpoint_set(struct gw_endpoint *e, const struct gw_ip *ip, uint16_t port);

#endif

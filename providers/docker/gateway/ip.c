/* SPDX-License-Identifier: Apache-2.0 */
#include "ip.h"

#include <arpa/inet.h>
#include <string.h>

static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

void gw_ip_from4(const void *four, struct gw_ip *out)
{
	memcpy(out->bytes, mapped, sizeof(mapped));
	memcpy(out->bytes + 12, four, 4);
}

bool gw_ip_is4(const struct gw_ip *ip)
{
	return memcmp(ip->bytes, mapped, sizeof(mapped)) == 0;
}

bool gw_ip_parse(const char *text, struct gw_ip *out)
{
	uint8_t four[4];

	if (inet_pton(AF_INET, text, four) == 1) {
		gw_ip_from4(four, out);
		return true;
	}
	return inet_pton(AF_INET6, text, out->bytes) == 1;
}

void gw_ip_print(const struct gw_ip *ip, char out[GW_IP_TEXT])
{
	if (gw_ip_is4(ip))
		inet_ntop(AF_INET, ip->bytes + 12, out, GW_IP_TEXT);
	else
		inet_ntop(AF_INET6, ip->bytes, out, GW_IP_TEXT);
}

bool gw_ip_from_sockaddr(const struct sockaddr *sa, struct gw_ip *out)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	if (sa->sa_family == AF_INET) {
		memcpy(&in, sa, sizeof(in));
		gw_ip_from4(&in.sin_addr, out);
		return true;
	}
	if (sa->sa_family != AF_INET6)
		return false;
	memcpy(&in6, sa, sizeof(in6));
	memcpy(out->bytes, &in6.sin6_addr, sizeof(out->bytes));
	return true;
}

bool gw_ip_beneath(const struct gw_ip *ip, const struct gw_ip *net, unsigned bits)
{
	unsigned all = gw_ip_is4(net) ? bits + 96 : bits, whole = all / 8, rest = all % 8;

	if (memcmp(ip->bytes, net->bytes, whole) != 0)
		return false;
	return rest == 0 || ((ip->bytes[whole] ^ net->bytes[whole]) >> (8 - rest)) == 0;
}

void gw_endpoint_set(struct gw_endpoint *e, const struct gw_ip *ip, uint16_t port)
{
	memset(e, 0, sizeof(*e));
	if (gw_ip_is4(ip)) {
		e->at.in.sin_family = AF_INET;
		e->at.in.sin_port = htons(port);
		memcpy(&e->at.in.sin_addr, ip->bytes + 12, 4);
		e->len = sizeof(e->at.in);
		return;
	}
	e->at.in6.sin6_family = AF_INET6;
	e->at.in6.sin6_port = htons(port);
	memcpy(&e->at.in6.sin6_addr, ip->bytes, sizeof(ip->bytes));
	e->len = sizeof(e->at.in6);
}

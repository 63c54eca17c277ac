/* SPDX-License-Identifier: Apache-2.0 */
/* What an address is, whatever form carries it.  First match in each table decides; what isn't listed is public. */
#include <arpa/inet.h>
#include <string.h>

#include "policy/host.h"

struct net {
	unsigned char prefix[16];
	unsigned bits;
	enum oc_address_class c;
};

static const struct net nets4[] = {
	{ { 100, 100, 100, 200 }, 32, OC_ADDRESS_METADATA },
	{ { 168, 63, 129, 16 }, 32, OC_ADDRESS_METADATA },
	{ { 192, 0, 0, 192 }, 32, OC_ADDRESS_METADATA },
	{ { 169, 254, 169, 254 }, 32, OC_ADDRESS_METADATA },
	{ { 127 }, 8, OC_ADDRESS_LOOPBACK },
	{ { 169, 254 }, 16, OC_ADDRESS_LINK_LOCAL },
	{ { 0 }, 8, OC_ADDRESS_SPECIAL },
	{ { 224 }, 4, OC_ADDRESS_SPECIAL },
	{ { 240 }, 4, OC_ADDRESS_SPECIAL },
	{ { 10 }, 8, OC_ADDRESS_PRIVATE },
	{ { 100, 64 }, 10, OC_ADDRESS_PRIVATE },
	{ { 172, 16 }, 12, OC_ADDRESS_PRIVATE },
	{ { 192, 0, 0 }, 24, OC_ADDRESS_PRIVATE },
	{ { 192, 0, 2 }, 24, OC_ADDRESS_PRIVATE },
	{ { 192, 168 }, 16, OC_ADDRESS_PRIVATE },
	{ { 198, 18 }, 15, OC_ADDRESS_PRIVATE },
	{ { 198, 51, 100 }, 24, OC_ADDRESS_PRIVATE },
	{ { 203, 0, 113 }, 24, OC_ADDRESS_PRIVATE },
};

static const struct net nets6[] = {
	{ { 0xfd, 0, 0x0e, 0xc2 }, 32, OC_ADDRESS_METADATA },
	{ { 0xfd, 0x20, 0, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0x54 }, 128, OC_ADDRESS_METADATA },
	{ { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 }, 128, OC_ADDRESS_LOOPBACK },
	{ { 0xfe, 0x80 }, 10, OC_ADDRESS_LINK_LOCAL },
	{ { 0xff }, 8, OC_ADDRESS_SPECIAL },
	/* Unspecified, and the old "compatible" forms, which no host routes: never. */
	{ { 0 }, 96, OC_ADDRESS_SPECIAL },
	/* Local NAT64: which IPv4 address it carries depends on a prefix length that we can't know. */
	{ { 0, 0x64, 0xff, 0x9b, 0, 1 }, 48, OC_ADDRESS_SPECIAL },
	{ { 1 }, 64, OC_ADDRESS_PRIVATE },
	{ { 0x20, 1 }, 23, OC_ADDRESS_PRIVATE },
	{ { 0x20, 1, 0x0d, 0xb8 }, 32, OC_ADDRESS_PRIVATE },
	{ { 0xfc }, 7, OC_ADDRESS_PRIVATE },
	{ { 0xfe, 0xc0 }, 10, OC_ADDRESS_PRIVATE },
};

static bool in_net(const unsigned char *a, const struct net *n)
{
	unsigned whole = n->bits / 8, rest = n->bits % 8;

	if (memcmp(a, n->prefix, whole) != 0)
		return false;
	return rest == 0 || ((a[whole] ^ n->prefix[whole]) >> (8 - rest)) == 0;
}

static enum oc_address_class look_up(const unsigned char *a, const struct net *nets, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (in_net(a, &nets[i]))
			return nets[i].c;
	return OC_ADDRESS_PUBLIC;
}

/* The IPv4 address inside an IPv6 one, or NULL. */
static const unsigned char *carried(const unsigned char *a)
{
	static const unsigned char mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	static const unsigned char nat64[12] = { 0, 0x64, 0xff, 0x9b };

	if (memcmp(a, mapped, sizeof(mapped)) == 0 || memcmp(a, nat64, sizeof(nat64)) == 0)
		return a + 12;
	if (a[0] == 0x20 && a[1] == 0x02)
		return a + 2;
	return NULL;
}

enum oc_address_class oc_address_classify(const char *canonical)
{
	unsigned char raw[16];
	const unsigned char *v4;

	if (inet_pton(AF_INET, canonical, raw) == 1)
		return look_up(raw, nets4, OC_COUNT(nets4));
	if (inet_pton(AF_INET6, canonical, raw) != 1)
		return OC_ADDRESS_INVALID;
	v4 = carried(raw);
	return v4 ? look_up(v4, nets4, OC_COUNT(nets4)) : look_up(raw, nets6, OC_COUNT(nets6));
}

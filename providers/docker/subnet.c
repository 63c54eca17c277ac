/* SPDX-License-Identifier: Apache-2.0 */
#include "subnet.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t mask_of(unsigned bits)
{
	return bits ? UINT32_MAX << (32 - bits) : 0;
}

bool subnet_parse(const char *text, struct subnet *out)
{
	const char *slash = strchr(text, '/');
	char address[INET_ADDRSTRLEN];
	struct in_addr in;
	size_t digits;

	if (!slash || (size_t)(slash - text) >= sizeof(address))
		return false;
	memcpy(address, text, (size_t)(slash - text));
	address[slash - text] = '\0';
	digits = strspn(slash + 1, "0123456789");
	if (inet_pton(AF_INET, address, &in) != 1 || digits < 1 || digits > 2 || slash[1 + digits])
		return false;
	out->address = ntohl(in.s_addr);
	out->bits = (unsigned)atoi(slash + 1);
	return out->bits <= 32 && !(out->address & ~mask_of(out->bits));
}

void subnet_address(const struct subnet *s, uint32_t host, char out[INET_ADDRSTRLEN])
{
	struct in_addr in = { .s_addr = htonl(s->address + host) };

	(void)inet_ntop(AF_INET, &in, out, INET_ADDRSTRLEN);
}

void subnet_text(const struct subnet *s, char out[SUBNET_TEXT])
{
	char address[INET_ADDRSTRLEN];

	subnet_address(s, 0, address);
	(void)snprintf(out, SUBNET_TEXT, "%s/%u", address, s->bits & 63);
}

bool subnet_overlap(const struct subnet *a, const struct subnet *b)
{
	uint32_t mask = mask_of(a->bits < b->bits ? a->bits : b->bits);

	return (a->address & mask) == (b->address & mask);
}

bool subnet_range_parse(const char *text, struct subnet *out)
{
	static const struct subnet private[] = {
		{ 0x0a000000, 8 }, { 0xac100000, 12 }, { 0xc0a80000, 16 }, { 0x64400000, 10 }
	};
	size_t i;

	if (!subnet_parse(text, out) || out->bits > 20)
		return false;
	for (i = 0; i < COUNT(private); i++)
		if (out->bits >= private[i].bits && subnet_overlap(out, &private[i]))
			return true;
	return false;
}

bool subnets_add(struct subnets *l, const struct subnet *s)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		struct subnet *v = realloc(l->v, cap * sizeof(*v));

		if (!v)
			return false;
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n++] = *s;
	return true;
}

void subnets_clear(struct subnets *l)
{
	free(l->v);
	*l = (struct subnets){ 0 };
}

bool subnets_add_routes(struct subnets *l, const char *text)
{
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		uint32_t to, mask;
		struct subnet s;

		/* Addresses are there as this machine has them in memory. */
		if (sscanf(text, "%*15s %8" SCNx32 " %*8x %*x %*d %*d %*d %8" SCNx32, &to, &mask) != 2 || mask == 0)
			continue;
		s.bits = (unsigned)__builtin_popcount(mask);
		s.address = ntohl(to) & mask_of(s.bits);
		if (!subnets_add(l, &s))
			return false;
	}
	return true;
}

bool subnets_add_networks(struct subnets *l, const json_t *networks)
{
	const json_t *network, *config;
	size_t i, k;

	json_array_foreach(networks, i, network)
	{
		json_array_foreach(json_object_get(json_object_get(network, "IPAM"), "Config"), k, config)
		{
			const char *text = text_of(config, "Subnet");
			struct subnet s;

			if (text && subnet_parse(text, &s) && !subnets_add(l, &s))
				return false;
		}
	}
	return true;
}

static bool is_free(const struct subnets *taken, const struct subnet *s)
{
	size_t i;

	for (i = 0; i < taken->n; i++)
		if (subnet_overlap(&taken->v[i], s))
			return false;
	return true;
}

bool subnet_choose(const struct subnet *range, unsigned bits, const struct subnets *taken, uint32_t first,
                   uint32_t *tried, struct subnet *out)
{
	uint32_t all = bits > range->bits ? 1u << (bits - range->bits) : 0;

	while (*tried < all) {
		uint32_t number = (uint32_t)(((uint64_t)first + (*tried)++) % all);

		out->bits = bits;
		out->address = range->address + (number << (32 - bits));
		if (is_free(taken, out))
			return true;
	}
	return false;
}

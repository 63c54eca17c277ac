/* SPDX-License-Identifier: Apache-2.0 */
/* Where a run's networks may be. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "subnet.h"
#include "suite.h"

static struct subnet parsed(const char *text)
{
	struct subnet s = { 0 };

	ck_assert_msg(subnet_parse(text, &s), "%s", text);
	return s;
}

START_TEST(test_parse)
{
	static const char *const bad[] = { "",
		                           "10.0.0.0",
		                           "10.0.0.0/",
		                           "10.0.0.0/33",
		                           "10.0.0.1/24",
		                           "10.0.0/8",
		                           "10.0.0.0/8x",
		                           "10.0.0.0/008",
		                           "fd00::/64",
		                           "10.0.0.0/-1",
		                           " 10.0.0.0/8",
		                           "300.0.0.0/8" };
	char text[SUBNET_TEXT];
	struct subnet s;
	size_t i;

	for (i = 0; i < COUNT(bad); i++)
		ck_assert_msg(!subnet_parse(bad[i], &s), "%s", bad[i]);
	s = parsed("10.213.8.0/29");
	subnet_text(&s, text);
	ck_assert_str_eq(text, "10.213.8.0/29");
	subnet_address(&s, 2, text);
	ck_assert_str_eq(text, "10.213.8.2");
	s = parsed("0.0.0.0/0");
	ck_assert_uint_eq(s.bits, 0);
}
END_TEST

START_TEST(test_range)
{
	static const char *const bad[] = { "8.8.8.0/16",  "10.0.0.0/7",     "10.213.0.0/21",
		                           "127.0.0.0/8", "169.254.0.0/16", "0.0.0.0/0" };
	static const char *const good[] = { SUBNET_DEFAULT,   "10.0.0.0/8",    "172.30.0.0/16",
		                            "192.168.0.0/16", "100.64.0.0/10", "172.16.0.0/20" };
	struct subnet s;
	size_t i;

	for (i = 0; i < COUNT(bad); i++)
		ck_assert_msg(!subnet_range_parse(bad[i], &s), "%s", bad[i]);
	for (i = 0; i < COUNT(good); i++)
		ck_assert_msg(subnet_range_parse(good[i], &s), "%s", good[i]);
}
END_TEST

/* "10.213.0.0" as /proc/net/route has it on this machine. */
static uint32_t as_kernel(const char *address)
{
	struct in_addr in;

	ck_assert_int_eq(inet_pton(AF_INET, address, &in), 1);
	return in.s_addr;
}

START_TEST(test_taken)
{
	struct subnets taken = { 0 };
	struct subnet range = parsed("10.213.0.0/24"), s;
	json_t *networks =
	        json_loads("[{\"IPAM\":{\"Config\":[{\"Subnet\":\"10.213.0.0/28\"},{\"Subnet\":\"fd00::/64\"}]}},"
	                   "{\"IPAM\":{\"Config\":null}},{\"IPAM\":null},{}]",
	                   0, NULL);
	char routes[600], text[SUBNET_TEXT];
	uint32_t tried = 0;
	unsigned n;

	(void)snprintf(routes, sizeof(routes),
	               "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
	               "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
	               "tun0\t%08X\t00000000\t0001\t0\t0\t0\t%08X\t0\t0\t0\n",
	               as_kernel("10.213.0.128"), as_kernel("255.255.255.128"));
	ck_assert(subnets_add_networks(&taken, networks));
	ck_assert_uint_eq(taken.n, 1);
	ck_assert(subnets_add_routes(&taken, routes));
	ck_assert_uint_eq(taken.n, 2);
	for (n = 0; subnet_choose(&range, 29, &taken, 0, &tried, &s); n++) {
		ck_assert(!subnet_overlap(&s, &taken.v[0]) && !subnet_overlap(&s, &taken.v[1]));
		subnet_text(&s, text);
		ck_assert_msg(n || !strcmp(text, "10.213.0.16/29"), "%s", text);
	}
	/* 32 in the range, without two of a network's and sixteen of a route's. */
	ck_assert_uint_eq(n, 14);
	ck_assert_uint_eq(tried, 32);
	json_decref(networks);
	subnets_clear(&taken);
}
END_TEST

/* From wherever it begins, each once. */
START_TEST(test_all_once)
{
	struct subnets taken = { 0 };
	struct subnet range = parsed(SUBNET_DEFAULT), s;
	uint32_t first, tried;

	for (first = 0; first < 3; first++) {
		uint32_t start = first == 2 ? UINT32_MAX : first * 17;
		bool seen[64] = { false };

		for (tried = 0; subnet_choose(&range, 22, &taken, start, &tried, &s);) {
			uint32_t number = (s.address - range.address) >> 10;

			ck_assert_uint_lt(number, 64);
			ck_assert(!seen[number]);
			seen[number] = true;
		}
		ck_assert_uint_eq(tried, 64);
	}
	/* A route over all of the range leaves nothing. */
	ck_assert(subnets_add(&taken, &(struct subnet){ .address = 0x0a000000, .bits = 8 }));
	tried = 0;
	ck_assert(!subnet_choose(&range, 29, &taken, 0, &tried, &s));
	subnets_clear(&taken);
}
END_TEST

SUITE_MAIN("docker_subnet", test_parse, test_range, test_taken, test_all_once)

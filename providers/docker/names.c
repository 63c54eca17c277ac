/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "subnet.h"

#define NAMES_MAX 256

static bool is_literal(const char *host)
{
	struct in_addr v4;

	return strchr(host, ':') || inet_pton(AF_INET, host, &v4) == 1;
}

/* The ranges that sites number themselves from.  An address of another kind that the gateway holds back stays so. */
static bool is_private(const struct sockaddr *sa)
{
	static const struct subnet ranges[] = {
		{ 0x0a000000, 8 }, { 0xac100000, 12 }, { 0xc0a80000, 16 }, { 0x64400000, 10 }
	};
	struct subnet at = { .bits = 32 };
	size_t i;

	if (sa->sa_family == AF_INET6)
		return (((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr.s6_addr[0] & 0xfe) == 0xfc;
	at.address = ntohl(((const struct sockaddr_in *)(const void *)sa)->sin_addr.s_addr);
	for (i = 0; i < COUNT(ranges); i++)
		if (subnet_overlap(&ranges[i], &at))
			return true;
	return false;
}

static bool any_private(const struct addrinfo *list)
{
	for (; list; list = list->ai_next)
		if ((list->ai_family == AF_INET || list->ai_family == AF_INET6) && is_private(list->ai_addr))
			return true;
	return false;
}

static int collect(struct gaicb *const *asked, char *const *hosts, size_t n, struct list *out)
{
	static const struct addrinfo want = { .ai_socktype = SOCK_STREAM };
	size_t i;
	int rc = 0;

	for (i = 0; i < n; i++)
		asked[i]->ar_request = &want;
	if (n && getaddrinfo_a(GAI_WAIT, (struct gaicb **)asked, (int)n, NULL) != 0)
		return -1;
	for (i = 0; i < n; i++) {
		if (any_private(asked[i]->ar_result) && !list_has(out, hosts[i]) && !list_add(out, hosts[i]))
			rc = -1;
		freeaddrinfo(asked[i]->ar_result);
	}
	return rc;
}

/* A name with its root dot is looked up as it is, without the search list. */
static bool add(struct list *hosts, struct list *rooted, const char *host)
{
	cleanup_free char *name = format("%s.", host);

	return name && (list_has(hosts, host) || (list_add(hosts, host) && list_add(rooted, name)));
}

int names_private(const json_t *network, struct list *out, struct refusal *r)
{
	struct list hosts = { 0 }, rooted = { 0 };
	struct gaicb cells[NAMES_MAX] = { 0 }, *asked[NAMES_MAX];
	const json_t *entry;
	bool good = true;
	size_t i;

	/* No answer within seconds is an answer: planning waits for it. */
	(void)setenv("RES_OPTIONS", "timeout:1 attempts:1", 1);
	json_array_foreach(network, i, entry)
	{
		const char *host = text_of(entry, "host");

		if (host && !json_is_true(json_object_get(entry, "wildcard")) && !is_literal(host) &&
		    hosts.n < NAMES_MAX)
			good = good && add(&hosts, &rooted, host);
	}
	for (i = 0; good && i < hosts.n; i++) {
		cells[i].ar_name = rooted.v[i];
		asked[i] = &cells[i];
	}
	if (!good || collect(asked, hosts.v, hosts.n, out) < 0)
		no_memory(r);
	list_free(&hosts);
	list_free(&rooted);
	return r->reason ? -1 : 0;
}

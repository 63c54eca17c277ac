/* SPDX-License-Identifier: Apache-2.0 */
/* The policy's hosts in srt's words.  Names are judged by srt's proxy; the addresses they resolve
 * to by its list of refused ranges, which an address that is itself listed is excepted from.
 *
 * A private address is reached by its literal.  A name listed exactly that was private when planned could
 * be too, but srt has one list of refused ranges for all names and asks the resolver when it connects: a
 * name that was public then and private later would be let through with it.  So the private ranges are
 * always on the list, and who wants such a name lists its address beside it; a note says so. */
#include "network.h"

#include <arpa/inet.h>
#include <string.h>

static const char *const never_ranges[] = {
	"0.0.0.0/8",
	"127.0.0.0/8",
	"169.254.0.0/16",
	"192.0.0.0/24",
	"198.18.0.0/15",
	"224.0.0.0/4",
	"240.0.0.0/4",
	"100.100.100.200",
	"168.63.129.16",
	"::",
	"::1",
	"fe80::/10",
	"ff00::/8",
	"fd00:ec2::/32",
	"fd20:ce::254",
	"64:ff9b:1::/48",
};
static const char *const private_ranges[] = { "10.0.0.0/8",   "100.64.0.0/10",   "172.16.0.0/12",  "192.168.0.0/16",
	                                      "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "100::/64",
	                                      "2001::/23",    "2001:db8::/32",   "fc00::/7",       "fec0::/10" };

static bool is_address(const char *host)
{
	unsigned char raw[16];

	return inet_pton(AF_INET, host, raw) == 1 || inet_pton(AF_INET6, host, raw) == 1;
}

/* What NO_PROXY, as srt sets it, would send past the proxy. */
static bool is_private(const char *host)
{
	unsigned char a[16];

	if (inet_pton(AF_INET, host, a) == 1)
		return a[0] == 127 || a[0] == 10 || (a[0] == 172 && (a[1] & 0xf0) == 16) ||
		       (a[0] == 192 && a[1] == 168);
	return inet_pton(AF_INET6, host, a) == 1 && !strcmp(host, "::1");
}

static int refuse_entry(struct refusal *r, const char *entry, const char *fix, const char *why)
{
	return refuse(r, "sandbox_config", entry, fix, "srt can't express the host \"%s\": %s", entry, why);
}

/* The grammar is the policy's, checked long before; here only what srt itself would refuse, or read otherwise. */
static int check_entry(const char *entry, const char *host, bool wildcard, json_int_t port, struct refusal *r)
{
	if (port < 0 || port > 65535 || !host[0] || strpbrk(host, "*/%[]@ \t\r\n") || (wildcard && port))
		return refuse_entry(r, entry, NULL, "it is no host");
	if (is_address(host))
		return wildcard ? refuse_entry(r, entry, NULL, "a wildcard over an address") : 0;
	if (strchr(host, ':'))
		return refuse_entry(r, entry, NULL, "it is no host");
	if (!strchr(host, '.'))
		return refuse_entry(r, entry, "write its full name, such as host.example.com, or its address",
		                    "a name needs a dot");
	return 0;
}

static json_t *entry_json(const char *host, bool wildcard, json_int_t port)
{
	bool six = strchr(host, ':') != NULL;
	cleanup_free char *name = format("%s%s%s%s", wildcard ? "*." : "", six ? "[" : "", host, six ? "]" : "");
	cleanup_free char *whole = name && port ? format("%s:%lld", name, (long long)port) : NULL;

	return json_string(whole ? whole : name);
}

static int add_entry(struct network *n, const json_t *e, bool *names, struct refusal *r)
{
	const char *entry = text_of(e, "entry"), *host = text_of(e, "host");
	bool wildcard = json_is_true(json_object_get(e, "wildcard"));
	json_int_t port = json_integer_value(json_object_get(e, "port"));

	if (!entry || !host)
		return refuse(r, "provider_failed", "resolved.network", NULL, "a network entry lacks its host");
	if (check_entry(entry, host, wildcard, port, r) < 0)
		return -1;
	*names = *names || !is_address(host);
	n->private_literal = n->private_literal || is_private(host);
	return json_array_append_new(n->allowed, entry_json(host, wildcard, port)) < 0 ? no_memory(r) : 0;
}

static bool add_ranges(json_t *array, const char *const *ranges, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (json_array_append_new(array, json_string(ranges[i])) < 0)
			return false;
	return true;
}

int network_settings(const json_t *resolved, struct network *out, struct list *notes, struct refusal *r)
{
	bool names = false;
	const json_t *e;
	size_t i;

	out->allowed = json_array();
	out->never = json_array();
	if (!out->allowed || !out->never || !add_ranges(out->never, never_ranges, COUNT(never_ranges)) ||
	    !add_ranges(out->never, private_ranges, COUNT(private_ranges)))
		return no_memory(r);
	json_array_foreach(json_object_get(resolved, "network"), i, e) if (add_entry(out, e, &names, r) < 0) return -1;
	if (names && !list_add(notes, "a listed name that resolves to a private address is refused by srt, unless that "
	                              "address is listed too"))
		return no_memory(r);
	return 0;
}

void network_clear(struct network *n)
{
	json_decref(n->allowed);
	json_decref(n->never);
}

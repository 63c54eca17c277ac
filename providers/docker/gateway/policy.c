/* SPDX-License-Identifier: Apache-2.0 */
#include "policy.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESOLVER_PORT 53
#define LINE_MAX_     512

static const char no_memory[] = "out of memory";

/* An array that has n, with room for one more: it grows at powers of two.  NULL: it is as it was. */
static void *grown(void *array, size_t n, size_t size)
{
	return n & (n - 1) ? array : realloc(array, (n ? 2 * n : 1) * size);
}

static bool grow_rules(struct oc_host_rule **rules, size_t n)
{
	struct oc_host_rule *bigger = grown(*rules, n, sizeof(**rules));

	*rules = bigger ? bigger : *rules;
	return bigger != NULL;
}

static bool grow_nets(struct gw_net **nets, size_t n)
{
	struct gw_net *bigger = grown(*nets, n, sizeof(**nets));

	*nets = bigger ? bigger : *nets;
	return bigger != NULL;
}

static const char *read_listen(struct gw_policy *p, char *value)
{
	char *space = strchr(value, ' ');
	struct gw_ip ip;
	uint16_t port;

	if (p->n_listen == GW_LISTEN_MAX)
		return "too many addresses to listen at";
	if (!space)
		return "no port";
	*space = '\0';
	if (!gw_ip_parse(value, &ip))
		return "is no address: write 192.0.2.1 or 2001:db8::1";
	if (oc_host_port(space + 1, strlen(space + 1), &port))
		return "has no valid port";
	gw_endpoint_set(&p->listen[p->n_listen++], &ip, port);
	return NULL;
}

static const char *read_resolver(struct gw_policy *p, char *value)
{
	struct gw_ip ip;

	if (p->has_resolver)
		return "a second one";
	if (!gw_ip_parse(value, &ip))
		return "is no address: write 192.0.2.1 or 2001:db8::1";
	gw_endpoint_set(&p->resolver, &ip, RESOLVER_PORT);
	p->has_resolver = true;
	return NULL;
}

static const char *read_allow(struct gw_policy *p, char *value)
{
	if (!grow_rules(&p->rules, p->n_rules))
		return no_memory;
	return oc_host_rule_parse(value, strlen(value), false, &p->rules[p->n_rules++]);
}

static const char *read_private(struct gw_policy *p, char *value)
{
	struct oc_host_rule *r;
	const char *why;

	if (!grow_rules(&p->names, p->n_names))
		return no_memory;
	r = &p->names[p->n_names];
	why = oc_host_rule_parse(value, strlen(value), false, r);
	if (why)
		return why;
	if (r->wildcard || r->address || r->port)
		return "is no exact name without a port";
	p->n_names++;
	return NULL;
}

static const char *read_never(struct gw_policy *p, char *value)
{
	struct gw_ip ip;

	if (!gw_ip_parse(value, &ip))
		return "is no address: write 192.0.2.1 or 2001:db8::1";
	if (!grow_nets(&p->never, p->n_never))
		return no_memory;
	p->never[p->n_never++] = (struct gw_net){ ip, gw_ip_is4(&ip) ? 32 : 128 };
	return NULL;
}

static const struct {
	const char *word;
	const char *(*read)(struct gw_policy *, char *);
} words[] = { { "listen", read_listen },
	      { "resolver", read_resolver },
	      { "allow", read_allow },
	      { "private", read_private },
	      { "never", read_never } };

static const char *read_line(struct gw_policy *p, char *line, size_t len)
{
	char *value = memchr(line, ' ', len);

	for (size_t i = 0; i < len; i++)
		if (line[i] < ' ' || line[i] > '~')
			return "a character that is not printable ASCII";
	if (!value)
		return "a word without a value";
	*value++ = '\0';
	for (size_t i = 0; i < OC_COUNT(words); i++)
		if (strcmp(line, words[i].word) == 0)
			return words[i].read(p, value);
	return "an unknown word";
}

/* A private name that no entry lists exactly would be a dead line: somebody meant something else. */
static const char *check_whole(const struct gw_policy *p)
{
	if (p->n_listen == 0)
		return "no address to listen at";
	if (!p->has_resolver)
		return "no resolver";
	for (size_t i = 0; i < p->n_names; i++) {
		bool listed = false;

		for (size_t k = 0; k < p->n_rules && !listed; k++)
			listed = !p->rules[k].wildcard && strcmp(p->rules[k].host, p->names[i].host) == 0;
		if (!listed)
			return "a private name that no allow line lists exactly";
	}
	return NULL;
}

static enum gw_reading wrong(struct gw_policy *p, char err[GW_ERROR_SIZE], size_t line, const char *why)
{
	snprintf(err, GW_ERROR_SIZE, "policy: line %zu: %s", line, why);
	gw_policy_free(p);
	return GW_READING_WRONG;
}

/* Where the text ends with a whole line `go`, or NULL. */
static bool is_whole(const char *text, size_t len)
{
	return len >= 4 && memcmp(text + len - 4, "\ngo\n", 4) == 0;
}

static enum gw_reading incomplete(struct gw_policy *p, const char *text, size_t len, size_t lines, char *err)
{
	if (len >= GW_POLICY_BYTES || lines >= GW_POLICY_LINES)
		return wrong(p, err, lines, "too long");
	for (size_t i = 0; i + 4 <= len; i++)
		if (memcmp(text + i, "\ngo\n", 4) == 0)
			return wrong(p, err, lines, "more after go");
	return GW_READING_MORE;
}

static size_t count_lines(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	return n;
}

enum gw_reading gw_policy_read(const char *text, size_t len, struct gw_policy *out, char err[GW_ERROR_SIZE])
{
	static const char first[] = "open-conduit-gateway 1";
	size_t lines = count_lines(text, len), n = 0;
	const char *why = NULL, *end;

	memset(out, 0, sizeof(*out));
	if (!is_whole(text, len))
		return incomplete(out, text, len, lines, err);
	if (len > GW_POLICY_BYTES || lines > GW_POLICY_LINES)
		return wrong(out, err, lines, "too long");
	while (++n < lines) {
		char line[LINE_MAX_];
		size_t size;

		end = memchr(text, '\n', len);
		size = (size_t)(end - text);
		if (size >= sizeof(line))
			return wrong(out, err, n, "too long");
		memcpy(line, text, size);
		line[size] = '\0';
		if (n == 1)
			why = size == sizeof(first) - 1 && memcmp(line, first, size) == 0
			              ? NULL
			              : "not `open-conduit-gateway 1`";
		else
			why = read_line(out, line, size);
		if (why)
			return wrong(out, err, n, why);
		text = end + 1;
		len -= size + 1;
	}
	why = check_whole(out);
	return why ? wrong(out, err, n, why) : GW_READING_DONE;
}

static unsigned mask_bits(const struct sockaddr *mask, const struct gw_ip *of)
{
	struct gw_ip ip;
	unsigned bits = 0;

	/* Without one it is this address alone. */
	if (!mask || !gw_ip_from_sockaddr(mask, &ip))
		return gw_ip_is4(of) ? 32 : 128;
	for (size_t i = gw_ip_is4(of) ? 12 : 0; i < sizeof(ip.bytes); i++)
		bits += (unsigned)__builtin_popcount(ip.bytes[i]);
	return bits;
}

bool gw_policy_add_own(struct gw_policy *p)
{
	struct ifaddrs *all, *a;
	bool good = true;

	if (getifaddrs(&all) < 0)
		return false;
	for (a = all; a && good; a = a->ifa_next) {
		struct gw_net net;

		if (!a->ifa_addr || !gw_ip_from_sockaddr(a->ifa_addr, &net.ip))
			continue;
		net.bits = mask_bits(a->ifa_netmask, &net.ip);
		good = grow_nets(&p->never, p->n_never);
		if (good)
			p->never[p->n_never++] = net;
	}
	freeifaddrs(all);
	return good;
}

void gw_policy_free(struct gw_policy *p)
{
	free(p->rules);
	free(p->names);
	free(p->never);
	memset(p, 0, sizeof(*p));
}

static const char *class_word(enum oc_address_class c)
{
	switch (c) {
	case OC_ADDRESS_PRIVATE:
		return "private";
	case OC_ADDRESS_LOOPBACK:
		return "loopback";
	case OC_ADDRESS_LINK_LOCAL:
		return "link_local";
	case OC_ADDRESS_METADATA:
		return "metadata";
	default:
		return "special";
	}
}

const char *gw_policy_address(const struct gw_policy *p, size_t rule, const struct oc_target *t, const struct gw_ip *ip)
{
	enum oc_address_class c;
	char text[GW_IP_TEXT];
	bool exact;

	gw_ip_print(ip, text);
	c = oc_address_classify(text);
	exact = !p->rules[rule].wildcard && (t->address || oc_host_match(p->names, p->n_names, t->host, false, 0) >= 0);
	for (size_t i = 0; i < p->n_never; i++)
		if ((c == OC_ADDRESS_PUBLIC || c == OC_ADDRESS_PRIVATE) &&
		    gw_ip_beneath(ip, &p->never[i].ip, p->never[i].bits))
			return "own";
	return oc_address_allowed(c, exact) ? NULL : class_word(c);
}

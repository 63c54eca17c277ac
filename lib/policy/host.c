/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar and the decision are those of the reference vectors (tests/unit/vectors): a host is put into one
 * canonical spelling before anything is compared, so that no second spelling of a name or an address can pass or
 * miss a rule.  Whatever is not plainly a host is refused; nothing is guessed. */
#include "policy/host.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static const char bad_label[] = "is no host: write a name such as api.example.com, or an address";

static bool label_char(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static bool digits(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (s[i] < '0' || s[i] > '9')
			return false;
	return len > 0;
}

/* A last label that a resolver would read as a number makes the whole an address, or nothing. */
static bool numeric_label(const char *s, size_t len)
{
	if (digits(s, len))
		return true;
	if (len < 2 || s[0] != '0' || s[1] != 'x')
		return false;
	return strspn(s + 2, "0123456789abcdef") >= len - 2;
}

static const char *check_labels(const char *h, size_t len, bool *number)
{
	size_t start = 0;

	for (size_t i = 0; i <= len; i++) {
		if (i < len && h[i] != '.') {
			if (!label_char((unsigned char)h[i]) && h[i] != '-')
				return bad_label;
			continue;
		}
		if (i == start)
			return "has an empty label: write it without the extra dot";
		if (i - start > 63)
			return "has a label of more than 63 characters";
		if (h[start] == '-' || h[i - 1] == '-')
			return "has a label that begins or ends with '-'";
		*number = numeric_label(h + start, i - start);
		start = i + 1;
	}
	return NULL;
}

static const char *normalise_v6(const char *text, size_t len, char out[OC_HOST_MAX])
{
	static const unsigned char mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	unsigned char raw[16];
	char copy[INET6_ADDRSTRLEN];

	if (len < 4 || text[len - 1] != ']' || len - 2 >= sizeof(copy))
		return "is no IPv6 address in brackets: write it as [2001:db8::1]";
	memcpy(copy, text + 1, len - 2);
	copy[len - 2] = '\0';
	if (strspn(copy, "0123456789abcdefABCDEF:.") != len - 2)
		return "is no IPv6 address: a zone or other characters can't be used in brackets";
	if (inet_pton(AF_INET6, copy, raw) != 1)
		return "is no IPv6 address: write it as [2001:db8::1]";
	if (memcmp(raw, mapped, sizeof(mapped)) == 0)
		inet_ntop(AF_INET, raw + 12, out, OC_HOST_MAX);
	else
		inet_ntop(AF_INET6, raw, out, OC_HOST_MAX);
	return NULL;
}

const char *oc_host_normalise(const char *text, size_t len, char out[OC_HOST_MAX], bool *address)
{
	unsigned char raw[4];
	const char *why;
	bool number = false;

	*address = false;
	if (len > 0 && text[0] == '[') {
		*address = true;
		return normalise_v6(text, len, out);
	}
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] >= 0x80)
			return "is not ASCII: write the xn-- form of the name";
	if (len > 0 && text[len - 1] == '.')
		len--;
	if (len == 0)
		return "is empty: write a host such as api.example.com";
	if (len >= OC_HOST_MAX)
		return "is longer than 253 characters";
	for (size_t i = 0; i < len; i++)
		out[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + ('a' - 'A')) : text[i];
	out[len] = '\0';
	why = check_labels(out, len, &number);
	if (why)
		return why;
	if (number && inet_pton(AF_INET, out, raw) != 1)
		return "is no IPv4 address: write all four numbers, as in 192.0.2.1, without leading zeros";
	*address = number;
	return NULL;
}

static const char *parse_port(const char *s, size_t len, uint16_t *port)
{
	unsigned long n = 0;

	if (len == 0 || len > 5 || !digits(s, len) || s[0] == '0')
		return "has no valid port: write a number from 1 to 65535, as in host:443";
	for (size_t i = 0; i < len; i++)
		n = n * 10 + (unsigned long)(s[i] - '0');
	if (n > 65535)
		return "has no valid port: write a number from 1 to 65535, as in host:443";
	*port = (uint16_t)n;
	return NULL;
}

const char *oc_host_authority(const char *text, size_t len, size_t *host_len, const char **port, size_t *port_len)
{
	size_t end;

	if (len > 0 && text[0] == '[') {
		const char *close = memchr(text, ']', len);

		if (!close)
			return "has a bracket that isn't closed: write an IPv6 address as [2001:db8::1]";
		end = (size_t)(close - text) + 1;
	} else {
		for (end = 0; end < len && text[end] != ':'; end++)
			if (strchr("[]@/?#\\", text[end]))
				return text[end] == '@' ? "names a user: write the host alone"
				                        : "is no host: write it without scheme, path or brackets";
	}
	if (end == 0)
		return "is empty: write a host such as api.example.com";
	*host_len = end;
	*port = NULL;
	*port_len = 0;
	if (end == len)
		return NULL;
	if (text[end] != ':' || memchr(text + end + 1, ':', len - end - 1))
		return "has more than one colon: write host or host:port, and IPv6 addresses in brackets";
	*port = text + end + 1;
	*port_len = len - end - 1;
	return NULL;
}

const char *oc_host_port(const char *text, size_t len, uint16_t *port)
{
	return parse_port(text, len, port);
}

static bool is_localhost(const char *host)
{
	size_t len = strlen(host);

	return strcmp(host, "localhost") == 0 || (len > 10 && strcmp(host + len - 10, ".localhost") == 0);
}

/* What no entry may name, but for a process sandbox's loopback literal with its port. */
static const char *check_never(const struct oc_host_rule *r, bool loopback)
{
	if (is_localhost(r->host))
		return loopback ? "is this machine by name: write the address with its port, as in 127.0.0.1:5432"
		                : "is never reached: this machine's own ports are not part of any policy";
	if (!r->address)
		return NULL;
	switch (oc_address_classify(r->host)) {
	case OC_ADDRESS_PUBLIC:
	case OC_ADDRESS_PRIVATE:
		return NULL;
	case OC_ADDRESS_LOOPBACK:
		/* The real thing only: a translated form of it is nobody's service. */
		if (loopback && (strncmp(r->host, "127.", 4) == 0 || strcmp(r->host, "::1") == 0))
			return r->port ? NULL : "is this machine: write the port too, as in 127.0.0.1:5432";
		return "is a loopback address, which is never reached";
	case OC_ADDRESS_LINK_LOCAL:
		return "is a link-local address, which is never reached";
	case OC_ADDRESS_METADATA:
		return "is a metadata address, which is never reached";
	default:
		return "is an unspecified, multicast or reserved address, which is never reached";
	}
}

static const char *parse_wildcard(const char *name, size_t len, struct oc_host_rule *out)
{
	const char *why;

	if (memchr(name, ':', len))
		return "is a wildcard with a port: write *.domain alone";
	why = oc_host_normalise(name, len, out->host, &out->address);
	if (why)
		return why;
	if (out->address)
		return "is a wildcard over an address: write the address alone";
	if (!strchr(out->host, '.'))
		return "is too wide: write at least two labels after the star, as in *.example.com";
	out->wildcard = true;
	return NULL;
}

const char *oc_host_rule_parse(const char *entry, size_t len, bool loopback, struct oc_host_rule *out)
{
	struct oc_host_rule r;
	const char *why, *port;
	size_t host_len, port_len;

	memset(&r, 0, sizeof(r));
	if (memchr(entry, '\0', len))
		return bad_label;
	if (len >= 2 && entry[0] == '*' && entry[1] == '.') {
		why = parse_wildcard(entry + 2, len - 2, &r);
		if (!why)
			*out = r;
		return why;
	}
	if (memchr(entry, '*', len))
		return "has a star in the wrong place: write *.domain for every name under it, or list the hosts";
	for (size_t i = 0; i + 2 < len; i++)
		if (memcmp(entry + i, "://", 3) == 0)
			return "is a URL: write the host alone, without scheme and path";
	why = oc_host_authority(entry, len, &host_len, &port, &port_len);
	if (!why)
		why = oc_host_normalise(entry, host_len, r.host, &r.address);
	if (!why && port)
		why = parse_port(port, port_len, &r.port);
	if (!why)
		why = check_never(&r, loopback);
	if (!why)
		*out = r;
	return why;
}

static bool rule_matches(const struct oc_host_rule *r, const char *host, bool address, uint16_t port)
{
	size_t len = strlen(host), suffix = strlen(r->host);

	if (r->port && r->port != port)
		return false;
	if (!r->wildcard)
		return strcmp(r->host, host) == 0;
	return !address && len > suffix + 1 && host[len - suffix - 1] == '.' &&
	       strcmp(host + len - suffix, r->host) == 0;
}

int oc_host_match(const struct oc_host_rule *rules, size_t n, const char *host, bool address, uint16_t port)
{
	int first = -1;

	for (size_t i = 0; i < n; i++) {
		if (!rule_matches(&rules[i], host, address, port))
			continue;
		if (!rules[i].wildcard)
			return (int)i;
		if (first < 0)
			first = (int)i;
	}
	return first;
}

bool oc_address_allowed(enum oc_address_class c, bool exact)
{
	return c == OC_ADDRESS_PUBLIC || (c == OC_ADDRESS_PRIVATE && exact);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "address.h"

#include <stddef.h>
#include <string.h>

#define NUMBER_MAX 65535

/* 1 to NUMBER_MAX in plain digits, up to `end`. */
static bool number(const char *s, const char *end, int *out)
{
	int n = 0;

	if (s == end || *s == '0')
		return false;
	for (; s < end; s++) {
		if (*s < '0' || *s > '9' || (n = n * 10 + (*s - '0')) > NUMBER_MAX)
			return false;
	}
	*out = n;
	return true;
}

static bool is(const char *s, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(s, word, len) == 0;
}

/* One option between commas; `fork` and `reuseaddr` are what the relay does anyway. */
static bool option(const char *s, size_t len, bool listens, struct relay_address *a)
{
	const struct {
		const char *name;
		int *to;
		bool listens;
	} numbers[] = { { "backlog=", &a->backlog, true },
		        { "keepidle=", &a->keepidle, false },
		        { "keepintvl=", &a->keepintvl, false },
		        { "keepcnt=", &a->keepcnt, false } };
	size_t i;

	if (listens && (is(s, len, "fork") || is(s, len, "reuseaddr")))
		return true;
	if (listens && is(s, len, "ipv6only=0"))
		return a->at.any.sa_family == AF_INET6;
	if (!listens && is(s, len, "keepalive"))
		return a->keepalive = a->at.any.sa_family == AF_INET;
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		size_t n = strlen(numbers[i].name);

		if (numbers[i].listens == listens && len > n && memcmp(s, numbers[i].name, n) == 0)
			return number(s + n, s + len, numbers[i].to);
	}
	return false;
}

static const char *options(const char *s, bool listens, struct relay_address *a)
{
	while (*s) {
		size_t len = strcspn(++s, ",");

		if (!option(s, len, listens, a))
			return "an option that this relay doesn't have";
		s += len;
	}
	return NULL;
}

static bool take_path(const char *s, size_t len, struct relay_address *out)
{
	struct sockaddr_un *un = &out->at.local;

	if (len == 0 || s[0] != '/' || len >= sizeof(un->sun_path))
		return false;
	un->sun_family = AF_UNIX;
	memcpy(un->sun_path, s, len);
	out->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
	return true;
}

static bool take_port(const char *s, size_t len, int family, uint32_t host, struct relay_address *out)
{
	int port;

	if (!number(s, s + len, &port))
		return false;
	if (family == AF_INET6) {
		out->at.in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
		out->len = sizeof(out->at.in6);
		return true;
	}
	out->at.in = (struct sockaddr_in){ .sin_family = AF_INET,
		                           .sin_port = htons((uint16_t)port),
		                           .sin_addr.s_addr = htonl(host) };
	out->len = sizeof(out->at.in);
	return true;
}

static const char *after(const char *text, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

const char *relay_parse_listen(const char *text, struct relay_address *out)
{
	const char *s;
	size_t len;
	bool taken;

	memset(out, 0, sizeof(*out));
	if ((s = after(text, "UNIX-LISTEN:")))
		taken = take_path(s, len = strcspn(s, ","), out);
	else if ((s = after(text, "TCP4-LISTEN:")))
		taken = take_port(s, len = strcspn(s, ","), AF_INET, INADDR_ANY, out);
	else if ((s = after(text, "TCP6-LISTEN:")))
		taken = take_port(s, len = strcspn(s, ","), AF_INET6, 0, out);
	else
		return "not an address to listen at";
	return taken ? options(s + len, true, out) : "a path or a port that can't be one";
}

const char *relay_parse_connect(const char *text, struct relay_address *out)
{
	const char *s;
	size_t len;
	bool taken;

	memset(out, 0, sizeof(*out));
	if ((s = after(text, "UNIX-CONNECT:")))
		taken = take_path(s, len = strcspn(s, ","), out);
	else if ((s = after(text, "TCP:localhost:")))
		taken = take_port(s, len = strcspn(s, ","), AF_INET, INADDR_LOOPBACK, out);
	else
		return "not an address to connect to";
	return taken ? options(s + len, false, out) : "a path or a port that can't be one";
}

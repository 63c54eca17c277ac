/* SPDX-License-Identifier: Apache-2.0 */
/* The proxy is there, takes the credential that the environment names, and refuses a host that is not allowed. */
#include "guest/probe_net.h"

#include "guest/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROXY_MS  5000
#define LISTEN_MS 3000

static const char *variable(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

static size_t percent_decode(const char *s, size_t len, char *out, size_t cap)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < cap; i++) {
		if (s[i] == '%' && i + 2 < len && hex_digit(s[i + 1]) >= 0 && hex_digit(s[i + 2]) >= 0) {
			out[n++] = (char)(hex_digit(s[i + 1]) << 4 | hex_digit(s[i + 2]));
			i += 2;
		} else {
			out[n++] = s[i];
		}
	}
	return n;
}

static void base64(const char *in, size_t len, char *out)
{
	static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *s = (const unsigned char *)in;

	for (size_t i = 0; i < len; i += 3) {
		unsigned v = (unsigned)s[i] << 16 | (i + 1 < len ? (unsigned)s[i + 1] << 8 : 0) |
		             (i + 2 < len ? s[i + 2] : 0);

		*out++ = set[v >> 18];
		*out++ = set[v >> 12 & 63];
		*out++ = i + 1 < len ? set[v >> 6 & 63] : '=';
		*out++ = i + 2 < len ? set[v & 63] : '=';
	}
	*out = 0;
}

/* http://user:password@host:port into an address and a CONNECT; false: not such a URL. */
static bool proxy_request(struct attempt *a, const char *url, union address *to, socklen_t *len)
{
	const char *s = strstr(url, "://"), *at, *end, *colon = NULL;
	char host[128], port[8], user[256], auth[400] = "", v6 = 0;
	int n;

	s = s ? s + 3 : url;
	end = s + strcspn(s, "/?#");
	at = memchr(s, '@', (size_t)(end - s));
	if (at) {
		base64(user, percent_decode(s, (size_t)(at - s), user, sizeof(user)), auth);
		s = at + 1;
	}
	if (*s == '[') {
		v6 = 1;
		s++;
	}
	for (const char *c = s; c < end; c++)
		if (*c == ':' && (!v6 || (c > s && c[-1] == ']')))
			colon = c;
	if (!colon || (size_t)(colon - s) >= sizeof(host) || (size_t)(end - colon) > sizeof(port))
		return false;
	snprintf(host, sizeof(host), "%.*s", (int)(colon - s - v6), s);
	snprintf(port, sizeof(port), "%.*s", (int)(end - colon - 1), colon + 1);
	if (!strcmp(host, "localhost"))
		snprintf(host, sizeof(host), "127.0.0.1");
	if (!oc_net_parse(host, port, to, len))
		return false;
	n = snprintf(a->buf, sizeof(a->buf), "CONNECT %.128s:%.8s HTTP/1.1\r\nHost: %.128s:%.8s\r\n%s%s%s\r\n",
	             a->probe->args.v[1], a->probe->args.v[2], a->probe->args.v[1], a->probe->args.v[2],
	             *auth ? "Proxy-Authorization: Basic " : "", auth, *auth ? "\r\n" : "");
	a->len = n > 0 && (size_t)n < sizeof(a->buf) ? (size_t)n : 0;
	return a->len != 0;
}

/* The sandbox starts its end of the proxy beside us, and on a busy machine may not listen yet: what is refused
 * is tried again for a while. */
static int dial(const union address *to, socklen_t len)
{
	uint64_t since = oc_now_ns();

	for (;;) {
		int fd = oc_net_socket(to->any.sa_family, SOCK_STREAM), err;

		if (fd < 0 || connect(fd, &to->any, len) == 0 || errno == EINPROGRESS)
			return fd;
		err = errno;
		close(fd);
		if (err != ECONNREFUSED || oc_now_ns() - since > LISTEN_MS * 1000000ull)
			return -err;
		poll(NULL, 0, 5);
	}
}

void oc_proxy_start(struct oc_probe_net *net, const struct oc_probe *p)
{
	struct attempt *a = oc_net_attempt(net, p, PROXY_MS);
	const char *url = variable(net->run->env, p->args.v[0]);
	union address to;
	socklen_t len;

	if (!url || !proxy_request(a, url, &to, &len)) {
		oc_net_finish(net, a, false,
		              url ? "the proxy's variable is no URL with address and port"
		                  : "the proxy's variable is not set");
		return;
	}
	a->fd = dial(&to, len);
	if (a->fd < 0)
		oc_net_finish_errno(net, a, false, "connecting to the proxy", -a->fd);
}

static void judge_proxy(struct oc_probe_net *net, struct attempt *a)
{
	char detail[OC_DETAIL_MAX];
	int status = 0;

	a->buf[a->len] = 0;
	if (sscanf(a->buf, "HTTP/1.%*1d %3d", &status) != 1) {
		oc_net_finish(net, a, false, "the proxy does not answer in HTTP");
		return;
	}
	oc_probe_say(detail, "the proxy answers %d for %.128s:%.8s%s", status, a->probe->args.v[1], a->probe->args.v[2],
	             status == 403 ? "" : ", 403 was expected");
	oc_net_finish(net, a, status == 403, detail);
}

void oc_proxy_step(struct oc_probe_net *net, struct attempt *a, short revents, bool late)
{
	ssize_t n;
	int err;

	if (!revents) {
		if (late)
			oc_net_finish(net, a, false, "the proxy does not answer");
		return;
	}
	if (a->step == CONNECTING) {
		err = oc_net_connect_error(a->fd);
		if (err) {
			oc_net_finish_errno(net, a, false, "connecting to the proxy", err);
			return;
		}
		a->step = SENDING;
	}
	if (a->step == SENDING) {
		n = send(a->fd, a->buf + a->off, a->len - a->off, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN) {
			oc_net_finish_errno(net, a, false, "asking the proxy", errno);
			return;
		}
		a->off += n > 0 ? (size_t)n : 0;
		if (a->off == a->len) {
			a->step = RECEIVING;
			a->len = 0;
		}
		return;
	}
	n = recv(a->fd, a->buf + a->len, sizeof(a->buf) - 1 - a->len, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	a->len += n > 0 ? (size_t)n : 0;
	if (n <= 0 || memchr(a->buf, '\n', a->len) || a->len == sizeof(a->buf) - 1)
		judge_proxy(net, a);
}

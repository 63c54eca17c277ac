/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway gets its policy once, and may then reach what it says; until it says that it listens nothing is handed to the guest. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/files.h"
#include "create.h"
#include "session.h"

#define NEVER_MAX 512
#define READY_MS  60000
#define RESOLVER  "127.0.0.11" /* the engine's, in each of its networks */

static void add_address(struct list *l, const char *text, bool *good)
{
	if (text && *text && !list_has(l, text))
		*good = *good && list_add(l, text);
}

/* The gateway's own addresses, and those of each bridge that it is on. */
static bool own_addresses(const json_t *shown, struct list *out)
{
	static const char *const members[] = { "IPAddress", "GlobalIPv6Address", "Gateway", "IPv6Gateway" };
	json_t *network;
	const char *name;
	bool good = true;
	size_t i;

	json_object_foreach(json_object_get(json_object_get(shown, "NetworkSettings"), "Networks"), name,
	                    network) for (i = 0; i < COUNT(members); i++)
	        add_address(out, text_of(network, members[i]), &good);
	return good;
}

/* The engine is on this machine (the check refuses another), so its addresses are this machine's. */
static bool machine_addresses(struct list *out)
{
	struct ifaddrs *all = NULL, *i;
	char text[INET6_ADDRSTRLEN];
	bool good = getifaddrs(&all) == 0;

	for (i = all; i; i = i->ifa_next) {
		const struct sockaddr *at = i->ifa_addr;
		const void *bytes = NULL;

		if (at && at->sa_family == AF_INET)
			bytes = &((const struct sockaddr_in *)(const void *)at)->sin_addr;
		else if (at && at->sa_family == AF_INET6)
			bytes = &((const struct sockaddr_in6 *)(const void *)at)->sin6_addr;
		if (bytes && inet_ntop(at->sa_family, bytes, text, sizeof(text)))
			add_address(out, text, &good);
	}
	freeifaddrs(all);
	return good;
}

static bool put(struct text *out, const char *word, const char *value, const char *rest)
{
	return text_puts(out, word) && text_puts(out, value) && text_puts(out, rest);
}

static const json_t *own_end(const struct session *s, const json_t *shown)
{
	const json_t *all = json_object_get(json_object_get(shown, "NetworkSettings"), "Networks");
	cleanup_free char *name = create_name(text_of(s->values, CREATE_ATTEMPT), "");
	const json_t *end = name ? json_object_get(all, name) : NULL;

	return end ? end : json_object_get(all, text_of(s->values, CREATE_NETWORK));
}

static int write_policy(struct session *s, const json_t *shown, struct text *out)
{
	const json_t *end = own_end(s, shown);
	const char *v4 = text_of(end, "IPAddress"), *v6 = text_of(end, "GlobalIPv6Address");
	struct list never = { 0 };
	bool good;
	size_t i;

	if (!v4 || strcmp(v4, text_of(s->values, CREATE_GATEWAY)) != 0)
		return refuse(s->r, "sandbox_unavailable", "gateway", "open-conduit doctor",
		              "the gateway has the address %s, and not the planned one", v4 ? v4 : "none");
	good = own_addresses(shown, &never) && machine_addresses(&never) && never.n <= NEVER_MAX &&
	       text_puts(out, "open-conduit-gateway 1\n") && put(out, "listen ", v4, " 3128\n") &&
	       (!v6 || !*v6 || put(out, "listen ", v6, " 3128\n")) && text_puts(out, "resolver " RESOLVER "\n") &&
	       text_puts(out, s->spec.policy);
	for (i = 0; i < never.n; i++)
		good = good && put(out, "never ", never.v[i], "\n");
	list_free(&never);
	if (good && text_puts(out, "go\n"))
		return 0;
	return refuse(s->r, "sandbox_unavailable", "gateway", NULL,
	              "the gateway's policy can't be written: this machine has more than %d addresses, or no memory",
	              NEVER_MAX);
}

static int send_all(struct session *s, const char *data, size_t len)
{
	while (len) {
		ssize_t n = send(s->gateway.socket, data, len, MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			struct pollfd p = { .fd = s->gateway.socket, .events = POLLOUT };

			if (poll(&p, 1, READY_MS) > 0)
				continue;
			errno = ETIMEDOUT;
		}
		if (n < 0)
			return refuse(s->r, "sandbox_unavailable", "gateway", "open-conduit doctor",
			              "the gateway did not take its policy: %s", strerror(errno));
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Its first line; what comes with it are events already. */
static int await_ready(struct session *s)
{
	char data[512];
	size_t len = 0;
	char *end = NULL;

	while (!end && len < sizeof(data) - 1) {
		ssize_t n;

		if (session_await(s, s->gateway.socket, READY_MS, "gateway") < 0)
			return -1;
		n = recv(s->gateway.socket, data + len, sizeof(data) - 1 - len, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
		data[len] = '\0';
		end = memchr(data, '\n', len);
	}
	if (end)
		*end = '\0';
	if (!end || strcmp(data, "ready") != 0)
		return refuse(s->r, "sandbox_unavailable", "gateway", "open-conduit doctor",
		              "the gateway is not ready: %s", len && end ? data : "it ended");
	events_feed(&s->events, end + 1, len - (size_t)(end + 1 - data));
	return 0;
}

int session_instruct(struct session *s, const json_t *shown)
{
	struct text policy = { 0 };
	int rc = write_policy(s, shown, &policy);

	if (rc == 0)
		rc = send_all(s, policy.data, policy.len);
	text_clear(&policy);
	return rc < 0 ? rc : await_ready(s);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Most clients show the reason phrase and nothing else, npm the member `error` of a JSON body, git (without TLS) a text
 * body: so each says it. */
#include "answer.h"

#include <stdio.h>
#include <string.h>

#define REASON_MAX 400
#define BODY_MAX   2200

struct answer {
	int status;
	bool json;
	char reason[REASON_MAX], error[REASON_MAX], message[BODY_MAX];
};

/* No text here has a quote or backslash that JSON would want escaped, but for those of a pasted line. */
static void escape(char *out, size_t size, const char *text)
{
	size_t n = 0;

	for (; *text && n + 2 < size; text++) {
		if (*text == '"' || *text == '\\')
			out[n++] = '\\';
		out[n++] = *text;
	}
	out[n] = '\0';
}

static size_t whole(char out[GW_ANSWER_MAX], const struct answer *a)
{
	char message[BODY_MAX], body[BODY_MAX];
	int n, len;

	escape(message, sizeof(message), a->message);
	if (a->json)
		len = snprintf(body, sizeof(body), "{\"error\":\"open-conduit: %s\",\"message\":\"%s\"}\n", a->error,
		               message);
	else
		len = snprintf(body, sizeof(body), "open-conduit: %s\n%s\n", a->error, a->message);
	if (len < 0 || (size_t)len >= sizeof(body))
		return 0;
	n = snprintf(out, GW_ANSWER_MAX,
	             "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%sConnection: close\r\n\r\n%s",
	             a->status, a->reason, a->json ? "application/json" : "text/plain; charset=utf-8", len,
	             a->status == 403 ? "X-Open-Conduit: blocked\r\n" : "", body);
	return n < 0 || n >= GW_ANSWER_MAX ? 0 : (size_t)n;
}

#define AT_MAX (OC_HOST_MAX + 16)

static void host_port(char out[AT_MAX], const struct oc_target *t)
{
	snprintf(out, AT_MAX, t->address && strchr(t->host, ':') ? "[%s]:%u" : "%s:%u", t->host, t->port);
}

static const struct {
	const char *why, *what, *fix;
} classes[] = {
	{ "private", "a private address",
	  "A private address is reached only where network.allow has the address itself, or the exact name, and the "
	  "name led "
	  "to a private address when the run was planned." },
	{ "loopback", "a loopback address", "No policy reaches it." },
	{ "link_local", "a link-local address", "No policy reaches it." },
	{ "metadata", "a cloud metadata address", "No policy reaches it." },
	{ "own", "an address of the sandbox's own network", "No policy reaches it." },
	{ "special", "an unspecified, multicast or reserved address", "No policy reaches it." },
};

static const char no_other_route[] = "This is the only way out of this sandbox: no other tool, proxy setting, port or "
                                     "address gets there. If the task "
                                     "needs it, say so to the operator.";

size_t gw_answer_denied(char out[GW_ANSWER_MAX], const struct gw_request *r, const char *why)
{
	struct answer a = { .status = 403, .json = r->target.connect || r->json };
	char at[AT_MAX];
	size_t i;

	host_port(at, &r->target);
	for (i = 0; i < OC_COUNT(classes) && strcmp(classes[i].why, why) != 0;)
		i++;
	if (i == OC_COUNT(classes)) {
		snprintf(a.reason, sizeof(a.reason), "blocked by network.allow: %s", at);
		snprintf(a.error, sizeof(a.error), "%s is not in network.allow", at);
		snprintf(a.message, sizeof(a.message),
		         "No entry of the policy's network.allow is for this host and port. The line that would allow "
		         "it: "
		         "\"network\": {\"allow\": [\"%s\"]}. %s",
		         at, no_other_route);
		return whole(out, &a);
	}
	snprintf(a.reason, sizeof(a.reason), "blocked: %s is %s", at, classes[i].what);
	snprintf(a.error, sizeof(a.error), "%s is or leads to %s", at, classes[i].what);
	snprintf(a.message, sizeof(a.message),
	         "network.allow has this host, but its address is not one that may be reached. %s %s", classes[i].fix,
	         no_other_route);
	return whole(out, &a);
}

size_t gw_answer_failed(char out[GW_ANSWER_MAX], const struct gw_request *r, int status, const char *why)
{
	struct answer a = { .status = status, .json = r->target.connect || r->json };
	char at[AT_MAX];

	host_port(at, &r->target);
	snprintf(a.reason, sizeof(a.reason), "%s: %s", at, why);
	snprintf(a.error, sizeof(a.error), "%s is allowed but can't be reached: %s", at, why);
	snprintf(a.message, sizeof(a.message),
	         "The policy allows this host; the network or the server is what failed. Trying again "
	         "may help.");
	return whole(out, &a);
}

size_t gw_answer_refused(char out[GW_ANSWER_MAX], int status, const char *why)
{
	struct answer a = { .status = status };

	snprintf(a.reason, sizeof(a.reason), "%s",
	         status == 400   ? "Bad Request"
	         : status == 408 ? "Request Timeout"
	         : status == 431 ? "Request Header Fields Too Large"
	                         : "Service Unavailable");
	snprintf(a.error, sizeof(a.error), "%s", why);
	snprintf(a.message, sizeof(a.message),
	         "This is an HTTP/1.1 proxy: CONNECT host:port, or http://host/ in full.");
	return whole(out, &a);
}

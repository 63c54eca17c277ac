/* SPDX-License-Identifier: Apache-2.0 */
/* A request head, read so strictly that whoever reads it after us can't read another target out of it: no bare CR or
 * LF, NUL, folding, second Host, conflicting lengths, userinfo, or form but CONNECT host:port and http://host[:port]. */
#include <string.h>
#include <strings.h>

#include "policy/host.h"

#define HEAD_MAX 65536

struct seen {
	unsigned host, te, cl;
	bool te_chunked, cl_valid, cl_zero;
};

static bool token_char(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c != '\0' && strchr("!#$%&'*+.^_`|~-", c));
}

static const char *check_bytes(const char *head, size_t len)
{
	if (len < 4 || len > HEAD_MAX || memcmp(head + len - 4, "\r\n\r\n", 4) != 0)
		return "head does not end in an empty line, or is too long";
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)head[i];

		if (c >= 0x80)
			return "head is not ASCII; hosts are written in their xn-- form";
		if (c == '\r' ? head[i + 1] != '\n' : c == '\n' ? i == 0 || head[i - 1] != '\r' : false)
			return "bare CR or LF in the head";
		if ((c < 0x20 && c != '\r' && c != '\n' && c != '\t') || c == 0x7f)
			return "control character in the head";
	}
	return NULL;
}

static bool name_is(const char *name, size_t len, const char *want)
{
	return len == strlen(want) && strncasecmp(name, want, len) == 0;
}

static void note_length(struct seen *s, const char *value, size_t len)
{
	s->cl++;
	s->cl_valid = len >= 1 && len <= 18;
	for (size_t i = 0; i < len; i++)
		if (value[i] < '0' || value[i] > '9')
			s->cl_valid = false;
	s->cl_zero = len == 1 && value[0] == '0';
}

static const char *header_line(const char *line, size_t len, struct seen *s)
{
	const char *colon = memchr(line, ':', len), *value;
	size_t name;

	if (!colon || colon == line)
		return "header line without a name";
	name = (size_t)(colon - line);
	for (size_t i = 0; i < name; i++)
		if (!token_char((unsigned char)line[i]))
			return "header name with characters that no name has";
	value = colon + 1;
	len -= name + 1;
	while (len > 0 && (*value == ' ' || *value == '\t')) {
		value++;
		len--;
	}
	while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t'))
		len--;
	if (name_is(line, name, "host"))
		s->host++;
	if (name_is(line, name, "content-length"))
		note_length(s, value, len);
	if (name_is(line, name, "transfer-encoding")) {
		s->te++;
		s->te_chunked = name_is(value, len, "chunked");
	}
	return NULL;
}

static const char *check_headers(const char *p, const char *end, bool old, struct seen *s)
{
	const char *why;

	while (p < end) {
		const char *eol = memchr(p, '\r', (size_t)(end - p));
		size_t len = (size_t)((eol ? eol : end) - p);

		why = header_line(p, len, s);
		if (why)
			return why;
		p = eol ? eol + 2 : end;
	}
	if (s->host > 1 || (s->host == 0 && !old))
		return "not exactly one Host";
	if (s->te && (s->cl || old || s->te > 1 || !s->te_chunked))
		return "Transfer-Encoding other than chunked alone";
	if (s->cl > 1 || (s->cl && !s->cl_valid))
		return "not exactly one valid Content-Length";
	return NULL;
}

static const char *set_host(const char *text, size_t len, bool want_port, struct oc_target *out)
{
	const char *why, *port;
	size_t host_len, port_len;

	why = oc_host_authority(text, len, &host_len, &port, &port_len);
	if (why)
		return why;
	why = oc_host_normalise(text, host_len, out->host, &out->address);
	if (why)
		return why;
	if (port_len > 0)
		return oc_host_port(port, port_len, &out->port);
	if (want_port)
		return "CONNECT needs host:port";
	out->port = 80;
	return NULL;
}

static const char *set_absolute(const char *target, size_t len, struct oc_target *out)
{
	size_t end;

	if (len < 7 || strncasecmp(target, "http://", 7) != 0)
		return "target is not an absolute http:// URL";
	target += 7;
	len -= 7;
	for (end = 0; end < len && !strchr("/?#", target[end]);)
		end++;
	if (memchr(target, '#', len))
		return "fragment in a request target";
	return set_host(target, end, false, out);
}

/* "METHOD SP target SP HTTP/1.x": exactly that. */
static const char *request_line(const char *line, size_t len, size_t *method, const char **target, size_t *target_len,
                                bool *old)
{
	size_t m = 0, t;

	while (m < len && line[m] >= 'A' && line[m] <= 'Z')
		m++;
	if (m == 0 || m == len || line[m] != ' ')
		return "no method";
	for (t = m + 1; t < len && line[t] > 0x20 && line[t] < 0x7f;)
		t++;
	if (t == m + 1 || len - t != 9 || memcmp(line + t, " HTTP/1.", 8) != 0 ||
	    (line[t + 8] != '0' && line[t + 8] != '1'))
		return "request line is not METHOD TARGET HTTP/1.0 or HTTP/1.1";
	*method = m;
	*target = line + m + 1;
	*target_len = t - m - 1;
	*old = line[t + 8] == '0';
	return NULL;
}

const char *oc_target_parse(const char *head, size_t len, struct oc_target *out)
{
	struct oc_target t;
	struct seen s;
	const char *why, *target = NULL, *eol;
	size_t method = 0, target_len = 0;
	bool old = false;

	memset(&t, 0, sizeof(t));
	memset(&s, 0, sizeof(s));
	why = check_bytes(head, len);
	if (why)
		return why;
	len -= 4;
	eol = memchr(head, '\r', len);
	why = request_line(head, eol ? (size_t)(eol - head) : len, &method, &target, &target_len, &old);
	if (!why)
		why = check_headers(eol ? eol + 2 : head + len, head + len, old, &s);
	if (why)
		return why;
	t.connect = name_is(head, method, "CONNECT");
	if (t.connect && (s.te || (s.cl && !s.cl_zero)))
		return "CONNECT with content";
	why = t.connect ? set_host(target, target_len, true, &t) : set_absolute(target, target_len, &t);
	if (!why)
		*out = t;
	return why;
}

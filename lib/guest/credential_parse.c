/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/credential_parse.h"

#include <string.h>
#include <strings.h>

#define SCHEME     "https://"
#define PORT       "443"
#define COMPONENTS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

static bool is(struct oc_credential_part part, const char *text)
{
	return part.at && part.len == strlen(text) && memcmp(part.at, text, part.len) == 0;
}

/* Only a newline ends a line: what takes a carriage return for one, too, reads another host than git wrote. */
static bool has_control(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return true;
	return false;
}

static bool repeats(struct oc_credential_part key)
{
	return key.len > 2 && memcmp(key.at + key.len - 2, "[]", 2) == 0;
}

static bool seen(const struct oc_credential_part *keys, size_t n, struct oc_credential_part key)
{
	for (size_t i = 0; i < n; i++)
		if (keys[i].len == key.len && memcmp(keys[i].at, key.at, key.len) == 0)
			return true;
	return false;
}

static struct oc_credential_part *place(struct oc_credential_question *q, struct oc_credential_part key)
{
	return is(key, "protocol")   ? &q->protocol
	       : is(key, "host")     ? &q->host
	       : is(key, "path")     ? &q->path
	       : is(key, "username") ? &q->username
	                             : NULL;
}

static const char *take_line(const char *line, size_t len, struct oc_credential_part *keys, size_t *n,
                             struct oc_credential_question *q)
{
	const char *equals = memchr(line, '=', len);
	struct oc_credential_part key = { line, equals ? (size_t)(equals - line) : 0 }, *to;

	if (has_control(line, len))
		return "it holds a control character";
	if (!key.len)
		return "a line of it is not key=value";
	if (repeats(key))
		return NULL;
	if (seen(keys, *n, key))
		return "a key of it is there twice";
	if (is(key, "url"))
		return "it holds a URL beside what is to say the same";
	keys[(*n)++] = key;
	to = place(q, key);
	if (to)
		*to = (struct oc_credential_part){ equals + 1, len - key.len - 1 };
	return NULL;
}

const char *oc_credential_parse(const char *text, size_t len, struct oc_credential_question *out)
{
	struct oc_credential_part keys[OC_CREDENTIAL_LINES];
	const char *at = text, *end = text + len, *newline, *wrong = NULL;
	size_t n = 0, lines = 0;

	*out = (struct oc_credential_question){ 0 };
	if (len > OC_CREDENTIAL_INPUT)
		return "it is longer than 64 KiB";
	for (; at < end && !wrong; at = newline + 1) {
		newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline)
			return "its last line is cut short";
		if (newline == at)
			return newline + 1 == end ? NULL : "there is more behind its end";
		if (newline - at >= (ptrdiff_t)OC_CREDENTIAL_LINE)
			return "a line of it is longer than 4 KiB";
		if (++lines > OC_CREDENTIAL_LINES)
			return "it has too many lines";
		wrong = take_line(at, (size_t)(newline - at), keys, &n, out);
	}
	return wrong;
}

/* HOST or HOST:PORT into its two parts; false: it is none. */
static bool split_host(struct oc_credential_part host, struct oc_credential_part *name, struct oc_credential_part *port)
{
	const char *colon = memchr(host.at, ':', host.len);

	*name = (struct oc_credential_part){ host.at, colon ? (size_t)(colon - host.at) : host.len };
	*port = (struct oc_credential_part){ PORT, sizeof(PORT) - 1 };
	if (colon)
		*port = (struct oc_credential_part){ colon + 1, host.len - name->len - 1 };
	if (!name->len || !port->len || port->len > 5 || *port->at == '0')
		return false;
	for (size_t i = 0; i < port->len; i++)
		if (port->at[i] < '0' || port->at[i] > '9')
			return false;
	return true;
}

static bool same_host(struct oc_credential_part host, const char *base)
{
	struct oc_credential_part own = { base + sizeof(SCHEME) - 1, strlen(base + sizeof(SCHEME) - 1) }, names[2],
	                          ports[2];

	return split_host(own, &names[0], &ports[0]) && split_host(host, &names[1], &ports[1]) &&
	       names[0].len == names[1].len && strncasecmp(names[0].at, names[1].at, names[0].len) == 0 &&
	       ports[0].len == ports[1].len && memcmp(ports[0].at, ports[1].at, ports[0].len) == 0;
}

/* Nothing is decoded or folded: a repository's name has no "%", no empty part and none of dots alone, so what holds one is
 * not it. */
static bool same_repository(struct oc_credential_part path, const char *repository)
{
	size_t n = strlen(repository);

	if (path.len && *path.at == '/') {
		path.at++;
		path.len--;
	}
	if (path.len && path.at[path.len - 1] == '/')
		path.len--;
	if (path.len == n + 4 && strncasecmp(path.at + n, ".git", 4) == 0)
		path.len = n;
	return path.len == n && strncasecmp(path.at, repository, n) == 0;
}

enum oc_credential_match oc_credential_match(const struct oc_credential_question *q, const char *base,
                                             const char *repository)
{
	if (!is(q->protocol, "https") || !q->host.at || !same_host(q->host, base))
		return OC_CREDENTIAL_OTHER;
	if (q->username.at && !is(q->username, OC_CREDENTIAL_USER))
		return OC_CREDENTIAL_OTHER;
	if (!repository)
		return OC_CREDENTIAL_OURS;
	if (!q->path.at)
		return OC_CREDENTIAL_NO_PATH;
	return same_repository(q->path, repository) ? OC_CREDENTIAL_OURS : OC_CREDENTIAL_OTHER;
}

bool oc_credential_base_valid(const char *base)
{
	struct oc_credential_part host, name, port;

	if (strncmp(base, SCHEME, sizeof(SCHEME) - 1) != 0)
		return false;
	host = (struct oc_credential_part){ base + sizeof(SCHEME) - 1, strlen(base + sizeof(SCHEME) - 1) };
	return host.len && !host.at[strspn(host.at, COMPONENTS ":")] && split_host(host, &name, &port);
}

static bool component(const char *text, size_t len)
{
	return len && strspn(text, COMPONENTS) >= len && !(len == 1 && *text == '.') &&
	       !(len == 2 && memcmp(text, "..", 2) == 0);
}

bool oc_credential_repository_valid(const char *repository)
{
	const char *slash = strchr(repository, '/');

	return slash && component(repository, (size_t)(slash - repository)) && component(slash + 1, strlen(slash + 1));
}

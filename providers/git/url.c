/* SPDX-License-Identifier: Apache-2.0 */
/* What is copied into a workspace an agent reads.  So a URL is taken apart by the strictest reading and put together again
 * from the parts that are known to be harmless; what does not come apart cleanly is left out whole, as git and curl
 * read such texts in more than one way.
 *
 * http, https, ftp: no user at all (tokens are used as user names).  ssh, in both forms, and git: a user name stays when
 * it is a plain short one, as it is part of the address ("git@"); a password never. */
#include "url.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define URL_MAX  4096
#define USER_MAX 32

static bool plain_bytes(const char *url)
{
	for (; *url; url++)
		if ((unsigned char)*url <= ' ' || *url == 0x7f || *url == '\\')
			return false;
	return true;
}

static bool user_plain(const char *user, size_t len)
{
	if (len == 0 || len > USER_MAX || !(islower((unsigned char)user[0]) || user[0] == '_'))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!islower((unsigned char)user[i]) && !isdigit((unsigned char)user[i]) && !strchr("_.-", user[i]))
			return false;
	return true;
}

/* A name, an IPv4 address, or an IPv6 address in brackets; not percent-encoded: that may hide a user. */
static bool host_plain(const char *host, size_t len)
{
	size_t i = 0;

	if (len > 2 && host[0] == '[' && host[len - 1] == ']') {
		for (i = 1; i < len - 1; i++)
			if (!isxdigit((unsigned char)host[i]) && !strchr(":.", host[i]))
				return false;
		return true;
	}
	for (i = 0; i < len; i++)
		if (!isalnum((unsigned char)host[i]) && !strchr("_.-", host[i]) && !((unsigned char)host[i] & 0x80))
			return false;
	return len > 0 && len < 256 && host[0] != '-';
}

static bool port_plain(const char *port, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isdigit((unsigned char)port[i]))
			return false;
	return len <= 5;
}

static char *decoded(const char *text)
{
	char *out = strdup(text), *to = out;

	for (; out && *text; text++) {
		char hex[3] = { text[0] == '%' ? text[1] : '\0', text[0] == '%' && text[1] ? text[2] : '\0', '\0' };

		if (isxdigit((unsigned char)hex[0]) && isxdigit((unsigned char)hex[1]) && strcmp(hex, "00") != 0) {
			*to++ = (char)strtol(hex, NULL, 16);
			text += 2;
		} else {
			*to++ = *text;
		}
	}
	if (out)
		*to = '\0';
	return out;
}

/* A segment may begin with '@' ("/@scope/web"); elsewhere it ends a login. */
static bool sign_within(const char *path)
{
	for (const char *at = strchr(path, '@'); at; at = strchr(at + 1, '@'))
		if (at > path && at[-1] != '/')
			return true;
	return false;
}

/* "a:b@" in a path, or another URL: somebody's login behind a proxy's address, or one that had a slash in it.  Encoded
 * once, twice or not at all.  Names in a path of this machine may well hold a '@'. */
static int path_hides_user(const char *path, bool local)
{
	cleanup_free char *once = decoded(path), *twice = once ? decoded(once) : NULL;
	const char *const forms[] = { path, once, twice };

	if (!twice)
		return -1;
	for (size_t i = 0; i < COUNT(forms); i++) {
		const char *colon = strchr(forms[i], ':');

		if (strstr(forms[i], "://") || (colon && strchr(colon, '@')) || (!local && sign_within(forms[i])))
			return 1;
	}
	return 0;
}

struct parts {
	const char *user, *host, *port, *path;
	size_t user_len, host_len, port_len, path_len;
};

/* user, host and port of [at, at+len). */
static bool split_authority(struct parts *p, const char *at, size_t len)
{
	const char *end = at + len, *sign = NULL, *colon;

	for (const char *c = at; c < end; c++)
		if (*c == '@')
			sign = c;
	if (sign) {
		p->user = at;
		p->user_len = (size_t)(sign - at);
		at = sign + 1;
	}
	p->host = at;
	p->host_len = (size_t)(end - at);
	colon = at < end && *at == '[' ? memchr(at, ']', p->host_len) : at;
	colon = colon ? memchr(colon, ':', (size_t)(end - colon)) : NULL;
	if (colon) {
		p->host_len = (size_t)(colon - at);
		p->port = colon + 1;
		p->port_len = (size_t)(end - p->port);
	}
	return host_plain(p->host, p->host_len) && port_plain(p->port ? p->port : "", p->port_len);
}

static bool add_server(struct text *t, const struct parts *p, bool keep_user)
{
	size_t len = p->user ? strcspn(p->user, ":@") : 0;

	if (keep_user && user_plain(p->user ? p->user : "", len) && (!text_add(t, p->user, len) || !text_puts(t, "@")))
		return false;
	return text_add(t, p->host, p->host_len) &&
	       (!p->port_len || (text_puts(t, ":") && text_add(t, p->port, p->port_len)));
}

static enum url_result finish(struct text *t, bool good, const char *before, char **out)
{
	if (!good) {
		text_clear(t);
		return URL_NOMEM;
	}
	*out = t->data;
	return strcmp(before, t->data) ? URL_STRIPPED : URL_SAME;
}

static enum url_result strip_server(const char *scheme, const char *rest, const char *url, bool keep_user, char **out)
{
	struct parts p = { 0 };
	struct text t = { 0 };
	size_t len = strcspn(rest, "/?#"), path_len = strcspn(rest + len, "?#");
	cleanup_free char *path = strndup(rest + len, path_len);
	bool good;
	int hides = path ? path_hides_user(path, false) : -1;

	if (hides < 0)
		return URL_NOMEM;
	if (hides || !split_authority(&p, rest, len))
		return URL_REFUSED;
	/* ssh knows no query: a '?' there belongs to the path.  A '@' behind one may end a login that held it. */
	if (rest[len + path_len] && (keep_user || strchr(rest + len + path_len, '@')))
		return URL_REFUSED;
	good = text_puts(&t, scheme) && text_puts(&t, "://") && add_server(&t, &p, keep_user) && text_puts(&t, path);
	return finish(&t, good, url, out);
}

static enum url_result take_path(const char *path, const char *prefix, const char *url, char **out)
{
	struct text t = { 0 };
	int hides = path_hides_user(path, true);

	if (hides)
		return hides < 0 ? URL_NOMEM : URL_REFUSED;
	return finish(&t, text_puts(&t, prefix) && text_puts(&t, path), url, out);
}

/* user@host:path, where no slash comes before the first colon. */
static enum url_result strip_scp(const char *url, char **out)
{
	const char *colon = strchr(url, ':');
	struct parts p = { 0 };
	struct text t = { 0 };
	size_t len;
	int hides;

	if (url[0] == '[' || strstr(url, "@["))
		colon = strchr(url, ']') ? strchr(strchr(url, ']'), ':') : NULL;
	if (!colon || colon[1] == '\0')
		return URL_REFUSED;
	len = (size_t)(colon - url);
	hides = path_hides_user(colon + 1, false);
	if (hides < 0)
		return URL_NOMEM;
	/* Behind a user with a colon, git takes "user" for the host: "@" in the path tells. */
	if (hides || strchr(colon, '@') || colon[1] == ':' || !split_authority(&p, url, len) || p.port)
		return URL_REFUSED;
	return finish(&t, add_server(&t, &p, true) && text_puts(&t, colon), url, out);
}

enum url_result url_strip(const char *url, const char *base, char **out)
{
	static const struct {
		const char *name;
		bool keep_user;
	} schemes[] = { { "https", false },  { "http", false }, { "ssh", true },  { "git+ssh", true },
		        { "ssh+git", true }, { "git", true },   { "ftp", false }, { "ftps", false } };
	const char *mark = strstr(url, "://"), *slash = strchr(url, '/');
	cleanup_free char *joined = NULL;

	*out = NULL;
	if (!*url || strlen(url) > URL_MAX || url[0] == '-')
		return URL_REFUSED;
	if (mark &&
	    strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+0123456789.-") == (size_t)(mark - url)) {
		if (!plain_bytes(url))
			return URL_REFUSED;
		for (size_t i = 0; i < COUNT(schemes); i++)
			if (strlen(schemes[i].name) == (size_t)(mark - url) &&
			    !strncasecmp(url, schemes[i].name, (size_t)(mark - url)))
				return strip_server(schemes[i].name, mark + 3, url, schemes[i].keep_user, out);
		if (!strncasecmp(url, "file:///", 8))
			return take_path(url + 7, "file://", url, out);
		return URL_REFUSED;
	}
	if (mark ||
	    !strncmp(url + strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"), "::", 2))
		return URL_REFUSED;
	if (url[0] == '/')
		return take_path(url, "", url, out);
	if (strchr(url, ':') && (!slash || strchr(url, ':') < slash))
		return plain_bytes(url) ? strip_scp(url, out) : URL_REFUSED;
	joined = format("%s/%s", base, url);
	return joined ? take_path(joined, "", joined, out) : URL_NOMEM;
}

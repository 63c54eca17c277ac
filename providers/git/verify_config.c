/* SPDX-License-Identifier: Apache-2.0 */
/* .gitmodules and .gitattributes.  Git parses both when the user checks a commit out, and has been made to run programs by
 * the first.  Here it is parsed more strictly than git does: what this parser can't read is refused. */
#include <string.h>
#include <strings.h>

#include "verify.h"

#define FILE_MAX  (1u << 20) /* of .gitmodules */
#define VALUE_MAX 4096u
#define ATTR_MAX  (100u << 20) /* git's own limits */
#define ATTR_LINE 2048u
#define NO_GOOD   "a .gitmodules can't be read for certain"

struct reader {
	const char *p, *end;
	char name[VALUE_MAX], value[VALUE_MAX];
	bool module; /* inside [submodule "…"] */
};

static int peek(const struct reader *r)
{
	return r->p < r->end ? (unsigned char)*r->p : -1;
}

static void skip_blank(struct reader *r)
{
	while (peek(r) == ' ' || peek(r) == '\t' || peek(r) == '\r')
		r->p++;
}

static void skip_line(struct reader *r)
{
	while (r->p < r->end && *r->p++ != '\n')
		;
}

static bool word_char(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

static bool put(char *out, size_t *n, int c)
{
	if (*n + 1 >= VALUE_MAX)
		return false;
	out[(*n)++] = (char)c;
	out[*n] = 0;
	return true;
}

/* A name is not empty, and has no component "..", with either separator. */
static const char *check_name(const char *name)
{
	const char *part = name;
	size_t len;

	if (!*name)
		return "a submodule has no name";
	for (;;) {
		len = strcspn(part, "/\\");
		if (len == 2 && part[0] == '.' && part[1] == '.')
			return "a submodule's name leads out of its folder";
		if (!part[len])
			return NULL;
		part += len + 1;
	}
}

/* [section], [section "sub"], or the old [section.sub]; the bracket was taken. */
static const char *read_section(struct reader *r)
{
	char section[VALUE_MAX] = "";
	size_t n = 0;

	r->name[0] = 0;
	while (word_char(peek(r)) || peek(r) == '.')
		if (!put(section, &n, *r->p++))
			return NO_GOOD;
	/* [submodule.x]: git takes the rest for a name, in lower case. */
	if (!strncasecmp(section, "submodule.", 10)) {
		memcpy(r->name, section + 10, n - 10 + 1);
		section[9] = 0;
	}
	r->module = !strcasecmp(section, "submodule");
	n = strlen(r->name);
	skip_blank(r);
	if (peek(r) == '"') {
		for (r->p++; peek(r) != '"'; r->p++) {
			if (peek(r) == '\\')
				r->p++;
			if (peek(r) < 1 || peek(r) == '\n' || !put(r->name, &n, *r->p))
				return NO_GOOD;
		}
		r->p++;
	} else if (!n && r->module) {
		r->module = false; /* "[submodule]": no submodule's */
	}
	if (peek(r) != ']')
		return NO_GOOD;
	r->p++;
	return r->module ? check_name(r->name) : NULL;
}

static int unescaped(int c)
{
	switch (c) {
	case 't':
		return '\t';
	case 'b':
		return '\b';
	case 'n':
		return '\n';
	case '\\':
	case '"':
		return c;
	default:
		return -1;
	}
}

/* What follows '=', up to and over the line's end: quotes, escapes, comments, lines that go on. */
static const char *read_value(struct reader *r)
{
	bool quoted = false;
	size_t n = 0, kept = 0;
	int c;

	r->value[0] = 0;
	skip_blank(r);
	while ((c = peek(r)) != -1 && (c != '\n' || quoted)) {
		r->p++;
		if (!c || c == '\n')
			return NO_GOOD;
		if (c == '"') {
			quoted = !quoted;
			kept = n;
			continue;
		}
		if (!quoted && (c == ';' || c == '#')) {
			skip_line(r);
			break;
		}
		if (c == '\\') {
			c = peek(r);
			r->p++;
			if (c == '\n')
				continue;
			c = unescaped(c);
			if (c < 0)
				return NO_GOOD;
			kept = n + 1;
		} else if (quoted || (c != ' ' && c != '\t' && c != '\r')) {
			kept = n + 1;
		}
		if (!put(r->value, &n, c))
			return NO_GOOD;
	}
	r->value[kept] = 0; /* blanks at the end don't count */
	return quoted ? NO_GOOD : NULL;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A line's end in a URL, written as it is or as %0a, once made a helper of git hand a password to another host. */
static bool has_newline(const char *url)
{
	for (; *url; url++)
		if (*url == '\n' || (*url == '%' && hex(url[1]) == 0 && hex(url[2]) == 10))
			return true;
	return false;
}

static const char *check_url(const char *url)
{
	const char *p = url, *scheme = strstr(url, "://");

	if (*url == '-')
		return "a submodule's url is an option";
	if (has_newline(url))
		return "a submodule's url has a line's end in it";
	while (!strncmp(p, "../", 3) || !strncmp(p, "./", 2))
		p += *(p + 1) == '.' ? 3 : 2;
	if (p != url && (*p == ':' || *p == '/'))
		return "a submodule's url replaces the host it is relative to";
	/* Without a host the password of another one would be asked for. */
	if (scheme && (!strncmp(url, "http", 4) || !strncmp(url, "ftp", 3)) &&
	    (!scheme[3] || scheme[3] == '/' || scheme[3] == ':' || scheme[3] == '?' || scheme[3] == '#'))
		return "a submodule's url has no host";
	return NULL;
}

static const char *check_setting(const struct reader *r, const char *key)
{
	if (!r->module)
		return NULL;
	if (!strcasecmp(key, "url"))
		return check_url(r->value);
	if (!strcasecmp(key, "path") && r->value[0] == '-')
		return "a submodule's path is an option";
	if (!strcasecmp(key, "update") && r->value[0] == '!')
		return "a submodule's update is a command";
	return NULL;
}

static const char *read_setting(struct reader *r)
{
	char key[VALUE_MAX] = "";
	size_t n = 0;
	const char *wrong;

	while (word_char(peek(r)))
		if (!put(key, &n, *r->p++))
			return NO_GOOD;
	if (!n)
		return NO_GOOD;
	skip_blank(r);
	if (peek(r) == -1 || peek(r) == '\n')
		return NULL; /* a flag without a value: true */
	if (peek(r) != '=')
		return NO_GOOD;
	r->p++;
	wrong = read_value(r);
	return wrong ? wrong : check_setting(r, key);
}

const char *verify_gitmodules(const char *data, size_t len)
{
	struct reader r = { .p = data, .end = data + len };
	const char *wrong = NULL;

	if (len > FILE_MAX)
		return "a .gitmodules is larger than 1 MiB";
	if (len >= 3 && !memcmp(data, "\xef\xbb\xbf", 3))
		r.p += 3;
	while (!wrong && r.p < r.end) {
		int c = peek(&r);

		if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
			r.p++;
		} else if (c == '#' || c == ';') {
			skip_line(&r);
		} else if (c == '[') {
			r.p++;
			wrong = read_section(&r);
		} else {
			wrong = read_setting(&r);
		}
	}
	return wrong;
}

const char *verify_gitattributes(const char *data, size_t len)
{
	const char *end = data + len, *eol;

	if (len > ATTR_MAX)
		return "a .gitattributes is larger than 100 MiB";
	for (; data < end && *data; data = eol + 1) {
		eol = memchr(data, '\n', (size_t)(end - data));
		if (!eol)
			eol = end;
		if (eol - data >= (long)ATTR_LINE)
			return "a .gitattributes has a line of 2,048 bytes or more";
	}
	return NULL;
}

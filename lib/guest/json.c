/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/json.h"

#include <string.h>

#define KEY_MAX 64

/* Where a text goes: what does not fit is counted and left out. */
struct sink {
	char *out;
	size_t size, len;
	bool cut;
};

static char peek(struct oc_guest_json *j)
{
	while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\r' || *j->at == '\n'))
		j->at++;
	return j->at < j->end ? *j->at : '\0';
}

static bool take(struct oc_guest_json *j, char c)
{
	if (peek(j) != c || j->at >= j->end)
		return false;
	j->at++;
	return true;
}

/* A character is there whole or not at all, and nothing is behind one that did not fit. */
static void put(struct sink *s, const char *bytes, size_t n)
{
	s->cut |= s->size - s->len <= n;
	if (s->cut)
		return;
	memcpy(s->out + s->len, bytes, n);
	s->len += n;
}

static void put_code(struct sink *s, uint32_t c)
{
	char b[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	if (n == 1) {
		b[0] = (char)c;
	} else {
		for (size_t i = n - 1; i > 0; i--, c >>= 6)
			b[i] = (char)(0x80 | (c & 0x3f));
		b[0] = (char)((0xf00u >> n & 0xf0u) | c);
	}
	put(s, b, n);
}

static bool hex4(struct oc_guest_json *j, uint32_t *out)
{
	*out = 0;
	if (j->end - j->at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		char c = *j->at++;
		uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
		                 : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
		                 : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
		                                        : 16;

		if (digit > 15)
			return false;
		*out = *out << 4 | digit;
	}
	return true;
}

static bool unicode(struct oc_guest_json *j, struct sink *s)
{
	uint32_t c, low;

	if (!hex4(j, &c) || !c || (c >= 0xdc00 && c <= 0xdfff))
		return false;
	if (c >= 0xd800 && c <= 0xdbff) {
		if (j->end - j->at < 2 || *j->at++ != '\\' || *j->at++ != 'u' || !hex4(j, &low) || low < 0xdc00 ||
		    low > 0xdfff)
			return false;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	put_code(s, c);
	return true;
}

static bool escape(struct oc_guest_json *j, struct sink *s)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;
	char c = j->at < j->end ? *j->at++ : '\0';

	if (c == 'u')
		return unicode(j, s);
	found = c ? strchr(from, c) : NULL;
	if (!found)
		return false;
	put(s, &to[found - from], 1);
	return true;
}

/* Bytes beyond ASCII go through as they are: who shows them makes them harmless. */
static bool string(struct oc_guest_json *j, struct sink *s)
{
	if (!take(j, '"'))
		return false;
	while (j->at < j->end) {
		char c = *j->at++;

		if (c == '"') {
			s->out[s->len] = '\0';
			return true;
		}
		if ((unsigned char)c < 0x20 || (c == '\\' && !escape(j, s)))
			return false;
		if (c != '\\')
			put(s, &c, 1);
	}
	return false;
}

bool oc_guest_json_string(struct oc_guest_json *j, char *out, size_t size)
{
	struct sink s = { out, size, 0, false };

	return string(j, &s) && !s.cut;
}

bool oc_guest_json_start(struct oc_guest_json *j, char *out, size_t size)
{
	struct sink s = { out, size, 0, false };

	return string(j, &s);
}

static size_t digits(struct oc_guest_json *j)
{
	const char *from = j->at;

	while (j->at < j->end && *j->at >= '0' && *j->at <= '9')
		j->at++;
	return (size_t)(j->at - from);
}

bool oc_guest_json_number(struct oc_guest_json *j, uint64_t *out)
{
	const char *from;
	size_t n;

	(void)peek(j);
	from = j->at;
	n = digits(j);
	*out = 0;
	if (!n || n > 18 || (n > 1 && *from == '0') || (j->at < j->end && strchr(".eE", *j->at)))
		return false;
	for (; from < j->at; from++)
		*out = *out * 10 + (uint64_t)(*from - '0');
	return true;
}

static bool word(struct oc_guest_json *j, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(j->end - j->at) < n || memcmp(j->at, text, n) != 0)
		return false;
	j->at += n;
	return true;
}

bool oc_guest_json_bool(struct oc_guest_json *j, bool *out)
{
	*out = peek(j) == 't';
	return word(j, *out ? "true" : "false");
}

static bool any_number(struct oc_guest_json *j)
{
	const char *from;
	size_t n;

	if (*j->at == '-')
		j->at++;
	from = j->at;
	n = digits(j);
	if (!n || (n > 1 && *from == '0'))
		return false;
	if (j->at < j->end && *j->at == '.' && (j->at++, !digits(j)))
		return false;
	if (j->at < j->end && (*j->at == 'e' || *j->at == 'E')) {
		j->at++;
		if (j->at < j->end && (*j->at == '+' || *j->at == '-'))
			j->at++;
		return digits(j) > 0;
	}
	return true;
}

static bool skip_member(struct oc_guest_json *j, const char *key, void *arg)
{
	(void)key;
	(void)arg;
	return oc_guest_json_skip(j);
}

static bool skip_item(struct oc_guest_json *j, void *arg)
{
	(void)arg;
	return oc_guest_json_skip(j);
}

bool oc_guest_json_skip(struct oc_guest_json *j)
{
	char c = peek(j), none[1];

	if (c == '{')
		return oc_guest_json_object(j, skip_member, NULL);
	if (c == '[')
		return oc_guest_json_array(j, skip_item, NULL);
	if (c == '"')
		return oc_guest_json_start(j, none, sizeof(none));
	if (c == 't' || c == 'f' || c == 'n')
		return word(j, c == 't' ? "true" : c == 'f' ? "false" : "null");
	return c && any_number(j);
}

static bool deeper(struct oc_guest_json *j, char open)
{
	return take(j, open) && ++j->depth <= OC_GUEST_JSON_DEPTH;
}

bool oc_guest_json_object(struct oc_guest_json *j, oc_guest_json_member member, void *arg)
{
	char key[KEY_MAX];

	if (!deeper(j, '{'))
		return false;
	if (!take(j, '}')) {
		do {
			if (!oc_guest_json_start(j, key, sizeof(key)) || !take(j, ':') || !member(j, key, arg))
				return false;
		} while (take(j, ','));
		if (!take(j, '}'))
			return false;
	}
	j->depth--;
	return true;
}

bool oc_guest_json_array(struct oc_guest_json *j, oc_guest_json_item item, void *arg)
{
	if (!deeper(j, '['))
		return false;
	if (!take(j, ']')) {
		do {
			if (!item(j, arg))
				return false;
		} while (take(j, ','));
		if (!take(j, ']'))
			return false;
	}
	j->depth--;
	return true;
}

bool oc_guest_json_end(struct oc_guest_json *j)
{
	(void)peek(j);
	return j->at == j->end;
}

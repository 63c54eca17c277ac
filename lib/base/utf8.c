/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

/* One code point of well-formed UTF-8 (Unicode 15, table 3-7): its length, or 0. */
static size_t decode(const unsigned char *s, size_t len, uint32_t *out)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
	uint32_t c;

	if (n == 0 || n > len)
		return 0;
	/* Nearly all of what is ever read. */
	if (n == 1) {
		*out = s[0];
		return 1;
	}
	c = s[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*out = c;
	return n;
}

bool oc_utf8_valid(const char *s, size_t len)
{
	uint64_t eight;
	uint32_t c;
	size_t n;

	/* Nearly all is ASCII. */
	for (; len >= sizeof(eight); s += sizeof(eight), len -= sizeof(eight)) {
		memcpy(&eight, s, sizeof(eight));
		if (eight & 0x8080808080808080u)
			break;
	}
	for (; len; s += n, len -= n) {
		n = decode((const unsigned char *)s, len, &c);
		if (!n)
			return false;
	}
	return true;
}

/* Characters that move the cursor, reorder or hide text: nobody may make a log line or a question
 * look like another one. */
static bool deceives(uint32_t c)
{
	static const uint32_t ranges[][2] = {
		{ 0x80, 0x9f },       { 0xad, 0xad },       { 0x34f, 0x34f },   { 0x61c, 0x61c },
		{ 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },   { 0x180b, 0x180f }, { 0x200b, 0x200f },
		{ 0x2028, 0x202e },   { 0x2060, 0x206f },   { 0x3164, 0x3164 }, { 0xfe00, 0xfe0d },
		{ 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb }, { 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < OC_COUNT(ranges); i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

static bool shown_as_is(uint32_t c, bool keep_lines)
{
	if (c < 0x80)
		return (c >= 0x20 && c != 0x7f) || (keep_lines && (c == '\n' || c == '\t'));
	return !deceives(c);
}

static int put_escape(struct oc_buf *out, const char *s, size_t n, uint32_t c)
{
	static const char hex[] = "0123456789abcdef";
	unsigned char byte = (unsigned char)*s;
	const char text[] = { '\\', 'x', hex[byte >> 4], hex[byte & 15] };

	if (n && c >= 0x80)
		return oc_buf_printf(out, "\\u{%x}", c);
	return n && c == '\n' ? oc_buf_puts(out, "\\n") : oc_buf_add(out, text, sizeof(text));
}

int oc_text_escape(struct oc_buf *out, const char *s, size_t len, bool keep_lines)
{
	size_t plain = 0, at = 0; /* plain: from there to at nothing needs an escape */
	int rc = 0;

	while (at < len && rc == 0) {
		uint32_t c = 0;
		size_t n = decode((const unsigned char *)s + at, len - at, &c);

		if (n && shown_as_is(c, keep_lines)) {
			at += n;
			continue;
		}
		rc = oc_buf_add(out, s + plain, at - plain);
		if (rc == 0)
			rc = put_escape(out, s + at, n, c);
		at += n ? n : 1;
		plain = at;
	}
	return rc < 0 || at == plain ? rc : oc_buf_add(out, s + plain, at - plain);
}

int oc_text_excerpt(struct oc_buf *out, const char *s, size_t most)
{
	size_t len = strlen(s), n = OC_MIN(len, most);
	int rc;

	/* No half a character. */
	while (n && n < len && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	rc = oc_text_escape(out, s, n, false);
	return rc < 0 || n == len ? rc : oc_buf_puts(out, "…");
}

int oc_shell_quote(struct oc_buf *out, const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
	int rc;

	if (*s && s[strspn(s, plain)] == '\0')
		return oc_buf_puts(out, s);
	rc = oc_buf_add(out, "'", 1);
	for (; *s && rc == 0; s++)
		rc = *s == '\'' ? oc_buf_puts(out, "'\\''") : oc_buf_add(out, s, 1);
	return rc < 0 ? rc : oc_buf_add(out, "'", 1);
}

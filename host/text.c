/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARKS_MAX 8 /* more on one letter are no language but an attack on the lines above */

void text_free(struct text *t)
{
	free(t->data);
	memset(t, 0, sizeof(*t));
}

void text_add(struct text *t, const char *data, size_t len)
{
	if (t->failed)
		return;
	if (t->cap - t->len <= len) {
		size_t cap = (t->len + len + 1) * 2;
		char *grown = cap > len ? realloc(t->data, cap) : NULL;

		if (!grown) {
			t->failed = true;
			return;
		}
		t->data = grown;
		t->cap = cap;
	}
	if (len)
		memcpy(t->data + t->len, data, len);
	t->len += len;
	t->data[t->len] = 0;
}

void text_puts(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

static void put_bytes(struct text *out, const unsigned char *data, size_t len)
{
	char code[8];

	for (size_t i = 0; i < len; i++) {
		if (data[i] >= 0x20 && data[i] < 0x7f) {
			text_add(out, (const char *)data + i, 1);
			continue;
		}
		snprintf(code, sizeof(code), "\\x%02x", data[i]);
		text_puts(out, code);
	}
}

static void put_codepoint(struct text *out, uint32_t c)
{
	char code[16];

	snprintf(code, sizeof(code), "\\u{%x}", c);
	text_puts(out, code);
}

/* Length that a UTF-8 lead byte announces; 0: no lead byte. */
static size_t sequence_length(unsigned char c)
{
	if (c >= 0xc2 && c <= 0xdf)
		return 2;
	if (c >= 0xe0 && c <= 0xef)
		return 3;
	return c >= 0xf0 && c <= 0xf4 ? 4 : 0;
}

/* May byte n of a sequence follow what is held?  Rules out overlong forms, surrogates and what is past Unicode. */
static bool continues(const unsigned char *hold, size_t held, unsigned char c)
{
	if ((c & 0xc0) != 0x80)
		return false;
	if (held != 1)
		return true;
	return !((hold[0] == 0xe0 && c < 0xa0) || (hold[0] == 0xed && c > 0x9f) || (hold[0] == 0xf0 && c < 0x90) ||
	         (hold[0] == 0xf4 && c > 0x8f));
}

size_t text_valid(const char *s, size_t len)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t at = 0;

	while (at < len) {
		size_t n = u[at] < 0x80 ? 1 : sequence_length(u[at]), held = 1;

		while (held < n && at + held < len && continues(u + at, held, u[at + held]))
			held++;
		if (!n || held < n)
			break;
		at += n;
	}
	return at;
}

static uint32_t decode(const unsigned char *s, size_t len)
{
	uint32_t c = len == 2 ? s[0] & 0x1f : len == 3 ? s[0] & 0x0f : s[0] & 0x07;

	for (size_t i = 1; i < len; i++)
		c = c << 6 | (s[i] & 0x3f);
	return c;
}

struct range {
	uint32_t from, to;
};

static bool within(const struct range *ranges, size_t n, uint32_t c)
{
	for (size_t i = 0; i < n; i++)
		if (c >= ranges[i].from && c <= ranges[i].to)
			return true;
	return false;
}

/* C1 controls; what has no width or turns the direction of text; tags; private use and non-characters are harmless. */
static bool is_hostile(uint32_t c)
{
	static const struct range ranges[] = {
		{ 0x80, 0x9f },       { 0xad, 0xad },       { 0x34f, 0x34f },   { 0x61c, 0x61c },   { 0x115f, 0x1160 },
		{ 0x17b4, 0x17b5 },   { 0x180b, 0x180f },   { 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
		{ 0x3164, 0x3164 },   { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff9, 0xfffb },
		{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
	};

	return within(ranges, sizeof(ranges) / sizeof(ranges[0]), c);
}

static bool is_mark(uint32_t c)
{
	static const struct range ranges[] = {
		{ 0x300, 0x36f },   { 0x483, 0x489 },   { 0x591, 0x5bd },   { 0x610, 0x61a },
		{ 0x64b, 0x65f },   { 0xe31, 0xe31 },   { 0xe34, 0xe3a },   { 0xe47, 0xe4e },
		{ 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff }, { 0x20d0, 0x20ff }, { 0xfe20, 0xfe2f },
	};

	return within(ranges, sizeof(ranges) / sizeof(ranges[0]), c);
}

/* One number of an SGR sequence; advances past it and its separator.  -1: too large to be one. */
static int next_parameter(const char **s)
{
	int n = 0;

	while (**s >= '0' && **s <= '9') {
		n = n < 1000 ? n * 10 + (**s - '0') : 1000;
		(*s)++;
	}
	if (**s == ';')
		(*s)++;
	return n < 1000 ? n : -1;
}

/* Colours and weights only: nothing that conceals (8), blinks (5, 6) or picks a font (10 to 20).  The numbers that
 * belong to 38 and 48 are skipped, so a colour 8 is not taken for "conceal". */
static bool sgr_allowed(const char *s, bool *reset)
{
	*reset = true;
	while (*s) {
		int n = next_parameter(&s);

		if (n < 0 || *s == ':')
			return false;
		if (n != 0)
			*reset = false;
		if (n == 38 || n == 48) {
			int kind = next_parameter(&s), skip = kind == 5 ? 1 : kind == 2 ? 3 : -1;

			if (skip < 0)
				return false;
			while (skip-- > 0)
				if (next_parameter(&s) < 0)
					return false;
			continue;
		}
		if (!(n <= 4 || n == 7 || n == 9 || (n >= 21 && n <= 29) || (n >= 30 && n <= 49) || n == 53 ||
		      n == 55 || (n >= 90 && n <= 107)))
			return false;
	}
	return true;
}

static void flush_held(struct filter *f, struct text *out)
{
	size_t n = f->held;

	f->held = 0;
	put_bytes(out, f->hold, n);
}

/* A complete ESC [ … m is held. */
static void pass_sgr(struct filter *f, struct text *out)
{
	bool reset;

	f->hold[f->held - 1] = 0;
	if (!sgr_allowed((char *)f->hold + 2, &reset)) {
		f->hold[f->held - 1] = 'm';
		flush_held(f, out);
		return;
	}
	f->hold[f->held - 1] = 'm';
	if (!f->strip) {
		text_add(out, (char *)f->hold, f->held);
		f->styled = !reset;
	}
	f->held = 0;
}

static void pass_codepoint(struct filter *f, struct text *out)
{
	uint32_t c = decode(f->hold, f->held);
	size_t n = f->held;

	f->held = 0;
	if (f->ascii) {
		put_bytes(out, f->hold, n);
		return;
	}
	f->marks = is_mark(c) ? f->marks + 1 : 0;
	if (is_hostile(c) || f->marks > MARKS_MAX)
		put_codepoint(out, c);
	else
		text_add(out, (char *)f->hold, n);
}

/* True if the byte belongs to what is held. */
static bool extend(struct filter *f, struct text *out, unsigned char c)
{
	if (f->hold[0] == 0x1b) {
		bool fits = f->held == 1 ? c == '[' : (c >= '0' && c <= '9') || c == ';' || c == 'm';

		if (!fits || f->held == sizeof(f->hold))
			return false;
		f->hold[f->held++] = c;
		if (c == 'm')
			pass_sgr(f, out);
		return true;
	}
	if (!continues(f->hold, f->held, c))
		return false;
	f->hold[f->held++] = c;
	if (f->held == sequence_length(f->hold[0]))
		pass_codepoint(f, out);
	return true;
}

static void begin(struct filter *f, struct text *out, unsigned char c)
{
	bool plain = (c >= 0x20 && c < 0x7f) || (f->lines && (c == '\n' || c == '\t'));

	if (plain) {
		f->marks = 0;
		text_add(out, (const char *)&c, 1);
	} else if ((c == 0x1b && f->colours) || sequence_length(c)) {
		f->hold[0] = c;
		f->held = 1;
	} else {
		put_bytes(out, &c, 1);
	}
}

void filter_add(struct filter *f, struct text *out, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)data[i];

		if (f->held && extend(f, out, c))
			continue;
		if (f->held)
			flush_held(f, out);
		begin(f, out, c);
	}
}

void filter_end(struct filter *f, struct text *out)
{
	if (f->held)
		flush_held(f, out);
	if (f->styled)
		text_puts(out, "\033[0m");
	f->styled = false;
}

void text_escape(struct text *out, const char *s, bool ascii)
{
	struct filter f = { .ascii = ascii };

	for (const char *p = s; *p; p++) {
		/* Newlines are common in messages of others, and easier to read as \n than as \x0a. */
		if (*p == '\n') {
			filter_end(&f, out);
			text_puts(out, "\\n");
			continue;
		}
		filter_add(&f, out, p, 1);
	}
	filter_end(&f, out);
}

size_t text_columns(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static bool plain_word(const char *s)
{
	return *s && !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")];
}

void text_quote(struct text *out, const char *word)
{
	if (plain_word(word)) {
		text_puts(out, word);
		return;
	}
	text_puts(out, "'");
	for (; *word; word++)
		if (*word == '\'')
			text_puts(out, "'\\''");
		else
			text_add(out, word, 1);
	text_puts(out, "'");
}

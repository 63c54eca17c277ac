/* SPDX-License-Identifier: Apache-2.0 */
#include "modes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUND, ESCAPE, CHARSET, CSI, TOO_LONG, STRING, STRING_ESCAPE };

#define PUSHED_MAX 16

/* DEC's private modes whose default is known everywhere.  The alternate screen is last: what else there is to undo is
 * undone where it was done. */
static const struct {
	unsigned short number;
	bool on; /* by default */
} TABLE[] = {
	{ 1, false },    { 5, false },    { 6, false },    { 7, true },     { 9, false },    { 25, true },
	{ 1000, false }, { 1001, false }, { 1002, false }, { 1003, false }, { 1004, false }, { 1005, false },
	{ 1006, false }, { 1015, false }, { 1016, false }, { 2004, false }, { 2026, false }, { 2031, false },
	{ 2048, false }, { 47, false },   { 1047, false }, { 1049, false },
};
#define TABLE_SIZE (sizeof(TABLE) / sizeof(TABLE[0]))

static void reset(struct modes *m)
{
	*m = (struct modes){ .state = GROUND, .mid_line = m->mid_line };
}

static void private_modes(struct modes *m, bool on)
{
	char *at = m->held + 1, *end;

	for (;; at = end + 1) {
		unsigned long number = strtoul(at, &end, 10);

		for (size_t i = 0; end != at && i < TABLE_SIZE; i++)
			if (TABLE[i].number == number)
				m->changed = TABLE[i].on == on ? m->changed & ~(1u << i) : m->changed | 1u << i;
		if (*end != ';')
			return;
	}
}

/* "CSI held final". */
static void sequence(struct modes *m, char final)
{
	char kind = m->held[0];

	m->held[m->n] = 0;
	if (kind == '?' && (final == 'h' || final == 'l')) {
		private_modes(m, final == 'h');
	} else if (kind == '>' && final == 'u') {
		m->pushed += m->pushed < PUSHED_MAX;
	} else if (kind == '<' && final == 'u') {
		unsigned long n = m->n > 1 ? strtoul(m->held + 1, NULL, 10) : 1;

		m->pushed -= n < m->pushed ? (unsigned)n : m->pushed;
	} else if (kind == '>' && final == 'm') {
		m->modified = strchr(m->held, ';') && !strstr(m->held, ";0");
	} else if (final == 'm') {
		m->styled = m->n > 0 && strcmp(m->held, "0") != 0;
	} else if (final == 'r' && kind != '?') {
		m->region = m->n > 0;
	} else if (final == 'p' && kind == '!') {
		reset(m);
	}
}

static int escape(struct modes *m, unsigned char c)
{
	switch (c) {
	case '[':
		m->n = 0;
		return CSI;
	case ']':
	case 'P':
	case 'X':
	case '^':
	case '_':
		return STRING;
	case '(':
		return CHARSET;
	case '=':
	case '>':
		m->keypad = c == '=';
		return GROUND;
	case 'c':
		reset(m);
		return GROUND;
	default:
		return c >= 0x20 && c < 0x30 ? ESCAPE : GROUND;
	}
}

static int csi(struct modes *m, unsigned char c)
{
	if (c >= 0x40 && c <= 0x7e) {
		if (m->state == CSI)
			sequence(m, (char)c);
		return GROUND;
	}
	if (c < 0x20 || c > 0x7e)
		return m->state; /* a control within it is carried out, and it goes on */
	if (m->n + 1 >= sizeof(m->held))
		return TOO_LONG;
	m->held[m->n++] = (char)c;
	return m->state;
}

static int ground(struct modes *m, unsigned char c)
{
	if (c == 0x0e || c == 0x0f)
		m->shifted = c == 0x0e;
	if (c >= 0x20 && c != 0x7f)
		m->mid_line = true;
	else if (c == '\n')
		m->mid_line = false;
	return GROUND;
}

static int next(struct modes *m, unsigned char c)
{
	if (c == 0x18 || c == 0x1a)
		return GROUND;
	switch (m->state) {
	case STRING_ESCAPE:
		if (c == '\\')
			return GROUND;
		return escape(m, c);
	case STRING:
		return c == 0x1b ? STRING_ESCAPE : c == 0x07 ? GROUND : STRING;
	default:
		break;
	}
	if (c == 0x1b)
		return ESCAPE;
	switch (m->state) {
	case ESCAPE:
		return escape(m, c);
	case CHARSET:
		m->charset = c != 'B';
		return GROUND;
	case CSI:
	case TOO_LONG:
		return csi(m, c);
	default:
		return ground(m, c);
	}
}

void modes_read(struct modes *m, const void *data, size_t len)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++)
		m->state = next(m, p[i]);
}

void modes_undo(struct modes *m, struct text *out)
{
	char text[32];

	/* A sequence or a string that was begun would swallow what comes now. */
	if (m->state == STRING || m->state == STRING_ESCAPE)
		text_puts(out, "\033\\");
	else if (m->state != GROUND)
		text_puts(out, "\030");
	for (; m->pushed; m->pushed--)
		text_puts(out, "\033[<u");
	text_puts(out, m->modified ? "\033[>4m" : "");
	text_puts(out, m->keypad ? "\033>" : "");
	text_puts(out, m->charset ? "\033(B" : "");
	text_puts(out, m->shifted ? "\017" : "");
	/* It moves the cursor. */
	text_puts(out, m->region ? "\0337\033[r\0338" : "");
	text_puts(out, m->styled ? "\033[0m" : "");
	for (size_t i = 0; i < TABLE_SIZE; i++) {
		if (!(m->changed & 1u << i))
			continue;
		snprintf(text, sizeof(text), "\033[?%u%c", TABLE[i].number, TABLE[i].on ? 'h' : 'l');
		text_puts(out, text);
	}
	text_puts(out, m->mid_line ? "\r\n" : "");
	*m = (struct modes){ 0 };
}

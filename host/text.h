/* SPDX-License-Identifier: Apache-2.0 */
/* Text that others wrote, made safe to show.  One state machine serves the bytes of a running command (whose
 * characters are cut anywhere by reads) and the short strings of records. */
#ifndef HOST_TEXT_H
#define HOST_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* A growing string; once memory has run out it stays `failed` and takes nothing more. */
struct text {
	char *data;
	size_t len, cap;
	bool failed;
};
void text_free(struct text *t);
void text_add(struct text *t, const char *data, size_t len);
void text_puts(struct text *t, const char *s);
/* How many of these bytes are UTF-8 from the beginning: all, or where what is none begins. */
size_t text_valid(const char *s, size_t len);

struct filter {
	bool lines;   /* newline and tab pass */
	bool colours; /* SGR sequences pass, but for those that hide text */
	bool strip;   /* … and those that would pass are left out: NO_COLOR */
	bool ascii;   /* the terminal doesn't speak UTF-8: everything above 0x7e is escaped */
	/* private */
	unsigned char hold[64];
	size_t held;
	unsigned marks; /* combining marks in a row */
	bool styled;    /* an SGR other than a reset went through */
};
/* Append what may be shown of these bytes; a sequence that isn't complete yet is held back. */
void filter_add(struct filter *f, struct text *out, const char *data, size_t len);
/* No more is coming: what is held is escaped, a colour left on is reset. */
void filter_end(struct filter *f, struct text *out);
void text_quote(struct text *out, const char *word); /* for a POSIX shell, where it has to be */
/* A whole string on one line. */
void text_escape(struct text *out, const char *s, bool ascii);
/* Columns that a string which text_escape() made takes up; exact but for wide characters. */
size_t text_columns(const char *s);

#endif

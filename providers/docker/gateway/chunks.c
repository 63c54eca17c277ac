/* SPDX-License-Identifier: Apache-2.0 */
/* Where a chunked body ends, read so strictly that a server can't see another end: sizes in plain hex, CR LF and nothing
 * like it, extensions and trailers within bounds. */
#include <string.h>

#include "http.h"

enum { SIZE, EXTENSION, SIZE_LF, DATA, DATA_CR, DATA_LF, TRAILER, TRAILER_TEXT, TRAILER_LF, END_LF };

static int hex(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool size_byte(struct gw_chunks *c, unsigned char b)
{
	int digit = hex(b);

	if (digit >= 0) {
		if (c->line >= 15)
			return false;
		c->line++;
		c->left = c->left << 4 | (unsigned)digit;
		return true;
	}
	c->state = b == '\r' ? SIZE_LF : EXTENSION;
	return c->line > 0 && (b == '\r' || b == ';');
}

static bool extension_byte(struct gw_chunks *c, unsigned char b)
{
	if (b == '\r')
		c->state = SIZE_LF;
	return ++c->line <= GW_CHUNK_LINE && (b == '\r' || b == '\t' || (b >= ' ' && b <= '~'));
}

/* Trailers are headers that come late: lines of text, of which none may be folded. */
static bool trailer_byte(struct gw_chunks *c, unsigned char b)
{
	bool begins = c->state == TRAILER;

	if (b == '\r') {
		c->state = begins ? END_LF : TRAILER_LF;
		return true;
	}
	c->state = TRAILER_TEXT;
	return ++c->line <= GW_TRAILERS &&
	       (begins ? b > ' ' && b <= '~' && b != ':' : b == '\t' || (b >= ' ' && b <= '~'));
}

static bool line_feed(struct gw_chunks *c, unsigned char b)
{
	switch (c->state) {
	case SIZE_LF:
		c->state = c->left ? DATA : TRAILER;
		c->line = 0;
		break;
	case DATA_LF:
		c->state = SIZE;
		c->line = 0;
		break;
	case TRAILER_LF:
		c->state = TRAILER;
		break;
	default:
		c->ended = true;
	}
	return b == '\n';
}

static bool one_byte(struct gw_chunks *c, unsigned char b)
{
	switch (c->state) {
	case SIZE:
		return size_byte(c, b);
	case EXTENSION:
		return extension_byte(c, b);
	case DATA_CR:
		c->state = DATA_LF;
		return b == '\r';
	case TRAILER:
	case TRAILER_TEXT:
		return trailer_byte(c, b);
	default:
		return line_feed(c, b);
	}
}

ssize_t gw_chunks_take(struct gw_chunks *c, const char *bytes, size_t len)
{
	size_t i = 0;

	while (i < len && !c->ended) {
		if (c->state == DATA) {
			size_t n = OC_MIN(c->left, len - i);

			c->left -= n;
			i += n;
			if (c->left == 0)
				c->state = DATA_CR;
		} else if (!one_byte(c, (unsigned char)bytes[i++])) {
			return -1;
		}
	}
	return (ssize_t)i;
}

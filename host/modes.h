/* SPDX-License-Identifier: Apache-2.0 */
/* What a program that drew on the terminal has switched on there and not off again: it may have been killed in the middle.
 * Only read along, never changed: every byte passes as it is. */
#ifndef HOST_MODES_H
#define HOST_MODES_H

#include <stdint.h>

#include "text.h"

struct modes {
	uint32_t changed; /* bits: entries of the table of private modes that are not as they were */
	bool keypad, charset, shifted, region, styled, mid_line;
	unsigned pushed; /* the keyboard's modes, stacked */
	bool modified;   /* modifyOtherKeys */
	/* private */
	int state;
	char held[64]; /* of a sequence: its parameters */
	size_t n;
};
void modes_read(struct modes *m, const void *data, size_t len);
/* Append what undoes it, and forget it. */
void modes_undo(struct modes *m, struct text *out);

#endif

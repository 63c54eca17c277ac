/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's terminal, lent to a run's: what is typed goes there byte by byte, keys like ^C and ^Z too, and what comes
 * back is shown as it is.  Whatever the program left of it, it is given back as it was. */
#ifndef HOST_TERMINAL_H
#define HOST_TERMINAL_H

#include <termios.h>

#include "host.h"
#include "modes.h"

struct terminal {
	bool lent; /* it is the run's now */
	struct termios before;
	struct modes modes;
};

/* Are standard input and output one?  0, or said why not and negative. */
int terminal_check(struct host *h, const char *what);
/* Rows and columns; something where it doesn't say. */
void terminal_size(uint16_t *rows, uint16_t *cols);
/* The run has it from now on, and is told its size. */
void terminal_lend(struct terminal *t, oc_run *run);
/* Bytes of the run, to the terminal; false: stop producing. */
bool terminal_show(struct terminal *t, struct out *out, const void *data, size_t len);
/* A signal that is about the terminal and not about the run; false: it is another. */
bool terminal_signal(struct terminal *t, struct out *out, oc_run *run, int number);
/* Give it back.  May be called again. */
void terminal_return(struct terminal *t, struct out *out);

#endif

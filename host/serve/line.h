/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC between commands and the daemon: one message a line, bounded both ways, never blocking. */
#ifndef HOST_SERVE_LINE_H
#define HOST_SERVE_LINE_H

#include <jansson.h>

#include "text.h"

#define LINE_MAX_GREETING (4u << 10) /* of who has not said who it is */
#define LINE_MAX_MESSAGE  (8u << 20) /* a run's input is at most 1 MiB, and each byte of it at most six here */

struct line {
	int fd; /* -1: closed */
	struct text in, out;
	size_t sent, max; /* of out; of a message that is read */
};

void line_begin(struct line *l, int fd_taken, size_t max);
void line_end(struct line *l);
/* Read what is there.  1: something; 0: nothing for now; negative: the other side is gone. */
int line_read(struct line *l);
/* The next whole message (new).  1, 0: none yet, negative: no message, or one too long. */
int line_next(struct line *l, json_t **out);
/* Put a message (taken) on its way.  Negative: the reader is too slow, or gone. */
int line_send(struct line *l, json_t *taken);
int line_flush(struct line *l);
bool line_waits(const struct line *l); /* something is to be written yet */

#endif

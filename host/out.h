/* SPDX-License-Identifier: Apache-2.0 */
/* What we print: facts on standard output, messages on standard error.  Whatever a %s brings is escaped, so that no
 * file name, host or message of another program can forge a line or speak to the terminal. */
#ifndef HOST_OUT_H
#define HOST_OUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "text.h"

struct out {
	int fd;
	bool tty, colour, ascii;
	int error;     /* errno of the first write that failed; then nothing more is written */
	int interrupt; /* a descriptor that, once readable, ends a wait for a slow reader; or -1 */
	struct text pending;
};

#define STYLE_BOLD   "1"
#define STYLE_DIM    "2"
#define STYLE_RED    "1;31"
#define STYLE_GREEN  "32"
#define STYLE_YELLOW "33"

/* Also makes sure that descriptors 0 to 2 are there, so that no file opened later takes their place. */
void out_open(struct out *out, struct out *err);
void out_put(struct out *o, const char *ours); /* text of this program, as it stands */
/* %s, %c, %d, %u, %lld, %llu, %zu, each with - and a width, and %% only; what %s brings is escaped. */
void out_printf(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void out_styled(struct out *o, const char *style, const char *text); /* text is escaped */
void out_json(struct out *o, json_t *taken); /* with a newline; bytes above ASCII as \u escapes */
/* Write bytes of another program exactly (through the filter, if one is given, where it is a terminal).  False: stop
 * producing. */
bool out_bytes(struct out *o, struct filter *f, const void *data, size_t len);
bool out_flush(struct out *o);
/* Everything is said: flush both.  Returns rc, or what a failure of writing makes of it: 141 for a reader that has
 * gone (quietly), `failed` with a message for anything else. */
int out_end(struct out *out, struct out *err, int rc, int failed);
int out_width(const struct out *o); /* columns of the terminal; 0: not a terminal */

#endif

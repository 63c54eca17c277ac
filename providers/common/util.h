/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of every provider need: refusals, growing text, cleanup. */
#ifndef COMMON_UTIL_H
#define COMMON_UTIL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define COUNT(a)               (sizeof(a) / sizeof((a)[0]))

struct refusal {
	const char *reason; /* static */
	char *subject, *fix, *message;
};
/* Always -1, so that `return refuse(…)` reads as one step.  Only the first one is kept.  What is no UTF-8, or a control
 * character, is escaped: what is named may be an agent's, or an engine's. */
int refuse(struct refusal *r, const char *reason, const char *subject, const char *fix, const char *fmt, ...)
        PRINTF_LIKE(5, 6);
int no_memory(struct refusal *r);
void refusal_clear(struct refusal *r);

char *format(const char *fmt, ...) PRINTF_LIKE(1, 2); /* new or NULL */
char *quoted(const char *text);                       /* new: one word of a shell; or NULL */
char *shown(const char *text);                        /* new: UTF-8, all else and controls as \xNN; or NULL */
void freep(void *pointer_to_pointer);
#define cleanup_free __attribute__((cleanup(freep)))
void json_freep(json_t **json);
#define cleanup_json __attribute__((cleanup(json_freep)))
void closep(int *fd);
#define cleanup_fd __attribute__((cleanup(closep)))

struct text { /* all zero is empty; data ends with a NUL byte once there is any */
	char *data;
	size_t len, cap;
};
bool text_add(struct text *t, const void *data, size_t len); /* false: no memory */
bool text_puts(struct text *t, const char *s);
void text_clear(struct text *t);
#define cleanup_text __attribute__((cleanup(text_clear)))

int write_all(int fd, const void *data, size_t len); /* 0, or -1 with errno */

const char *text_of(const json_t *object, const char *key); /* borrowed or NULL */

#endif

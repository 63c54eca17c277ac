/* SPDX-License-Identifier: Apache-2.0 */
/* What every part of the provider needs: refusals, growing text, small files by descriptor. */
#ifndef GIT_UTIL_H
#define GIT_UTIL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GIT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define GIT_COUNT(a)          (sizeof(a) / sizeof((a)[0]))

struct refusal {
	const char *reason; /* static, or one of known_reason() */
	char *subject, *fix, *message;
};
/* Always -1, so that `return refuse(…)` reads as one step.  Only the first one is kept.  What is no UTF-8, or a control
 * character, is escaped: names in it may be an agent's. */
int refuse(struct refusal *r, const char *reason, const char *subject, const char *fix, const char *fmt, ...)
        GIT_PRINTF(5, 6);
int no_memory(struct refusal *r);
/* A system call that failed for a reason that is nobody's choice (full disk, I/O): by errno. */
int refuse_errno(struct refusal *r, const char *subject, const char *what);
void refusal_clear(struct refusal *r);
const char *known_reason(const char *text); /* the static text, or NULL: no reason of ours */

char *format(const char *fmt, ...) GIT_PRINTF(1, 2); /* new or NULL */
char *quoted(const char *text);                      /* new: one word of a shell; or NULL */
char *shown(const char *text);                       /* new: UTF-8, all else and controls as \xNN; or NULL */
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
/* A regular file of at most max bytes, no link followed in its last component; 0, or -1 with errno (EFBIG: longer). */
int read_small(int dir, const char *name, size_t max, struct text *out);
int write_new(int dir, const char *name, mode_t mode, const void *data, size_t len); /* must not exist; not fsynced */

const char *text_of(const json_t *object, const char *key); /* borrowed or NULL */

/* Kill points for tests: with -Dfaults=true a process whose OPEN_CONDUIT_FAULT names the point ends there. */
#ifdef OC_FAULTS
void fault(const char *point);
#else
#define fault(point) ((void)0)
#endif

#endif

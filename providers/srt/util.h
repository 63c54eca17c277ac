/* SPDX-License-Identifier: Apache-2.0 */
/* What every part of the provider needs: refusals, lists of paths, small files. */
#ifndef SRT_UTIL_H
#define SRT_UTIL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define SRT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define SRT_COUNT(a)          (sizeof(a) / sizeof((a)[0]))

struct refusal {
	const char *reason; /* static */
	char *subject, *fix, *message;
};
/* Always -1, so that `return refuse(…)` reads as one step.  Only the first one is kept. */
int refuse(struct refusal *r, const char *reason, const char *subject, const char *fix, const char *fmt, ...)
        SRT_PRINTF(5, 6);
int no_memory(struct refusal *r);
void refusal_clear(struct refusal *r);

char *format(const char *fmt, ...) SRT_PRINTF(1, 2); /* new or NULL */
void freep(void *pointer_to_pointer);
#define cleanup_free __attribute__((cleanup(freep)))
void json_freep(json_t **json);
#define cleanup_json __attribute__((cleanup(json_freep)))

struct list {
	char **v;
	size_t n, cap;
};
bool list_add(struct list *l, const char *text); /* copied; false: no memory */
bool list_has(const struct list *l, const char *text);
void list_sort_unique(struct list *l);
void list_free(struct list *l);

bool path_within(const char *ancestor, const char *path); /* equal or beneath */
char *path_parent(const char *path);
bool is_dir(const char *path);        /* a directory, itself no link */
bool is_executable(const char *path); /* a regular file that may be executed; links followed */

char *read_small(const char *path, size_t max);             /* new text, or NULL */
json_t *read_json(const char *path);                        /* new object, or NULL */
const char *text_of(const json_t *object, const char *key); /* borrowed or NULL */

/* "sha256:…" of a file of at most 16 MiB, or NULL. */
char *digest_of(const char *path);

#endif

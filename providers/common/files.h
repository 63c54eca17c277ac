/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of paths, and small files by their path. */
#ifndef COMMON_FILES_H
#define COMMON_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/util.h"

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

char *read_small(const char *path, size_t max); /* new text, or NULL */
json_t *read_json(const char *path);            /* new object, or NULL */

/* "sha256:…" of a file of at most 16 MiB, or NULL. */
char *digest_of(const char *path);
char *digest_text(const char *text); /* its SHA-256 as 64 hex digits, new, or NULL */

#endif

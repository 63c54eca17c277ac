/* SPDX-License-Identifier: Apache-2.0 */
/* What files said that were read for an earlier plan.  A host keeps its provider, and these are the same files each time. */
#ifndef SRT_KNOWN_H
#define SRT_KNOWN_H

#include <jansson.h>

struct known;
struct known *known_new(void); /* NULL: no memory, and all is read each time */
void known_free(struct known *known);
/* As read_json() and digest_of(); known may be NULL. */
json_t *known_json(struct known *known, const char *path);
char *known_digest(struct known *known, const char *path);

#endif

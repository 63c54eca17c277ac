/* SPDX-License-Identifier: Apache-2.0 */
/* JSON with its places.  The config needs what a parser of values throws away: where each thing stands, so that a
 * finding names its line; every key that is there twice; a policy's text exactly as it was written; and the digits of a
 * number that no binary fraction holds. */
#ifndef HOST_CONFIG_DOC_H
#define HOST_CONFIG_DOC_H

#include <stdbool.h>
#include <stddef.h>

#define DOC_MAX     (1u << 20) /* bytes */
#define DOC_DEPTH   32
#define DOC_MEMBERS 1000 /* of one object or list */

enum node_type { NODE_NULL, NODE_BOOL, NODE_NUMBER, NODE_STRING, NODE_LIST, NODE_OBJECT };
struct node {
	enum node_type type;
	bool truth;
	const char *text;       /* a string's value; a number as it is written */
	const char *key;        /* in an object: decoded */
	bool duplicate;         /* an earlier member has this key */
	bool flawed;            /* there is a duplicate in it, at any depth */
	size_t at, end, key_at; /* bytes of the text */
	struct node *child, *next;
	size_t n; /* children */
};

/* Memory that is freed all at once. */
struct arena {
	struct arena_block *blocks;
	bool failed;
};
void *arena_get(struct arena *a, size_t size); /* zeroed; NULL: `failed` is set */
char *arena_copy(struct arena *a, const char *text, size_t len);
char *arena_text(struct arena *a, const char *text);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void arena_free(struct arena *a);

struct doc {
	const char *text; /* ours: a copy */
	size_t len;
	struct node *root;
	/* The first error of grammar, after which nothing more is read; NULL: none. */
	const char *wrong;
	size_t wrong_at;
};
/* 0, or negative: doc->wrong, or memory (a->failed). */
int doc_parse(struct doc *doc, struct arena *a, const char *text, size_t len);
void doc_place(const struct doc *doc, size_t at, size_t *line, size_t *column); /* from 1; columns of characters */
const struct node *doc_member(const struct node *object, const char *key);      /* the first of that key, or NULL */
/* The node of a path like "read.deny[2]" in `from`, as deep as it goes; *path is what is left of it. */
const struct node *doc_find(const struct node *from, const char **path);

#endif

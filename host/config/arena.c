/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doc.h"

#define BLOCK 16384u

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	max_align_t data[];
};

static struct arena_block *add_block(struct arena *a, size_t size)
{
	struct arena_block *b = calloc(1, sizeof(*b) + size);

	if (!b) {
		a->failed = true;
		return NULL;
	}
	b->size = size;
	b->next = a->blocks;
	a->blocks = b;
	return b;
}

void *arena_get(struct arena *a, size_t size)
{
	struct arena_block *b = a->blocks;
	char *at;

	if (size > SIZE_MAX / 4) {
		a->failed = true;
		return NULL;
	}
	size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
	if (!b || b->size - b->used < size)
		b = add_block(a, size > BLOCK ? size : BLOCK);
	if (!b)
		return NULL;
	at = (char *)b->data + b->used;
	b->used += size;
	return at;
}

char *arena_copy(struct arena *a, const char *text, size_t len)
{
	char *copy = arena_get(a, len + 1);

	if (copy && len)
		memcpy(copy, text, len);
	return copy;
}

char *arena_text(struct arena *a, const char *text)
{
	return arena_copy(a, text, strlen(text));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *text = NULL;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	if (n >= 0)
		text = arena_get(a, (size_t)n + 1);
	else
		a->failed = true;
	if (text)
		vsnprintf(text, (size_t)n + 1, fmt, again);
	va_end(again);
	va_end(ap);
	return text;
}

void arena_free(struct arena *a)
{
	while (a->blocks) {
		struct arena_block *b = a->blocks;

		a->blocks = b->next;
		free(b);
	}
}

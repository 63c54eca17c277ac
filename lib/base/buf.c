/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <openconduit/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_FIRST 64

void oc_buf_init(struct oc_buf *b, size_t max)
{
	*b = (struct oc_buf){ .max = max };
}

void oc_buf_free(struct oc_buf *b)
{
	free(b->data);
	oc_buf_init(b, b->max);
}

int oc_buf_reserve(struct oc_buf *b, size_t more)
{
	size_t need, cap;
	char *data;

	if (b->len > b->max || more > b->max - b->len || b->len + more > SIZE_MAX / 2)
		return OC_ELIMIT;
	need = b->len + more + 1;
	if (need <= b->cap)
		return 0;
	cap = OC_MAX(need, OC_MAX((size_t)BUF_FIRST, b->cap * 2));
	/* No more than may ever be in it: what fits needs no other check. */
	if (cap - 1 > b->max)
		cap = b->max + 1;
	data = realloc(b->data, cap);
	if (!data)
		return OC_ENOMEM;
	if (!b->data)
		data[0] = '\0';
	b->data = data;
	b->cap = cap;
	return 0;
}

int oc_buf_add(struct oc_buf *b, const void *data, size_t len)
{
	/* Nearly always there is room: a text is put together of hundreds of pieces. */
	if (b->len >= b->cap || len >= b->cap - b->len) {
		int rc = oc_buf_reserve(b, len);

		if (rc < 0)
			return rc;
	}
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
	return 0;
}

int oc_buf_puts(struct oc_buf *b, const char *s)
{
	return oc_buf_add(b, s, strlen(s));
}

int oc_buf_vprintf(struct oc_buf *b, const char *fmt, va_list ap)
{
	size_t room = b->cap - b->len; /* 0: nothing is allocated yet */
	va_list again;
	int n, rc;

	va_copy(again, ap);
	n = vsnprintf(room ? b->data + b->len : NULL, room, fmt, again);
	va_end(again);
	rc = n < 0 ? OC_ENOMEM : oc_buf_reserve(b, (size_t)n);
	if (rc < 0) {
		if (room)
			b->data[b->len] = '\0';
		return rc;
	}
	/* Most of what is printed fits at once. */
	if ((size_t)n >= room)
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	b->len += (size_t)n;
	return 0;
}

int oc_buf_printf(struct oc_buf *b, const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = oc_buf_vprintf(b, fmt, ap);
	va_end(ap);
	return rc;
}

void oc_buf_consume(struct oc_buf *b, size_t n)
{
	n = OC_MIN(n, b->len);
	if (!n)
		return;
	memmove(b->data, b->data + n, b->len - n + 1);
	b->len -= n;
}

char *oc_buf_steal(struct oc_buf *b)
{
	char *data;

	if (!b->data)
		return calloc(1, 1);
	data = b->data;
	oc_buf_init(b, b->max);
	return data;
}

void oc_strv_init(struct oc_strv *s, size_t max)
{
	*s = (struct oc_strv){ .max = max };
}

void oc_strv_free(struct oc_strv *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	oc_strv_init(s, s->max);
}

/* text is taken, also on failure. */
static int strv_take(struct oc_strv *s, char *text)
{
	int rc = OC_ENOMEM;
	char **v;

	if (!text)
		return OC_ENOMEM;
	if (s->n >= s->max) {
		rc = OC_ELIMIT;
		goto fail;
	}
	if (s->n + 1 >= s->cap) {
		v = reallocarray(s->v, s->cap ? s->cap * 2 : 8, sizeof(*v));
		if (!v)
			goto fail;
		s->v = v;
		s->cap = s->cap ? s->cap * 2 : 8;
	}
	s->v[s->n++] = text;
	s->v[s->n] = NULL;
	return 0;
fail:
	free(text);
	return rc;
}

int oc_strv_add(struct oc_strv *s, const char *text)
{
	return strv_take(s, strdup(text));
}

int oc_strv_addf(struct oc_strv *s, const char *fmt, ...)
{
	struct oc_buf b;
	va_list ap;
	int rc;

	oc_buf_init(&b, SIZE_MAX / 4);
	va_start(ap, fmt);
	rc = oc_buf_vprintf(&b, fmt, ap);
	va_end(ap);
	if (rc == 0)
		rc = strv_take(s, oc_buf_steal(&b));
	oc_buf_free(&b);
	return rc;
}

bool oc_strv_has(const struct oc_strv *s, const char *text)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->v[i], text) == 0)
			return true;
	return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A byte buffer that knows its limit.  Always NUL-terminated once something was added. */
#ifndef OC_BASE_BUF_H
#define OC_BASE_BUF_H

#include <stdarg.h>

#include "base/util.h"

struct oc_buf {
	char *data;
	size_t len, cap, max;
};

void oc_buf_init(struct oc_buf *b, size_t max);
void oc_buf_free(struct oc_buf *b); /* leaves it empty and usable */
/* 0, OC_ENOMEM, or OC_ELIMIT when max would be passed (nothing is added then). */
int oc_buf_add(struct oc_buf *b, const void *data, size_t len);
int oc_buf_puts(struct oc_buf *b, const char *s);
int oc_buf_printf(struct oc_buf *b, const char *fmt, ...) OC_PRINTF(2, 3);
int oc_buf_vprintf(struct oc_buf *b, const char *fmt, va_list ap) OC_PRINTF(2, 0);
int oc_buf_reserve(struct oc_buf *b, size_t more); /* room for `more` bytes at data + len */
void oc_buf_consume(struct oc_buf *b, size_t n);   /* drop n bytes from the front */
char *oc_buf_steal(struct oc_buf *b);              /* new string (free); "" when empty; NULL: no memory */

/* A growing list of strings, bounded by count; v is NULL while empty, then NULL-terminated. */
struct oc_strv {
	char **v;
	size_t n, cap, max;
};
void oc_strv_init(struct oc_strv *s, size_t max);
void oc_strv_free(struct oc_strv *s);
int oc_strv_add(struct oc_strv *s, const char *text); /* copied; codes as above */
int oc_strv_addf(struct oc_strv *s, const char *fmt, ...) OC_PRINTF(2, 3);
bool oc_strv_has(const struct oc_strv *s, const char *text);

#endif

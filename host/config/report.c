/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *copy(struct report *r, const char *text)
{
	char *c = text ? strdup(text) : NULL;

	if (text && !c)
		r->nomem = true;
	return c;
}

/* Room for one more; false: it is only counted. */
static bool room(struct report *r)
{
	size_t cap = r->cap ? r->cap * 2 : 16;
	struct finding *grown;

	if (r->n < r->cap)
		return true;
	if (r->n >= REPORT_MAX)
		return false;
	grown = reallocarray(r->v, cap, sizeof(*grown));
	if (!grown) {
		r->nomem = true;
		return false;
	}
	r->v = grown;
	r->cap = cap;
	return true;
}

static void finding_free(struct finding *f)
{
	free(f->field);
	free(f->reason);
	free(f->subject);
	free(f->message);
	free(f->fix);
}

static void add(struct report *r, const struct report_place *place, const char *reason, const char *fix,
                const char *message)
{
	if (place->warning)
		r->warnings++;
	else
		r->errors++;
	if (!room(r))
		return;
	r->v[r->n++] = (struct finding){ .field = copy(r, place->field),
		                         .reason = copy(r, reason),
		                         .subject = copy(r, place->subject),
		                         .message = copy(r, message),
		                         .fix = copy(r, fix),
		                         .line = place->line,
		                         .column = place->column,
		                         .warning = place->warning };
	if (r->nomem) /* half of one is none */
		finding_free(&r->v[--r->n]);
}

void report_add(struct report *r, const struct report_place *place, const char *reason, const char *fix,
                const char *fmt, ...)
{
	char message[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	add(r, place, reason, fix, message);
}

void report_add_error(struct report *r, const struct report_place *place, const oc_error *err)
{
	const char *reason = oc_error_reason(err);

	if (oc_error_code(err) == OC_ENOMEM)
		r->nomem = true;
	else
		add(r, place, reason ? reason : "sandbox_config", oc_error_fix(err), oc_error_message(err));
}

bool report_good(const struct report *r)
{
	return r->errors == 0 && !r->nomem;
}

static int by_place(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->column != y->column)
		return x->column < y->column ? -1 : 1;
	if (x->warning != y->warning)
		return x->warning ? 1 : -1;
	return x->field && y->field ? strcmp(x->field, y->field) : 0;
}

void report_sort(struct report *r)
{
	if (r->n > 1)
		qsort(r->v, r->n, sizeof(*r->v), by_place);
}

void report_free(struct report *r)
{
	for (size_t i = 0; i < r->n; i++)
		finding_free(&r->v[i]);
	free(r->v);
	memset(r, 0, sizeof(*r));
}

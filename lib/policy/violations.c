/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/violations.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static char *format(const char *fmt, va_list ap)
{
	va_list again;
	char *text;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	text = n < 0 ? NULL : malloc((size_t)n + 1);
	if (text)
		vsnprintf(text, (size_t)n + 1, fmt, ap);
	return text;
}

char *oc_policy_format(const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = format(fmt, ap);
	va_end(ap);
	return text;
}

char *oc_policy_quote(const char *before, const char *value, const char *after)
{
	json_t *s = json_string(value);
	char *text = s ? json_dumps(s, JSON_ENCODE_ANY | JSON_COMPACT) : NULL, *out = NULL;

	json_decref(s);
	if (text)
		out = oc_policy_format("%s%s%s", before, text, after);
	free(text);
	return out;
}

void oc_violations_add(struct oc_violations *v, oc_error *taken)
{
	if (!taken)
		return;
	v->n++;
	if (v->n == 1)
		v->code = oc_error_code(taken);
	if (v->n > OC_VIOLATIONS_MAX) {
		oc_error_free(taken);
		return;
	}
	oc_error_append(&v->first, taken);
}

void oc_violations_nomem(struct oc_violations *v)
{
	oc_error *e = NULL;

	if (v->code == OC_ENOMEM)
		return;
	(void)oc_nomem(&e);
	oc_error_free(v->first);
	v->first = e;
	v->n = OC_VIOLATIONS_MAX;
	v->code = OC_ENOMEM;
}

void oc_violate(struct oc_violations *v, const char *reason, const char *subject, const char *fix, const char *fmt, ...)
{
	oc_error *e = NULL;
	char *text;
	va_list ap;

	if (v->code == OC_ENOMEM)
		return;
	va_start(ap, fmt);
	text = format(fmt, ap);
	va_end(ap);
	if (!text) {
		oc_violations_nomem(v);
		return;
	}
	(void)oc_refuse(&e, reason, subject, fix, "%s", text);
	free(text);
	if (e)
		oc_violations_add(v, e);
	else
		oc_violations_nomem(v);
}

int oc_violations_end(struct oc_violations *v, oc_error **err)
{
	if (v->n == 0)
		return 0;
	if (err)
		*err = v->first;
	else
		oc_error_free(v->first);
	v->first = NULL;
	return v->code ? v->code : OC_EFAILED;
}

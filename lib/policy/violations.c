/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/violations.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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
	char *text = NULL;
	va_list ap;
	int n;

	if (v->code == OC_ENOMEM)
		return;
	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
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

/* SPDX-License-Identifier: Apache-2.0 */
/* All that is wrong at once, in the order it was found. */
#ifndef OC_POLICY_VIOLATIONS_H
#define OC_POLICY_VIOLATIONS_H

#include "base/error.h"

#define OC_VIOLATIONS_MAX 256 /* more are counted, not told */

struct oc_violations {
	oc_error *first;
	size_t n;
	int code; /* what the first one returned */
};
/* New text, or NULL: no memory. */
char *oc_policy_format(const char *fmt, ...) OC_PRINTF(1, 2);
char *oc_policy_quote(const char *before, const char *value, const char *after); /* value as a JSON string */

/* fix may be NULL. */
void oc_violate(struct oc_violations *v, const char *reason, const char *subject, const char *fix, const char *fmt, ...)
        OC_PRINTF(5, 6);
void oc_violations_add(struct oc_violations *v, oc_error *taken);
void oc_violations_nomem(struct oc_violations *v);
/* 0, or the code with the chain handed to *err. */
int oc_violations_end(struct oc_violations *v, oc_error **err);

#endif

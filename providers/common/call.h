/* SPDX-License-Identifier: Apache-2.0 */
/* A provider's side of one call. */
#ifndef COMMON_CALL_H
#define COMMON_CALL_H

#include <openconduit/provider.h>

#include "common/util.h"

struct param {
	const char *name;
	bool (*fits)(const json_t *value); /* NULL is a parameter that isn't there */
};
bool is_text(const json_t *value);
bool is_text_or_null(const json_t *value);
bool is_text_or_absent(const json_t *value);
bool is_object(const json_t *value);
bool is_truth(const json_t *value);
bool is_truth_or_absent(const json_t *value);

/* The parameters of a call: no others than these, each as it has to be.  New; NULL: refused. */
json_t *call_params(oc_call *call, const struct param *list, size_t n, struct refusal *r);
/* The reply is taken; NULL: what was refused is the answer.  Clears it. */
void call_answer(oc_call *call, json_t *reply, struct refusal *r);

#endif

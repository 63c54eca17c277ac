/* SPDX-License-Identifier: Apache-2.0 */
#include "common/call.h"

#include <string.h>

bool is_text(const json_t *value)
{
	return json_is_string(value);
}

bool is_text_or_null(const json_t *value)
{
	return json_is_string(value) || json_is_null(value);
}

bool is_text_or_absent(const json_t *value)
{
	return !value || json_is_string(value);
}

bool is_object(const json_t *value)
{
	return json_is_object(value);
}

bool is_truth(const json_t *value)
{
	return json_is_boolean(value);
}

bool is_truth_or_absent(const json_t *value)
{
	return !value || json_is_boolean(value);
}

json_t *call_params(oc_call *call, const struct param *list, size_t n, struct refusal *r)
{
	cleanup_json json_t *params = json_loads(oc_call_params(call), JSON_REJECT_DUPLICATES, NULL);
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		const json_t *value = json_object_get(params, list[i].name);

		known += value != NULL;
		if (list[i].fits(value))
			continue;
		refuse(r, "provider_failed", list[i].name, NULL, "%s lacks its parameter %s, or it is of another type",
		       oc_call_method(call), list[i].name);
		return NULL;
	}
	if (json_is_object(params) && json_object_size(params) == known)
		return json_incref(params);
	refuse(r, "provider_failed", oc_call_method(call), NULL, "%s got a parameter that it doesn't know",
	       oc_call_method(call));
	return NULL;
}

void call_answer(oc_call *call, json_t *reply, struct refusal *r)
{
	cleanup_free char *text = reply ? json_dumps(reply, JSON_COMPACT) : NULL;

	if (text)
		(void)oc_call_reply(call, text);
	else
		(void)oc_call_refuse(call, r->reason ? r->reason : "provider_failed", r->subject, r->fix,
		                     r->message ? r->message : "out of memory");
	json_decref(reply);
	refusal_clear(r);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/refused.h"

#include <string.h>

#include "base/json.h"

#define MARK "refused {"

static const char *find_line(const char *text, size_t len)
{
	const char *at = text, *found;

	while ((found = memmem(at, len - (size_t)(at - text), MARK, strlen(MARK)))) {
		if (found == text || found[-1] == '\n')
			return found + strlen(MARK) - 1;
		at = found + 1;
	}
	return NULL;
}

bool oc_refused_find(const char *text, size_t len, oc_error **err)
{
	const char *at = find_line(text, len), *reason = NULL, *subject = NULL, *message = NULL, *fix = NULL;
	const char *end = at ? memchr(at, '\n', len - (size_t)(at - text)) : NULL;
	oc_cleanup(oc_json_decrefp) json_t *json = NULL;
	const struct oc_json_key keys[] = {
		{ "reason", OC_JSON_STRING, true, &reason },
		{ "subject", OC_JSON_STRING | OC_JSON_NULL_OK, false, &subject },
		{ "message", OC_JSON_STRING, true, &message },
		{ "fix", OC_JSON_STRING | OC_JSON_NULL_OK, false, &fix },
	};

	if (!at || !end || oc_json_parse(at, (size_t)(end - at), 65536, "refused", &json, NULL) < 0 ||
	    !json_is_object(json) || oc_json_unpack(json, "", NULL, keys, OC_COUNT(keys), NULL) < 0 ||
	    !oc_reason_known(reason))
		return false;
	return oc_refuse(err, reason, subject, fix, "%s", message) < 0 && err && *err;
}

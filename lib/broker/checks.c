/* SPDX-License-Identifier: Apache-2.0 */
/* A provider's answer to "check", strictly: a verdict is kept for a day, so what it rests on is known to the letter. */
#include <stdio.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/workspace.h"

#define CHECKS_MAX 256
#define TEXT_MAX   65536

static int check_one(const char *provider, const json_t *check, size_t i, oc_error **err)
{
	const char *id = NULL, *title = NULL, *detail = NULL, *fix = NULL;
	int64_t ms = 0;
	const struct oc_json_key keys[] = {
		{ "id", OC_JSON_STRING, true, &id },
		{ "title", OC_JSON_STRING, true, &title },
		{ "ok", OC_JSON_BOOL, true, NULL },
		{ "detail", OC_JSON_STRING | OC_JSON_NULL_OK, false, &detail },
		{ "fix", OC_JSON_STRING | OC_JSON_NULL_OK, false, &fix },
		{ "ms", OC_JSON_INT, true, &ms },
	};
	char at[32];
	int rc;

	snprintf(at, sizeof(at), "checks[%zu]", i);
	rc = oc_json_unpack(check, at, "provider_failed", keys, OC_COUNT(keys), err);
	if (rc < 0)
		return rc;
	if (!*id || ms < 0)
		return oc_reply_wrong(provider, at, "has no id, or a time below 0", err);
	if (strlen(id) > TEXT_MAX || strlen(title) > TEXT_MAX || (detail && strlen(detail) > TEXT_MAX) ||
	    (fix && strlen(fix) > TEXT_MAX))
		return oc_reply_wrong(provider, at, "holds too long a text", err);
	return 0;
}

int oc_checks_check(const char *provider, const json_t *reply, oc_error **err)
{
	json_t *checks = NULL;
	const json_t *check;
	const struct oc_json_key keys[] = { { "identity", OC_JSON_OBJECT, true, NULL },
		                            { "checks", OC_JSON_ARRAY, true, &checks } };
	int rc = oc_json_unpack(reply, "", "provider_failed", keys, OC_COUNT(keys), err);
	size_t i;

	if (rc < 0)
		return rc;
	if (json_array_size(checks) > CHECKS_MAX)
		return oc_reply_wrong(provider, "checks", "is too long a list", err);
	json_array_foreach(checks, i, check)
	{
		rc = check_one(provider, check, i, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

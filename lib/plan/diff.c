/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between two plans, by path.  Depth is bounded by the parser that made them. */
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"

static int diff(const json_t *a, const json_t *b, const char *path, json_t *out, oc_error **err);

static int differs(const json_t *a, const json_t *b, const char *path, json_t *out, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *row = json_object();

	if (!oc_json_set_string(row, "path", path) || !oc_json_set(row, "a", a ? json_deep_copy(a) : json_null()) ||
	    !oc_json_set(row, "b", b ? json_deep_copy(b) : json_null()) || !oc_json_append(out, json_incref(row)))
		return oc_nomem(err);
	return 0;
}

static int member(const json_t *a, const json_t *b, const char *path, const char *key, json_t *out, oc_error **err)
{
	oc_cleanup(oc_buf_free) struct oc_buf at = { 0 };

	oc_buf_init(&at, OC_JSON_MAX);
	if (oc_buf_printf(&at, "%s%s%s", path, *path ? "." : "", key) < 0)
		return oc_nomem(err);
	return diff(json_object_get(a, key), json_object_get(b, key), at.data, out, err);
}

static int objects(const json_t *a, const json_t *b, const char *path, json_t *out, oc_error **err)
{
	const char *key;
	json_t *value;
	int rc = 0;

	json_object_foreach((json_t *)a, key, value)
	{
		if (rc == 0)
			rc = member(a, b, path, key, out, err);
	}
	json_object_foreach((json_t *)b, key, value)
	{
		if (rc == 0 && !json_object_get(a, key))
			rc = member(a, b, path, key, out, err);
	}
	return rc;
}

static int arrays(const json_t *a, const json_t *b, const char *path, json_t *out, oc_error **err)
{
	size_t i, n = OC_MAX(json_array_size(a), json_array_size(b));
	int rc = 0;

	for (i = 0; rc == 0 && i < n; i++) {
		oc_cleanup(oc_buf_free) struct oc_buf at = { 0 };

		oc_buf_init(&at, OC_JSON_MAX);
		if (oc_buf_printf(&at, "%s[%zu]", path, i) < 0)
			return oc_nomem(err);
		rc = diff(json_array_get(a, i), json_array_get(b, i), at.data, out, err);
	}
	return rc;
}

static int diff(const json_t *a, const json_t *b, const char *path, json_t *out, oc_error **err)
{
	if (a && b && json_equal(a, b))
		return 0;
	if (json_is_object(a) && json_is_object(b))
		return objects(a, b, path, out, err);
	if (json_is_array(a) && json_is_array(b))
		return arrays(a, b, path, out, err);
	return differs(a, b, path, out, err);
}

int oc_plan_diff(const oc_plan *a, const oc_plan *b, char **json, oc_error **err)
{
	oc_cleanup(oc_json_decrefp) json_t *out = json_array();
	int rc;

	if (!a || !b || !json)
		return oc_fail(err, OC_EINVAL, 0, "oc_plan_diff: two plans and a place for the result");
	if (!out)
		return oc_nomem(err);
	rc = diff(a->json, b->json, "", out, err);
	if (rc < 0)
		return rc;
	*json = json_dumps(out, JSON_COMPACT | JSON_SORT_KEYS);
	return *json ? 0 : oc_nomem(err);
}

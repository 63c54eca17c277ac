/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/values.h"

#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"

#define VALUE_MAX 131072u

void oc_values_free(struct oc_values *values)
{
	size_t i;

	if (!values)
		return;
	for (i = 0; i < values->n; i++) {
		if (values->v[i].entry)
			explicit_bzero(values->v[i].entry, values->v[i].len);
		free(values->v[i].entry);
	}
	free(values);
}

const struct oc_value *oc_values_find(const struct oc_values *values, const char *name)
{
	size_t i, len = strlen(name);

	for (i = 0; values && i < values->n; i++)
		if (strncmp(values->v[i].entry, name, len) == 0 && values->v[i].entry[len] == '=')
			return &values->v[i];
	return NULL;
}

static bool planned(const struct oc_plan_view *plan, const char *name, bool secret)
{
	const json_t *item;
	size_t i;

	json_array_foreach(secret ? plan->secrets : plan->env, i, item)
	{
		if (secret && strcmp(json_string_value(item), name) == 0)
			return true;
		if (!secret && json_is_null(json_object_get(item, "value")) && oc_json_text(item, "name") &&
		    strcmp(oc_json_text(item, "name"), name) == 0)
			return true;
	}
	return false;
}

/* Values travel in base64: a variable need not be UTF-8, and JSON must be. */
static int add(struct oc_values *values, const char *name, const json_t *value, bool secret, oc_error **err)
{
	struct oc_value *v = &values->v[values->n];
	const char *text = json_string_value(value);
	size_t prefix = strlen(name) + 1, len = 0;
	void *data = NULL;
	int rc = text ? oc_base64_decode(text, json_string_length(value), &data, &len) : OC_EPROTO;

	if (rc == OC_ENOMEM)
		return oc_nomem(err);
	if (rc < 0 || len > VALUE_MAX || memchr(data, 0, len)) {
		rc = oc_fail(err, OC_EPROTO, 0, "The value of %s is not base64 of at most %u bytes without NUL", name,
		             VALUE_MAX);
	} else {
		v->len = prefix + len;
		v->secret = secret;
		v->entry = malloc(v->len + 1);
		rc = v->entry ? 0 : oc_nomem(err);
	}
	if (rc == 0) {
		memcpy(v->entry, name, prefix - 1);
		v->entry[prefix - 1] = '=';
		memcpy(v->entry + prefix, data, len);
		v->entry[v->len] = 0;
		values->n++;
	}
	if (data)
		explicit_bzero(data, len);
	free(data);
	return rc;
}

static int add_all(struct oc_values *values, const struct oc_plan_view *plan, const json_t *object, bool secret,
                   oc_error **err)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)object, name, value)
	{
		int rc;

		if (!planned(plan, name, secret))
			return oc_refuse(err, "pin_mismatch", name, NULL,
			                 "The release brings %s, which the pinned plan does not name", name);
		rc = add(values, name, value, secret, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int check_secrets(const struct oc_values *values, const struct oc_plan_view *plan, oc_error **err)
{
	const json_t *item;
	size_t i;

	json_array_foreach(plan->secrets, i, item)
	{
		const char *name = json_string_value(item);
		const struct oc_value *v = oc_values_find(values, name);

		if (!v || !v->secret)
			return oc_refuse(err, "secret_missing", name, NULL,
			                 "The release brings no value for the secret %s", name);
	}
	return 0;
}

int oc_values_new(const struct oc_plan_view *plan, const json_t *env, const json_t *secrets, struct oc_values **out,
                  oc_error **err)
{
	size_t n = json_object_size(env) + json_object_size(secrets);
	struct oc_values *values = calloc(1, sizeof(*values) + n * sizeof(values->v[0]));
	int rc;

	if (!values)
		return oc_nomem(err);
	rc = add_all(values, plan, env, false, err);
	rc = rc < 0 ? rc : add_all(values, plan, secrets, true, err);
	rc = rc < 0 ? rc : check_secrets(values, plan, err);
	if (rc < 0)
		oc_values_free(values);
	else
		*out = values;
	return rc;
}

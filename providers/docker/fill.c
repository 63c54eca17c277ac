/* SPDX-License-Identifier: Apache-2.0 */
#include "fill.h"

#include <string.h>

#define DEPTH_MAX 32

static json_t *fill_at(const json_t *t, const json_t *values, unsigned depth, struct refusal *r);

static int put_value(struct text *out, const char *name, size_t n, const json_t *values, struct refusal *r)
{
	cleanup_free char *key = strndup(name, n);
	const char *value = key ? text_of(values, key) : NULL;

	if (!key)
		return no_memory(r);
	if (!value)
		return refuse(r, "provider_failed", key, NULL, "the plan leaves %s open, which nothing fills", key);
	return text_puts(out, value) ? 0 : no_memory(r);
}

/* New, or NULL. */
static char *fill_text(const char *t, const json_t *values, struct refusal *r)
{
	struct text out = { 0 };

	if (!text_puts(&out, "")) {
		no_memory(r);
		return NULL;
	}
	while (*t) {
		size_t plain = strcspn(t, "{"), name;

		if (plain && !text_add(&out, t, plain))
			no_memory(r);
		t += plain;
		if (!*t || r->reason)
			break;
		name = strcspn(t + 1, "}");
		if (!t[1 + name])
			refuse(r, "provider_failed", t, NULL, "the plan has a brace that nothing closes: %s", t);
		if (r->reason || put_value(&out, t + 1, name, values, r) < 0)
			break;
		t += name + 2;
	}
	if (!r->reason)
		return out.data;
	text_clear(&out);
	return NULL;
}

static json_t *fill_object(const json_t *t, const json_t *values, unsigned depth, struct refusal *r)
{
	json_t *out = json_object(), *value;
	const char *name;

	json_object_foreach((json_t *)t, name, value)
	{
		cleanup_free char *key = name[0] == '$' ? fill_text(name + 1, values, r) : strdup(name);
		json_t *filled = key ? fill_at(value, values, depth, r) : NULL;

		if (filled && json_object_get(out, key)) {
			refuse(r, "provider_failed", key, NULL, "the plan names %s twice", key);
			json_decref(filled);
		} else if (filled && json_object_set_new(out, key, filled) < 0) {
			no_memory(r);
		}
		if (!filled)
			no_memory(r);
		if (r->reason)
			break;
	}
	if (!r->reason && out)
		return out;
	json_decref(out);
	return NULL;
}

static json_t *fill_array(const json_t *t, const json_t *values, unsigned depth, struct refusal *r)
{
	json_t *out = json_array();
	const json_t *value;
	size_t i;

	json_array_foreach(t, i, value) if (json_array_append_new(out, fill_at(value, values, depth, r)) < 0)
	{
		no_memory(r);
		break;
	}
	if (!r->reason && out)
		return out;
	json_decref(out);
	return NULL;
}

static json_t *fill_at(const json_t *t, const json_t *values, unsigned depth, struct refusal *r)
{
	const char *open = text_of(t, "$");
	json_t *out = NULL;

	if (depth >= DEPTH_MAX) {
		refuse(r, "provider_failed", "spec", NULL, "the plan is nested too deeply");
	} else if (open && json_object_size(t) == 1) {
		cleanup_free char *filled = fill_text(open, values, r);

		out = filled ? json_string(filled) : NULL;
	} else if (json_is_object(t)) {
		out = fill_object(t, values, depth + 1, r);
	} else if (json_is_array(t)) {
		out = fill_array(t, values, depth + 1, r);
	} else {
		out = json_deep_copy(t);
	}
	if (!out)
		no_memory(r);
	return out;
}

json_t *fill(const json_t *template, const json_t *values, struct refusal *r)
{
	return fill_at(template, values, 0, r);
}

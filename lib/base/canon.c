/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

#define INTEGER_MAX 9007199254740991LL /* 2^53 - 1 */
#define FEW         16

struct canon {
	struct oc_buf *out;
	oc_error **err;
};

static int put_value(struct canon *c, const json_t *json, int depth);

static int put(struct canon *c, const char *text, size_t len)
{
	int rc = oc_buf_add(c->out, text, len);

	if (rc == OC_ENOMEM)
		return oc_nomem(c->err);
	return rc < 0 ? oc_fail(c->err, rc, 0, "canonical JSON would be longer than %zu bytes", c->out->max) : 0;
}

static int put_char(struct canon *c, unsigned char ch)
{
	static const char letters[] = "btn\0fr"; /* from U+0008 on; U+000B has none */
	static const char hex[] = "0123456789abcdef";
	char text[6] = { '\\', 'u', '0', '0', hex[ch >> 4], hex[ch & 15] };

	if (ch == '"' || ch == '\\')
		text[1] = (char)ch;
	else if (ch >= 8 && ch <= 13 && letters[ch - 8])
		text[1] = letters[ch - 8];
	else
		return put(c, text, 6);
	return put(c, text, 2);
}

static int put_string(struct canon *c, const char *s, size_t len)
{
	size_t from = 0;
	int rc = put(c, "\"", 1);

	if (!oc_utf8_valid(s, len))
		return oc_fail(c->err, OC_EINVAL, 0, "a string is not UTF-8");
	for (size_t i = 0; i < len && rc == 0; i++) {
		unsigned char ch = (unsigned char)s[i];

		if (ch >= 0x20 && ch != '"' && ch != '\\')
			continue;
		rc = put(c, s + from, i - from);
		if (rc == 0)
			rc = put_char(c, ch);
		from = i + 1;
	}
	if (rc == 0)
		rc = put(c, s + from, len - from);
	return rc < 0 ? rc : put(c, "\"", 1);
}

/* Order of UTF-16 code units, from UTF-8: it differs from the bytes' order only where a lead byte of a
 * surrogate pair (F0 and up; D800..DFFF) meets EE or EF (U+E000..U+FFFF). */
static int compare_keys(const void *x, const void *y)
{
	const unsigned char *a = *(const unsigned char *const *)x, *b = *(const unsigned char *const *)y;

	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (*a >= 0xee && *b >= 0xee && (*a >= 0xf0) != (*b >= 0xf0))
		return *a >= 0xf0 ? -1 : 1;
	return *a - *b;
}

/* Few, and mostly in their order already. */
static void sort_keys(const char **keys, size_t n)
{
	if (n > FEW) {
		qsort(keys, n, sizeof(*keys), compare_keys);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		const char *key = keys[i];
		size_t at = i;

		for (; at && compare_keys(&keys[at - 1], &key) > 0; at--)
			keys[at] = keys[at - 1];
		keys[at] = key;
	}
}

static int put_members(struct canon *c, const json_t *object, const char **keys, int depth)
{
	size_t n = 0;
	const char *key;
	json_t *value;
	int rc = put(c, "{", 1);

	json_object_foreach((json_t *)object, key, value) keys[n++] = key;
	sort_keys(keys, n);
	for (size_t i = 0; i < n && rc == 0; i++) {
		rc = i ? put(c, ",", 1) : 0;
		if (rc == 0)
			rc = put_string(c, keys[i], strlen(keys[i]));
		if (rc == 0)
			rc = put(c, ":", 1);
		if (rc == 0)
			rc = put_value(c, json_object_get(object, keys[i]), depth);
	}
	return rc < 0 ? rc : put(c, "}", 1);
}

static int put_object(struct canon *c, const json_t *object, int depth)
{
	size_t n = json_object_size(object);
	oc_cleanup(oc_freep) const char **many = NULL;
	const char *few[FEW], **keys = few;

	if (n > FEW)
		keys = many = calloc(n, sizeof(*many));
	return keys ? put_members(c, object, keys, depth) : oc_nomem(c->err);
}

static int put_array(struct canon *c, const json_t *array, int depth)
{
	int rc = put(c, "[", 1);
	json_t *value;
	size_t i;

	json_array_foreach(array, i, value)
	{
		if (rc == 0 && i)
			rc = put(c, ",", 1);
		if (rc == 0)
			rc = put_value(c, value, depth);
	}
	return rc < 0 ? rc : put(c, "]", 1);
}

static int put_integer(struct canon *c, json_int_t value)
{
	char digits[24], *at = digits + sizeof(digits);
	uint64_t rest;

	if (value > INTEGER_MAX || value < -INTEGER_MAX)
		return oc_fail(c->err, OC_EINVAL, 0, "an integer is beyond 2^53 - 1");
	rest = (uint64_t)(value < 0 ? -value : value);
	do
		*--at = (char)('0' + rest % 10);
	while (rest /= 10);
	if (value < 0)
		*--at = '-';
	return put(c, at, (size_t)(digits + sizeof(digits) - at));
}

static int put_value(struct canon *c, const json_t *json, int depth)
{
	if (!json)
		return oc_fail(c->err, OC_EINVAL, 0, "a JSON value is missing");
	/* What could not be parsed again must not be written. */
	if ((json_is_object(json) || json_is_array(json)) && depth++ >= OC_JSON_DEPTH)
		return oc_fail(c->err, OC_ELIMIT, 0, "nested deeper than %d", OC_JSON_DEPTH);
	switch (json_typeof(json)) {
	case JSON_NULL:
		return put(c, "null", 4);
	case JSON_TRUE:
		return put(c, "true", 4);
	case JSON_FALSE:
		return put(c, "false", 5);
	case JSON_STRING:
		return put_string(c, json_string_value(json), json_string_length(json));
	case JSON_INTEGER:
		return put_integer(c, json_integer_value(json));
	case JSON_OBJECT:
		return put_object(c, json, depth);
	case JSON_ARRAY:
		return put_array(c, json, depth);
	default:
		return oc_fail(c->err, OC_EINVAL, 0, "a number is not an integer");
	}
}

int oc_json_canonical(const json_t *json, struct oc_buf *out, oc_error **err)
{
	struct canon c = { out, err };
	size_t before = out->len;
	int rc = put_value(&c, json, 0);

	/* No half a text is left behind. */
	if (rc < 0 && out->data) {
		out->len = before;
		out->data[before] = '\0';
	}
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/schema.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define NAME_MAX_BYTES 128
#define ENUM_MAX       128
#define WRONG_MAX      16 /* sentences about one schema or value */
#define SHOWN_MAX      64 /* bytes of a text of the value */
#define PATH_BYTES     512

/* Which types a keyword means something to, as bits. */
enum kind { ANY = 0, OBJECT = 1, ARRAY = 2, STRING = 4, INTEGER = 8, BOOLEAN = 16 };
static const struct {
	const char *name;
	enum kind kind;
} types[] = {
	{ "object", OBJECT }, { "array", ARRAY }, { "string", STRING }, { "integer", INTEGER }, { "boolean", BOOLEAN },
};
static const struct {
	const char *name;
	int kinds;
} keywords[] = {
	{ "properties", OBJECT }, { "required", OBJECT },  { "additionalProperties", OBJECT },
	{ "items", ARRAY },       { "minLength", STRING }, { "maxLength", STRING },
	{ "minimum", INTEGER },   { "maximum", INTEGER },  { "enum", STRING | INTEGER },
};

static enum kind kind_of(const json_t *schema)
{
	const char *type = oc_json_text(schema, "type");

	for (size_t i = 0; type && i < OC_COUNT(types); i++)
		if (strcmp(type, types[i].name) == 0)
			return types[i].kind;
	return ANY;
}

static const char *kind_name(enum kind kind)
{
	for (size_t i = 0; i < OC_COUNT(types); i++)
		if (types[i].kind == kind)
			return types[i].name;
	return "value";
}

static bool is_kind(enum kind kind, const json_t *value)
{
	switch (kind) {
	case OBJECT:
		return json_is_object(value);
	case ARRAY:
		return json_is_array(value);
	case STRING:
		return json_is_string(value);
	case INTEGER:
		return json_is_integer(value);
	case BOOLEAN:
		return json_is_boolean(value);
	default:
		return false;
	}
}

struct check {
	const char *reason;
	oc_error *chain;
	size_t found;
};

static void OC_PRINTF(4, 5) wrong(struct check *c, const char *path, const char *fix, const char *fmt, ...)
{
	oc_error *one = NULL;
	va_list ap;

	if (c->found++ >= WRONG_MAX)
		return;
	va_start(ap, fmt);
	oc_error_make(&one, OC_EREFUSED, 0, c->reason, path, fix, fmt, ap);
	va_end(ap);
	oc_error_append(&c->chain, one);
}

static void check_schema(struct check *c, const json_t *schema, const char *path, int depth);

static void check_properties(struct check *c, const json_t *properties, const char *path, int depth)
{
	char at[PATH_BYTES];
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)properties, name, value)
	{
		snprintf(at, sizeof(at), "%s.properties.%s", path, name);
		if (!*name || strlen(name) > NAME_MAX_BYTES)
			wrong(c, at, "choose a shorter name", "a property's name has 1 to %d bytes", NAME_MAX_BYTES);
		check_schema(c, value, at, depth + 1);
	}
}

static void check_required(struct check *c, const json_t *required, const json_t *properties, const char *path)
{
	const json_t *name;
	char at[PATH_BYTES];
	size_t i;

	json_array_foreach(required, i, name)
	{
		if (json_object_get(properties, json_string_value(name)))
			continue;
		snprintf(at, sizeof(at), "%s.required[%zu]", path, i);
		wrong(c, at, "add it to \"properties\", or remove it here", "\"%s\" is required and is no property",
		      json_string_value(name));
	}
}

static bool seen_before(const json_t *array, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (json_equal(json_array_get(array, i), json_array_get(array, n)))
			return true;
	return false;
}

static void check_enum(struct check *c, const json_t *values, enum kind kind, const char *path)
{
	const json_t *value;
	char at[PATH_BYTES];
	size_t i;

	snprintf(at, sizeof(at), "%s.enum", path);
	if (json_array_size(values) < 1 || json_array_size(values) > ENUM_MAX) {
		wrong(c, at, "list the values that are allowed", "it has 1 to %d values", ENUM_MAX);
		return;
	}
	json_array_foreach(values, i, value)
	{
		snprintf(at, sizeof(at), "%s.enum[%zu]", path, i);
		if (!is_kind(kind, value) ||
		    strlen(kind == STRING ? json_string_value(value) : "") != json_string_length(value))
			wrong(c, at, "write a value of that type", "it can't be of type %s", kind_name(kind));
		else if (seen_before(values, i))
			wrong(c, at, "remove it", "it is there twice");
	}
}

/* A keyword that says nothing about this type would look like a rule and be none. */
static void check_dead(struct check *c, const json_t *schema, enum kind kind, const char *path)
{
	char at[PATH_BYTES];

	for (size_t i = 0; i < OC_COUNT(keywords); i++) {
		if (!json_object_get(schema, keywords[i].name) || (keywords[i].kinds & kind))
			continue;
		snprintf(at, sizeof(at), "%s.%s", path, keywords[i].name);
		wrong(c, at, "remove it", "\"%s\" says nothing about type %s", keywords[i].name, kind_name(kind));
	}
}

static void check_range(struct check *c, const json_t *schema, const char *least, const char *most, const char *path)
{
	int64_t a = oc_json_integer(schema, least, INT64_MIN), b = oc_json_integer(schema, most, INT64_MAX);

	if (a > b)
		wrong(c, path, "swap the two", "\"%s\" is greater than \"%s\": nothing fits", least, most);
}

static void check_sizes(struct check *c, const json_t *schema, const char *path)
{
	check_range(c, schema, "minimum", "maximum", path);
	check_range(c, schema, "minLength", "maxLength", path);
	if (oc_json_integer(schema, "minLength", 0) < 0 || oc_json_integer(schema, "maxLength", 0) < 0)
		wrong(c, path, "write 0 or more", "a length is negative");
}

static void check_schema(struct check *c, const json_t *schema, const char *path, int depth)
{
	json_t *properties = NULL, *required = NULL, *items = NULL, *values = NULL;
	const struct oc_json_key keys[] = {
		{ "type", OC_JSON_STRING, true, NULL },
		{ "properties", OC_JSON_OBJECT, false, &properties },
		{ "required", OC_JSON_STRINGS, false, &required },
		{ "additionalProperties", OC_JSON_BOOL, false, NULL },
		{ "items", OC_JSON_OBJECT, false, &items },
		{ "enum", OC_JSON_ARRAY, false, &values },
		{ "minLength", OC_JSON_INT, false, NULL },
		{ "maxLength", OC_JSON_INT, false, NULL },
		{ "minimum", OC_JSON_INT, false, NULL },
		{ "maximum", OC_JSON_INT, false, NULL },
		{ "title", OC_JSON_STRING, false, NULL },
		{ "description", OC_JSON_STRING, false, NULL },
		{ "default", OC_JSON_ANY, false, NULL },
	};
	enum kind kind = kind_of(schema);
	oc_error *err = NULL;
	char at[PATH_BYTES];

	if (depth > OC_SCHEMA_DEPTH) {
		wrong(c, path, "make it flatter", "schemas lie in one another deeper than %d", OC_SCHEMA_DEPTH);
		return;
	}
	if (oc_json_unpack(schema, path, c->reason, keys, OC_COUNT(keys), &err) < 0) {
		c->found++;
		oc_error_append(&c->chain, err);
		return;
	}
	if (kind == ANY) {
		snprintf(at, sizeof(at), "%s.type", path);
		wrong(c, at, "write object, array, string, integer or boolean", "there is no such type here");
		return;
	}
	check_dead(c, schema, kind, path);
	check_sizes(c, schema, path);
	check_properties(c, properties, path, depth);
	check_required(c, required, properties, path);
	if (values)
		check_enum(c, values, kind, path);
	snprintf(at, sizeof(at), "%s.items", path);
	if (items)
		check_schema(c, items, at, depth + 1);
}

int oc_schema_check(const json_t *schema, const char *path, const char *reason, oc_error **err)
{
	struct check c = { .reason = reason };

	check_schema(&c, schema, path, 1);
	if (!c.found)
		return 0;
	if (err)
		*err = c.chain;
	else
		oc_error_free(c.chain);
	return OC_EREFUSED;
}

struct fit {
	struct oc_buf *why, path;
	size_t found;
	int rc;
};

static void keep(struct fit *f, int rc)
{
	/* What doesn't fit into a text that is only told is left out. */
	if (rc == OC_ENOMEM)
		f->rc = rc;
}

static void OC_PRINTF(2, 3) misfit(struct fit *f, const char *fmt, ...)
{
	va_list ap;

	if (f->found++ >= WRONG_MAX)
		return;
	keep(f, oc_buf_printf(f->why, "%s%s ", f->found > 1 ? "; " : "", f->path.data ? f->path.data : "it"));
	va_start(ap, fmt);
	keep(f, oc_buf_vprintf(f->why, fmt, ap));
	va_end(ap);
}

static void cut(struct oc_buf *b, size_t len)
{
	if (b->data)
		b->data[b->len = len] = '\0';
}

static void fit_value(struct fit *f, const json_t *schema, const json_t *value);

static void fit_member(struct fit *f, const json_t *schema, const char *key, const json_t *value)
{
	const json_t *known = json_object_get(json_object_get(schema, "properties"), key);
	size_t len = f->path.len;

	keep(f, oc_buf_puts(&f->path, "."));
	keep(f, oc_text_excerpt(&f->path, key, SHOWN_MAX));
	if (known || !json_is_false(json_object_get(schema, "additionalProperties")))
		fit_value(f, known, value);
	else
		misfit(f, "is no parameter");
	cut(&f->path, len);
}

static void fit_object(struct fit *f, const json_t *schema, const json_t *object)
{
	const json_t *name;
	const char *key;
	json_t *value;
	size_t i;

	json_object_foreach((json_t *)object, key, value) fit_member(f, schema, key, value);
	json_array_foreach(json_object_get(schema, "required"), i, name)
	{
		if (!json_object_get(object, json_string_value(name)))
			misfit(f, "lacks \"%s\"", json_string_value(name));
	}
}

static void fit_array(struct fit *f, const json_t *schema, const json_t *array)
{
	const json_t *items = json_object_get(schema, "items"), *value;
	size_t len = f->path.len, i;

	json_array_foreach(array, i, value)
	{
		keep(f, oc_buf_printf(&f->path, "[%zu]", i));
		fit_value(f, items, value);
		cut(&f->path, len);
	}
}

static int64_t characters(const json_t *string)
{
	const char *s = json_string_value(string);
	int64_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void fit_enum(struct fit *f, const json_t *schema, const json_t *value)
{
	const json_t *values = json_object_get(schema, "enum"), *one;
	size_t i;

	if (!values)
		return;
	json_array_foreach(values, i, one)
	{
		if (json_equal(one, value))
			return;
	}
	misfit(f, "is none of the %zu values that are allowed", json_array_size(values));
	for (i = 0; i < json_array_size(values) && f->found <= WRONG_MAX; i++) {
		keep(f, oc_buf_puts(f->why, i ? ", " : ": "));
		keep(f, oc_json_canonical(json_array_get(values, i), f->why, NULL));
	}
}

static void fit_range(struct fit *f, const json_t *schema, const char *least, const char *most, int64_t n,
                      const char *unit)
{
	int64_t a = oc_json_integer(schema, least, INT64_MIN), b = oc_json_integer(schema, most, INT64_MAX);

	if (n < a)
		misfit(f, "must be at least %lld%s", (long long)a, unit);
	else if (n > b)
		misfit(f, "must be at most %lld%s", (long long)b, unit);
}

/* schema NULL: any value, of which nothing but its texts is looked at. */
static void fit_value(struct fit *f, const json_t *schema, const json_t *value)
{
	enum kind kind = schema ? kind_of(schema) : ANY;

	if (json_is_string(value) && strlen(json_string_value(value)) != json_string_length(value))
		misfit(f, "holds U+0000, or is a number with a fraction, or one beyond 2^53 - 1");
	else if (schema && !is_kind(kind, value))
		misfit(f, "must be of type %s", kind_name(kind));
	else if (json_is_object(value))
		fit_object(f, schema, value);
	else if (json_is_array(value))
		fit_array(f, schema, value);
	else if (json_is_string(value) && schema)
		fit_range(f, schema, "minLength", "maxLength", characters(value), " characters long");
	else if (json_is_integer(value) && schema)
		fit_range(f, schema, "minimum", "maximum", json_integer_value(value), "");
	if (schema && is_kind(kind, value))
		fit_enum(f, schema, value);
}

int oc_schema_fits(const json_t *schema, const json_t *value, const char *name, struct oc_buf *why)
{
	struct fit f = { .why = why };

	oc_buf_init(&f.path, PATH_BYTES);
	keep(&f, oc_buf_puts(&f.path, name));
	fit_value(&f, schema, value);
	oc_buf_free(&f.path);
	if (f.rc < 0)
		return f.rc;
	return f.found ? OC_EINVAL : 0;
}

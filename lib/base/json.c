/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define INTEGER_MAX    9007199254740991LL /* 2^53 - 1 */
#define VIOLATIONS_MAX 32

/* What a text holds, however it is written: bytes of all keys and strings decoded, and all integers.  Out of
 * memory jansson leaves characters out of them without a word: ~/.ssh becomes ~/.ss, and nothing is hidden. */
struct weight {
	size_t bytes;
	uint64_t sum;
};

static void weigh(const json_t *value, struct weight *w)
{
	const char *key;
	json_t *item;
	size_t i;

	if (json_is_string(value))
		w->bytes += json_string_length(value);
	else if (json_is_integer(value))
		w->sum += (uint64_t)json_integer_value(value);
	json_array_foreach(value, i, item) weigh(item, w);
	json_object_foreach((json_t *)value, key, item)
	{
		w->bytes += strlen(key);
		weigh(item, w);
	}
}

/* Everything jansson would accept and we don't, found before it looks: it must never convert a real
 * (that depends on the locale, and 2.14 aborts where threads differ in theirs), nor recurse deeply. */
struct scan {
	const char *text;
	size_t len, at;
	struct weight weight;
	const char *wrong;
	int code;
};

static int scan_fail(struct scan *s, int code, const char *wrong)
{
	s->wrong = wrong;
	s->code = code;
	return code;
}

/* Decoded bytes of the \u escape whose digits are here; each half of a pair counts for half of its four. */
static size_t escaped_bytes(const struct scan *s, size_t at)
{
	char digits[5] = "";
	unsigned long code;

	if (s->len - at < 4)
		return 0;
	memcpy(digits, s->text + at, 4);
	code = strtoul(digits, NULL, 16);
	if (code >= 0xd800 && code < 0xe000)
		return 2;
	return code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
}

static void scan_string(struct scan *s)
{
	for (s->at++; s->at < s->len && s->text[s->at] != '"'; s->at++) {
		if (s->text[s->at] != '\\') {
			s->weight.bytes++;
		} else if (++s->at < s->len && s->text[s->at] == 'u') {
			s->weight.bytes += escaped_bytes(s, s->at + 1);
			s->at += OC_MIN((size_t)4, s->len - s->at - 1);
		} else {
			s->weight.bytes++;
		}
	}
	s->at++;
}

static int scan_number(struct scan *s)
{
	size_t end = s->at, digits = 0;
	bool negative = s->text[end] == '-';
	long long value = 0;

	for (; end < s->len && s->text[end] && strchr("0123456789+-.eE", s->text[end]); end++) {
		if (s->text[end] == '.' || (s->text[end] | 0x20) == 'e')
			return scan_fail(s, OC_EPROTO, "a number with a fraction or an exponent");
		if (s->text[end] == '+' || s->text[end] == '-')
			continue;
		if (++digits > 16)
			return scan_fail(s, OC_EPROTO, "an integer beyond 2^53 - 1");
		value = value * 10 + (s->text[end] - '0');
	}
	if (value > INTEGER_MAX)
		return scan_fail(s, OC_EPROTO, "an integer beyond 2^53 - 1");
	s->at = end;
	s->weight.sum += (uint64_t)(negative ? -value : value);
	return 0;
}

static int scan(struct scan *s)
{
	int depth = 0;

	while (s->at < s->len) {
		char c = s->text[s->at];

		if (c == '"') {
			scan_string(s);
		} else if (c == '-' || (c >= '0' && c <= '9')) {
			if (scan_number(s) < 0)
				return s->code;
		} else {
			depth += (c == '{' || c == '[') - (c == '}' || c == ']');
			if (depth > OC_JSON_DEPTH)
				return scan_fail(s, OC_ELIMIT, "nesting deeper than 32");
			s->at++;
		}
	}
	return 0;
}

static int scan_refuse(const struct scan *s, const char *what, oc_error **err)
{
	size_t line = 1, column = 1;

	for (size_t i = 0; i < s->at && i < s->len; i++) {
		column = s->text[i] == '\n' ? 1 : column + 1;
		line += s->text[i] == '\n';
	}
	return oc_fail(err, s->code, 0, "%s: %s is not allowed (line %zu, column %zu)", what, s->wrong, line, column);
}

/* What jansson says ends in a piece of the text, which may be a secret: cut it. */
static int parse_refuse(const json_error_t *e, const char *what, oc_error **err)
{
	const char *near = strstr(e->text, " near ");
	int n = near ? (int)(near - e->text) : (int)strlen(e->text);

	if (json_error_code(e) == json_error_out_of_memory || n == 0)
		return oc_nomem(err);
	return oc_fail(err, OC_EPROTO, 0, "%s: %.*s (line %d, column %d)", what, n, e->text, e->line, e->column);
}

int oc_json_parse(const char *text, size_t len, size_t max, const char *what, json_t **out, oc_error **err)
{
	struct scan s = { .text = text, .len = len };
	struct weight weight = { 0 };
	json_error_t e = { 0 };
	json_t *json;

	if (len > max)
		return oc_fail(err, OC_ELIMIT, 0, "%s: longer than %zu bytes", what, max);
	if (!oc_utf8_valid(text, len))
		return oc_fail(err, OC_EPROTO, 0, "%s: not UTF-8", what);
	/* jansson takes one after a number for the end of the text. */
	if (len && memchr(text, 0, len))
		return oc_fail(err, OC_EPROTO, 0, "%s: a NUL byte", what);
	if (scan(&s) < 0)
		return scan_refuse(&s, what, err);
	json = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
	if (!json)
		return parse_refuse(&e, what, err);
	weigh(json, &weight);
	if (weight.bytes != s.weight.bytes || weight.sum != s.weight.sum) {
		json_decref(json);
		return oc_nomem(err);
	}
	*out = json;
	return 0;
}

struct unpack {
	const char *path, *reason;
	const struct oc_json_key *keys;
	size_t n, found;
	oc_error *chain;
};

static void OC_PRINTF(4, 5) violation(struct unpack *u, const char *key, const char *fix, const char *fmt, ...)
{
	oc_error *one = NULL;
	char subject[512];
	va_list ap;

	if (u->found++ >= VIOLATIONS_MAX)
		return;
	snprintf(subject, sizeof(subject), "%s%s%s", u->path, *u->path && *key ? "." : "", key);
	va_start(ap, fmt);
	oc_error_make(&one, u->reason ? OC_EREFUSED : OC_EPROTO, 0, u->reason, subject, fix, fmt, ap);
	va_end(ap);
	oc_error_append(&u->chain, one);
}

/* Edits from a to b (insert, delete, replace, swap two neighbours), or more than any limit when one is too long. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][65], n = strlen(a), m = strlen(b);
	size_t *before = rows[0], *last = rows[1], *row = rows[2];

	if (n >= OC_COUNT(rows[0]) || m >= OC_COUNT(rows[0]))
		return SIZE_MAX;
	for (size_t j = 0; j <= m; j++)
		last[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *spare = before;

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			row[j] = OC_MIN(last[j - 1] + (a[i - 1] != b[j - 1]), OC_MIN(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = OC_MIN(row[j], before[j - 2] + 1);
		}
		before = last;
		last = row;
		row = spare;
	}
	return last[m];
}

const char *oc_json_nearest(const char *key, const struct oc_json_key *keys, size_t n)
{
	size_t best = OC_MAX((size_t)2, strlen(key) / 3) + 1;
	const char *name = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t d = distance(key, keys[i].name);

		/* Replacing every letter is no likeness. */
		if (d < best && d < strlen(keys[i].name)) {
			best = d;
			name = keys[i].name;
		}
	}
	return name;
}

static void unknown_key(struct unpack *u, const char *key)
{
	const char *nearest = oc_json_nearest(key, u->keys, u->n);
	struct oc_buf fix;
	int rc = 0;

	oc_buf_init(&fix, 2048);
	if (nearest) {
		oc_buf_printf(&fix, "rename \"%s\" to \"%s\"", key, nearest);
		violation(u, key, fix.data, "unknown key \"%s\"; did you mean \"%s\"?", key, nearest);
	} else {
		rc = oc_buf_printf(&fix, "remove \"%s\"; known keys:", key);
		for (size_t i = 0; i < u->n && rc == 0; i++)
			rc = oc_buf_printf(&fix, "%s \"%s\"", i ? "," : "", u->keys[i].name);
		violation(u, key, fix.data, "unknown key \"%s\"", key);
	}
	oc_buf_free(&fix);
}

static const char *type_name(int type)
{
	static const char *const names[] = {
		[OC_JSON_STRING] = "a string",  [OC_JSON_INT] = "an integer", [OC_JSON_BOOL] = "true or false",
		[OC_JSON_OBJECT] = "an object", [OC_JSON_ARRAY] = "an array", [OC_JSON_STRINGS] = "an array of strings",
		[OC_JSON_ANY] = "a value"
	};

	return names[type];
}

static bool text_ok(const json_t *value)
{
	return json_is_string(value) && strlen(json_string_value(value)) == json_string_length(value);
}

static bool type_ok(int type, const json_t *value)
{
	switch (type) {
	case OC_JSON_STRING:
		return json_is_string(value);
	case OC_JSON_INT:
		return json_is_integer(value);
	case OC_JSON_BOOL:
		return json_is_boolean(value);
	case OC_JSON_OBJECT:
		return json_is_object(value);
	case OC_JSON_ARRAY:
	case OC_JSON_STRINGS:
		return json_is_array(value);
	default:
		return true;
	}
}

static bool strings_ok(struct unpack *u, const char *name, const json_t *array)
{
	const json_t *item;
	bool ok = true;
	char key[256];
	size_t i;

	json_array_foreach(array, i, item)
	{
		if (text_ok(item))
			continue;
		ok = false;
		snprintf(key, sizeof(key), "%s[%zu]", name, i);
		violation(u, key, "write it as a string",
		          json_is_string(item) ? "must not contain U+0000" : "must be a string");
	}
	return ok;
}

static void store(const struct oc_json_key *key, int type, json_t *value)
{
	if (!key->out)
		return;
	switch (type) {
	case OC_JSON_STRING:
		*(const char **)key->out = json_string_value(value);
		break;
	case OC_JSON_INT:
		*(int64_t *)key->out = json_integer_value(value);
		break;
	case OC_JSON_BOOL:
		*(bool *)key->out = json_is_true(value);
		break;
	default:
		*(json_t **)key->out = value;
	}
}

static void unpack_key(struct unpack *u, const struct oc_json_key *key, json_t *value)
{
	int type = key->type & ~OC_JSON_NULL_OK;
	char fix[160];

	if (!value || (json_is_null(value) && (key->type & OC_JSON_NULL_OK))) {
		snprintf(fix, sizeof(fix), "add \"%.64s\": %s", key->name, type_name(type));
		if (key->required)
			violation(u, key->name, fix, "\"%s\" is missing", key->name);
	} else if (!type_ok(type, value)) {
		snprintf(fix, sizeof(fix), "write %s for \"%.64s\"", type_name(type), key->name);
		violation(u, key->name, fix, "must be %s", type_name(type));
	} else if (type == OC_JSON_STRING && !text_ok(value)) {
		violation(u, key->name, "remove the U+0000", "must not contain U+0000");
	} else if (type != OC_JSON_STRINGS || strings_ok(u, key->name, value)) {
		store(key, type, value);
	}
}

static bool known(const struct unpack *u, const char *name)
{
	for (size_t i = 0; i < u->n; i++)
		if (strcmp(u->keys[i].name, name) == 0)
			return true;
	return false;
}

int oc_json_unpack(const json_t *object, const char *path, const char *reason, const struct oc_json_key *keys, size_t n,
                   oc_error **err)
{
	struct unpack u = { .path = path ? path : "", .reason = reason, .keys = keys, .n = n };
	const char *name;
	json_t *value;

	if (!json_is_object(object)) {
		violation(&u, "", "write { … }", "%s must be an object", *u.path ? u.path : "it");
	} else {
		json_object_foreach((json_t *)object, name, value) if (!known(&u, name)) unknown_key(&u, name);
		for (size_t i = 0; i < n; i++)
			unpack_key(&u, &keys[i], json_object_get(object, keys[i].name));
	}
	if (!u.found)
		return 0;
	if (err)
		*err = u.chain;
	else
		oc_error_free(u.chain);
	return reason ? OC_EREFUSED : OC_EPROTO;
}

bool oc_json_set(json_t *object, const char *key, json_t *value_taken)
{
	return json_object_set_new(object, key, value_taken) == 0;
}

bool oc_json_set_string(json_t *object, const char *key, const char *value)
{
	return oc_json_set(object, key, value ? json_string(value) : json_null());
}

bool oc_json_append(json_t *array, json_t *value_taken)
{
	return json_array_append_new(array, value_taken) == 0;
}

const char *oc_json_text(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return text_ok(value) ? json_string_value(value) : NULL;
}

int64_t oc_json_integer(const json_t *object, const char *key, int64_t otherwise)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Strict JSON: UTF-8, no duplicate keys, no fractions, integers within ±(2^53 - 1), bounded
 * size and depth.  jansson does the parsing; this file is what makes it strict, and the one
 * way objects are unpacked: unknown keys are errors that name the nearest known one. */
#ifndef OC_BASE_JSON_H
#define OC_BASE_JSON_H

#include "base/buf.h"
#include "base/error.h"

#define OC_JSON_MAX   (4u << 20)
#define OC_JSON_DEPTH 32

/* `what` names the text in messages ("policy", "reply of provider srt"). */
int oc_json_parse(const char *text, size_t len, size_t max, const char *what, json_t **out, oc_error **err);

enum oc_json_type {
	OC_JSON_STRING = 1,      /* const char **, borrowed; no NUL inside */
	OC_JSON_INT,             /* int64_t * */
	OC_JSON_BOOL,            /* bool * */
	OC_JSON_OBJECT,          /* json_t **, borrowed */
	OC_JSON_ARRAY,           /* json_t **, borrowed */
	OC_JSON_STRINGS,         /* json_t **, borrowed; an array of strings without NUL */
	OC_JSON_ANY,             /* json_t **, borrowed */
	OC_JSON_NULL_OK = 0x100, /* or-ed in: JSON null counts as absent */
};
struct oc_json_key {
	const char *name;
	int type; /* enum oc_json_type */
	bool required;
	void *out; /* untouched when the key is absent; may be NULL */
};
/* Every violation is reported, chained, as reason `reason` (or OC_EPROTO when NULL) with the
 * field path ("read.deny[2]") as subject; `path` is the prefix, "" at the top. */
int oc_json_unpack(const json_t *object, const char *path, const char *reason, const struct oc_json_key *keys, size_t n,
                   oc_error **err);

/* The known key most like this one, or NULL when none is. */
const char *oc_json_nearest(const char *key, const struct oc_json_key *keys, size_t n);

/* RFC 8785 for the integer-only subset.  Appends to out. */
int oc_json_canonical(const json_t *json, struct oc_buf *out, oc_error **err);

/* json_object_set_new & co. with memory failure folded in: false once anything failed. */
bool oc_json_set(json_t *object, const char *key, json_t *value_taken);
bool oc_json_set_string(json_t *object, const char *key, const char *value); /* NULL: JSON null */
bool oc_json_append(json_t *array, json_t *value_taken);
const char *oc_json_text(const json_t *object, const char *key); /* borrowed string member or NULL */
int64_t oc_json_integer(const json_t *object, const char *key, int64_t otherwise);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Strict JSON: what is accepted has one canonical text, which is accepted and means the same. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "fuzz.h"

static void canonical(const json_t *json, struct oc_buf *out)
{
	oc_buf_init(out, OC_JSON_MAX);
	FUZZ_CHECK(oc_json_canonical(json, out, NULL) == 0);
	FUZZ_CHECK(oc_utf8_valid(out->data, out->len));
}

static void check_canonical(const json_t *json)
{
	struct oc_buf once, twice;
	json_t *again = NULL;

	canonical(json, &once);
	FUZZ_CHECK(oc_json_parse(once.data, once.len, OC_JSON_MAX, "again", &again, NULL) == 0);
	FUZZ_CHECK(json_equal(json, again));
	canonical(again, &twice);
	FUZZ_CHECK(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
	json_decref(again);
	oc_buf_free(&once);
	oc_buf_free(&twice);
}

/* An error that can be kept and printed, whatever it is about. */
static void check_error(oc_error *err, int rc)
{
	json_t *json = NULL;
	const char *text;

	FUZZ_CHECK(err && rc < 0 && oc_error_code(err) == rc);
	text = oc_error_json(err);
	FUZZ_CHECK(text && oc_json_parse(text, strlen(text), OC_JSON_MAX, "error", &json, NULL) == 0);
	for (const oc_error *e = err; e; e = oc_error_next(e))
		for (const unsigned char *p = (const unsigned char *)oc_error_message(e); *p; p++)
			FUZZ_CHECK(*p >= 0x20 && *p != 0x7f);
	json_decref(json);
	oc_error_free(err);
}

static void check_readers(const json_t *json)
{
	const char *s = NULL;
	int64_t i = 0;
	bool b = false;
	json_t *l = NULL;
	const struct oc_json_key keys[] = {
		{ "a", OC_JSON_STRING, true, &s },
		{ "code", OC_JSON_INT | OC_JSON_NULL_OK, false, &i },
		{ "limits", OC_JSON_BOOL, false, &b },
		{ "allow", OC_JSON_STRINGS, false, &l },
	};
	oc_error *err = NULL;
	int rc = oc_json_unpack(json, "top", "sandbox_config", keys, OC_COUNT(keys), &err);

	if (rc < 0)
		check_error(err, rc);
	else
		FUZZ_CHECK(s && strlen(s) == json_string_length(json_object_get(json, "a")));
	err = NULL;
	rc = oc_error_from_json(&err, json);
	check_error(err, rc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *json = NULL;
	oc_error *err = NULL;
	int rc = oc_json_parse((const char *)data, size, OC_JSON_MAX, "input", &json, &err);

	if (rc < 0) {
		check_error(err, rc);
		return 0;
	}
	check_canonical(json);
	check_readers(json);
	json_decref(json);
	return 0;
}

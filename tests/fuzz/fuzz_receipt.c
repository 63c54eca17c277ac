/* SPDX-License-Identifier: Apache-2.0 */
/* A receipt: whatever the text is, it holds or each part that doesn't is named; and one that holds does so in any layout, and
 * not with another digest. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "store/receipt.h"

static int verify(const json_t *json, size_t flags)
{
	char *text = json_dumps(json, flags), *facts = NULL;
	int rc = oc_receipt_verify(text, strlen(text), &facts, NULL);

	free(facts);
	free(text);
	return rc;
}

static void check_held(const char *text, size_t len, char *facts)
{
	json_t *json = json_loadb(text, len, JSON_ALLOW_NUL, NULL);

	FUZZ_CHECK(json && strstr(facts, "\"digest\""));
	FUZZ_CHECK(verify(json, JSON_INDENT(1) | JSON_ENSURE_ASCII) == 0);
	json_object_set_new(json, "digest", json_string("sha256:0"));
	FUZZ_CHECK(verify(json, 0) == OC_EREFUSED);
	json_decref(json);
}

/* The digest made right, so that what lies behind it is reached. */
static void check_behind(const char *text, size_t len)
{
	json_t *json = json_loadb(text, len, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
	char digest[OC_DIGEST_SIZE];

	if (json_is_object(json) && oc_receipt_digest(json, digest, NULL) == 0) {
		json_object_set_new(json, "digest", json_string(digest));
		(void)verify(json, 0);
	}
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	oc_error *err = NULL;
	char *facts = NULL;
	int rc = oc_receipt_verify(text, size, &facts, &err);

	if (rc == 0) {
		check_held(text, size, facts);
		free(facts);
		return 0;
	}
	FUZZ_CHECK(rc == OC_EREFUSED && !facts && err);
	for (const oc_error *e = err; e; e = oc_error_next(e))
		FUZZ_CHECK(oc_error_reason(e) && oc_error_subject(e) && oc_error_fix(e) && *oc_error_message(e));
	oc_error_free(err);
	check_behind(text, size);
	return 0;
}

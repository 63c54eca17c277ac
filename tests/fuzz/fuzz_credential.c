/* SPDX-License-Identifier: Apache-2.0 */
/* What git, or who plays it, asks a credential helper, and what a toolbelt answers (the first byte says which).  A question
 * that is answered is, read in the simplest way, one for the repository; a credential is what another reader of JSON finds,
 * and fits into one line. */
#include <jansson.h>
#include <string.h>
#include <strings.h>

#include "fuzz.h"
#include "guest/credential_answer.h"
#include "guest/credential_parse.h"

/* The one line that begins with key=; NULL: there is none. */
static const char *value(const char *text, size_t len, const char *key, size_t *n)
{
	const char *found = NULL, *end = text + len, *stop;

	for (const char *at = text; at < end && *at != '\n'; at = stop + 1) {
		stop = memchr(at, '\n', (size_t)(end - at));
		FUZZ_CHECK(stop);
		if ((size_t)(stop - at) > strlen(key) && !memcmp(at, key, strlen(key)) && at[strlen(key)] == '=') {
			FUZZ_CHECK(!found);
			found = at + strlen(key) + 1;
			*n = (size_t)(stop - found);
		}
	}
	return found;
}

static bool one_of(const char *text, size_t len, const char *key, const char *const *list)
{
	size_t n = 0;
	const char *found = value(text, len, key, &n);

	for (; found && *list; list++)
		if (strlen(*list) == n && !strncasecmp(found, *list, n))
			return true;
	return false;
}

static void question(const char *text, size_t len)
{
	static const char *const protocols[] = { "https", NULL }, *const hosts[] = { "github.com", "github.com:443",
		                                                                     NULL };
	static const char *const paths[] = { "acme/web",      "/acme/web",      "acme/web/",
		                             "/acme/web/",    "acme/web.git",   "/acme/web.git",
		                             "acme/web.git/", "/acme/web.git/", NULL };
	struct oc_credential_question q;

	if (oc_credential_parse(text, len, &q))
		return;
	for (size_t i = 0; i < len; i++)
		FUZZ_CHECK(text[i] == '\n' || ((unsigned char)text[i] >= 0x20 && text[i] != 0x7f));
	if (oc_credential_match(&q, "https://github.com", "acme/web") == OC_CREDENTIAL_OURS)
		FUZZ_CHECK(one_of(text, len, "protocol", protocols) && one_of(text, len, "host", hosts) &&
		           one_of(text, len, "path", paths));
	if (oc_credential_match(&q, "https://github.test:8443", NULL) == OC_CREDENTIAL_OURS)
		FUZZ_CHECK(q.host.len == strlen("github.test:8443"));
}

static void same(const json_t *structure, const char *key, const char *got)
{
	const char *want = json_string_value(json_object_get(structure, key));

	FUZZ_CHECK(want && strcmp(want, got) == 0);
	FUZZ_CHECK(*got && !got[strspn(got, "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
	                                    "abcdefghijklmnopqrstuvwxyz{|}~")]);
}

static void answer(const char *text, size_t len)
{
	static struct oc_credential_answer a;
	enum oc_credential_outcome outcome = oc_credential_answer(text, len, &a);
	const json_t *structure;
	json_t *json;

	FUZZ_CHECK(memchr(a.text, 0, sizeof(a.text)));
	if (outcome == OC_CREDENTIAL_NONE)
		return;
	/* NULL also where it holds what only that reader minds: bytes that are no UTF-8, numbers that are too large. */
	json = json_loadb(text, len, 0, NULL);
	structure = json_object_get(json_object_get(json, "result"), "structuredContent");
	if (json && outcome == OC_CREDENTIAL_GIVEN) {
		same(structure, "username", a.username);
		same(structure, "password", a.password);
		FUZZ_CHECK((json_int_t)a.expires == json_integer_value(json_object_get(structure, "expires")));
	}
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	if (data[0] == 'q')
		question((const char *)data + 1, size - 1);
	else
		answer((const char *)data + 1, size - 1);
	return 0;
}

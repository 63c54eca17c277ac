/* SPDX-License-Identifier: Apache-2.0 */
/* Escaping yields clean text and changes it once only; base64 has one text for one value. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "fuzz.h"

static void check_escape(const char *s, size_t len, bool keep_lines)
{
	struct oc_buf once, twice;

	oc_buf_init(&once, SIZE_MAX / 4);
	oc_buf_init(&twice, SIZE_MAX / 4);
	FUZZ_CHECK(oc_text_escape(&once, s, len, keep_lines) == 0);
	FUZZ_CHECK(oc_utf8_valid(once.data ? once.data : "", once.len));
	for (size_t i = 0; i < once.len; i++)
		FUZZ_CHECK((unsigned char)once.data[i] >= 0x20 || (keep_lines && strchr("\n\t", once.data[i])));
	FUZZ_CHECK(oc_text_escape(&twice, once.data ? once.data : "", once.len, keep_lines) == 0);
	FUZZ_CHECK(once.len == twice.len && (!once.len || memcmp(once.data, twice.data, once.len) == 0));
	oc_buf_free(&once);
	oc_buf_free(&twice);
}

static void check_base64(const char *s, size_t len)
{
	void *value = NULL;
	size_t n = 0;
	char *text;

	if (oc_base64_decode(s, len, &value, &n) == 0) {
		text = oc_base64_encode(value, n);
		FUZZ_CHECK(text && strlen(text) == len && memcmp(text, s, len) == 0);
		free(text);
		free(value);
	}
	text = oc_base64_encode(s, len);
	FUZZ_CHECK(text && oc_base64_decode(text, strlen(text), &value, &n) == 0);
	FUZZ_CHECK(n == len && memcmp(value, s, len) == 0);
	free(text);
	free(value);
}

static void check_path(const char *s)
{
	char *parent;

	if (!oc_path_clean(s))
		return;
	parent = oc_path_parent(s);
	FUZZ_CHECK(parent && oc_path_clean(parent) && oc_path_within(parent, s) && oc_path_within("/", s));
	FUZZ_CHECK(strcmp(parent, s) == 0 || !oc_path_within(s, parent));
	free(parent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct oc_buf quoted;

	FUZZ_CHECK(text);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	check_escape((const char *)data, size, false);
	check_escape((const char *)data, size, true);
	check_base64((const char *)data, size);
	check_path(text);
	oc_buf_init(&quoted, SIZE_MAX / 4);
	FUZZ_CHECK(oc_shell_quote(&quoted, text) == 0 && quoted.len >= strlen(text));
	oc_buf_free(&quoted);
	free(text);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A path (the first line) against patterns (the rest): within bounds of time, and a pattern of the path itself matches. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ignore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *nl = memchr(text, '\n', size);
	char *path = strndup(text, nl ? (size_t)(nl - text) : size);
	struct ignore g;
	uint64_t effort = 20000;

	FUZZ_CHECK(path);
	ignore_init(&g);
	g.effort = 200000;
	if (*path && path[0] != '/' && path[strlen(path) - 1] != '/' && nl) {
		FUZZ_CHECK(ignore_push(&g, "", nl + 1, size - (size_t)(nl + 1 - text)));
		(void)ignore_match(&g, path, false);
		(void)ignore_match(&g, path, true);
		FUZZ_CHECK(g.effort <= 200000);
		if (!strpbrk(path, "*?[\\"))
			FUZZ_CHECK(strlen(path) >= effort || glob_match(path, path, &effort));
	}
	ignore_free(&g);
	free(path);
	return 0;
}

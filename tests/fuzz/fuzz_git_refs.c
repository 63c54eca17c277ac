/* SPDX-License-Identifier: Apache-2.0 */
/* An agent's HEAD, references, packed references and reflogs.  What is accepted is a name that git takes, and an id. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "refs.h"
#include "verify.h"

static void check_name(const char *name, size_t len)
{
	FUZZ_CHECK(ref_name_valid(name, len));
	FUZZ_CHECK(len <= REF_NAME_MAX && !memcmp(name, "refs/", 5));
	for (size_t i = 0; i < len; i++)
		FUZZ_CHECK((unsigned char)name[i] > ' ' && name[i] != 0x7f &&
		           !(i && name[i] == '.' && name[i - 1] == '.'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *name;
	struct packed_iter it = { text, text + size };
	char *symbolic = NULL;
	git_oid id, other;
	size_t len, lines = 0;
	int more;

	if (ref_parse(text, size, &id, &symbolic) == 0 && symbolic)
		check_name(symbolic, strlen(symbolic));
	free(symbolic);
	while ((more = packed_next(&it, &name, &len, &id)) != 0) {
		FUZZ_CHECK(++lines <= size);
		if (more == 1) {
			FUZZ_CHECK(name >= text && name + len <= text + size);
			check_name(name, len);
		}
	}
	it = (struct packed_iter){ text, text + size };
	for (lines = 0; reflog_next(&it, &id, &other) != 0;)
		FUZZ_CHECK(++lines <= size);
	return 0;
}

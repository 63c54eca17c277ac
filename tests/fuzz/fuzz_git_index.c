/* SPDX-License-Identifier: Apache-2.0 */
/* An index of an agent: entries lie within it, and are of modes that a tree can have. */
#include <git2.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "fuzz.h"
#include "verify.h"

static void check(const struct files *f)
{
	for (size_t i = 0; i < f->n; i++) {
		unsigned mode = f->v[i].mode;

		FUZZ_CHECK(strlen(f->v[i].path) <= 4096);
		FUZZ_CHECK(mode == MODE_FILE || mode == MODE_PROGRAM || mode == MODE_LINK || mode == MODE_TREE ||
		           mode == MODE_COMMIT);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct index_entries e = { 0 };
	static int ready;

	/* Ids become text in memory of libgit2. */
	if (!ready)
		ready = git_libgit2_init();
	(void)index_read(data, size, &e);
	for (size_t i = 0; i < COUNT(e.stage); i++) {
		files_sort(&e.stage[i]);
		check(&e.stage[i]);
		for (size_t k = 0; k < e.stage[i].n; k++)
			FUZZ_CHECK(files_find(&e.stage[i], e.stage[i].v[k].path) == &e.stage[i].v[k]);
	}
	check(&e.skipped);
	index_free(&e);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Objects as they come.  A tree that passes has names that no file system takes for ".git" or for a way out, in order and
 * each once; a commit that passes has as many parents as it says. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fuzz.h"
#include "verify.h"

static void check_tree(const char *data, size_t size)
{
	struct tree_iter it = { (const unsigned char *)data, (const unsigned char *)data + size };
	struct tree_entry e, last = { 0 };
	int more;

	if (verify_tree(data, size))
		return;
	while ((more = tree_next(&it, &e)) == 1) {
		FUZZ_CHECK(e.name_len && !strchr(e.name, '/') && strcmp(e.name, ".") && strcmp(e.name, "..") != 0);
		FUZZ_CHECK(strcasecmp(e.name, ".git") != 0 && strcasecmp(e.name, "git~1") != 0);
		FUZZ_CHECK(!(e.mode == MODE_LINK && !strcasecmp(e.name, ".gitmodules")));
		if (last.name)
			FUZZ_CHECK(strcmp(last.name, e.name) != 0 &&
			           tree_compare(last.name, last.mode == MODE_TREE, e.name, e.mode == MODE_TREE) < 0);
		last = e;
	}
	FUZZ_CHECK(more == 0);
}

static void check_commit(const char *data, size_t size)
{
	struct commit_view view, again;
	git_oid parent;

	if (verify_commit(data, size, &view))
		return;
	FUZZ_CHECK(!memchr(data, 0, size) && read_commit(data, size, &again) == 0 && again.parents == view.parents);
	FUZZ_CHECK(view.first + view.parents * COMMIT_PARENT_LINE <= data + size);
	for (size_t i = 0; i < view.parents; i++) {
		FUZZ_CHECK(!memcmp(view.first + i * COMMIT_PARENT_LINE, "parent ", 7));
		commit_parent(&view, i, &parent);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* As objects are kept: with a NUL behind them. */
	char *text = malloc(size + 1);
	git_oid id;
	git_object_t type = GIT_OBJECT_INVALID;

	FUZZ_CHECK(text);
	memcpy(text, data, size);
	text[size] = 0;
	check_tree(text, size);
	check_commit(text, size);
	if (!verify_tag(text, size, &id, &type))
		FUZZ_CHECK(type >= GIT_OBJECT_COMMIT && type <= GIT_OBJECT_TAG);
	(void)verify_gitattributes(text, size);
	if (!verify_gitmodules(text, size))
		FUZZ_CHECK(size <= (1u << 20));
	free(text);
	return 0;
}

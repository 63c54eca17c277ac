/* SPDX-License-Identifier: Apache-2.0 */
#include "fill.h"

#include <errno.h>
#include <git2/sys/repository.h>
#include <stdlib.h>
#include <string.h>

#include "odb.h"

#define ATTRIBUTES_MAX (1u << 20)

static int failed(struct refusal *r, const struct checkout *c)
{
	const git_error *e = git_error_last();
	const char *why = e && e->message ? e->message : "unknown";

	/* The one thing libgit2 says only in words. */
	if (strstr(why, strerror(ENOSPC)) || strstr(why, strerror(EDQUOT)))
		return refuse(r, "workspace_conflict", c->path,
		              "free some space or inodes where the state is, then try again",
		              "the files of the commit can't be written to the workspace: %s", why);
	return checkout_refuse(c, r, "fsck --full", "has a commit whose files can't be written to the workspace: %s",
	                       why);
}

static bool names_lfs(git_repository *repo, const git_index_entry *e)
{
	size_t len = strlen(e->path);
	git_blob *blob = NULL;
	bool found = false;

	if (len < 14 || strcmp(e->path + len - 14, ".gitattributes") != 0 || e->file_size > ATTRIBUTES_MAX)
		return false;
	if (git_blob_lookup(&blob, repo, &e->id) == 0)
		found = memmem(git_blob_rawcontent(blob), (size_t)git_blob_rawsize(blob), "filter=lfs", 10) != NULL;
	git_blob_free(blob);
	return found;
}

static int note_kinds(struct checkout *c, git_repository *repo, struct refusal *r)
{
	git_index *index = NULL;
	size_t submodules = 0, n;
	bool lfs = false;

	if (git_repository_index(&index, repo) < 0)
		return failed(r, c);
	n = git_index_entrycount(index);
	for (size_t i = 0; i < n; i++) {
		const git_index_entry *e = git_index_get_byindex(index, i);

		submodules += e->mode == GIT_FILEMODE_COMMIT;
		lfs = lfs || names_lfs(repo, e);
	}
	git_index_free(index);
	if (submodules && checkout_note(c, r, "%zu submodules are empty directories in the workspace", submodules))
		return -1;
	return lfs ? checkout_note(
	                     c, r,
	                     "files kept by git LFS are their pointers in the workspace (git lfs pull fetches them)")
	           : 0;
}

int fill_worktree(struct checkout *c, const char *root, const git_oid *commit, struct refusal *r)
{
	git_checkout_options options = GIT_CHECKOUT_OPTIONS_INIT;
	cleanup_free char *objects = format("%s/.git/objects", root);
	git_repository *repo = NULL;
	git_object *object = NULL;
	git_odb *odb = NULL;
	int rc = 0;

	if (!objects)
		return no_memory(r);

	options.checkout_strategy = GIT_CHECKOUT_FORCE | GIT_CHECKOUT_DONT_REMOVE_EXISTING;
	options.disable_filters = 1;
	options.dir_mode = 0755;
	if (git_repository_open_ext(&repo, root, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL) < 0 ||
	    odb_open(&odb, &objects, 1) < 0 || git_repository_set_odb(repo, odb) < 0 ||
	    git_object_lookup(&object, repo, commit, GIT_OBJECT_COMMIT) < 0 ||
	    git_checkout_tree(repo, object, &options) < 0)
		rc = failed(r, c);
	if (!rc)
		rc = note_kinds(c, repo, r);
	git_object_free(object);
	git_repository_free(repo);
	git_odb_free(odb);
	return rc;
}

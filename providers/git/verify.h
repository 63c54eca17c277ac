/* SPDX-License-Identifier: Apache-2.0 */
/* The form of an object, as `git fsck --strict` wants it: what passes here leaves the user's repository sound.  Each
 * function returns NULL, or what is wrong as a static text.  Nothing is looked up: ids are only read. */
#ifndef GIT_VERIFY_H
#define GIT_VERIFY_H

#include <git2/oid.h>
#include <git2/types.h>
#include <stdbool.h>
#include <stddef.h>

#define MODE_TREE    0040000u
#define MODE_FILE    0100644u
#define MODE_PROGRAM 0100755u
#define MODE_LINK    0120000u
#define MODE_COMMIT  0160000u

struct tree_entry {
	const char *name; /* ends with NUL inside the tree's data */
	size_t name_len;
	unsigned mode;
	bool padded; /* the mode was written with a leading zero */
	git_oid id;
};
struct tree_iter {
	const unsigned char *p, *end;
};
/* 1: an entry; 0: the end; -1: this is no tree.  data has a NUL after its last byte. */
int tree_next(struct tree_iter *it, struct tree_entry *e);
const char *verify_tree(const void *data, size_t len);
/* Git's order of two entries of a tree: a folder sorts as if its name ended in '/'. */
int tree_compare(const char *a, bool a_is_tree, const char *b, bool b_is_tree);

struct commit_view {
	git_oid tree;
	size_t parents;
	const char *first; /* the first "parent " line; each is COMMIT_PARENT_LINE bytes long */
};
#define COMMIT_PARENT_LINE 48u
const char *verify_commit(const char *data, size_t len, struct commit_view *out);
void commit_parent(const struct commit_view *c, size_t i, git_oid *out);
/* What is written in an object of the checkout's own, which may be older than the rules: links only.  0 or -1. */
int read_commit(const char *data, size_t len, struct commit_view *out);

const char *verify_tag(const char *data, size_t len, git_oid *target, git_object_t *type);
/* The same for "links only": 0 or -1. */
int read_tag(const char *data, size_t len, git_oid *target, git_object_t *type);

/* Names (verify_names.c).  Each also knows what HFS+ and NTFS take for the same. */
const char *verify_name(const char *name, size_t len); /* of a tree's entry */
bool is_dotgit(const char *name);
bool is_gitmodules(const char *name);
bool is_gitattributes(const char *name);

/* Contents that git itself acts on (verify_config.c). */
const char *verify_gitmodules(const char *data, size_t len);
const char *verify_gitattributes(const char *data, size_t len);

/* Whether this is a valid name of a reference, as git check-ref-format says, whole ("refs/heads/x"). */
bool ref_name_valid(const char *name, size_t len);

#endif

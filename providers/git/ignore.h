/* SPDX-License-Identifier: Apache-2.0 */
/* Which untracked files git would not add: the patterns of .gitignore files and of info/exclude, read as data.  Where it
 * can't be told for certain or soon enough a file counts as not ignored, and is saved. */
#ifndef GIT_IGNORE_H
#define GIT_IGNORE_H

#include "util.h"

struct ignore_level {
	size_t base; /* how much of a path is the folder the patterns are of, with its '/' */
	struct ignore_pattern {
		char *text;
		bool negated, folder, path; /* path: has a '/', so it is matched from the folder on */
	} * v;
	size_t n;
};
struct ignore {
	struct ignore_level *levels;
	size_t n, cap;
	uint64_t effort; /* left: a hostile set of patterns may not take all day */
};

void ignore_init(struct ignore *g);
void ignore_free(struct ignore *g);
/* The patterns of a folder ("" or "a/b/"), until ignore_pop().  false: no memory. */
bool ignore_push(struct ignore *g, const char *folder, const char *text, size_t len);
void ignore_pop(struct ignore *g);
/* path has no '/' at either end, and lies in the folder pushed last. */
bool ignore_match(struct ignore *g, const char *path, bool is_folder);

/* Git's glob over a path, at most *effort steps. */
bool glob_match(const char *pattern, const char *text, uint64_t *effort);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A pack and its index (version 2), mapped to be read: of the checkout, so it is taken at its word within its bounds. */
#ifndef GIT_INDEX_H
#define GIT_INDEX_H

#include <git2/oid.h>

#include "util.h"

struct pack_map {
	const unsigned char *index, *pack;
	size_t index_len, pack_len;
	uint32_t n;
};

/* name: "pack-…", without what follows the last dot, in the directory dir.  0; 1: not of a form that is read, *why says
 * which; -1: errno. */
int pack_map_open(struct pack_map *m, int dir, const char *name, const char **why);
void pack_map_close(struct pack_map *m);
void pack_map_id(const struct pack_map *m, uint32_t i, git_oid *out);
uint32_t pack_map_crc(const struct pack_map *m, uint32_t i);
uint64_t pack_map_offset(const struct pack_map *m, uint32_t i); /* 0: beyond the pack */

#endif

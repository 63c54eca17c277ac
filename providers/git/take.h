/* SPDX-License-Identifier: Apache-2.0 */
/* What the first phase of a save leaves for the second: one file of whole, compressed objects, laid out as a pack without
 * its checksum. */
#ifndef GIT_TAKE_H
#define GIT_TAKE_H

#include "pack.h"

#define TAKE_NAME   "take.pack"
#define TAKE_MAX    (32ull << 30)
#define TAKE_COUNT  5000000u
#define TAKE_HEADER 12u

struct take {
	int fd;
	uint32_t count;
	uint64_t size, flushed; /* size counts what is in the buffer too */
	unsigned char *buffer;
	size_t used;
	z_stream z;
	bool z_ready;
};
struct take_mark {
	uint32_t count;
	uint64_t size;
};

int take_open(struct take *t, int dir);
void take_close(struct take *t);
/* 0 or -errno; -E2BIG when it would be more than a save may be. */
int take_add(struct take *t, const struct object *o);
struct take_mark take_here(const struct take *t);
int take_back(struct take *t, struct take_mark mark); /* as if what came after had never been added */
int take_finish(struct take *t);

/* The start of an entry: kind and length; returns how many bytes. */
size_t pack_head(unsigned char out[16], unsigned kind, uint64_t len);

#endif

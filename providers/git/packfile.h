/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a pack and its index into a directory, whole and on the disk before either has its name. */
#ifndef GIT_PACKFILE_H
#define GIT_PACKFILE_H

#include <git2/oid.h>
#include <mbedtls/md.h>

#include "util.h"

struct placed {
	git_oid id;
	uint32_t crc;
	uint64_t offset;
};
struct packfile {
	int dir, fd;
	mode_t mode;
	mbedtls_md_context_t hash;
	unsigned char *buffer;
	size_t used;
	uint64_t size;
	struct placed *entries;
	uint32_t n, count;
};

/* 0 or -errno, all of them.  dir is borrowed. */
int packfile_open(struct packfile *p, int dir, uint32_t count);
int packfile_entry(struct packfile *p, const git_oid *id); /* what is written next is this one's */
int packfile_write(struct packfile *p, const void *data, size_t len);
/* Gives both files their names; name gets "pack-<hash>". */
int packfile_finish(struct packfile *p, char name[64]);
void packfile_close(struct packfile *p); /* one that is not finished is removed */

#endif
